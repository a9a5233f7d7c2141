"""MariaDB: a private throwaway server, or an existing one at an address. MySQL and Percona: see mysql.py.

[systems.mariadb]
start = { version = "10.11", settings = { innodb_buffer_pool_size = "1G" } }

[systems.production_like]
kind = "mariadb"
address = "db1:3306"
user = "bench"
password = { env = "DB_PASSWORD" }
schema = "bakeoff"
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any, ClassVar

from bakeoff.errors import BakeoffError
from bakeoff.provision.files import allocated_bytes
from bakeoff.provision.instance import InstanceFolder
from bakeoff.systems.base import Capabilities, System
from bakeoff.systems.mariadb_log import adjusted_settings
from bakeoff.systems.mariadb_program import find_program
from bakeoff.systems.mariadb_server import MariaDbServer, ServerSpec
from bakeoff.systems.mysql import MySql
from bakeoff.systems.mysql_control import Control
from bakeoff.systems.mysql_server import (
    DURABILITY,
    MySqlOptions,
    MySqlServer,
    family_capabilities,
    read_cipher,
    read_family_options,
)
from bakeoff.systems.options import read_options
from bakeoff.systems.server_options import StartOptions, private_settings, refuse_impossible_tls

#: Set by us, because the instance could not be kept private or found again otherwise.
_OURS = {
    "basedir", "bind_address", "datadir", "init_file", "log_error", "pid_file", "port", "skip_grant_tables",
    "skip_networking", "skip_ssl", "socket", "ssl", "ssl_ca", "ssl_cert", "ssl_key", "tmpdir", "user",
}  # fmt: skip


class MariaDb(MySqlServer):
    """The kind, and its private server; `configure` gives an ExistingMariaDb where the plan has an address."""

    kind: ClassVar[str] = "mariadb"
    summary: ClassVar[str] = "MariaDB server: a private instance, or an existing one by `address`"
    private = True

    @classmethod
    def capabilities(cls) -> Capabilities:
        return family_capabilities(private=True)

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
        read = read_family_options(options, isolation, where)
        if read.private is None:
            return ExistingMariaDb(name, read, durability, isolation, timeout_s, base_dir)
        refuse_impossible_tls(read, where)
        settings = private_settings(read, durability, DURABILITY, _OURS, where)
        return cls(name, read, read.private, settings, isolation, workdir, base_dir)

    @classmethod
    def available(cls, options: dict[str, Any]) -> str | None:
        read = read_options(MySqlOptions, options, cls.kind)
        if read.address is not None:
            return None
        try:
            find_program(read.private.version if read.private else None)
        except BakeoffError as error:
            return f"{error.what} ({error.hint})" if error.hint else error.what
        return None

    def __init__(
        self,
        name: str,
        options: MySqlOptions,
        start: StartOptions,
        settings: dict[str, str],
        isolation: str | None,
        workdir: Path,
        base_dir: Path,
    ) -> None:
        super().__init__(name, options, isolation)
        self._start = start
        self._place = (base_dir / start.path).absolute() if start.path else None
        self._tls = bool(options.tls)
        self._settings = settings
        self._workdir = workdir
        self._server: MariaDbServer | None = None

    def _made(self) -> MariaDbServer:
        """The server, its folder made at the first call."""
        if self._server is None:
            program = find_program(self._start.version)
            spec = ServerSpec(program, self._settings, self._options.schema_, self._start.port, self._tls, self._place)
            self._server = MariaDbServer(spec, InstanceFolder(self._workdir), where=self._where)
        return self._server

    @property
    def server(self) -> MariaDbServer:
        """The instance, for timings and tests."""
        return self._made()

    @property
    def control(self) -> Control:
        return self._made().control

    def start(self) -> None:
        self._made().start()
        self._read_identity()

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()

    def alive(self) -> bool:
        return self._server is not None and self._server.alive()

    def declared(self) -> dict[str, str]:
        return dict(self._settings)

    def pids(self) -> list[int]:
        return self._server.pids() if self._server else []

    def engine_driver(self) -> tuple[dict[str, Any], dict[str, str]]:
        server = self._made()
        login = server.bench_login(self._start.connect)
        variable = "BAKEOFF_PASSWORD_" + re.sub(r"\W", "_", self.name).upper()
        driver = self._driver(login, {"env": variable})
        return driver, {variable: server.bench_password}

    def drain_debt(self, timeout_s: float) -> bool:
        """Writes back all dirty pages, by settings changed for that time and put back."""
        names = (
            "innodb_max_dirty_pages_pct_lwm",
            "innodb_max_dirty_pages_pct",
            "innodb_io_capacity_max",
            "innodb_io_capacity",
        )
        before = {name: self.control.value(f"SELECT @@GLOBAL.{name}") for name in names}
        try:
            for name, value in zip(names, (0, 0, 200_000, 100_000), strict=True):
                self.control.rows(f"SET GLOBAL {name} = {value}")
            return self._dirty_pages_gone(timeout_s)
        finally:
            if self.alive():
                for name in reversed(names):
                    self.control.rows(f"SET GLOBAL {name} = {before[name]}")

    def _dirty_pages_gone(self, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while self.alive():
            if self.debt().get("dirty_bytes", 1.0) == 0.0:
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return False

    def size_on_disk_bytes(self) -> int | None:
        folder = self._made().data / self._options.schema_
        return allocated_bytes(folder) if folder.is_dir() else None

    def snapshot(self, path: Path) -> None:
        self._made().snapshot(path)
        self._read_identity()

    def restore(self, path: Path) -> None:
        self._made().restore(path)
        self._read_identity()

    def data_paths(self) -> list[Path]:
        return self._made().data_folders()

    def make_cold(self) -> None:
        self._made().make_cold()
        self._read_identity()

    def log_tail(self, lines: int = 40) -> str:
        return self._server.log_tail(lines) if self._server else ""

    def _cipher(self) -> str:
        """Of the connections that the load makes: ours goes over the socket."""
        control = Control(self._made().bench_login(self._start.connect), where=self._where)
        try:
            return read_cipher(control)
        finally:
            control.close()

    def _own_facts(self) -> dict[str, str]:
        adjusted = adjusted_settings(self._made().log_tail(10_000))
        return {"transport": self._start.connect, **({"adjusted": "; ".join(adjusted)} if adjusted else {})}


class ExistingMariaDb(MySql):
    kind: ClassVar[str] = "mariadb"
    summary: ClassVar[str] = MariaDb.summary
