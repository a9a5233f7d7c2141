"""MariaDB."""

from __future__ import annotations

from typing import ClassVar

from bakeoff.systems.mysql.control import Control
from bakeoff.systems.mysql.mariadb import SOURCES, MariaDb

from ..rows import Counting, Work
from ..server import LOOK_TIMEOUT_S, SCHEMA, Server


class MariaDbServer(Server):
    kind = "mariadb"
    product = "MariaDB"
    sources = SOURCES
    system_class = MariaDb
    settings: ClassVar = {"innodb_buffer_pool_size": "512M", "innodb_log_file_size": "512M", "max_connections": "4000"}
    durability = "relaxed"

    def __init__(self, system: MariaDb) -> None:
        super().__init__(system)
        self._looks = Control(system.server.bench_login("socket"), where="the suite's looks", timeout_s=LOOK_TIMEOUT_S)

    def close(self) -> None:
        self._looks.close()

    def version(self) -> str:
        return str(self.system.control.value("SELECT VERSION()"))

    def counting(self, work: Work) -> Counting:
        return work.counting

    def count(self, counter: str) -> int:
        """A global status variable."""
        return int(self._looks.rows("SHOW GLOBAL STATUS WHERE Variable_name = %s", counter)[0][1])

    def settle(self) -> None:
        self.system.drain_debt(timeout_s=30.0)

    def remove_tables(self) -> None:
        names = self.system.control.rows(
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME LIKE 'sbtest%%'",
            SCHEMA,
        )
        for (name,) in names:
            self.system.control.rows(f"DROP TABLE `{SCHEMA}`.`{name}`")
