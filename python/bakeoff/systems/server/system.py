"""A server as a system of a plan: what managed and existing ones share.

ServerNode      one server, asked over its control connection
TableFormats    what a family does about the format of tables that a plan asks for
Family          what one family of servers does in its own way
Server          the system; StartedServer and ExistingServer derive from it
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from bakeoff.errors import PlanError, ServerError
from bakeoff.model.levels import ACCESS, TABLE_FORMAT
from bakeoff.provision.installation import Installation
from bakeoff.systems.access import DIRECT
from bakeoff.systems.base import Capabilities, Configuration, Facts, Node, System
from bakeoff.systems.ledger import Ledger
from bakeoff.systems.options import address_of
from bakeoff.systems.server.control import Address, Control, Login, Refused
from bakeoff.systems.server.options import ServerOptions, in_one_spelling, read_server_options, shaping

#: A counter of every product: those that ended, committed and rolled back, whoever asked for them.
TRANSACTIONS = "transactions"
#: One status answer serves counters and gauges asked for in the same second.
_STATUS_AGE_MAX_S = 0.3


@dataclass(frozen=True)
class Status:
    """What grows, and what comes and goes."""

    counters: dict[str, float]
    gauges: dict[str, float]


@dataclass(frozen=True)
class Access:
    """How a node is reached and watched. control: a connection of ours that lasts. own: portable facts that whoever
    made the node knows and it cannot say itself, or not as well. asked: the settings that it was started with. behind:
    of a node that follows another, how far it is behind, as gauges that are debt, too."""

    control: Callable[[], Control]
    pids: Callable[[], list[int]] = list
    own: Callable[[], Mapping[str, str]] = dict
    asked: Callable[[], Mapping[str, str]] = dict
    behind: Callable[[], Mapping[str, float]] = dict
    managed: bool = False


#: What a switch is set to, and what a server then says of it.
_SWITCHES = {"on": True, "1": True, "true": True, "yes": True, "off": False, "0": False, "false": False, "no": False}


def refuse_other_switches(asked: Mapping[str, str], said: Mapping[str, str]) -> None:
    """Raises ServerError where a server has on what the plan sets to off, or the other way round: MariaDB takes
    `log_bin = OFF` for the name of a file, and other settings have such turns, too."""
    for name, value in asked.items():
        wanted, found = _SWITCHES.get(value.lower()), said.get(name, "")
        if wanted is not None and found.lower() in ("on", "off") and _SWITCHES[found.lower()] is not wanted:
            what = f"the plan sets {name} = {value}, and the server runs with {name} = {found}"
            raise ServerError(what, hint="look up which values the server takes, or leave the setting out")


class ServerNode(Node):
    """A product's own says what its server is asked. What a server that has gone would say is absent; that it has gone
    shows elsewhere."""

    def __init__(self, name: str, role: str, address: str, access: Access) -> None:
        super().__init__(name, role, address)
        self.access = access
        self._status: Status | None = None
        self._status_at = -math.inf  # monotonic

    @property
    def control(self) -> Control:
        return self.access.control()

    @abstractmethod
    def read_facts(self) -> Facts:
        """Raises ServerError."""

    @abstractmethod
    def read_status(self) -> Status:
        """Raises ServerError."""

    @abstractmethod
    def read_debt(self) -> dict[str, float]:
        """Raises ServerError."""

    def cipher(self, control: Control) -> str:
        """That a connection has; "" without TLS. Raises ServerError."""
        return ""

    def pids(self) -> list[int]:
        return self.access.pids()

    def facts(self) -> Facts:
        read = self.read_facts()
        refuse_other_switches(self.access.asked(), read.settings)
        return replace(read, portable={**read.portable, **self.access.own()})

    def counters(self) -> dict[str, float]:
        status = self._recent_status()
        return dict(status.counters) if status else {}

    def gauges(self) -> dict[str, float]:
        status = self._recent_status()
        return {**status.gauges, **self.access.behind()} if status else {}

    def debt(self) -> dict[str, float]:
        try:
            return {**self.read_debt(), **self.access.behind()}
        except ServerError:
            return {}

    def _recent_status(self) -> Status | None:
        """None: the server did not answer. It is asked once for both, whatever came of it."""
        if time.monotonic() - self._status_at > _STATUS_AGE_MAX_S:
            try:
                self._status = self.read_status()
            except ServerError:
                self._status = None
            self._status_at = time.monotonic()
        return self._status


class TableFormats(ABC):
    """How a family of servers supports the table format of a plan: the servers' settings, what refuses
    one that cannot, and what shows that it was done. What refuses raises PlanError where nothing else is said."""

    #: Appended to CREATE TABLE.
    options: str

    @abstractmethod
    def settings(self, said: Mapping[str, str]) -> dict[str, str]:
        """Of a managed server, in addition to those of the plan."""

    @abstractmethod
    def refuse_version(self, version: str) -> None:
        """Before it is started."""

    @abstractmethod
    def refuse_installation(self, installation: Installation) -> None:
        """The same, where what the format needs did not come with it."""

    @abstractmethod
    def refuse_server(self, control: Control) -> None:
        """Started, before anything is written."""

    @abstractmethod
    def refuse_tables(self, control: Control, tables: Collection[str]) -> None:
        """Made and loaded, where one is in another format."""

    @abstractmethod
    def words(self, control: Control) -> str:
        """The format in the server's own words, as tables have it; "" where there is none yet."""


Read = TypeVar("Read", bound=ServerOptions)


class Family(ABC, Generic[Read]):
    """What one family of servers does in its own way: everything that its managed and its existing servers share. It is
    one object, which knows nothing of single servers: it makes what does. The kinds of the family (a family of MySQL's
    has MariaDB's and MySQL's) derive from `StartedServer` and `ExistingServer` and name it."""

    driver: ClassVar[str]  # kind of the engine's driver
    #: The settings that each level means.
    durability: ClassVar[Mapping[str, Mapping[str, str]]]
    #: Settings that leave the bytes of a loaded data set as they are.
    run_time: ClassVar[Collection[str]]
    #: Settings of a managed server that bakeoff sets: it could not be isolated or found again otherwise.
    ours: ClassVar[Collection[str]]
    options: type[Read]
    #: What reads below SQL are, where its driver has them.
    direct_reads: ClassVar[str] = ""
    #: What one of its servers is asked.
    node: ClassVar[type[ServerNode]]

    def read(self, options: dict[str, Any], isolation: str | None, where: str) -> Read:
        """Checks all. Raises PlanError."""
        return read_server_options(self.options, options, where, driver=self.driver, isolation=isolation)

    def table_format(self, options: Read, where: str) -> TableFormats | None:
        """The format of tables that a plan asks for; None: it does not. Raises PlanError."""
        return None

    @abstractmethod
    def control(self, login: Login, options: Read, where: str, timeout_s: float) -> Control:
        """A connection as the load's are."""

    def document(self, login: Login, options: Read) -> dict[str, Any]:
        """Options of the engine's driver in addition to those that all have."""
        return {}

    def place(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Where in a server the tables are, by options that are not checked yet."""
        return ()

    def refuse_session(self, login: Login, options: Read, where: str) -> None:  # a kind may have none
        """What a plan says of the variables of the load's sessions and the server does not take; tried before anything
        is changed, on a connection of its own. Raises PlanError."""


class AddressedFamily(Family[Read]):
    default_port: ClassVar[int]

    def address(self, text: str, where: str) -> Address:
        """Raises PlanError."""
        return Address.parse(text, where, default_port=self.default_port)

    def key_file(self, options: Read, base_dir: Path) -> Path | None:
        """PEM: to which the password may be encrypted over plain TCP."""
        return None

    @abstractmethod
    def ledger(self, login: Login, options: Read, where: str) -> Ledger: ...

    @abstractmethod
    def level(self, control: Control) -> str:
        """Of durability, that it runs with. Raises ServerError."""

    @abstractmethod
    def size_on_disk_bytes(self, control: Control, options: Read) -> int | None: ...


def refuse_variables(said: Mapping[str, str], set_one: Callable[[str, str], object], where: str) -> None:
    """Those that `set_one` (of a session, by name and value) refuses. Raises PlanError."""
    for name, value in said.items():
        try:
            set_one(name, value)
        except Refused as error:
            raise PlanError(
                f"the server does not take the session variable {name} = {value!r}: {error.what}",
                where=f"{where}.session",
                hint=f"correct `{name}`, or leave it out",
            ) from error


class Server(System):
    family: ClassVar[Family[Any]]

    def __init_subclass__(cls) -> None:
        """A kind is spoken to by its family's driver."""
        super().__init_subclass__()
        if "family" in vars(cls):
            cls.driver = cls.family.driver

    def __init__(self, asked: Configuration, options: ServerOptions) -> None:
        self.name = asked.name
        self._where = asked.where
        self._options = options
        self._isolation = asked.isolation

    @classmethod
    def capabilities(cls) -> Capabilities:
        return Capabilities(
            managed=True,
            existing=True,
            embedded=False,
            restore=cls.managed,
            durability=tuple(cls.family.durability),
        )

    @classmethod
    def options_model(cls) -> type[ServerOptions]:
        return cls.family.options

    @classmethod
    def in_one_spelling(cls, options: dict[str, Any], where: str) -> dict[str, Any]:
        return in_one_spelling(options, where, cls.family.options.start_keys())

    @classmethod
    def place(cls, options: dict[str, Any]) -> tuple[str, ...] | None:
        address = address_of(options)
        return None if address is None else (address, *cls.family.place(options))

    @classmethod
    def shaping_options(cls, options: dict[str, Any], durability: str | None) -> dict[str, Any]:
        """Every level of durability is made of settings that matter at run time alone."""
        return shaping(options, cls.driver, cls.family.run_time)

    @classmethod
    def input_files(cls, options: dict[str, Any]) -> list[str]:
        tls = options.get("tls")
        named = [tls.get("ca_file") if isinstance(tls, dict) else None, options.get("server_public_key_file")]
        return [path for path in named if isinstance(path, str)]

    @property
    @abstractmethod
    def control(self) -> Control:
        """Statements of ours to the first server."""

    @abstractmethod
    def nodes(self) -> Sequence[ServerNode]: ...

    def refuse_format(self) -> None:
        """Of tables, if the server cannot make it. Raises PlanError."""
        if asked := self._asked_format():
            asked.refuse_server(self.control)

    def check_tables(self, tables: Sequence[str]) -> None:
        if asked := self._asked_format():
            asked.refuse_tables(self.control, tables)

    def table_facts(self, control: Control) -> dict[str, str]:
        asked = self._asked_format()
        words = {TABLE_FORMAT: asked.words(control) if asked else "", ACCESS: self._direct_reads()}
        return {name: said for name, said in words.items() if said}

    def _direct_reads(self) -> str:
        return self.family.direct_reads if self._options.driver.get(ACCESS) == DIRECT else ""

    def _asked_format(self) -> TableFormats | None:
        return self.family.table_format(self._options, self._where)

    def answers(self) -> bool:
        return self.alive() and any(node.control.answers() for node in self.nodes())

    def whole(self) -> bool:
        return self.alive() and all(node.control.answers() for node in self.nodes())

    def _driver(self, login: Login, secret: dict[str, str] | None) -> dict[str, Any]:
        driver = self._options.driver
        tls = {"tls": login.tls and login.tls.model_dump()} if "tls" in driver else {}
        return {
            **driver,
            "kind": self.driver,
            "endpoints": [node.endpoint() for node in self.nodes()],
            "user": login.user,
            "password": secret,
            **tls,
            **self.family.document(login, self._options),
        }

    def _asked_isolation(self) -> dict[str, str]:
        return {"isolation": self._isolation} if self._isolation else {}
