"""What was sampled during the load, on the load's time axis: which of the columns are shown, and how they are named.

A server may tell of a hundred things each second. All of them are in the bundle (server.parquet); the report shows the
operating system's view and, of the server's own, the few that most often explain a change of speed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from .scales import EMPTY, Series, bytes_tick, short

OWN_METRICS_MAX = 8
#: Made of two columns: time on a core is what counts, not in which mode.
CPU_COLUMN = "os.cpu_cores"
CPU_PARTS = ("os.cpu_user_s_per_s", "os.cpu_system_s_per_s")
#: How stale a replica's answers are: what users see, so it stands first.
LAG_COLUMN = "db.lag_s"
#: The operating system's view, in the order it is shown. `os` is the server's processes, or the engine's where the
#: database is embedded in it.
_WATCHED = {
    CPU_COLUMN: "CPU of the server's processes, cores",
    "machine.cpu_busy_s_per_s": "CPU of the whole machine, cores",
    "machine.others_cpu_s_per_s": "CPU of other processes, cores",
    "os.write_bytes_per_s": "written to storage by the server, bytes/s",
    "os.read_bytes_per_s": "read from storage by the server, bytes/s",
    "machine.dirty_bytes": "waiting in the kernel to be written, bytes",
    "os.rss_bytes": "memory of the server's processes, bytes",
}
#: Words in the names of what explains stalls and slow-downs, whatever the product calls the whole: first what nodes owe
#: each other.
_TELLING = (
    *("lag_", "recv_queue", "flow_control", "hint"),
    *("fsync", "dirty", "checkpoint", "history", "wait", "lock", "flush", "compact", "pending", "wal", "reads"),
)


@dataclass(frozen=True)
class Metric:
    """A panel. columns: by node, where there are several; else one, of ""."""

    name: str
    columns: Mapping[str, str]
    title: str
    unit: str
    words: Callable[[float], str]


def metrics_of(runs: Sequence[Mapping[str, Series]], nodes: Sequence[str] = ()) -> list[Metric]:
    """Those worth a panel: the operating system's, then the most telling of the servers' own that moved. nodes: names
    of several; what each of them has is in one panel, in place of the sum of all."""
    grouped: dict[str, dict[str, str]] = {}
    for column in dict.fromkeys(chain.from_iterable(runs)):
        if _says_something(runs, column):
            grouped.setdefault(plain(column, nodes), {})[node_of(column, nodes)] = column
    own = sorted((name for name in grouped if name.startswith("db.")), key=lambda name: (_rank(name), name))
    watched = [name for name in _WATCHED if name in grouped]
    shown = sorted([*watched, *own[:OWN_METRICS_MAX]], key=lambda name: name != LAG_COLUMN)
    return [describe(name, grouped[name]) for name in shown]


def describe(name: str, columns: Mapping[str, str]) -> Metric:
    """ "db.Innodb_os_log_fsyncs_per_s" -> "Innodb_os_log_fsyncs, per second"."""
    of_nodes = {node: column for node, column in columns.items() if node} or columns
    is_bytes = "_bytes" in name
    words = bytes_tick if is_bytes else short
    if title := _WATCHED.get(name):
        return Metric(name, of_nodes, title, title.rpartition(", ")[2], words)
    if name == LAG_COLUMN:
        return Metric(name, of_nodes, "how far replicas are behind, seconds", "s", words)
    own = name.partition(".")[2]
    if own.endswith("_per_s"):
        return Metric(name, of_nodes, f"{own.removesuffix('_per_s')}, per second", "/s", words)
    return Metric(name, of_nodes, own, "bytes" if is_bytes else "", words)


def candidates(columns: Sequence[str], nodes: Sequence[str] = ()) -> list[str]:
    """The columns of a table that a report could show; of a server's own, some more than there will be panels."""
    own = sorted({plain(c, nodes) for c in columns if c.startswith("db.")}, key=lambda name: (_rank(name), name))
    wanted = {*_WATCHED, *CPU_PARTS, *own[: 3 * OWN_METRICS_MAX]}
    return [column for column in columns if plain(column, nodes) in wanted]


def with_cpu(columns: dict[str, Series]) -> dict[str, Series]:
    """And the CPU time of servers in both modes, where it was watched."""
    found = dict(columns)
    user, system = (part.partition(".")[2] for part in CPU_PARTS)
    for name in [name for name in columns if name.startswith("os.") and name.endswith(user)]:
        other = columns.get(name.replace(user, system), EMPTY)
        if len(columns[name]) and len(columns[name]) == len(other):
            found[name.replace(user, CPU_COLUMN.partition(".")[2])] = columns[name] + other
    return found


def node_of(column: str, nodes: Sequence[str]) -> str:
    """Which of several servers a column is about: "a" of "os.a.rss_bytes"; "": of all."""
    rest = column.partition(".")[2]
    return max((node for node in nodes if rest.startswith(f"{node}.")), key=len, default="")  # names may have dots


def plain(column: str, nodes: Sequence[str]) -> str:
    """Without the node's name."""
    node = node_of(column, nodes)
    return column.replace(f".{node}.", ".", 1) if node else column


def _says_something(runs: Sequence[Mapping[str, Series]], column: str) -> bool:
    """The server's own constants are not worth a panel; what the operating system shows is, unless it is all zero."""
    parts = [part.values for run in runs if len(part := run.get(column, EMPTY))]
    if not parts:
        return False
    low, high = min(float(p.min()) for p in parts), max(float(p.max()) for p in parts)
    return high > low if column.startswith("db.") else high > 0


def _rank(column: str) -> int:
    lower = column.lower()
    return next((rank for rank, word in enumerate(_TELLING) if word in lower), len(_TELLING))
