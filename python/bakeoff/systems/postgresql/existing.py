"""A PostgreSQL at an address, that was there before us.

It stays as it is, but for the database that the plan names, and there the tables that bakeoff made: see
ledger.py.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from bakeoff.errors import PlanError, ServerError
from bakeoff.systems.base import Capabilities, Node, System
from bakeoff.systems.durability import of_postgresql
from bakeoff.systems.postgresql import facts
from bakeoff.systems.postgresql.control import DEFAULT_PORT, SOCKET_NAME, Control, NoDatabase, quoted
from bakeoff.systems.postgresql.ledger import PostgreSqlLedger
from bakeoff.systems.postgresql.server import (
    PostgreSqlOptions,
    PostgreSqlServer,
    capabilities,
    read_postgresql_options,
)
from bakeoff.systems.server.login import Address, Login

#: Where a database is asked for that is not there yet.
_MAINTENANCE = "postgres"


class ExistingPostgreSql(PostgreSqlServer):
    kind: ClassVar[str] = "postgresql"
    private = False

    @classmethod
    def capabilities(cls) -> Capabilities:
        return capabilities(private=False)

    @classmethod
    def configure(
        cls,
        name: str,
        options: dict[str, Any],
        *,
        durability: str | None,
        isolation: str | None,
        workdir: Path,
        timeout_s: float,
        base_dir: Path,
    ) -> System:
        read = read_postgresql_options(options, isolation, f"systems.{name}")
        return cls(name, read, durability, isolation, timeout_s, base_dir)

    def __init__(
        self,
        name: str,
        options: PostgreSqlOptions,
        durability: str | None,
        isolation: str | None,
        timeout_s: float,
        base_dir: Path,
    ) -> None:
        super().__init__(name, options, isolation)
        self._durability = durability
        address = Address.parse(options.address or "", f"{self._where}.address", default_port=DEFAULT_PORT)
        self._address = _of_socket(address)
        self._tls = options.encryption(base_dir)
        if self._address.socket and self._tls:
            raise PlanError("a unix socket cannot be encrypted", where=f"{self._where}.tls", hint="leave out `tls`")
        self._password = options.password.located(base_dir) if options.password else None
        self._timeout_s = max(1.0, min(timeout_s, 10.0))
        self._control: Control | None = None

    @property
    def control(self) -> Control:
        if self._control is None:
            self._control = self._control_of(self._options.database)
        return self._control

    def _control_of(self, database: str) -> Control:
        session = self._options.session
        return Control(self._login(), database, where=self._where, timeout_s=self._timeout_s, session=session)

    def _login(self) -> Login:
        password = self._password.read(f"{self._where}.password") if self._password else ""
        return Login(self._address, self._options.user, password, self._tls)

    def ledger(self) -> PostgreSqlLedger:
        return self._ledger

    @cached_property
    def _ledger(self) -> PostgreSqlLedger:
        return PostgreSqlLedger(self._login(), self._options.database, self._options.session, self._where)

    def start(self) -> None:
        """Checks that it answers, has or gives us the database, to us alone, and is as durable as the plan says."""
        try:
            self.control.value("SELECT 1")
        except NoDatabase:
            self._make_database()
        self._refuse_other_durability()
        self._ledger.claim()

    def _make_database(self) -> None:
        control = self._control_of(_MAINTENANCE)
        try:
            control.rows(f"CREATE DATABASE {quoted(self._options.database)}")
        finally:
            control.close()

    def _refuse_other_durability(self) -> None:
        found = of_postgresql(facts.durability_settings(self.control)).level
        if self._durability is not None and found != self._durability:
            raise PlanError(
                f"the plan asks for durability {self._durability!r}, and {self._address} runs with {found!r}",
                where=self._where,
                hint="bakeoff does not change the settings of an existing server: change them there, or the plan",
            )

    def stop(self) -> None:
        if "_ledger" in vars(self):  # made at the start
            self._ledger.release()
        if self._control is not None:
            self._control.close()

    def alive(self) -> bool:
        # Twice, because a proxy may have closed a connection that was idle during the run.
        for _ in range(2):
            with suppress(ServerError):
                return bool(self.control.value("SELECT 1") == 1)
        return False

    def nodes(self) -> list[Node]:
        return [Node("server", "primary", str(self._address))]

    def engine_driver(self) -> tuple[dict[str, Any], dict[str, str]]:
        """The engine finds the password where we do; it is not passed on."""
        login = Login(self._address, self._options.user, "", self._tls)
        return self._driver(login, self._password.as_secret() if self._password else None), {}

    def may_run_here_unseen(self) -> bool:
        return self._address.is_here

    def size_on_disk_bytes(self) -> int | None:
        return int(self.control.value("SELECT pg_database_size(current_database())"))

    def _own_facts(self) -> dict[str, str]:
        return {"transport": "socket" if self._address.socket else "tcp"}


def _of_socket(address: Address) -> Address:
    """A folder of sockets has one for each port, as other clients of PostgreSQL take it."""
    if not address.socket or SOCKET_NAME in address.socket:
        return address
    return Address(socket=f"{address.socket.rstrip('/')}/{SOCKET_NAME}{DEFAULT_PORT}")
