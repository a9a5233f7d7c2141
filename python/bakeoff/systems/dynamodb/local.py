"""DynamoDB Local: Amazon's emulator of its service, managed. No figure of it says anything about the service.

[systems.dynamodb-local]
start = { heap_mib = 1024 }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from bakeoff.errors import BakeoffError
from bakeoff.model.durability import Survival
from bakeoff.provision.files import write_private
from bakeoff.provision.installation import Sources
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.java import JavaInstallation, JavaNeed
from bakeoff.provision.maven import MavenClosure
from bakeoff.provision.server import ServerSpec, failed_start
from bakeoff.systems.aws_credentials import Credentials
from bakeoff.systems.aws_service import AwsEmulator, AwsOptions
from bakeoff.systems.base import Facts
from bakeoff.systems.dynamodb.control import DynamoControl
from bakeoff.systems.dynamodb.system import DynamoFamily, DynamoNode
from bakeoff.systems.server.options import StartOptions
from bakeoff.systems.server.process import BENCH_USER, DatabaseServer
from bakeoff.systems.server.system import Access

PRODUCT = "DynamoDB Local"
_HERE = Path(__file__).parent


#: Its own program listens on all interfaces, so one that does not is compiled when it starts.
JAVA = JavaNeed(PRODUCT, (17, 21), compiles=True)
SOURCES = Sources(
    "dynamodb-local",
    PRODUCT,
    (MavenClosure("dynamodb-local", _HERE / "jars", JAVA, {"2.6.1": 47}),),
    requires=JAVA.find,
)


class DynamoLocalStart(StartOptions):
    #: Of its Java.
    heap_mib: int = Field(default=512, ge=64, le=1 << 20)
    connect: Literal["tcp"] = "tcp"


class DynamoLocalOptions(AwsOptions):
    start: DynamoLocalStart | None = None
    user: str = BENCH_USER


class DynamoLocalProcess(DatabaseServer):
    """It asks for a signature and does not check it: any account of this machine may connect while it runs."""

    product = PRODUCT
    #: On a machine that is busy otherwise, too: it is compiled at each start.
    start_timeout_s = 300.0
    heap_mib: int = 512
    region: str = "us-east-1"

    def make_control(self, timeout_s: float = 5.0) -> DynamoControl:
        login = self.bench_login("tcp")
        keys = Credentials(login.user, login.password)
        return DynamoControl(login, keys, self.region, where=self.where, timeout_s=timeout_s)

    def answers(self) -> bool:
        return self.control.answers()

    def has_data(self, folder: Path) -> bool:
        return folder.is_dir()

    def make_data(self) -> None:
        """It keeps nothing."""

    def write_config(self) -> None:
        """The account that the server runs as may not read where we lie."""
        write_private(self._launcher, (_HERE / "Launcher.java").read_text(), mode=0o644)

    @property
    def _launcher(self) -> Path:
        return self.folder.path / "Launcher.java"

    def command(self, options: Sequence[str]) -> list[str | Path]:
        installation = self.spec.installation
        assert isinstance(installation, JavaInstallation)
        return [
            installation.program,
            f"-Xms{self.heap_mib}m",
            f"-Xmx{self.heap_mib}m",
            "-XX:+ExitOnOutOfMemoryError",
            "-XX:+PerfDisableSharedMem",  # no file in /tmp that a killed one would leave
            f"-Djava.io.tmpdir={self.folder.path / 'tmp'}",
            "-cp",
            f"{installation.jars}/*",
            self._launcher,
            self.host,
            "-port",
            str(self.port),
            "-inMemory",
            "-sharedDb",
            "-disableTelemetry",
            *options,
        ]

    def size_on_disk_bytes(self) -> int | None:
        return None

    def explain(self, log: str, how_it_ended: str) -> BakeoffError:
        errors = (line.strip() for line in log.splitlines() if "Exception" in line or line.startswith("ERROR"))
        return failed_start(log, how_it_ended, where=self.where, port=self.port, errors=errors, lower="`heap_mib`")


class DynamoLocalNode(DynamoNode):
    version = ""
    heap_mib = 0

    def read_facts(self) -> Facts:
        self.control.rows(self.control.probe)
        lost = Survival("everything", "everything")
        settings = {"storage": "memory", "region": str(self.options["region"])}
        return Facts(PRODUCT, self.version, settings, {**lost.facts(), "memory_bytes": str(self.heap_mib << 20)})


class DynamoLocalFamily(DynamoFamily):
    options = DynamoLocalOptions
    node = DynamoLocalNode
    durability: ClassVar[Mapping[str, Mapping[str, str]]] = {"none": {}}


class DynamoDbLocal(AwsEmulator):
    kind: ClassVar[str] = "dynamodb-local"
    peer_of: ClassVar[str] = "DynamoDB"
    summary: ClassVar[str] = f"{PRODUCT}: managed; Amazon's emulator, whose figures say nothing of the service"
    product: ClassVar[str] = PRODUCT
    has: ClassVar[str] = "; it has `heap_mib`"
    family = DynamoLocalFamily()
    installed_from = SOURCES
    process = DynamoLocalProcess
    _start: DynamoLocalStart

    def make_server(self, name: str, spec: ServerSpec, folder: InstanceFolder) -> DatabaseServer:
        made = DynamoLocalProcess(spec, folder, where=self._where)
        made.heap_mib, made.region = self._start.heap_mib, self._options.driver["region"]
        return made

    def make_node(self, name: str, address: str, access: Access) -> DynamoLocalNode:
        made = DynamoLocalNode(name, self.roles()[name], address, access)
        made.version = self.servers()[name].spec.installation.version
        made.options, made.heap_mib = self._options.driver, self._start.heap_mib
        return made
