"""A private server of the MySQL family as a system of a plan: what all kinds of the family share.

A kind derives from this and names its sources, its private server by version, and its twin for an existing server.
"""

from __future__ import annotations

import re
import time
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from bakeoff.errors import BakeoffError
from bakeoff.provision.container import installation_for
from bakeoff.provision.files import allocated_bytes
from bakeoff.provision.installation import Installation, Sources
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.server import ServerSpec
from bakeoff.systems.base import Node, System
from bakeoff.systems.mysql.control import Control
from bakeoff.systems.mysql.existing import ExistingMySql
from bakeoff.systems.mysql.log import adjusted_settings
from bakeoff.systems.mysql.process import MySqlProcess
from bakeoff.systems.mysql.server import (
    DURABILITY,
    MySqlOptions,
    MySqlServer,
    read_cipher,
    read_family_options,
)
from bakeoff.systems.options import read_own
from bakeoff.systems.server.options import StartOptions, private_settings, refuse_impossible_tls

#: Set by us, because the instance could not be kept private or found again otherwise.
_OURS = {
    "basedir", "bind_address", "datadir", "init_file", "log_error", "pid_file", "port", "skip_grant_tables",
    "skip_networking", "skip_ssl", "socket", "ssl", "ssl_ca", "ssl_cert", "ssl_key", "tmpdir", "user",
}  # fmt: skip

#: In the order that servers take them; not every version has all.
_DRAINING = {
    "innodb_max_dirty_pages_pct_lwm": 0,
    "innodb_max_dirty_pages_pct": 0,
    "innodb_io_capacity_max": 200_000,
    "innodb_io_capacity": 100_000,
}


class StartedMySql(MySqlServer):
    """`configure` gives an `existing` where the plan has an address."""

    existing: ClassVar[type[ExistingMySql]]
    private = True

    @classmethod
    @abstractmethod
    def sources(cls) -> Sources: ...

    @classmethod
    @abstractmethod
    def process_of(cls, installation: Installation, where: str) -> type[MySqlProcess]:
        """What knows how servers of its version are made and started. Raises PlanError."""

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
            levels: dict[str, Any] = {"durability": durability, "isolation": isolation}
            return cls.existing.configure(
                name, options, **levels, workdir=workdir, timeout_s=timeout_s, base_dir=base_dir
            )
        refuse_impossible_tls(read, where)
        settings = private_settings(read, durability, DURABILITY, _OURS, where)
        return cls(name, read, read.private, settings, isolation, workdir, base_dir)

    @classmethod
    def available(cls, options: dict[str, Any]) -> str | None:
        read = read_own(MySqlOptions, options, cls.kind)
        if read.address is not None:
            return None
        try:
            start = read.private or StartOptions()
            installation_for(cls.sources(), start.version, start.image)
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
        self._tls = options.driver["tls"] is not None
        self._settings = settings
        self._workdir = workdir
        self._server: MySqlProcess | None = None

    def _made(self) -> MySqlProcess:
        """The server, its folder made at the first call."""
        if self._server is None:
            found = installation_for(self.sources(), self._start.version, self._start.image)
            spec = ServerSpec(found, self._settings, self._options.schema_, self._start.port, self._tls, self._place)
            self._server = self.process_of(found, self._where)(spec, InstanceFolder(self._workdir), where=self._where)
        return self._server

    @property
    def server(self) -> MySqlProcess:
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

    def nodes(self) -> list[Node]:
        if self._server is None:
            return []
        address = self._server.bench_address(self._start.connect)
        return [Node("server", "primary", str(address), tuple(self._server.pids()))]

    def engine_driver(self) -> tuple[dict[str, Any], dict[str, str]]:
        server = self._made()
        login = server.bench_login(self._start.connect)
        self._server_key_file = server.server_key_file()
        variable = "BAKEOFF_PASSWORD_" + re.sub(r"\W", "_", self.name).upper()
        driver = self._driver(login, {"env": variable})
        return driver, {variable: server.bench_password}

    def drain_debt(self, timeout_s: float) -> bool:
        """Writes back all dirty pages, by settings changed for that time and put back."""
        before = self._made().variables(tuple(_DRAINING))
        try:
            for name in before:
                self.control.rows(f"SET GLOBAL {name} = {_DRAINING[name]}")
            return self._dirty_pages_gone(timeout_s)
        finally:
            if self.alive():
                for name, value in reversed(before.items()):
                    self.control.rows(f"SET GLOBAL {name} = {value}")

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
        """The server would read back what it had in its pool before, so it is told not to."""
        self._made().make_cold(*self._made().forgetful)
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
        installation = self._made().spec.installation.described
        return {
            "transport": self._start.connect,
            "installation": installation,
            **({"adjusted": "; ".join(adjusted)} if adjusted else {}),
        }
