"""Managed servers as a system of a plan: one, or several that belong together. A kind derives from this and names its
family, where its programs come from, what makes and starts one of its servers by version, and its twin for an existing
server. One of several servers says more:

    def roles(self): ...                    # names and roles of its nodes; the first is written to
    def breaking(cls, start, settings): ... # settings with which they would not belong together
    def make_server(self, name, ...): ...   # one of them
    def make_node(self, name, ...): ...     # what it reports, in addition to its family's
    def access(self, name, ...): ...        # how its node is reached, and what we know of it ourselves
    def rejoin(self, node, ...): ...        # how one joins those that run
    def caught_up(self, timeout_s): ...     # whether all hold what the first has committed
    def copied_from(self, node): ...        # whose data a copy keeps for this one, where all hold the same
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from bakeoff.errors import BakeoffError, PlanError, ServerError
from bakeoff.model.levels import PACKAGER, STORAGE, TABLE_FORMAT
from bakeoff.provision.container import installation_for
from bakeoff.provision.files import forget_pages
from bakeoff.provision.installation import Installation, Sources
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.powerloss import Storage
from bakeoff.provision.server import ServerSpec
from bakeoff.systems.base import Capabilities, Configuration, System
from bakeoff.systems.options import address_of, read_own
from bakeoff.systems.server.control import Control
from bakeoff.systems.server.existing import ExistingServer
from bakeoff.systems.server.options import (
    PORT_MAX,
    ServerOptions,
    StartOptions,
    add_settings,
    managed_settings,
    normal,
    refuse_impossible_tls,
)
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.system import Access, Server, ServerNode


class StartedServer(Server):
    """`configure` gives an `existing` where the plan has an address."""

    #: What one of this kind and family is at an address; None: it cannot be given by that.
    existing: ClassVar[type[ExistingServer] | None] = None
    managed = True
    #: Where its programs come from.
    installed_from: ClassVar[Sources]
    #: What knows how its servers are made and started; a kind of several says it by `process_of`.
    process: ClassVar[type[DatabaseServer]]
    #: All that a load has written goes to all nodes, and that may take as long as the load.
    catch_up_timeout_s: ClassVar[float] = 1800.0
    #: Its servers have addresses of their own; else each has a port of its own, one after the other.
    one_port: ClassVar[bool] = False

    @classmethod
    def sources(cls) -> Sources:
        return cls.installed_from

    @classmethod
    def capabilities(cls) -> Capabilities:
        return replace(super().capabilities(), existing=cls.existing is not None)

    @classmethod
    def process_of(cls, version: str, where: str) -> type[DatabaseServer]:
        """Raises PlanError."""
        return cls.process

    @classmethod
    def configure(cls, asked: Configuration) -> System:
        if address_of(asked.options) is not None:
            assert cls.existing is not None, "capabilities say so"
            of_kind = {"kind": cls.kind, "family": cls.family}
            existing: type[ExistingServer] = type(cls.existing.__name__, (cls.existing,), of_kind)
            return existing.configure(asked)
        where, family = asked.where, cls.family
        read = family.read(asked.options, asked.isolation, where)
        assert read.start is not None, "a server without an address is a managed server"
        refuse_impossible_tls(read, where)
        settings = managed_settings(read, asked.durability, family.durability, family.ours, where)
        for setting, why in cls.breaking(read.start, settings).items():
            what = f"{setting} cannot be set here: {why}"
            raise PlanError(what, where=f"{where}.start.settings", hint=f"leave {setting} out")
        if wanted := family.table_format(read, where):
            settings = add_settings(settings, wanted.settings(settings), f"`{TABLE_FORMAT}`", where)
        made = cls(asked, read, read.start, settings)
        made._refuse_ports()
        return made

    @classmethod
    def available(cls, options: dict[str, Any]) -> str | None:
        read = read_own(cls.family.options, options, cls.kind)
        if read.address is not None:
            return None
        asked = cls.family.table_format(read, f"systems.{cls.kind}")
        start = read.start or StartOptions()
        cls.sources().refuse_unknown(start.source, f"systems.{cls.kind}.start.source")
        try:
            found = installation_for(cls.sources(), start.version, start.image, start.source)
        except BakeoffError as error:
            return f"{error.what} ({error.hint})" if error.hint else error.what
        if asked:
            asked.refuse_installation(found)
            asked.refuse_version(found.version)
        settings = {normal(name): value for name, value in start.settings.items()}
        if asked:
            settings = {**settings, **asked.settings(settings)}
        if settings and start.image is None:  # an image's server says it when it starts
            cls.refuse_settings(settings, found, f"systems.{cls.kind}")
        return None

    @classmethod
    def breaking(cls, start: StartOptions, settings: Mapping[str, str]) -> Mapping[str, str]:
        """Of a plan's settings those with which several servers would not be one system: why, by their names."""
        return {}

    @classmethod
    def refuse_settings(cls, settings: Mapping[str, str], installation: Installation, where: str) -> None:
        """Those of a plan that this version does not know, where that is known before it starts. Raises PlanError."""

    def __init__(
        self, asked: Configuration, options: ServerOptions, start: StartOptions, settings: dict[str, str]
    ) -> None:
        super().__init__(asked, options)
        self._start = start
        self._place = (asked.base_dir / start.path).absolute() if start.path else None
        self._storage = Storage(**start.storage.model_dump()) if start.storage else None
        self._settings = settings
        self._workdir = asked.workdir
        self._servers: dict[str, DatabaseServer] = {}
        self._nodes: list[ServerNode] = []

    def _refuse_ports(self) -> None:
        if self._start.port is None or self.one_port:
            return
        first, servers = self._start.port, len(self.roles())
        if (last := first + servers - 1) <= PORT_MAX:
            return
        raise PlanError(
            f"{servers} servers from port {first} on would need port {last}, and ports end at {PORT_MAX}",
            where=f"{self._where}.start.port",
            hint=f"write port = {PORT_MAX - servers + 1} or less, or leave out `port`: bakeoff finds free ones",
        )

    # -- its servers ------------------------------------------------------------------------------------------------

    def roles(self) -> Mapping[str, str]:
        return {"server": "primary"}

    def make_server(self, name: str, spec: ServerSpec, folder: InstanceFolder) -> DatabaseServer:
        return self.process_of(spec.installation.version, self._where)(spec, folder, where=self._where)

    def make_node(self, name: str, address: str, access: Access) -> ServerNode:
        return self.family.node(name, self.roles()[name], address, access)

    def servers(self) -> dict[str, DatabaseServer]:
        """Their folders are made at the first call. With a port of the plan they have that and the next ones."""
        if not self._servers:
            found = installation_for(self.sources(), self._start.version, self._start.image, self._start.source)
            tls = self._options.asked_tls is not None
            spec = ServerSpec(
                found, self._settings, self._options.tables_in, tls=tls, place=self._place, storage=self._storage
            )
            whole = InstanceFolder(self._workdir)
            ports = {name: self._start.port and self._start.port + place for place, name in enumerate(self.roles())}
            self._servers = {
                name: self.make_server(name, replace(spec, port=port), whole.part(name)) for name, port in ports.items()
            }
        return self._servers

    @property
    def server(self) -> DatabaseServer:
        """The first, which is written to."""
        return next(iter(self.servers().values()))

    @property
    def control(self) -> Control:
        return self.server.control

    # -- life -------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        try:
            self._start_those_that_do_not_run()
            self.family.refuse_session(self.server.bench_login(self._start.connect), self._options, self._where)
            self.refuse_format()
        except BaseException:  # nothing half started stays
            self.stop()
            raise

    def _start_those_that_do_not_run(self, *, cold: bool = False) -> None:
        for name, server in self.servers().items():
            if server.alive() and not server.answers():
                server.stop()
            if not server.alive():
                self.rejoin(name, *(server.cold_options if cold else ()))

    def rejoin(self, node: str, *options: str) -> str:
        self.servers()[node].start(*options)
        return ""

    def stop(self) -> None:
        """The last first; all, even if one cannot be stopped."""
        with ExitStack() as stopping:
            for server in self._servers.values():
                stopping.callback(server.stop)

    def alive(self) -> bool:
        return any(server.alive() for server in self._servers.values())

    def declared(self) -> dict[str, str]:
        return dict(self._settings)

    def nodes(self) -> list[ServerNode]:
        """A server may have another port after another start."""
        addresses = {name: str(server.bench_address(self._start.connect)) for name, server in self._servers.items()}
        if {node.name: node.address for node in self._nodes} != addresses:
            self._nodes = [
                self.make_node(name, address, self.access(name, self._servers[name]))
                for name, address in addresses.items()
            ]
        return self._nodes

    def access(self, name: str, server: DatabaseServer) -> Access:
        own, asked = partial(self._own_facts, server), lambda: server.spec.settings
        return Access(lambda: server.control, server.pids, own, asked, managed=True)

    def engine_driver(self) -> tuple[dict[str, Any], dict[str, str]]:
        login = self.server.bench_login(self._start.connect)
        variable = "BAKEOFF_PASSWORD_" + re.sub(r"\W", "_", self.name).upper()
        return self._driver(login, {"env": variable}), {variable: self.server.bench_password}

    # -- data -------------------------------------------------------------------------------------------------------

    def drain_debt(self, timeout_s: float) -> bool:
        """Of the servers that live."""
        deadline = time.monotonic() + timeout_s
        drained = [self.caught_up(timeout_s)]
        for server in self.servers().values():
            if server.alive():
                drained.append(server.drain_debt(max(0.0, deadline - time.monotonic())))
        return all(drained)

    def size_on_disk_bytes(self) -> int | None:
        return self._sum(lambda server: server.size_on_disk_bytes())

    def file_size_bytes(self) -> int | None:
        return self._sum(lambda server: server.file_size_bytes())

    def _sum(self, measure: Callable[[DatabaseServer], int | None]) -> int | None:
        sizes = [measure(server) if server.alive() else None for server in self.servers().values()]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None

    def snapshot(self, path: Path) -> None:
        """A folder in it for each server whose data any begins with."""
        if not self.caught_up(self.catch_up_timeout_s):
            raise ServerError(
                f"not all nodes had the loaded data within {self.catch_up_timeout_s:.0f} s", where=self._where
            )
        copied = {name: self.servers()[name] for name in map(self.copied_from, self.servers())}
        self.settle(copied.values())
        self._end()
        for name, server in copied.items():
            server.save_data(path / name)
        self.start()

    def copied_from(self, node: str) -> str:
        """The node whose data this one begins with after a restore."""
        return node

    def settle(self, copied: Iterable[DatabaseServer]) -> None:
        """What makes the next clean end leave whole and settled data behind, of which copies will be made."""
        for server in copied:
            server.before_snapshot()

    def restore(self, path: Path) -> None:
        for name, server in self.servers().items():
            server.load_data(path / self.copied_from(name))
        self.start()

    def data_paths(self) -> list[Path]:
        return [folder for server in self.servers().values() for folder in server.data_folders()]

    def make_cold(self) -> None:
        """A clean restart, between whose halves the kernel forgets the data."""
        folders = self.data_paths()
        self._end()
        forget_pages(folders)
        self._start_those_that_do_not_run(cold=True)

    def _end(self) -> None:
        for server in reversed(self.servers().values()):
            server.end()

    # -- what it says -----------------------------------------------------------------------------------------------

    def log_tail(self, lines: int = 40) -> str:
        """Of several servers each, by the names of their nodes."""
        tails = {name: server.log_tail(lines) for name, server in self._servers.items()}
        return (
            "\n\n".join(f"==> {name} <==\n{tail}" for name, tail in tails.items())
            if len(tails) > 1
            else "".join(tails.values())
        )

    def _own_facts(self, server: DatabaseServer) -> dict[str, str]:
        adjusted = server.adjusted()
        return {
            **self._asked_isolation(),
            "tls": self._cipher(server) or "off",
            "transport": self._start.connect,
            "installation": server.spec.installation.described,
            PACKAGER: server.spec.installation.packager,
            **self.table_facts(server.control),
            **({"adjusted": "; ".join(adjusted)} if adjusted else {}),
            **({STORAGE: self._storage.words} if self._storage else {}),
        }

    def _cipher(self, server: DatabaseServer) -> str:
        """Of the connections that the load makes: ours goes over the socket."""
        login = server.bench_login(self._start.connect)
        control = self.family.control(login, self._options, self._where, 5.0)
        try:
            return self._nodes[0].cipher(control)
        finally:
            control.close()
