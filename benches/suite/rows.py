"""What is asked of which system, at how many sessions, over what, on which cores, and the bars that apply. The lists
are the table of contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SYSTEMS = ("mariadb", "postgresql", "redis")
SQL_SYSTEMS = ("mariadb", "postgresql")


@dataclass(frozen=True)
class Counting:
    """How a server's own counters tell operations."""

    per_operation: float = 1
    counter: str = "Questions"  # MariaDB's, of statements

    @property
    def of_a_look(self) -> int:
        """What reading the counter adds to it."""
        return 1 if self.counter == "Questions" else 0


@dataclass(frozen=True)
class Work:
    """A script, or what stands for one."""

    script: str
    #: On MariaDB.
    counting: Counting = Counting()
    writes: bool = False
    #: It changes its tables: they are created again for every run.
    wears: bool = False
    #: Who sets the bars.
    peer: str = "sysbench"
    #: Its tables are made by our own load: no, those of sysbench; yes, of the works with the same word.
    data: str = ""
    systems: tuple[str, ...] = SQL_SYSTEMS
    #: Requests that a connection has in flight: each is a user of the engine.
    pipeline: int = 1
    #: The peer has no such script: what it does instead.
    instead: str = ""
    #: Another counting of that, where it has no such statements.
    counting_instead: Counting | None = None
    #: The server has about as much to do with it as with what the peer does.
    alike: bool = True


#: sysbench's own scripts in our engine.
LUA = ("lua_point_select", "lua_read_write")
LUA_SESSIONS = (8, 64)

#: pgbench's own transactions.
PGBENCH = ("select_only", "simple_update", "tpcb_like")
PGBENCH_SCALE = 10


def _pgbench(work: str) -> Work:
    writes = work != "select_only"
    return Work(work.replace("_", "-"), writes=writes, peer="pgbench", data="pgbench", systems=("postgresql",))


def _redis(pipeline: int) -> Work:
    """Reads of one field of 100 bytes."""
    counting = Counting(1, "hmget")
    return Work("redis_read", counting, peer="redis-benchmark", data="redis", systems=("redis",), pipeline=pipeline)


#: Statements of one event with the scripts' default options.
WORKS: dict[str, Work] = {
    "point_select": Work("oltp_point_select"),
    "read_only": Work("oltp_read_only", Counting(16)),
    "read_write": Work("oltp_read_write", Counting(20), writes=True),
    "write_only": Work("oltp_write_only", Counting(6), writes=True),
    "update_index": Work("oltp_update_index", writes=True),
    "update_non_index": Work("oltp_update_non_index", writes=True),
    "insert": Work("oltp_insert", writes=True, wears=True),
    "delete": Work("oltp_delete", writes=True, wears=True),
    "random_points": Work("select_random_points"),
    "random_ranges": Work("select_random_ranges"),
    # An event is a row put into a buffer, and no statement of its own.
    "bulk_insert": Work("bulk_insert", Counting(1, "Handler_write"), writes=True, wears=True),
    # The same files as the peer's.
    "lua_point_select": Work("lua_point_select", instead="oltp_point_select"),
    "lua_read_write": Work("lua_read_write", Counting(20), writes=True, instead="oltp_read_write"),
    # Reads of 1 KB rows.
    "ycsb_c": Work("ycsb_c", data="ycsb_c", instead="oltp_point_select"),
    "tpcc": Work(
        "tpcc",
        Counting(1, "Com_commit"),
        writes=True,
        data="tpcc",
        instead="oltp_read_write",
        alike=False,
        systems=("mariadb",),
    ),
    # The share of requests in transactions: those that add, update and delete links.
    "linkbench": Work(
        "linkbench",
        Counting(0.199916, "Com_commit"),
        writes=True,
        data="linkbench",
        instead="oltp_point_select",
        counting_instead=Counting(),
        alike=False,
        systems=("mariadb",),
    ),
    **{work: _pgbench(work) for work in PGBENCH},
    "redis_read": _redis(1),
    "redis_pipeline": _redis(16),
}

#: Not scripts: see special.py. By the systems of which they are asked; the harness alone asks none.
SPECIAL: dict[str, tuple[str, ...]] = {
    "prepare": ("mariadb", "postgresql"),
    "sessions": ("mariadb",),
    "syscalls": ("mariadb", "postgresql"),
    "floor": ("mariadb",),
}

#: "shared": client and server on the same cores. "apart": each on a core of its own, as on two machines.
PLACEMENTS = ("shared", "apart")
APART_SESSIONS = (8, 64, 256)


@dataclass(frozen=True)
class Bar:
    """What a figure of a client must keep to."""

    client: str  # or "*": each of ours
    figure: str  # a ratio to the peer: "client_cpu", "total_cpu", "rate"
    limit: float
    goal: float | None = None

    def met(self, value: float) -> bool:
        return value >= self.limit if self.figure == "rate" else value <= self.limit

    def __str__(self) -> str:
        goal = f", goal {self.goal:.2f}" if self.goal is not None else ""
        return f"{'>=' if self.figure == 'rate' else '<='} {self.limit:.2f}{goal}"


@dataclass(frozen=True)
class Row:
    work: str
    transport: str
    sessions: int
    system: str = "mariadb"
    placement: str = "shared"

    @property
    def one_core(self) -> bool:
        """A single session never uses two cores at once; across two it would measure how fast they wake each other."""
        return self.sessions == 1 and self.placement == "shared"

    @property
    def peer(self) -> str:
        """Who is asked the same, and sets the bars."""
        if (self.system, self.work, self.placement) == ("postgresql", "point_select", "shared"):
            return "pgbench"
        return WORKS[self.work].peer

    def bars(self) -> tuple[Bar, ...]:
        limits = _CLIENT_CPU.get(self, {})
        if "io_uring" in limits:
            limits = limits | {"auto": limits["io_uring"]}
        return (*(Bar(name, "client_cpu", *limit) for name, limit in limits.items()), *self._bars_of_all())

    def _bars_of_all(self) -> tuple[Bar, ...]:
        if not WORKS[self.work].alike:
            return ()
        if self.system == "redis":
            return ()
        if self.placement == "apart":
            return (Bar("*", "rate", 1.0),)
        if self.system == "mariadb":
            return (Bar("*", "total_cpu", 1.05, 0.95), Bar("*", "rate", 1.0))
        if self.work in PGBENCH:
            return (Bar("*", "total_cpu", 1.05), Bar("*", "rate", 0.95))
        if self.peer == "pgbench":
            return (Bar("*", "total_cpu", 1.0), Bar("*", "rate", 0.97))
        return ()

    def __str__(self) -> str:
        apart = ", a core each" if self.placement == "apart" else ""
        sessions = f"{self.sessions} session{'s' if self.sessions > 1 else ''}"
        return f"{self.system}, {self.work}, {self.transport}, {sessions}{apart}"


_Limit = tuple[float, float | None]
_APART: dict[str, _Limit] = {"io_uring": (0.65, None)}

#: `auto` is held to those of io_uring: it is what is run where io_uring is allowed.
_CLIENT_CPU: dict[Row, dict[str, _Limit]] = {
    Row("point_select", "tcp", 1): {"io_uring": (0.85, None), "epoll": (0.95, None)},
    Row("point_select", "tcp", 8): {"io_uring": (0.65, None), "epoll": (0.85, None)},
    Row("point_select", "tcp", 64): {"io_uring": (0.60, None), "epoll": (0.80, None)},
    Row("point_select", "tcp", 256): {"io_uring": (0.50, None), "epoll": (0.70, None)},
    Row("point_select", "socket", 1): {"io_uring": (0.80, None)},
    Row("point_select", "socket", 8): {"io_uring": (0.60, None)},
    Row("point_select", "socket", 64): {"io_uring": (0.50, None)},
    Row("point_select", "socket", 256): {"io_uring": (0.40, None)},
    Row("read_write", "tcp", 8): {"io_uring": (0.70, 0.50)},
    Row("read_write", "tcp", 64): {"io_uring": (0.70, 0.50)},
    **{Row(work, "tcp", n): {"io_uring": (0.70, None)} for work in LUA for n in LUA_SESSIONS},
    Row("tpcc", "tcp", 8): {"io_uring": (1.05, None)},
    Row("linkbench", "tcp", 8): {"io_uring": (2.5, None)},
    **{Row("point_select", "tcp", n, system, "apart"): _APART for system in SQL_SYSTEMS for n in APART_SESSIONS},
    Row("redis_read", "tcp", 64, "redis"): {"io_uring": (1.0, None)},
    Row("redis_pipeline", "tcp", 50, "redis"): {"io_uring": (1.0, None)},
    Row("point_select", "tcp", 1, "postgresql"): {"io_uring": (0.90, None)},
    Row("point_select", "tcp", 8, "postgresql"): {"io_uring": (0.80, 0.75)},
    Row("point_select", "tcp", 64, "postgresql"): {"io_uring": (0.60, 0.50)},
    Row("read_write", "tcp", 8, "postgresql"): {"io_uring": (0.50, None)},
    Row("read_write", "tcp", 64, "postgresql"): {"io_uring": (0.50, None)},
    **{
        Row(work, "tcp", n, "postgresql"): {"io_uring": (limit, None)}
        for work in PGBENCH
        for n, limit in ((1, 1.0), (8, 0.8), (64, 0.7))
    },
}

#: Of special.py's figures.
PREPARE_WALL_RATIO_MAX = {"mariadb": 0.5, "postgresql": 0.4}
PREPARE_CPU_RATIO_MAX = {"postgresql": 0.4}
SYSCALLS_PER_OP_MAX = {"auto": 0.2, "io_uring": 0.2, "epoll": 2.1}
MANY_SESSIONS_CPU_RATIO_MAX = 1.5
FLOOR_NS_MAX = 100.0


def all_rows() -> list[Row]:
    points = [Row("point_select", transport, n) for transport in ("tcp", "socket") for n in (1, 8, 64, 256)]
    own = ("point_select", "read_write", *LUA)
    rest = [Row(name, "tcp", 8) for name, work in WORKS.items() if name not in own and "mariadb" in work.systems]
    mariadb = [*points, Row("read_write", "tcp", 8), Row("read_write", "tcp", 64), *rest]
    mariadb += [Row(work, "tcp", n) for work in LUA for n in LUA_SESSIONS]
    postgresql = [Row("point_select", "tcp", n, "postgresql") for n in (1, 8, 64)]
    postgresql += [Row("read_write", "tcp", n, "postgresql") for n in (8, 64)]
    postgresql += [Row(work, "tcp", n, "postgresql") for work in PGBENCH for n in (1, 8, 64)]
    apart = [Row("point_select", "tcp", n, system, "apart") for system in SQL_SYSTEMS for n in APART_SESSIONS]
    redis = [Row("redis_read", "tcp", n, "redis") for n in (1, 8, 64)]
    redis += [Row("redis_read", "tcp", 64, "redis", "apart"), Row("redis_pipeline", "tcp", 50, "redis")]
    redis += [Row("redis_pipeline", "tcp", 50, "redis", "apart")]
    return [*mariadb, *postgresql, *apart, *redis]


def choose(
    works: Sequence[str],
    sessions: Sequence[int] = (),
    transports: Sequence[str] = (),
    systems: Sequence[str] = (),
    placements: Sequence[str] = (),
) -> list[Row]:
    """Rows of these works; of all systems and placements, or of those said; where sessions or transports are said, with
    exactly these in place of each row's own."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in all_rows():
        wanted = row.system in (systems or SYSTEMS) and row.placement in (placements or PLACEMENTS)
        if wanted and row.work in works:
            groups.setdefault((row.work, row.system, row.placement), []).append(row)
    chosen = []
    for (work, system, placement), own in groups.items():
        for transport in transports or dict.fromkeys(row.transport for row in own):
            usual = [row.sessions for row in own if row.transport == transport] or [8]
            chosen += [Row(work, transport, n, system, placement) for n in sessions or usual]
    return chosen
