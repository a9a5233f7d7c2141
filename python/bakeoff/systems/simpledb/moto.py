"""moto's emulator of SimpleDB, managed. It has five of the service's calls, and no figure of it says anything about the
service.

[systems.moto-simpledb]
start = {}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from bakeoff.errors import BakeoffError, ServerError
from bakeoff.model.durability import Survival
from bakeoff.provision.installation import Sources
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.pip import Pip, PipInstallation, lacks_python
from bakeoff.provision.server import ServerSpec, failed_start
from bakeoff.systems.aws_credentials import Credentials
from bakeoff.systems.aws_service import AwsEmulator, AwsOptions
from bakeoff.systems.base import Facts
from bakeoff.systems.server.control import Login
from bakeoff.systems.server.options import StartOptions
from bakeoff.systems.server.process import BENCH_USER, DatabaseServer
from bakeoff.systems.server.system import Access
from bakeoff.systems.simpledb.control import SimpledbControl
from bakeoff.systems.simpledb.system import SimpledbFamily, SimpledbNode

PRODUCT = "moto"


def _refuse_without_python() -> None:
    if lacking := lacks_python():
        raise ServerError(lacking, hint="Debian: apt install python3")


SOURCES = Sources(
    "moto-simpledb",
    PRODUCT,
    (Pip(PRODUCT, Path(__file__).parent / "pip", "moto/server.py", {"5.2.5": (31, 114)}),),
    requires=_refuse_without_python,
)
#: Its web server would write a line for each request.
_PROGRAM = "import logging; logging.getLogger('werkzeug').setLevel('ERROR'); from moto.server import main; main()"


class MotoStart(StartOptions):
    connect: Literal["tcp"] = "tcp"


class MotoOptions(AwsOptions):
    start: MotoStart | None = None
    user: str = BENCH_USER


class MotoProcess(DatabaseServer):
    """It does not look at signatures: any account of this machine may connect while it runs."""

    product = PRODUCT
    #: It imports much, on a machine that may be busy otherwise.
    start_timeout_s = 120.0
    region: str = "us-east-1"

    def make_control(self, timeout_s: float = 5.0) -> SimpledbControl:
        login = self.bench_login("tcp")
        keys = Credentials(login.user, login.password)
        return SimpledbControl(login, keys, self.region, where=self.where, timeout_s=timeout_s)

    def answers(self) -> bool:
        return self.control.answers()

    def has_data(self, folder: Path) -> bool:
        return folder.is_dir()

    def make_data(self) -> None:
        """It keeps nothing."""

    def write_config(self) -> None:
        """It has none."""

    def command(self, options: Sequence[str]) -> list[str | Path]:
        installation = self.spec.installation
        assert isinstance(installation, PipInstallation)
        return [*installation.module(_PROGRAM), "-H", self.host, "-p", str(self.port), *options]

    def size_on_disk_bytes(self) -> int | None:
        return None

    def explain(self, log: str, how_it_ended: str) -> BakeoffError:
        errors = (line.strip() for line in log.splitlines() if "Error" in line)
        return failed_start(log, how_it_ended, where=self.where, port=self.port, errors=errors)


class MotoNode(SimpledbNode):
    version = ""

    def read_facts(self) -> Facts:
        self.control.rows(self.control.probe)
        settings = {"storage": "memory", "region": str(self.options["region"])}
        return Facts(PRODUCT, self.version, settings, Survival("everything", "everything").facts())


class MotoFamily(SimpledbFamily):
    driver = "moto-simpledb"
    options = MotoOptions
    node = MotoNode
    durability: ClassVar[Mapping[str, Mapping[str, str]]] = {"none": {}}

    def refuse_session(self, login: Login, options: AwsOptions, where: str) -> None:
        """Its driver does without Select."""


class MotoSimpleDb(AwsEmulator):
    kind: ClassVar[str] = "moto-simpledb"
    peer_of: ClassVar[str] = "SimpleDB"
    summary: ClassVar[str] = f"{PRODUCT}: managed; an emulator of five calls, whose figures say nothing of SimpleDB"
    product: ClassVar[str] = PRODUCT
    family = MotoFamily()
    installed_from = SOURCES
    process = MotoProcess
    _start: MotoStart

    def make_server(self, name: str, spec: ServerSpec, folder: InstanceFolder) -> DatabaseServer:
        made = MotoProcess(spec, folder, where=self._where)
        made.region = self._options.region
        return made

    def make_node(self, name: str, address: str, access: Access) -> MotoNode:
        made = MotoNode(name, self.roles()[name], address, access)
        made.version = self.servers()[name].spec.installation.version
        made.options = self._options.driver
        return made
