"""What PostgreSQL servers share, private or existing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bakeoff.errors import PlanError
from bakeoff.systems.durability import of_postgresql
from bakeoff.systems.postgresql import facts
from bakeoff.systems.postgresql.control import MAINTENANCE, SOCKET_NAME, Control
from bakeoff.systems.postgresql.ledger import PostgreSqlLedger
from bakeoff.systems.postgresql.node import PostgreSqlNode
from bakeoff.systems.postgresql.options import PostgreSqlOptions
from bakeoff.systems.postgresql.settings import RUN_TIME
from bakeoff.systems.server.control import Control as ServerControl
from bakeoff.systems.server.family import Family
from bakeoff.systems.server.login import Address, Login
from bakeoff.systems.server.node import Access


class PostgreSqlFamily(Family[PostgreSqlOptions]):
    driver = "postgresql"
    default_port = 5432
    options = PostgreSqlOptions
    #: There is no `relaxed`: without synchronous_commit commits are lost with the process (docs/method/durability.md).
    durability: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "full": {"synchronous_commit": "on", "fsync": "on", "full_page_writes": "on"},
        "none": {"synchronous_commit": "off", "fsync": "on", "full_page_writes": "on"},
    }
    run_time = RUN_TIME
    ours = frozenset(
        {
            "config_file", "data_directory", "external_pid_file", "hba_file", "ident_file", "listen_addresses",
            "log_destination", "logging_collector", "port", "ssl", "ssl_ca_file", "ssl_cert_file", "ssl_key_file",
            "unix_socket_directories",
        }
    )  # fmt: skip

    def read(self, options: dict[str, Any], isolation: str | None, where: str) -> PostgreSqlOptions:
        read = super().read(options, isolation, where)
        if read.address is not None and read.address.startswith("/") and read.driver["tls"]:
            raise PlanError("a unix socket cannot be encrypted", where=f"{where}.tls", hint="leave out `tls`")
        return read

    def address(self, text: str, where: str) -> Address:
        """A folder of sockets has one for each port, as other clients of PostgreSQL take it."""
        address = super().address(text, where)
        if not address.socket or SOCKET_NAME in address.socket:
            return address
        return Address(socket=f"{address.socket.rstrip('/')}/{SOCKET_NAME}{self.default_port}")

    def place(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return str(options.get("database", "")), str(options.get("session", {}).get("search_path", ""))

    def document(self, login: Login, options: PostgreSqlOptions) -> dict[str, Any]:
        return {"database": options.database}

    def control(self, login: Login, options: PostgreSqlOptions, where: str, timeout_s: float) -> Control:
        return Control(login, options.database, where=where, timeout_s=timeout_s, session=options.session)

    def node(self, name: str, role: str, address: str, access: Access) -> PostgreSqlNode:
        return PostgreSqlNode(name, role, address, access)

    def ledger(self, login: Login, options: PostgreSqlOptions, where: str) -> PostgreSqlLedger:
        return PostgreSqlLedger(login, options.database, options.session, where)

    def trial(self, login: Login, options: PostgreSqlOptions, where: str) -> Control:
        """A connection is refused as a whole for one variable."""
        absent = self.ledger(login, options, where).absent_place()
        return Control(login, MAINTENANCE if absent else options.database, where=where)

    def set_variable(self, control: ServerControl, name: str, value: str) -> None:
        control.value("SELECT set_config($1, $2, true)", name, value)

    def level(self, control: ServerControl) -> str:
        return of_postgresql(facts.durability_settings(control)).level

    def size_on_disk_bytes(self, control: ServerControl, options: PostgreSqlOptions) -> int | None:
        return int(control.value("SELECT pg_database_size(current_database())"))


FAMILY = PostgreSqlFamily()
