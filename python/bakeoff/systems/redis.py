"""Redis: a managed throwaway server.

[systems.redis]
start = { version = "7.0", settings = { maxmemory = "1gb" } }
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from bakeoff.errors import BakeoffError, PlanError
from bakeoff.model.durability import NOTHING, Survival
from bakeoff.provision.debian import Debian, PackageSet
from bakeoff.provision.files import write_private
from bakeoff.provision.installation import Named, OnPath, Size, Sources
from bakeoff.provision.server import failed_start
from bakeoff.systems.base import Facts
from bakeoff.systems.server.control import Control, Login
from bakeoff.systems.server.options import ServerOptions
from bakeoff.systems.server.process import BENCH_USER, DatabaseServer
from bakeoff.systems.server.started import StartedServer
from bakeoff.systems.server.system import TRANSACTIONS, Family, ServerNode, Status

_ROOT = "root"


def version_of(said: str) -> str | None:
    """From what `--version` prints; None: it is not Redis."""
    found = re.match(r"Redis server v=(\d+\.\d+\.\d+)", said)
    return found[1] if found else None


#: The package of the server holds nothing but a name for a program of the tools, and depends on what starts services.
_PACKAGES = PackageSet(("redis-tools",), "usr/bin/redis-server", alone=("redis-server",), series={"bookworm": "7.0"})
SOURCES = Sources(
    "redis",
    "Redis server",
    (OnPath("redis-server", version_of), Debian("redis", _PACKAGES, size=Size(7, 23))),
    Named(("redis-server",), version_of),
)


def survival(settings: Mapping[str, str]) -> Survival:
    """With `everysec` a commit is acknowledged before it is written while a sync of the second before still runs.

    Sources: redis.conf, appendonly and appendfsync ("up to two seconds"); Redis documentation, "Redis persistence".
    """
    if settings["appendonly"] != "yes":
        return Survival("everything since the last snapshot", "everything since the last snapshot")
    if settings["appendfsync"] == "everysec":
        return Survival("commits of the last 2 s", "commits of the last 2 s")
    synced = settings["appendfsync"] == "always"
    return Survival(NOTHING, NOTHING if synced else "commits that the kernel had not written")


class RedisOptions(ServerOptions):
    user: str = BENCH_USER


class SaidError(Exception):
    """An answer of the server's that is an error."""


class Connection:
    """The server's own protocol (RESP, version 2): a command is a list of words."""

    def __init__(self, connected: socket.socket, user: str, password: str) -> None:
        self._socket = connected
        self._answers: BinaryIO = connected.makefile("rb")
        try:
            self.rows("AUTH", (user, password))
        except BaseException:
            self._answers.close()  # or the socket stays open
            raise

    def rows(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        """A row for each element of the answer."""
        words = [str(word).encode() for word in (*sql.split(), *parameters)]
        self._socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words))
        answer = self._read()
        return [(one,) for one in answer] if isinstance(answer, list) else [(answer,)]

    def _read(self) -> Any:
        line = self._answers.readline(1 << 16)
        if not line.endswith(b"\r\n"):
            raise ConnectionResetError("it was closed")
        kind, text = line[:1], line[1:-2].decode(errors="replace")
        if kind == b"-":
            raise SaidError(text)
        if kind == b"+":
            return text
        number = int(text)
        if kind == b"$" and number >= 0:
            return self._answers.read(number + 2)[:-2].decode(errors="replace")
        if kind == b"*":
            return [self._read() for _ in range(number)]
        return None if number < 0 else number

    def close(self) -> None:
        self._answers.close()
        self._socket.close()


class RedisControl(Control):
    product = "Redis"
    probe: ClassVar[str] = "PING"

    def _log_in(self, connected: socket.socket) -> Connection:
        return Connection(connected, self.login.user, self.login.password)

    def _explained(self, error: Exception, *, logged_in: bool) -> BakeoffError:
        if not isinstance(error, SaidError):
            return super()._explained(error, logged_in=logged_in)
        if str(error).startswith(("WRONGPASS", "NOAUTH")):
            return self._user_refused(str(error))
        return self._other_error(str(error), "")


#: Settings that decide comparisons, of which a server has hundreds.
DECISIVE = """
    activedefrag activerehashing appendfsync appendonly auto-aof-rewrite-percentage databases hz io-threads
    io-threads-do-reads lazyfree-lazy-eviction lazyfree-lazy-user-del maxclients maxmemory maxmemory-policy
    no-appendfsync-on-rewrite proto-max-bulk-len rdbcompression save tcp-backlog tcp-keepalive timeout
"""
_COUNTERS = """
    total_commands_processed total_connections_received total_net_input_bytes total_net_output_bytes keyspace_hits
    keyspace_misses expired_keys evicted_keys total_error_replies rejected_connections total_forks
"""
_GAUGES = """
    connected_clients blocked_clients used_memory used_memory_rss used_memory_dataset mem_fragmentation_ratio
    instantaneous_ops_per_sec aof_current_size rdb_bgsave_in_progress aof_rewrite_in_progress
"""


class RedisNode(ServerNode):
    def _info(self) -> dict[str, str]:
        lines = str(self.control.value("INFO")).splitlines()
        return {name: value for name, colon, value in (line.partition(":") for line in lines) if colon}

    def read_facts(self) -> Facts:
        told = [str(word) for (word,) in self.control.rows("CONFIG GET *")]
        settings = {name: value for name, value in zip(told[::2], told[1::2], strict=True) if name in DECISIVE.split()}
        own = {"isolation": "each command by itself, one after the other", "memory_bytes": settings["maxmemory"]}
        return Facts("Redis", self._info()["redis_version"], settings, {**survival(settings).facts(), **own})

    def read_status(self) -> Status:
        info = self._info()
        counters, gauges = (
            {name: float(info[name]) for name in names.split() if name in info} for names in (_COUNTERS, _GAUGES)
        )
        return Status({**counters, TRANSACTIONS: counters["total_commands_processed"]}, gauges)

    def read_debt(self) -> dict[str, float]:
        """What is in memory and not yet in a file: bytes of the log, and writes since the last snapshot."""
        info = self._info()
        return {
            "aof_buffer_bytes": float(info.get("aof_buffer_length", 0)),
            "unsaved_writes": float(info["rdb_changes_since_last_save"]),
        }


class RedisProcess(DatabaseServer):
    product = "Redis"
    #: Differences from the server's own: it writes what durability asks for, and no snapshots by itself.
    defaults: ClassVar[dict[str, str]] = {"appendonly": "no", "save": '""', "maxclients": "3000"}

    def make_control(self, timeout_s: float = 5.0) -> Control:
        return RedisControl(
            Login(self.socket_address(), _ROOT, self.root_password), where=self.where, timeout_s=timeout_s
        )

    def answers(self) -> bool:
        """Not before it has read its data: until then it refuses."""
        return self.socket.exists() and self.control.answers()

    def has_data(self, folder: Path) -> bool:
        return folder.is_dir()

    def make_data(self) -> None:
        """It begins with an empty folder."""

    def before_snapshot(self) -> None:
        """Without a log what is in memory goes to the disk by this alone."""
        self.control.rows("SAVE")

    def command(self, options: Sequence[str]) -> list[str | Path]:
        return [self.spec.installation.program, self.folder.path / "redis.conf", "--port", str(self.port), *options]

    def secret_files(self) -> dict[str, str]:
        accounts = {BENCH_USER: self.bench_password, _ROOT: self.root_password}
        users = [f"user {name} on >{password} ~* &* +@all" for name, password in accounts.items()]
        # Nobody logs in as `default`, but its rights decide which transactions are read back from the log (Redis 7.0).
        return {"users.acl": "\n".join(["user default off ~* &* +@all", *users, ""])}

    def write_config(self) -> None:
        fixed = {
            "aclfile": str(self.folder.path / "users.acl"),
            "bind": self.host,
            "daemonize": "no",
            "dir": str(self.data),
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
        }
        words = {"ON": "yes", "OFF": "no", "": '""'}
        said = {name.replace("_", "-"): words.get(value, value) for name, value in self.spec.settings.items()}
        quoted = {name: json.dumps(value, ensure_ascii=False) for name, value in fixed.items()}
        lines = (f"{name} {value}" for name, value in {**self.defaults, **said, **quoted}.items())
        write_private(self.folder.path / "redis.conf", "\n".join([*lines, ""]), mode=0o644)

    def explain(self, log: str, how_it_ended: str) -> BakeoffError:
        if found := re.search(r">>> '(?P<setting>[^\n]*)'\n(?P<why>[^\n]+)", log):
            what = f"the server does not take the setting {found['setting']!r}: {found['why']}"
            return PlanError(what, where=f"{self.where}.start.settings")
        return failed_start(log, how_it_ended, where=self.where, port=self.port, lower="maxmemory")


class RedisFamily(Family[RedisOptions]):
    driver = "redis"
    options = RedisOptions
    node = RedisNode
    durability: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "full": {"appendonly": "yes", "appendfsync": "always"},
        "relaxed": {"appendonly": "yes", "appendfsync": "no"},
        "none": {"appendonly": "no"},
    }
    run_time = frozenset({"appendfsync", "hz", "io_threads", "io_threads_do_reads", "maxclients", "maxmemory_policy"})
    ours = frozenset({"aclfile", "bind", "daemonize", "dir", "port", "requirepass", "unixsocket", "unixsocketperm"})

    def control(self, login: Login, options: RedisOptions, where: str, timeout_s: float) -> Control:
        return RedisControl(login, where=where, timeout_s=timeout_s)


class Redis(StartedServer):
    kind: ClassVar[str] = "redis"
    summary: ClassVar[str] = "Redis server: managed; records (YCSB), no SQL"
    in_first_plan: ClassVar[bool] = False
    setting_example: ClassVar[str] = 'maxmemory = "1gb"'
    family = RedisFamily()
    installed_from = SOURCES
    process = RedisProcess

    @classmethod
    def shaping_options(cls, options: dict[str, Any], durability: str | None) -> dict[str, Any]:
        """Whether there is a log decides which files hold the data."""
        return {**super().shaping_options(options, durability), "durability": durability}
