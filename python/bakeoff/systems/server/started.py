"""A private server as a system of a plan. A kind derives from this and names its family, where its programs come from,
what makes and starts one of its servers by version, and its twin for an existing server."""

from __future__ import annotations

import re
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from bakeoff.errors import BakeoffError
from bakeoff.provision.container import installation_for
from bakeoff.provision.installation import Installation, Sources
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.server import ServerSpec
from bakeoff.systems.base import System
from bakeoff.systems.options import read_own
from bakeoff.systems.server.control import Control
from bakeoff.systems.server.existing import ExistingServer
from bakeoff.systems.server.node import Access, ServerNode
from bakeoff.systems.server.options import (
    ServerOptions,
    StartOptions,
    private_settings,
    refuse_impossible_tls,
)
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.system import Server


class StartedServer(Server):
    """`configure` gives an `existing` where the plan has an address."""

    existing: ClassVar[type[ExistingServer]]
    private = True

    @classmethod
    @abstractmethod
    def sources(cls) -> Sources: ...

    @classmethod
    @abstractmethod
    def process_of(cls, installation: Installation, where: str) -> type[DatabaseServer]:
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
        if "address" in options:
            levels: dict[str, Any] = {"durability": durability, "isolation": isolation}
            return cls.existing.configure(
                name, options, **levels, workdir=workdir, timeout_s=timeout_s, base_dir=base_dir
            )
        where = f"systems.{name}"
        read = cls.family.read(options, isolation, where)
        assert read.start is not None, "a server without an address is started"
        refuse_impossible_tls(read, where)
        settings = private_settings(read, durability, cls.family.durability, cls.family.ours, where)
        return cls(name, read, read.start, settings, isolation, workdir, base_dir)

    @classmethod
    def available(cls, options: dict[str, Any]) -> str | None:
        read = read_own(cls.family.options, options, cls.kind)
        if read.address is not None:
            return None
        try:
            start = read.start or StartOptions()
            installation_for(cls.sources(), start.version, start.image)
        except BakeoffError as error:
            return f"{error.what} ({error.hint})" if error.hint else error.what
        return None

    def __init__(
        self,
        name: str,
        options: ServerOptions,
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
        self._server: DatabaseServer | None = None
        self._nodes: list[ServerNode] = []

    @property
    def server(self) -> DatabaseServer:
        """The instance, its folder made at the first call."""
        if self._server is None:
            found = installation_for(self.sources(), self._start.version, self._start.image)
            tls = self._options.driver["tls"] is not None
            spec = ServerSpec(found, self._settings, self._options.tables_in, self._start.port, tls, self._place)
            made = self.process_of(found, self._where)(spec, InstanceFolder(self._workdir), where=self._where)
            self._server = made
        return self._server

    @property
    def control(self) -> Control:
        return self.server.control

    def start(self) -> None:
        self.server.start()
        self.family.refuse_session(self.server.bench_login(self._start.connect), self._options, self._where)

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()

    def alive(self) -> bool:
        return self._server is not None and self._server.alive()

    def declared(self) -> dict[str, str]:
        return dict(self._settings)

    def nodes(self) -> list[ServerNode]:
        """A server may have another port after another start."""
        if self._server is None:
            return []
        address = str(self._server.bench_address(self._start.connect))
        if [node.address for node in self._nodes] != [address]:
            access = Access(lambda: self.control, self._server.pids, self._own_facts, private=True)
            self._nodes = [self.family.node("server", "primary", address, access)]
        return self._nodes

    def engine_driver(self) -> tuple[dict[str, Any], dict[str, str]]:
        login = self.server.bench_login(self._start.connect)
        variable = "BAKEOFF_PASSWORD_" + re.sub(r"\W", "_", self.name).upper()
        return self._driver(login, {"env": variable}), {variable: self.server.bench_password}

    def drain_debt(self, timeout_s: float) -> bool:
        return self.server.drain_debt(timeout_s)

    def size_on_disk_bytes(self) -> int | None:
        return self.server.size_on_disk_bytes()

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

    def _own_facts(self) -> dict[str, str]:
        server = self.server
        adjusted = server.adjusted()
        return {
            **self._asked_isolation(),
            "tls": self._cipher() or "off",
            "transport": self._start.connect,
            "installation": server.spec.installation.described,
            **({"adjusted": "; ".join(adjusted)} if adjusted else {}),
        }

    def _cipher(self) -> str:
        """Of the connections that the load makes: ours goes over the socket."""
        login = self.server.bench_login(self._start.connect)
        control = self.family.control(login, self._options, self._where, 5.0)
        try:
            return self._nodes[0].cipher(control)
        finally:
            control.close()
