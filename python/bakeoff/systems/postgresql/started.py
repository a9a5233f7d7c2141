"""PostgreSQL: a private throwaway server of any major from 13 to 18, or an existing one at an address.

[systems.postgresql]
start = { version = "17", settings = { shared_buffers = "1GB" } }

[systems.production_like]
kind = "postgresql"
address = "db1:5432"            # or "/run/postgresql/.s.PGSQL.5432"
user = "bench"
password = { env = "DB_PASSWORD" }
database = "bakeoff"
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

from bakeoff.errors import BakeoffError, ServerError
from bakeoff.provision.container import installation_for
from bakeoff.provision.files import allocated_bytes
from bakeoff.provision.installation import Sources
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.server import ServerSpec
from bakeoff.systems.base import Capabilities, Node, System
from bakeoff.systems.options import read_own
from bakeoff.systems.postgresql.control import Control
from bakeoff.systems.postgresql.existing import ExistingPostgreSql
from bakeoff.systems.postgresql.facts import read_cipher
from bakeoff.systems.postgresql.installations import SOURCES
from bakeoff.systems.postgresql.process import PostgreSqlProcess
from bakeoff.systems.postgresql.server import (
    DURABILITY,
    PostgreSqlOptions,
    PostgreSqlServer,
    capabilities,
    read_postgresql_options,
)
from bakeoff.systems.server.options import StartOptions, private_settings, refuse_impossible_tls

#: Set by us, because the instance could not be kept private or found again otherwise.
_OURS = {
    "config_file", "data_directory", "external_pid_file", "hba_file", "ident_file", "listen_addresses",
    "log_destination", "logging_collector", "port", "ssl", "ssl_ca_file", "ssl_cert_file", "ssl_key_file",
    "unix_socket_directories",
}  # fmt: skip


class PostgreSql(PostgreSqlServer):
    """The kind, and its private server; `configure` gives an ExistingPostgreSql where the plan has an address."""

    kind: ClassVar[str] = "postgresql"
    summary: ClassVar[str] = "PostgreSQL server: a private instance, or an existing one by `address`"
    private = True

    @classmethod
    def capabilities(cls) -> Capabilities:
        return capabilities()

    @classmethod
    def sources(cls) -> Sources:
        return SOURCES

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
        where = f"systems.{name}"
        read = read_postgresql_options(options, isolation, where)
        if read.private is None:
            return ExistingPostgreSql(name, read, durability, isolation, timeout_s, base_dir)
        refuse_impossible_tls(read, where)
        settings = private_settings(read, durability, DURABILITY, _OURS, where)
        return cls(name, read, read.private, settings, isolation, workdir, base_dir)

    @classmethod
    def available(cls, options: dict[str, Any]) -> str | None:
        read = read_own(PostgreSqlOptions, options, cls.kind)
        if read.address is not None:
            return None
        try:
            start = read.private or StartOptions()
            installation_for(SOURCES, start.version, start.image)
        except BakeoffError as error:
            return f"{error.what} ({error.hint})" if error.hint else error.what
        return None

    def __init__(
        self,
        name: str,
        options: PostgreSqlOptions,
        start: StartOptions,
        settings: dict[str, str],
        isolation: str | None,
        workdir: Path,
        base_dir: Path,
    ) -> None:
        super().__init__(name, options, isolation)
        self._start = start
        self._place = (base_dir / start.path).absolute() if start.path else None
        self._settings = settings
        self._workdir = workdir
        self._server: PostgreSqlProcess | None = None

    @property
    def server(self) -> PostgreSqlProcess:
        """The instance, its folder made at the first call."""
        if self._server is None:
            start = self._start
            found = installation_for(SOURCES, start.version, start.image)
            tls = self._options.driver["tls"] is not None
            spec = ServerSpec(found, self._settings, self._options.database, start.port, tls, self._place)
            self._server = PostgreSqlProcess(spec, InstanceFolder(self._workdir), where=self._where)
        return self._server

    @property
    def control(self) -> Control:
        return self.server.control

    def start(self) -> None:
        self.server.start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()

    def alive(self) -> bool:
        return self._server is not None and self._server.alive()

    def declared(self) -> dict[str, str]:
        return dict(self._settings)

    def nodes(self) -> list[Node]:
        if self._server is None:
            return []
        address = self._server.bench_address(self._start.connect)
        return [Node("server", "primary", str(address), tuple(self._server.pids()))]

    def engine_driver(self) -> tuple[dict[str, Any], dict[str, str]]:
        login = self.server.bench_login(self._start.connect)
        variable = "BAKEOFF_PASSWORD_" + re.sub(r"\W", "_", self.name).upper()
        return self._driver(login, {"env": variable}), {variable: self.server.bench_password}

    def drain_debt(self, timeout_s: float) -> bool:
        """A checkpoint: all dirty pages are written, as with every other system. Dead rows stay, as others' history
        does: what is left to VACUUM is told as debt, not paid here."""
        control = self.server.control_of(self._options.database, timeout_s)
        try:
            control.rows("CHECKPOINT")
        except ServerError:
            if not self.answers():
                raise
            return False
        finally:
            control.close()
        return True

    def size_on_disk_bytes(self) -> int | None:
        oid = self.control.value("SELECT oid FROM pg_database WHERE datname = current_database()")
        return allocated_bytes(self.server.data / "base" / str(oid))

    def snapshot(self, path: Path) -> None:
        self.server.snapshot(path)

    def restore(self, path: Path) -> None:
        self.server.restore(path)

    def data_paths(self) -> list[Path]:
        return self.server.data_folders()

    def make_cold(self) -> None:
        self.server.make_cold()

    def log_tail(self, lines: int = 40) -> str:
        return self._server.log_tail(lines) if self._server else ""

    def _cipher(self) -> str:
        """Of the connections that the load makes: ours goes over the socket."""
        control = Control(self.server.bench_login(self._start.connect), self._options.database, where=self._where)
        try:
            return read_cipher(control)
        finally:
            control.close()

    def _own_facts(self) -> dict[str, str]:
        return {"transport": self._start.connect, "installation": self.server.spec.installation.described}
