"""One private MariaDB: what it does otherwise than others of the family, and its versions otherwise than each other.

All are given the same memory, the same room for the redo log (96 MB), files per table and writes past the kernel's
cache; and what cannot be stored is an error in each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from bakeoff.errors import PlanError, ServerError
from bakeoff.provision.installation import version_key
from bakeoff.systems.mysql.process import MySqlProcess, own_files


class MariaDbProcess(MySqlProcess):
    """From 10.4 on."""

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
                f"mariadb-install-db is missing beside {installation.program}",
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
            raise PlanError(f"MariaDB {version} knows no TLS that a client of today speaks", where=f"{self.where}.tls")
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


def process_of(version: str, where: str) -> type[MySqlProcess]:
    """Raises PlanError."""
    key = version_key(version)
    if key >= (10, 4):
        return MariaDbProcess
    if key >= (10, 2):
        return MariaDb102Process
    if key >= (10, 1):
        return MariaDb101Process
    raise PlanError(
        f"bakeoff does not know how a private MariaDB {version} is made",
        where=where,
        hint="it knows 10.1 and later; another can be given by `address`",
    )
