"""What a plan may say about any system that is a server: one that we start, or one at an address."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from pydantic import Field, model_validator

from bakeoff.errors import PlanError
from bakeoff.model.levels import STORAGE
from bakeoff.systems.options import Options, Password, Settings, address_of, option_names, read_options
from bakeoff.systems.server.control import Tls

#: Options that say how to reach a server or how slow its storage is, not what it stores. The driver's options are such,
#: too, except the variables of its sessions.
_OF_THE_WAY = {"user", "password", "port", "connect", STORAGE}
_SESSION = "session"
PORT_MAX = 65535


class StorageOptions(Options):
    """Storage that bakeoff slows, as `bakeoff-powerloss run` takes it. 0 slows nothing, but loads the library too."""

    sync_latency: str = ""
    jitter: str = ""
    bandwidth: str = ""  # a second

    @model_validator(mode="after")
    def _in_units(self) -> StorageOptions:
        for name, text, units, example in (
            ("sync_latency", self.sync_latency, "us|ms|s", "2ms"),
            ("jitter", self.jitter, "us|ms|s", "0.5ms"),
            ("bandwidth", self.bandwidth, "kB|MB|GB", "50MB"),
        ):
            if text and not re.fullmatch(rf"\d+(\.\d+)?({units})", text):
                raise ValueError(f'`{name}` is {text!r}, which is no number with a unit ({units}), as in "{example}"')
        if not self.sync_latency and not self.bandwidth:
            raise ValueError('`storage` needs a sync_latency ("2ms") or a bandwidth ("50MB" a second)')
        return self


class StartOptions(Options):
    version: str | None = None  # None: whichever is found
    source: str | None = None  # where that comes from, as `bakeoff systems install --from` has it; None: anywhere
    image: str | None = None  # a container's, in place of `version`
    settings: Settings = Field(default_factory=dict)
    path: str | None = None  # a folder on the storage to be tested; None: with everything else
    storage: StorageOptions | None = None  # None: as it is
    port: int | None = Field(default=None, gt=0, lt=PORT_MAX + 1)  # None: a free one
    connect: Literal["tcp", "socket"] = "tcp"  # what the load goes over

    @model_validator(mode="after")
    def _one_program(self) -> StartOptions:
        if self.version is not None and self.image is not None:
            raise ValueError("`version` and `image` exclude each other: leave out one of the two")
        if self.source is not None and self.image is not None:
            raise ValueError("`source` and `image` exclude each other: leave out one of the two")
        if self.storage is not None and self.image is not None:
            raise ValueError("`storage` and `image` exclude each other: a container's storage cannot be slowed")
        return self


class NodeOptions(Options):
    name: str = Field(min_length=1)
    role: str = Field(default="primary", min_length=1)
    address: str


class ServerOptions(Options):
    """Each kind adds its own."""

    start: StartOptions | None = None
    #: Where our own statements go: to the first of several nodes.
    address: str | None = None
    nodes: list[NodeOptions] | None = None
    user: str
    password: Password | None = None

    @property
    def session(self) -> dict[str, str]:
        """Variables of the load's connections, by the server's own names."""
        return dict(self.driver.get(_SESSION, {}))

    @classmethod
    def start_keys(cls) -> Collection[str]:
        """What may be in `start`, or next to it. A kind adds more with its own type of that field."""
        (model,) = (one for one in get_args(cls.model_fields["start"].annotation) if one is not type(None))
        keys: Collection[str] = model.model_fields
        return keys

    @property
    def tables_in(self) -> str:
        """The schema or database of the plan's tables; "" where it has none."""
        return ""

    @property
    def asked_tls(self) -> dict[str, Any] | None:
        """As the plan has it; None: the plan names none, or the driver has none."""
        return self.driver.get("tls")

    def encryption(self, base_dir: Path) -> Tls | None:
        tls = self.asked_tls
        if tls is None:
            return None
        return Tls(ca_file=tls["ca_file"] and str((base_dir / tls["ca_file"]).absolute()), verify=tls["verify"])


Read = TypeVar("Read", bound=ServerOptions)


def in_one_spelling(options: dict[str, Any], where: str, start_keys: Collection[str]) -> dict[str, Any]:
    """A server without an address is a managed one, and its options move into `start`. Raises
    PlanError for what is set in both, and for options that only a managed server has."""
    listed = isinstance(options.get("nodes"), list)  # those of an existing system; of a managed one, how many
    beside = {key: options[key] for key in start_keys if key in options and not (key == "nodes" and listed)}
    if address_of(options) is not None:
        for key in ["start", *beside] if "start" in options else beside:
            raise _not_of_an_existing(key, where)
        return options
    for key in ("port", "connect", "user", "password"):
        if key in options and "start" not in options:
            hint = 'write address = "host:port", or start = {} for a managed server'
            raise PlanError(f"`{key}` is set without `address` or `start`", where=f"{where}.{key}", hint=hint)
    start = options.get("start", {})
    start = {} if start is True else start
    if not isinstance(start, dict):
        return options  # refused where types are
    if isinstance(beside.get("settings"), dict) and isinstance(start.get("settings"), dict):
        inner, outer = start["settings"], beside.pop("settings")
        for name in {normal(name) for name in inner} & {normal(name) for name in outer}:
            raise PlanError(f"{name} is set twice", where=where, hint="in `settings` and in `start.settings`: keep one")
        start = {**start, "settings": {**outer, **inner}}
    for key in beside.keys() & start.keys():
        raise PlanError(f"`{key}` is set twice", where=where, hint=f"as `{key}` and in `start`: keep one")
    rest = {key: value for key, value in options.items() if key not in start_keys}
    return {**rest, "start": {**start, **beside}}


def _not_of_an_existing(key: str, where: str) -> PlanError:
    if key == "settings":
        what = "bakeoff does not change the settings of an existing server"
        hint = "change them there, or set session variables: session = { NAME = ... }"
    elif key == "start":
        what, hint = "`start` and `address` exclude each other", "leave out one of the two"
    else:
        what = f"`{key}` is an option of managed servers, and `address` names an existing one"
        hint = 'write address = "host:port"' if key == "port" else f"leave out `address` or `{key}`"
    return PlanError(what, where=f"{where}.{key}", hint=hint)


def read_server_options(
    model: type[Read], options: dict[str, Any], where: str, *, driver: str, isolation: str | None
) -> Read:
    """Checks all; the server is started unless it has an address."""
    spelled = in_one_spelling(options, where, model.start_keys())
    return read_options(model, spelled, where, driver=driver, isolation=isolation, others=model.start_keys())


def refuse_impossible_tls(options: ServerOptions, where: str) -> None:
    """Of a managed server."""
    tls = options.asked_tls
    if tls is not None and tls != Tls().model_dump():
        hint = "write tls = true: bakeoff generates its certificate and trusts it"
        raise PlanError("a managed server does not use your certificate", where=f"{where}.tls", hint=hint)
    if tls is not None and options.start and options.start.connect == "socket":
        raise PlanError("a unix socket cannot be encrypted", where=f"{where}.tls", hint='remove connect = "socket"')


def managed_settings(
    options: ServerOptions,
    durability: str | None,
    meanings: Mapping[str, Mapping[str, str]],
    ours: Collection[str],
    where: str,
) -> dict[str, str]:
    """The plan's settings and what its durability means, by one spelling of names.
    meanings: the settings of each level of durability. ours: names that a plan may not set."""
    said = options.start.settings if options.start else {}
    settings = {normal(name): value for name, value in said.items()}
    for name, value in settings.items():
        _refuse_bad_setting(name, value, ours, where)
    if durability is None:
        return settings
    if durability not in meanings:
        raise PlanError(f"unknown durability {durability!r}", where=where, hint=f"known: {', '.join(meanings)}")
    return add_settings(settings, meanings[durability], f"durability = {durability!r}", where)


def add_settings(settings: Mapping[str, str], meant: Mapping[str, str], by: str, where: str) -> dict[str, str]:
    """Adds the settings that another option of the plan means. Raises PlanError for those that the plan sets in both
    places."""
    for name in meant.keys() & settings.keys():
        raise PlanError(
            f"the plan sets {name} and also {by}, which implies it",
            where=f"{where}.start.settings",
            hint="leave out one of the two",
        )
    return {**settings, **meant}


def _refuse_bad_setting(name: str, value: str, ours: Collection[str], where: str) -> None:
    if name in ours:
        raise PlanError(f"{name} of a managed server is set by bakeoff", where=f"{where}.start.settings.{name}")
    if not re.fullmatch(r"[a-z][a-z0-9_.]*", name) or re.search(r"[\x00-\x1f\x7f]", value):
        raise PlanError(f"{name!r} = {value!r} is not a valid setting", where=f"{where}.start.settings.{name}")


def shaping(options: dict[str, Any], driver: str, run_time: Collection[str]) -> dict[str, Any]:
    """The table, and those inside it, without connection options and settings that matter only at run time."""
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
