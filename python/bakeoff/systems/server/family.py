"""What one family of servers does in its own way: everything that its private and its existing servers share.

A family is one object, which knows nothing of single servers: it makes what does. The kinds of the family (a family of
MySQL's has MariaDB's and MySQL's) derive from `StartedServer` and `ExistingServer` and name it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from bakeoff.systems.base import Ledger
from bakeoff.systems.server.control import Control
from bakeoff.systems.server.login import Address, Login
from bakeoff.systems.server.node import Access, ServerNode
from bakeoff.systems.server.options import ServerOptions, read_server_options

Read = TypeVar("Read", bound=ServerOptions)


class Family(ABC, Generic[Read]):
    driver: ClassVar[str]  # kind of the engine's driver
    version: ClassVar[str]  # one that a hint may name
    default_port: ClassVar[int]
    #: The settings that each level means.
    durability: ClassVar[Mapping[str, Mapping[str, str]]]
    #: Settings that leave the bytes of a loaded data set as they are.
    run_time: ClassVar[Collection[str]]
    #: Settings of a private server that are set by us: it could not be kept private or found again otherwise.
    ours: ClassVar[Collection[str]]
    options: type[Read]

    def read(self, options: dict[str, Any], isolation: str | None, where: str) -> Read:
        """Checks all, and that it is either started or found. Raises PlanError."""
        return read_server_options(
            self.options, options, where, driver=self.driver, isolation=isolation, version=self.version
        )

    def address(self, text: str, where: str) -> Address:
        """Raises PlanError."""
        return Address.parse(text, where, default_port=self.default_port)

    @abstractmethod
    def place(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Where in a server the tables are, by options that are not checked yet."""

    def key_file(self, options: Read, base_dir: Path) -> Path | None:
        """PEM, of an existing server: to which the password may be encrypted over plain TCP."""
        return None

    @abstractmethod
    def document(self, login: Login, options: Read) -> dict[str, Any]:
        """What the engine's driver is told beside what all are."""

    @abstractmethod
    def control(self, login: Login, options: Read, where: str, timeout_s: float) -> Control:
        """A connection as the load's are."""

    @abstractmethod
    def node(self, name: str, role: str, address: str, access: Access) -> ServerNode: ...

    @abstractmethod
    def ledger(self, login: Login, options: Read, where: str) -> Ledger: ...

    @abstractmethod
    def level(self, control: Control) -> str:
        """Of durability, that an existing server runs with. Raises ServerError."""

    @abstractmethod
    def size_on_disk_bytes(self, control: Control, options: Read) -> int | None:
        """Of an existing server."""

    def refuse_session(self, control: Control, options: Read, where: str) -> None:
        """What a plan says of the load's sessions and the server does not take, where the load could not tell which.
        Raises PlanError."""

    def enter(self, control: Control, options: Read, where: str) -> None:
        """Asks an existing server for the first time, and makes there what the plan's tables lie in where a connection
        needs it. Raises ServerError."""
        control.value("SELECT 1")
