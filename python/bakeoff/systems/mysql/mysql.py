"""MySQL and Percona Server: a managed throwaway server by version, or an existing one at an address.

[systems.mysql]
start = { version = "9.7" }             # or "5.5"

[systems.ours]
kind = "mysql"
address = "db1:3306"
user = "bench"
password = { env = "DB_PASSWORD" }
"""

from __future__ import annotations

import io
import re
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from bakeoff.errors import PlanError
from bakeoff.provision.debian import Debian, PackageSet
from bakeoff.provision.files import write_private
from bakeoff.provision.installation import Installation, Named, OnPath, Size, Sources, version_key
from bakeoff.provision.maven import Artifact, Maven
from bakeoff.systems.mysql.family import FAMILY, LOCK_LIMIT, MYSQL_STORAGE
from bakeoff.systems.mysql.process import MySqlProcess, refuse_unknown
from bakeoff.systems.server.existing import ExistingServer
from bakeoff.systems.server.process import BENCH_USER, DatabaseServer
from bakeoff.systems.server.started import StartedServer

_PACKAGES = PackageSet(("mysql-server-core", "mysql-client-core"), "usr/sbin/mysqld")
_JAR = Artifact(
    "mysql",
    "mysql-connector-mxj-db-files",
    "5.0.12",
    "02525626a05bbbf8018662e77b17335c90f290c885a6b87a556ff1671fe76f97",
    Size(134, 51),
)
#: Its ready-made system tables, which replace an initialisation.
TABLES = "data"


def version_of(said: str) -> str | None:
    """From what `--version` prints; None: it is not MySQL's or Percona's."""
    found = re.search(r"Ver (\d+\.\d+\.\d+)", said)
    return found[1] if found and "MariaDB" not in said else None


def unpack(jar: Path, root: Path) -> None:
    """The server as bin/mysqld, with share/ and the system tables next to it."""
    with zipfile.ZipFile(jar) as files:
        program = root / "bin" / "mysqld"
        program.parent.mkdir()
        with files.open("5-5-9/Linux-x86_64/mysqld") as source, program.open("wb") as target:
            shutil.copyfileobj(source, target)
        program.chmod(0o755)
        for name, folder in (("share_dir", "."), ("data_dir", TABLES)):
            with zipfile.ZipFile(io.BytesIO(files.read(f"5-5-9/{name}.jar"))) as inner:
                inner.extractall(root / folder, [one for one in inner.namelist() if not one.startswith("META-INF")])


SOURCES = Sources(
    "mysql",
    "MySQL server",
    (
        OnPath("mysqld", version_of, ("/usr/local/mysql/bin",), flags="--no-defaults"),
        Debian("mysql", _PACKAGES, suite="sid", size=Size(60, 402)),
        Maven("mysql", {"5.5.9": _JAR}, unpack, "bin/mysqld"),
    ),
    Named(("mysqld",), version_of, ("--no-defaults",)),
)


class MySql8Process(MySqlProcess):
    """From 8.0.30 on. All versions are given what MariaDB's are (MariaDbProcess), and no binary log."""

    product = "MySQL"
    redo: ClassVar[str] = "#innodb_redo"
    without_tls: ClassVar[dict[str, str]] = {"tls_version": "", "auto_generate_certs": "OFF"}
    defaults: ClassVar[dict[str, str]] = {
        **MySqlProcess.defaults,
        "innodb_redo_log_capacity": "96M",
        "innodb_buffer_pool_dump_at_shutdown": "OFF",
        "innodb_buffer_pool_load_at_startup": "OFF",
        "innodb_flush_method": "O_DIRECT",
        "disable_log_bin": "ON",
        "mysqlx": "OFF",
        "secure_file_priv": "NULL",  # the folder it was built with need not be here, and then it does not start
    }

    def make_data(self) -> None:
        # Nothing here needs to survive a power cut.
        options = (f"--defaults-file={self.config}", "--initialize-insecure", "--innodb-flush-method=nosync")
        done = self.run([self.spec.installation.program, *options])
        if done.returncode or not self.has_data(self.data):
            raise self.init_failed(done)

    def server_key_file(self) -> Path:
        rows = self.control.rows("SHOW GLOBAL STATUS LIKE 'Caching_sha2_password_rsa_public_key'")
        path = self.folder.path / "server_key.pem"
        write_private(path, str(rows[0][1]), mode=0o644)
        return path

    def accounts(self) -> list[str]:
        return [
            f"ALTER USER 'root'@'localhost' IDENTIFIED BY '{self.root_password}';",
            f"DROP USER IF EXISTS '{BENCH_USER}'@'127.0.0.1', '{BENCH_USER}'@'localhost';",
            *self.bench_accounts(),
        ]


class MySql5Process(MySqlProcess):
    """5.5. Its system tables come ready-made with it."""

    product = "MySQL"
    cold_options: ClassVar[tuple[str, ...]] = ()  # it remembers nothing
    defaults: ClassVar[dict[str, str]] = {
        **MySqlProcess.defaults,
        "innodb_log_file_size": "48M",  # two of them
        "innodb_flush_method": "O_DIRECT",
        "innodb_file_per_table": "ON",
        "innodb_file_format": "Barracuda",  # the other knows no compression
        "innodb_strict_mode": "ON",  # else a table that cannot be as it was asked for is another
        "sql_mode": "STRICT_TRANS_TABLES",  # what cannot be stored is an error, as with later versions
        "max_allowed_packet": "16M",
    }

    def make_data(self) -> None:
        done = self.run(["cp", "-r", f"{self.spec.installation.base / TABLES}/.", self.data])
        if done.returncode:
            raise self.init_failed(done)

    def accounts(self) -> list[str]:
        return [
            "DELETE FROM mysql.user WHERE NOT (Host = 'localhost' AND User = 'root');",
            "DELETE FROM mysql.db;",
            # Not SET PASSWORD, which left root without one here (5.5.9, 2026-11).
            f"UPDATE mysql.user SET Password = PASSWORD('{self.root_password}');",
            "FLUSH PRIVILEGES;",
            *self.bench_accounts(),
        ]

    def spelled(self, value: str) -> str:
        """ON and OFF are words of later versions."""
        return {"ON": "1", "OFF": "0"}.get(value.upper(), value)

    def tls_settings(self) -> dict[str, str]:
        if self.spec.tls:
            raise PlanError("MySQL 5.5 has no TLS version that today's clients support", where=f"{self.where}.tls")
        return {}


class MySql(StartedServer):
    kind: ClassVar[str] = "mysql"
    family = FAMILY
    group: ClassVar[str] = "SQL servers"
    summary: ClassVar[str] = "MySQL: managed, by version, or existing by `address` (also Percona Server)"
    storage = MYSQL_STORAGE
    has_table_formats = True
    lock_limit: ClassVar[tuple[str, ...]] = LOCK_LIMIT
    setting_example: ClassVar[str] = 'innodb_buffer_pool_size = "1G"'
    installed_from = SOURCES
    existing = ExistingServer

    @classmethod
    def refuse_settings(cls, settings: Mapping[str, str], installation: Installation, where: str) -> None:
        refuse_unknown(settings, installation, "MySQL", where)

    @classmethod
    def process_of(cls, version: str, where: str) -> type[DatabaseServer]:
        key = version_key(version)
        if key >= (8, 0, 30):
            return MySql8Process
        if key[:2] == (5, 5):
            return MySql5Process
        raise PlanError(
            f"bakeoff cannot start a managed MySQL {version}",
            where=where,
            hint="it supports 5.5, and 8.0.30 and later; measure another version by its `address`",
        )
