"""What is asked, at how many sessions, over what, and the bars that apply. The lists are the table of contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Counting:
    """How the server's own counters tell operations."""

    per_operation: int = 1
    counter: str = "Questions"

    @property
    def of_a_look(self) -> int:
        """What reading the counter adds to it."""
        return 1 if self.counter == "Questions" else 0


@dataclass(frozen=True)
class Work:
    """A script, or what stands for one."""

    script: str
    counting: Counting = Counting()
    writes: bool = False
    #: Leaves other tables behind than it found: they are made anew for every run.
    wears: bool = False


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
    # Reads of 1 KB rows; sysbench's part is oltp_point_select.
    "ycsb_c": Work("ycsb_c"),
}

#: Not scripts: see special.py.
SPECIAL = ("prepare", "sessions", "syscalls", "floor")


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


EVERYWHERE = (Bar("*", "total_cpu", 1.05, 0.95), Bar("*", "rate", 1.0))

#: `auto` is held to those of io_uring: it is what is run where io_uring is allowed.
_CLIENT_CPU: dict[tuple[str, str, int], dict[str, tuple[float, float | None]]] = {
    ("point_select", "tcp", 1): {"io_uring": (0.85, None), "epoll": (0.95, None)},
    ("point_select", "tcp", 8): {"io_uring": (0.65, None), "epoll": (0.85, None)},
    ("point_select", "tcp", 64): {"io_uring": (0.60, None), "epoll": (0.80, None)},
    ("point_select", "tcp", 256): {"io_uring": (0.50, None), "epoll": (0.70, None)},
    ("point_select", "socket", 1): {"io_uring": (0.80, None)},
    ("point_select", "socket", 8): {"io_uring": (0.60, None)},
    ("point_select", "socket", 64): {"io_uring": (0.50, None)},
    ("point_select", "socket", 256): {"io_uring": (0.40, None)},
    ("read_write", "tcp", 8): {"io_uring": (0.70, 0.50)},
    ("read_write", "tcp", 64): {"io_uring": (0.70, 0.50)},
}

#: Of special.py's figures.
PREPARE_WALL_RATIO_MAX = 0.5
SYSCALLS_PER_OP_MAX = {"auto": 0.2, "io_uring": 0.2, "epoll": 2.1}
MANY_SESSIONS_CPU_RATIO_MAX = 1.5
FLOOR_NS_MAX = 100.0


@dataclass(frozen=True)
class Row:
    work: str
    transport: str
    sessions: int

    @property
    def one_core(self) -> bool:
        """A single session never uses two cores at once; across two it would measure how fast they wake each other."""
        return self.sessions == 1

    def bars(self) -> tuple[Bar, ...]:
        limits = _CLIENT_CPU.get((self.work, self.transport, self.sessions), {})
        if "io_uring" in limits:
            limits = limits | {"auto": limits["io_uring"]}
        return (*(Bar(name, "client_cpu", *limit) for name, limit in limits.items()), *EVERYWHERE)

    def __str__(self) -> str:
        return f"{self.work}, {self.transport}, {self.sessions} session{'s' if self.sessions > 1 else ''}"


def all_rows() -> list[Row]:
    points = [Row("point_select", transport, n) for transport in ("tcp", "socket") for n in (1, 8, 64, 256)]
    rest = [Row(work, "tcp", 8) for work in WORKS if work not in ("point_select", "read_write")]
    return [*points, Row("read_write", "tcp", 8), Row("read_write", "tcp", 64), *rest]


def choose(works: Sequence[str], sessions: Sequence[int], transports: Sequence[str]) -> list[Row]:
    """Rows of these works; where sessions or transports are said, exactly those."""
    chosen = []
    for work in (work for work in works if work in WORKS):
        known = [row for row in all_rows() if row.work == work]
        over = transports or list(dict.fromkeys(row.transport for row in known))
        for transport in over:
            usual = [row.sessions for row in known if row.transport == transport] or [8]
            chosen += [Row(work, transport, n) for n in (sessions or usual)]
    return chosen
