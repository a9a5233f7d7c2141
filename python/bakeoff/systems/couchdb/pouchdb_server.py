"""pouchdb-server: a re-implementation of CouchDB's protocol in JavaScript, managed. It is not CouchDB.

[systems.pouchdb-server]
start = { backend = "leveldb" }
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from bakeoff.errors import BakeoffError, PlanError, ServerError
from bakeoff.model.durability import NOTHING, Survival
from bakeoff.provision.installation import Sources
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.npm import NodeInstallation, Npm, lacks_node
from bakeoff.provision.server import ServerSpec, failed_start
from bakeoff.systems.base import Capabilities, Configuration, Facts, System
from bakeoff.systems.couchdb.control import Control
from bakeoff.systems.couchdb.node import CouchNode, read_version
from bakeoff.systems.couchdb.system import CouchFamily, CouchOptions, CouchServer
from bakeoff.systems.server.options import StartOptions
from bakeoff.systems.server.process import BENCH_USER, DatabaseServer
from bakeoff.systems.server.started import StartedServer
from bakeoff.systems.server.system import Access, Status

PRODUCT = "pouchdb-server"


def _refuse_without_node() -> None:
    if lacking := lacks_node():
        raise ServerError(lacking, hint="Debian: apt install nodejs npm")


SOURCES = Sources(
    PRODUCT,
    PRODUCT,
    (Npm(PRODUCT, Path(__file__).parent / "npm", "bin/pouchdb-server", {"4.2.0": (15, 44)}),),
    requires=_refuse_without_node,
)
#: What a write survives, by backend. LevelDB is not told to sync, and the kernel has what it wrote.
#: Source: LevelDB documentation, "Synchronous Writes".
_SURVIVAL = {
    "memory": Survival("everything", "everything"),
    "leveldb": Survival(NOTHING, "commits that the kernel had not written"),
}


class PouchStart(StartOptions):
    backend: Literal["memory", "leveldb"] = "memory"
    connect: Literal["tcp"] = "tcp"


class PouchOptions(CouchOptions):
    start: PouchStart | None = None


class PouchProcess(DatabaseServer):
    """Who wants to make a database needs the account of the load; anybody of this machine may read while it runs."""

    product = PRODUCT
    backend: str = "memory"

    def make_control(self, timeout_s: float = 5.0) -> Control:
        return Control(self.bench_login("tcp"), where=self.where, timeout_s=timeout_s)

    def answers(self) -> bool:
        return self.control.answers()

    def has_data(self, folder: Path) -> bool:
        return folder.is_dir()

    def make_data(self) -> None:
        """It begins with an empty folder."""

    def write_config(self) -> None:
        """It has a password in it: see `secret_files`."""

    def secret_files(self) -> dict[str, str]:
        log = {"level": "none", "file": str(self.folder.path / "tmp" / "requests.log")}
        return {"config.json": json.dumps({"log": log, "admins": {BENCH_USER: self.bench_password}})}

    def command(self, options: Sequence[str]) -> list[str | Path]:
        installation = self.spec.installation
        assert isinstance(installation, NodeInstallation)
        return [
            installation.program,
            installation.script,
            *(["--in-memory"] if self.backend == "memory" else []),
            *("--host", self.host),
            *("--port", str(self.port)),
            *("--dir", self.data),
            *("--config", self.folder.path / "config.json"),
            "--no-stdout-logs",
            *options,
        ]

    def size_on_disk_bytes(self) -> int | None:
        return super().size_on_disk_bytes() if self.backend == "leveldb" else None

    def explain(self, log: str, how_it_ended: str) -> BakeoffError:
        return failed_start(log, how_it_ended, where=self.where, port=self.port)


class PouchNode(CouchNode):
    backend = "memory"

    def read_facts(self) -> Facts:
        portable = {**_SURVIVAL[self.backend].facts(), "isolation": "each document by itself"}
        return Facts(PRODUCT, read_version(self._couch), {"backend": self.backend}, portable)

    def read_status(self) -> Status:
        """It counts nothing."""
        return Status({}, {})


class PouchFamily(CouchFamily):
    options = PouchOptions
    node = PouchNode
    durability: ClassVar[Mapping[str, Mapping[str, str]]] = {"relaxed": {}, "none": {}}


class PouchDbServer(CouchServer, StartedServer):
    kind: ClassVar[str] = PRODUCT
    summary: ClassVar[str] = (
        f"{PRODUCT}: managed; a peer of CouchDB for trying plans, whose figures say nothing of CouchDB"
    )
    peer_of: ClassVar[str] = "CouchDB"
    in_first_plan: ClassVar[bool] = False
    restart_s: ClassVar[float] = 3.0
    #: It is one server, without copies.
    consistency: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    family = PouchFamily()
    installed_from = SOURCES
    process = PouchProcess
    _start: PouchStart

    @classmethod
    def capabilities(cls) -> Capabilities:
        """What is in memory alone has no copy."""
        return replace(super().capabilities(), restore=False)

    @classmethod
    def configure(cls, asked: Configuration) -> System:
        made = super().configure(asked)
        assert isinstance(made, PouchDbServer)
        made._refuse(asked.durability)
        return made

    def _refuse(self, durability: str | None) -> None:
        driver = self._options.driver
        if self._start.settings:
            what, hint = f"{PRODUCT} has no settings", "leave them out; it has `backend`"
            raise PlanError(what, where=f"{self._where}.start.settings", hint=hint)
        for name in ("tls", "shards", "copies", "read_quorum", "write_quorum"):
            if driver[name]:
                raise PlanError(f"{PRODUCT} has no {name}", where=f"{self._where}.{name}", hint=f"leave out `{name}`")
        level = _SURVIVAL[self._start.backend].level
        if durability not in (None, level):
            what = f'backend = "{self._start.backend}" has durability {level!r}, not {durability!r}'
            raise PlanError(what, where=f"{self._where}.start.backend", hint="change one of the two")

    def make_server(self, name: str, spec: ServerSpec, folder: InstanceFolder) -> DatabaseServer:
        made = PouchProcess(spec, folder, where=self._where)
        made.backend = self._start.backend
        return made

    def make_node(self, name: str, address: str, access: Access) -> PouchNode:
        made = PouchNode(name, self.roles()[name], address, access)
        made.backend = self._start.backend
        return made

    def make_cold(self) -> None:
        if self._start.backend == "memory":
            raise ServerError(
                f"{PRODUCT} has its data in memory alone, and a restart would lose them",
                where=self._where,
                hint='leave out cache = "cold", or write start = { backend = "leveldb" }',
            )
        super().make_cold()
