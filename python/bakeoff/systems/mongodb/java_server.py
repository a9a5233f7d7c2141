"""mongo-java-server: a re-implementation of MongoDB's protocol in Java, managed. It is not MongoDB.

[systems.mongo-java-server]
start = { backend = "h2", heap_mib = 1024 }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from bakeoff.errors import BakeoffError, PlanError, ServerError
from bakeoff.model.durability import Survival
from bakeoff.provision.files import write_private
from bakeoff.provision.installation import Sources
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.java import JavaInstallation, JavaNeed
from bakeoff.provision.maven import MavenClosure
from bakeoff.provision.server import ServerSpec, failed_start
from bakeoff.systems.base import Capabilities, Configuration, Facts, System
from bakeoff.systems.mongodb.control import ADMIN, Control
from bakeoff.systems.mongodb.node import MongoNode
from bakeoff.systems.mongodb.system import MongoFamily, MongoOptions, MongoServer
from bakeoff.systems.server.control import Login
from bakeoff.systems.server.options import StartOptions
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.started import StartedServer
from bakeoff.systems.server.system import Access

PRODUCT = "mongo-java-server"
#: Its programs listen on a port that nobody can choose, so the one that does is compiled when it starts.
JAVA = JavaNeed(PRODUCT, (17, 21, 25), compiles=True)
SOURCES = Sources(
    PRODUCT,
    PRODUCT,
    (MavenClosure(PRODUCT, Path(__file__).parent / "jars", JAVA, {"1.47.0": 6}),),
    requires=JAVA.find,
)
_LAUNCHER = """import de.bwaldvogel.mongo.MongoBackend;
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.h2.H2Backend;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.net.InetSocketAddress;

class Launcher {
    public static void main(String[] words) {
        MongoBackend backend = words.length > 2 ? new H2Backend(words[2]) : new MemoryBackend();
        MongoServer server = new MongoServer(backend);
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
        server.bind(new InetSocketAddress(words[0], Integer.parseInt(words[1])));
    }
}
"""


class MongoJavaStart(StartOptions):
    backend: Literal["memory", "h2"] = "memory"
    #: Of its Java.
    heap_mib: int = Field(default=512, ge=64, le=1 << 20)
    connect: Literal["tcp"] = "tcp"


class MongoJavaOptions(MongoOptions):
    start: MongoJavaStart | None = None

    @model_validator(mode="after")
    def _nobody_logs_in(self) -> MongoJavaOptions:
        if self.user or self.password:
            raise ValueError(f"{PRODUCT} has no accounts: leave out `user` and `password`")
        return self


class MongoJavaProcess(DatabaseServer):
    """It asks nobody who they are: any account of this machine may connect while it runs."""

    product = PRODUCT
    backend: str = "memory"
    heap_mib: int = 512

    def make_control(self, timeout_s: float = 5.0) -> Control:
        return Control(self.bench_login("tcp"), self.spec.schema, ADMIN, where=self.where, timeout_s=timeout_s)

    def bench_login(self, connect: str) -> Login:
        return Login(self.bench_address(connect), "", "")

    def answers(self) -> bool:
        return self.control.answers()

    def has_data(self, folder: Path) -> bool:
        return folder.is_dir()

    def make_data(self) -> None:
        """It begins with an empty folder."""

    def write_config(self) -> None:
        write_private(self._launcher, _LAUNCHER, mode=0o644)

    @property
    def _launcher(self) -> Path:
        return self.folder.path / "Launcher.java"

    def command(self, options: Sequence[str]) -> list[str | Path]:
        installation = self.spec.installation
        assert isinstance(installation, JavaInstallation)
        temporary = self.folder.path / "tmp"
        return [
            installation.program,
            f"-Xms{self.heap_mib}m",
            f"-Xmx{self.heap_mib}m",
            "-XX:+ExitOnOutOfMemoryError",
            "-XX:+PerfDisableSharedMem",  # no file in /tmp that a killed one would leave
            f"-Djava.io.tmpdir={temporary}",
            "-cp",
            f"{installation.jars}/*",
            self._launcher,
            self.host,
            str(self.port),
            *([self.data / "data.h2"] if self.backend == "h2" else []),
            *options,
        ]

    def size_on_disk_bytes(self) -> int | None:
        return super().size_on_disk_bytes() if self.backend == "h2" else None

    def explain(self, log: str, how_it_ended: str) -> BakeoffError:
        return failed_start(log, how_it_ended, where=self.where, port=self.port, lower="`heap_mib`")


class MongoJavaNode(MongoNode):
    #: Of the program; what the server says is which MongoDB it is like.
    version = ""

    def read_facts(self) -> Facts:
        likened = str(self._mongo.ask({"buildInfo": 1}, ADMIN)["version"])
        lost = Survival("everything", "everything") if self.options["backend"] == "memory" else _H2
        settings = {"backend": str(self.options["backend"]), "speaks as MongoDB": likened}
        own = {"memory_bytes": str(int(self.options["heap_mib"]) << 20), "isolation": "each document by itself"}
        return Facts(PRODUCT, self.version, settings, {**lost.facts(), **own})


#: Its store writes in the background; nobody says that the file is whole when it does not end by itself.
_H2 = Survival("commits of the last seconds", "commits of the last seconds")


class MongoJavaFamily(MongoFamily):
    options = MongoJavaOptions
    node = MongoJavaNode
    durability: ClassVar[Mapping[str, Mapping[str, str]]] = {"none": {}}


class MongoJavaServer(MongoServer, StartedServer):
    kind: ClassVar[str] = PRODUCT
    summary: ClassVar[str] = (
        f"{PRODUCT}: managed; a peer of MongoDB for trying plans, whose figures say nothing of MongoDB"
    )
    peer_of: ClassVar[str] = "MongoDB"
    in_first_plan: ClassVar[bool] = False
    restart_s: ClassVar[float] = 2.0
    family = MongoJavaFamily()
    installed_from = SOURCES
    process = MongoJavaProcess
    _start: MongoJavaStart

    @classmethod
    def capabilities(cls) -> Capabilities:
        """What is in memory alone has no copy."""
        return replace(super().capabilities(), restore=False)

    @classmethod
    def configure(cls, asked: Configuration) -> System:
        made = super().configure(asked)
        assert isinstance(made, MongoJavaServer)
        made._refuse()
        return made

    def _refuse(self) -> None:
        driver = self._options.driver
        if self._start.settings:
            what = f"{PRODUCT} has no settings"
            raise PlanError(
                what, where=f"{self._where}.start.settings", hint="leave them out; it has `backend`, `heap_mib`"
            )
        for name in ("transactions", "tls"):
            if driver[name]:
                raise PlanError(f"{PRODUCT} has no {name}", where=f"{self._where}.{name}", hint=f"leave out `{name}`")

    def make_server(self, name: str, spec: ServerSpec, folder: InstanceFolder) -> DatabaseServer:
        made = MongoJavaProcess(spec, folder, where=self._where)
        made.backend, made.heap_mib = self._start.backend, self._start.heap_mib
        return made

    def make_node(self, name: str, address: str, access: Access) -> MongoJavaNode:
        made = MongoJavaNode(name, self.roles()[name], address, access)
        made.version = self.servers()[name].spec.installation.version
        made.options = {"backend": self._start.backend, "heap_mib": self._start.heap_mib}
        return made

    def make_cold(self) -> None:
        if self._start.backend == "memory":
            raise ServerError(
                f"{PRODUCT} has its data in memory alone, and a restart would lose them",
                where=self._where,
                hint='leave out cache = "cold", or write start = { backend = "h2" }',
            )
        super().make_cold()

    def _own_facts(self, server: DatabaseServer) -> dict[str, str]:
        return {**super()._own_facts(server), **self._asked()}
