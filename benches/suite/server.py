"""The private MariaDB under all clients, and what it counts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bakeoff.provision.instance import new_instance
from bakeoff.systems.mysql.control import Control
from bakeoff.systems.mysql.mariadb import MariaDb
from bakeoff.systems.mysql.mariadb_installations import SOURCES

SETTINGS = {"innodb_buffer_pool_size": "512M", "innodb_log_file_size": "512M", "max_connections": 4000}
SCHEMA = "bakeoff"
#: A server with thousands of busy sessions may answer a look seconds late.
LOOK_TIMEOUT_S = 60.0


@contextmanager
def private_server(say: Callable[[str], None]) -> Iterator[Server]:
    """Started, after fetching one where the machine has none; stopped and removed afterwards."""
    if not SOURCES.here():
        SOURCES.install(None, None, say)
    folder = new_instance("bench")
    system = MariaDb.configure(
        "mariadb",
        {"start": {"settings": SETTINGS}},
        durability="relaxed",
        isolation=None,
        workdir=folder.path,
        timeout_s=10,
        base_dir=Path.cwd(),
    )
    assert isinstance(system, MariaDb)
    try:
        system.start()
        yield Server(system)
    finally:
        system.stop()
        folder.remove()


class Server:
    def __init__(self, system: MariaDb) -> None:
        self.system = system
        self.pid = system.pids()[0]
        self.host, self.port = "127.0.0.1", system.server.port
        self.socket = str(system.server.socket)
        self.password = system.server.bench_password
        self._looks = Control(system.server.bench_login("socket"), where="the suite's looks", timeout_s=LOOK_TIMEOUT_S)

    def version(self) -> str:
        return str(self.system.control.value("SELECT VERSION()"))

    def count(self, counter: str) -> int:
        """A global status variable: the server's own count of what all clients asked."""
        return int(self._looks.rows("SHOW GLOBAL STATUS WHERE Variable_name = %s", counter)[0][1])

    def settle(self) -> None:
        """Written pages are written back, so that a run does not pay for the one before it."""
        self.system.drain_debt(timeout_s=30.0)

    def remove_tables(self) -> None:
        """sysbench's: those of any script, however many."""
        names = self.system.control.rows(
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME LIKE 'sbtest%%'",
            SCHEMA,
        )
        for (name,) in names:
            self.system.control.rows(f"DROP TABLE `{SCHEMA}`.`{name}`")

    @contextmanager
    def placed(self, cores: tuple[int, ...]) -> Iterator[None]:
        """On these cores meanwhile; threads that it starts inherit them."""
        before = os.sched_getaffinity(self.pid)
        self._place(set(cores))
        try:
            yield
        finally:
            self._place(before)

    def _place(self, cores: set[int]) -> None:
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            with suppress(ProcessLookupError):  # it has just ended
                os.sched_setaffinity(int(thread), cores)
