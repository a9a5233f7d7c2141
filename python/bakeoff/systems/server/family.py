"""What one family of servers does in its own way: everything that its private and its existing servers share.

A family is one object, which knows nothing of single servers: it makes what does. The kinds of the family (a family of
MySQL's has MariaDB's and MySQL's) derive from `StartedServer` and `ExistingServer` and name it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from bakeoff.errors import PlanError
from bakeoff.systems.base import Ledger
from bakeoff.systems.server.control import Control, Refused
from bakeoff.systems.server.login import Address, Login
from bakeoff.systems.server.node import Access, ServerNode
from bakeoff.systems.server.options import ServerOptions, read_server_options
from bakeoff.systems.server.stored import Stored

Read = TypeVar("Read", bound=ServerOptions)


class Family(ABC, Generic[Read]):
    driver: ClassVar[str]  # kind of the engine's driver
    default_port: ClassVar[int]
    #: The settings that each level means.
    durability: ClassVar[Mapping[str, Mapping[str, str]]]
    #: Settings that leave the bytes of a loaded data set as they are.
    run_time: ClassVar[Collection[str]]
    #: Settings of a private server that are set by us: it could not be kept private or found again otherwise.
    ours: ClassVar[Collection[str]]
    options: type[Read]

    def read(self, options: dict[str, Any], isolation: str | None, where: str) -> Read:
        """Checks all. Raises PlanError."""
        return read_server_options(self.options, options, where, driver=self.driver, isolation=isolation)

    def address(self, text: str, where: str) -> Address:
        """Raises PlanError."""
        return Address.parse(text, where, default_port=self.default_port)

    def stored(self, options: Read, where: str) -> Stored | None:
        """The format of tables that a plan asks for; None: it does not. Raises PlanError."""
        return None

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

    @abstractmethod
    def trial(self, login: Login, options: Read, where: str) -> Control:
        """A connection with no variable set, whether what the plan's tables lie in is there or not."""

    @abstractmethod
    def set_variable(self, control: Control, name: str, value: str) -> None:
        """Of this session. Raises Refused."""

    def refuse_session(self, login: Login, options: Read, where: str) -> None:
        """What a plan says of the load's sessions and the server does not take; tried before anything is changed, on a
        connection of its own. Raises PlanError."""
        if not options.session:
            return
        with closing(self.trial(login, options, where)) as control:
            for name, value in options.session.items():
                try:
                    self.set_variable(control, name, value)
                except Refused as error:
                    raise PlanError(
                        f"the server does not take the session variable {name} = {value!r}: {error.what}",
                        where=f"{where}.session",
                        hint=f"correct `{name}`, or leave it out",
                    ) from error
