"""Avatica's own server on HSQLDB, a managed throwaway: it exercises the protocol that LeanXcale's driver speaks.

[systems.avatica-hsqldb]
start = { settings = { "hsqldb.tx" = "mvlocks" } }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from bakeoff.errors import BakeoffError
from bakeoff.model.durability import NOTHING, Survival
from bakeoff.provision.files import write_private
from bakeoff.provision.installation import Sources
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.java import JavaInstallation, JavaNeed
from bakeoff.provision.maven import MavenClosure
from bakeoff.provision.server import Passwords, ServerSpec, failed_start
from bakeoff.systems.avatica.protocol import AvaticaControl
from bakeoff.systems.base import Facts, SizeOnDisk, TableSize
from bakeoff.systems.server.control import Control, Login
from bakeoff.systems.server.options import ServerOptions, StartOptions
from bakeoff.systems.server.process import BENCH_USER, DatabaseServer
from bakeoff.systems.server.started import StartedServer
from bakeoff.systems.server.system import Family, ServerNode, Status

_HERE = Path(__file__).parent
_HEAP = "1g"
_MAX_KEPT_LOG_MB = "1000"


#: What starts the server is source.
JAVA = JavaNeed("Avatica's server", (17,), compiles=True)
SOURCES = Sources(
    "avatica-hsqldb",
    "Avatica on HSQLDB",
    (MavenClosure("avatica-hsqldb", _HERE / "jars", JAVA, {"1.27.0": 17}),),
    requires=JAVA.find,
)


def survival(settings: Mapping[str, str]) -> Survival:
    """Sources: HSQLDB guide, "SET FILES WRITE DELAY" (the log is synchronised at each commit without a delay, and each
    500 ms with its default), "SET FILES LOG"; the log is written by its own thread, so SIGKILL loses it, too."""
    if settings.get("hsqldb.log_data", "true") == "false":
        return Survival("everything since the last clean stop", "everything since the last clean stop")
    if settings.get("hsqldb.write_delay", "true") == "false":
        return Survival(NOTHING, NOTHING)
    return Survival("commits of the last 0.5 s", "commits of the last 0.5 s")


class AvaticaStart(StartOptions):
    connect: Literal["tcp"] = "tcp"


class AvaticaOptions(ServerOptions):
    start: AvaticaStart | None = None
    user: str = BENCH_USER


class AvaticaNode(ServerNode):
    def read_facts(self) -> Facts:
        version = str(self.control.value("VALUES (DATABASE_VERSION())"))
        rows = self.control.rows("SELECT PROPERTY_NAME, PROPERTY_VALUE FROM INFORMATION_SCHEMA.SYSTEM_PROPERTIES")
        settings = {str(name): str(value) for name, value in sorted(rows) if name != "hsqldb.temp_directory"}
        own = {"isolation": settings["hsqldb.tx_level"].lower().replace("_", "-"), "memory_bytes": str(1 << 30)}
        return Facts("Avatica on HSQLDB", version, settings, {**survival(settings).facts(), **own})

    def read_status(self) -> Status:
        """It counts nothing that it has done."""
        rows = self.control.rows(
            "SELECT COUNT(*), SUM(CASE WHEN TRANSACTION THEN 1 ELSE 0 END) FROM INFORMATION_SCHEMA.SYSTEM_SESSIONS"
        )
        sessions, open_transactions = rows[0]
        return Status({}, {"sessions": float(sessions), "open_transactions": float(open_transactions or 0)})

    def read_debt(self) -> dict[str, float]:
        """Rows are in memory, and all of the log is written within half a second."""
        return {}


class AvaticaProcess(DatabaseServer):
    product = "Avatica on HSQLDB"
    #: On a machine that is busy otherwise, too: it is compiled at each start.
    start_timeout_s = 300.0
    #: Differences from its own: rows have versions, its SQL has MySQL's INSERT IGNORE and ON DUPLICATE KEY, and its log
    #: is not rewritten in the middle of a run.
    defaults: ClassVar[dict[str, str]] = {
        "hsqldb.tx": "mvcc",
        "sql.syntax_mys": "true",
        "hsqldb.log_size": _MAX_KEPT_LOG_MB,
    }

    def make_control(self, timeout_s: float = 5.0) -> Control:
        return AvaticaControl(self.bench_login("tcp"), where=self.where, timeout_s=timeout_s)

    def answers(self) -> bool:
        return self.control.answers()

    def has_data(self, folder: Path) -> bool:
        return folder.is_dir()

    def make_data(self) -> None:
        """It begins with an empty folder."""

    def secret_files(self) -> dict[str, str]:
        return {"account": f"{BENCH_USER}\n{self.bench_password}\n"}

    def write_config(self) -> None:
        """The account that the server runs as may not read where we lie."""
        write_private(self._launcher, (_HERE / "Launcher.java").read_text(), mode=0o644)

    @property
    def _launcher(self) -> Path:
        return self.folder.path / "Launcher.java"

    @property
    def settings(self) -> dict[str, str]:
        words = {"ON": "true", "OFF": "false"}
        return {**self.defaults, **{name: words.get(value, value) for name, value in self.spec.settings.items()}}

    def command(self, options: Sequence[str]) -> list[str | Path]:
        installation = self.spec.installation
        assert isinstance(installation, JavaInstallation)
        said = "".join(f";{name}={value}" for name, value in self.settings.items())
        return [
            installation.program,
            f"-Xmx{_HEAP}",
            "-XX:+UseG1GC",
            "-XX:+ExitOnOutOfMemoryError",
            "-XX:+PerfDisableSharedMem",
            "-Djava.net.preferIPv4Stack=true",
            "-Duser.timezone=UTC",
            f"-Djava.io.tmpdir={self.folder.path / 'tmp'}",
            "-cp",
            f"{installation.jars}/*",
            self._launcher,
            self.host,
            str(self.port),
            f"jdbc:hsqldb:file:{self.data}/db{said}",
            self.folder.path / "account",
        ]

    def explain(self, log: str, how_it_ended: str) -> BakeoffError:
        errors = (line.strip() for line in log.splitlines() if "Exception" in line or line.startswith("ERROR"))
        return failed_start(log, how_it_ended, where=self.where, port=self.port, errors=errors)


class AvaticaFamily(Family[AvaticaOptions]):
    driver = "avatica"
    options = AvaticaOptions
    node = AvaticaNode
    durability: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "full": {"hsqldb.write_delay": "false"},
        "none": {"hsqldb.log_data": "false"},
    }
    run_time: ClassVar[frozenset[str]] = frozenset()
    ours = frozenset({"sql.syntax_mys", "readonly", "files_readonly", "shutdown", "hsqldb.lock_file"})

    def control(self, login: Login, options: AvaticaOptions, where: str, timeout_s: float) -> Control:
        return AvaticaControl(login, where=where, timeout_s=timeout_s)


#: Who may log in is in the data, which other servers of this process may begin with.
_PASSWORDS = Passwords()


class AvaticaHsqldb(StartedServer):
    kind: ClassVar[str] = "avatica-hsqldb"
    peer_of: ClassVar[str] = "LeanXcale"
    summary: ClassVar[str] = "Calcite Avatica's server on HSQLDB: managed; speaks LeanXcale's protocol, nothing more"
    in_first_plan: ClassVar[bool] = False
    restart_s: ClassVar[float] = 4.0
    storage: ClassVar[SizeOnDisk] = SizeOnDisk(usual=TableSize(ratio=2.2, row_bytes=60), own_bytes=1_000_000)
    setting_example: ClassVar[str] = '"hsqldb.tx" = "mvlocks"'
    family = AvaticaFamily()
    installed_from = SOURCES
    process = AvaticaProcess

    @classmethod
    def shaping_options(cls, options: dict[str, Any], durability: str | None) -> dict[str, Any]:
        """What a database was opened with is in its files."""
        return {**super().shaping_options(options, durability), "durability": durability}

    def make_server(self, name: str, spec: ServerSpec, folder: InstanceFolder) -> DatabaseServer:
        return super().make_server(name, replace(spec, passwords=_PASSWORDS), folder)
