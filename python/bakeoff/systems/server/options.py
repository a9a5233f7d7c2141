"""What a plan may say about any system that is a server: one that we start, or one at an address."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, model_validator

from bakeoff.errors import PlanError
from bakeoff.systems.driver import option_names
from bakeoff.systems.options import Options, Password, Settings, read_options
from bakeoff.systems.server.login import Tls

#: Options that say how to reach a server, not what it stores. Those of the driver are others of that kind, but for the
#: variables of its sessions.
_OF_THE_WAY = {"user", "password", "port", "connect"}
_SESSION = "session"


class StartOptions(Options):
    """A private instance."""

    version: str | None = None  # None: whichever is found
    image: str | None = None  # a container's, in place of `version`
    settings: Settings = Field(default_factory=dict)
    path: str | None = None  # a folder on the storage to be tested; None: with everything else
    port: int | None = Field(default=None, gt=0, lt=65536)  # None: a free one
    connect: Literal["tcp", "socket"] = "tcp"  # what the load goes over

    @model_validator(mode="after")
    def _one_program(self) -> StartOptions:
        if self.version is not None and self.image is not None:
            raise ValueError("`version` and `image` exclude each other: leave out one of the two")
        return self


class NodeOptions(Options):
    """One server of a system of several."""

    name: str = Field(min_length=1)
    role: str = Field(default="primary", min_length=1)
    address: str


class ServerOptions(Options):
    """Each kind adds its own."""

    start: StartOptions | bool | None = None
    #: Where statements of ours go: of several nodes the first.
    address: str | None = None
    nodes: list[NodeOptions] | None = None
    user: str
    password: Password | None = None
    #: The same as `start.settings`.
    settings: Settings = Field(default_factory=dict)

    @property
    def private(self) -> StartOptions | None:
        """What a private server is to be, if the plan wants one; `start = true` means all defaults."""
        return (StartOptions() if self.start else None) if isinstance(self.start, bool) else self.start

    @property
    def session(self) -> dict[str, str]:
        """Variables of the load's connections, by the server's own names."""
        return dict(self.driver[_SESSION])

    @property
    @abstractmethod
    def tables_in(self) -> str:
        """The schema or database of the plan's tables."""

    def encryption(self, base_dir: Path) -> Tls | None:
        tls = self.driver["tls"]
        if tls is None:
            return None
        return Tls(ca_file=tls["ca_file"] and str((base_dir / tls["ca_file"]).absolute()), verify=tls["verify"])


Read = TypeVar("Read", bound=ServerOptions)


def read_server_options(
    model: type[Read], options: dict[str, Any], where: str, *, driver: str, isolation: str | None, version: str
) -> Read:
    """Checks all, and that the server is either started or found. version: one that a hint may name."""
    read = read_options(model, options, where, driver=driver, isolation=isolation)
    if read.private is None and read.address is None:
        raise PlanError(
            "needs either `start` (a private server) or `address` (an existing one)",
            where=where,
            hint=f'start = {{ version = "{version}" }}, or address = "host:port"',
        )
    if read.private is not None and read.address is not None:
        raise PlanError("`start` and `address` exclude each other", where=where, hint="leave out one of the two")
    if read.address is not None and read.settings:
        raise PlanError(
            "the settings of an existing server are not ours to change",
            where=f"{where}.settings",
            hint="change them there, or set session variables: session = { NAME = ... }",
        )
    return read


def refuse_impossible_tls(options: ServerOptions, where: str) -> None:
    """Of a private server."""
    tls = options.driver["tls"]
    if tls is not None and tls != Tls().model_dump():
        hint = "write tls = true: its certificate is made and trusted for you"
        raise PlanError("a private server has no certificate of yours", where=f"{where}.tls", hint=hint)
    if tls is not None and options.private and options.private.connect == "socket":
        raise PlanError("a unix socket cannot be encrypted", where=f"{where}.tls", hint='remove connect = "socket"')


def private_settings(
    options: ServerOptions,
    durability: str | None,
    meanings: Mapping[str, Mapping[str, str]],
    ours: Collection[str],
    where: str,
) -> dict[str, str]:
    """The plan's settings (in `start` or beside it) and what its durability means, by one spelling of names.
    meanings: the settings of each level of durability. ours: names that a plan may not set."""
    inner = options.private.settings if options.private else {}
    settings = {normal(name): value for name, value in {**options.settings, **inner}.items()}
    for name in {normal(name) for name in options.settings} & {normal(name) for name in inner}:
        raise PlanError(f"{name} is said twice", where=where, hint="in `settings` and in `start.settings`: keep one")
    for name, value in settings.items():
        _refuse_bad_setting(name, value, ours, where)
    if durability is None:
        return settings
    if durability not in meanings:
        raise PlanError(f"unknown durability {durability!r}", where=where, hint=f"known: {', '.join(meanings)}")
    meant = meanings[durability]
    for name in meant.keys() & settings.keys():
        raise PlanError(
            f"the plan sets {name} and also durability = {durability!r}, which sets it",
            where=f"{where}.start.settings",
            hint="leave out one of the two",
        )
    return {**settings, **meant}


def _refuse_bad_setting(name: str, value: str, ours: Collection[str], where: str) -> None:
    if name in ours:
        raise PlanError(f"{name} of a private server is set by bakeoff", where=f"{where}.start.settings")
    if not re.fullmatch(r"[a-z][a-z0-9_.]*", name) or re.search(r"[\x00-\x1f\x7f]", value):
        raise PlanError(f"{name!r} = {value!r} cannot be a setting of a server", where=f"{where}.start.settings")


def shaping(options: dict[str, Any], driver: str, run_time: Collection[str]) -> dict[str, Any]:
    """The table, and those inside it, without options of the way and settings that matter at run time alone."""
    return _without(options, _OF_THE_WAY | {*option_names(driver)} - {_SESSION}, run_time)


def _without(options: dict[str, Any], way: Collection[str], run_time: Collection[str]) -> dict[str, Any]:
    return {
        name: _without(value, way, run_time) if isinstance(value, dict) else value
        for name, value in options.items()
        if name not in way and normal(name) not in run_time
    }


def normal(name: str) -> str:
    """A setting's name by its one spelling."""
    return name.lower().replace("-", "_")
