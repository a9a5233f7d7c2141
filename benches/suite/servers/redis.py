"""Redis."""

from __future__ import annotations

import re
from typing import ClassVar

from bakeoff.systems.redis.control import RedisControl
from bakeoff.systems.redis.system import SOURCES, Redis

from ..rows import Counting, Work
from ..server import LOOK_TIMEOUT_S, Server


class RedisServer(Server):
    kind = "redis"
    product = "Redis"
    sources = SOURCES
    system_class = Redis
    settings: ClassVar = {"maxmemory": "1gb"}
    durability = "none"

    def __init__(self, system: Redis) -> None:
        super().__init__(system)
        login = system.server.bench_login("socket")
        self._looks = RedisControl(login, where="the suite's looks", timeout_s=LOOK_TIMEOUT_S)
        # The peer takes a password on its command line alone, which any process may read.
        system.control.rows("ACL SETUSER default on nopass resetkeys ~usertable:* -@all +hmget")

    def close(self) -> None:
        self._looks.close()

    def version(self) -> str:
        return str(self._info("server", "redis_version"))

    def counting(self, work: Work) -> Counting:
        return work.counting

    def count(self, counter: str) -> int:
        """Calls of a command."""
        return int(self._info("commandstats", f"cmdstat_{counter}:calls", "=", "0"))

    def _info(self, section: str, name: str, mark: str = ":", absent: str = "") -> str:
        found = re.search(rf"^{name}{mark}([^,\r\n]*)", str(self._looks.value("INFO", section)), re.MULTILINE)
        return found[1] if found else absent

    def settle(self) -> None:
        """It writes nothing by itself."""

    def remove_tables(self) -> None:
        """sysbench makes none here."""
