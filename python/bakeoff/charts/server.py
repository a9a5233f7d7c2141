"""What was watched beside the load, on the load's time axis: which of the columns are shown, and how they are named.

A server may tell of a hundred things each second. All of them are in the bundle (server.parquet); the report shows the
operating system's view and, of the server's own, the few that most often explain a change of speed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from .series import EMPTY, Series
from .ticks import bytes_tick, short

OWN_METRICS_MAX = 8
#: Made of two columns: time on a core is what counts, not in which mode.
CPU_COLUMN = "os.cpu_cores"
CPU_PARTS = ("os.cpu_user_s_per_s", "os.cpu_system_s_per_s")
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
#: Words in the names of what explains stalls and slow-downs, whatever the product calls the whole.
_TELLING = ("fsync", "dirty", "checkpoint", "history", "wait", "lock", "flush", "compact", "pending", "wal", "reads")


@dataclass(frozen=True)
class Metric:
    column: str
    title: str
    unit: str
    words: Callable[[float], str]


def metrics_of(runs: Sequence[Mapping[str, Series]]) -> list[Metric]:
    """The columns worth a panel: the operating system's, then the most telling of the servers' own that moved."""
    columns = [column for column in dict.fromkeys(chain.from_iterable(runs)) if _says_something(runs, column)]
    own = sorted((c for c in columns if c.startswith("db.")), key=lambda c: (_rank(c), c))
    watched = sorted((c for c in columns if plain(c) in _WATCHED), key=lambda c: list(_WATCHED).index(plain(c)))
    return [describe(column) for column in [*watched, *own[:OWN_METRICS_MAX]]]


def describe(column: str) -> Metric:
    """ "db.Innodb_os_log_fsyncs_per_s" -> "Innodb_os_log_fsyncs, per second"."""
    is_bytes = "_bytes" in column
    words = bytes_tick if is_bytes else short
    if title := _WATCHED.get(plain(column)):
        node = node_of(column)
        return Metric(column, f"{node}: {title}" if node else title, title.rpartition(", ")[2], words)
    name = column.partition(".")[2]
    if name.endswith("_per_s"):
        return Metric(column, f"{name.removesuffix('_per_s')}, per second", "/s", words)
    return Metric(column, name, "bytes" if is_bytes else "", words)


def candidates(columns: Sequence[str]) -> list[str]:
    """The columns of a table that a report could show; of a server's own, some more than there will be panels."""
    own = sorted((c for c in columns if c.startswith("db.")), key=lambda c: (_rank(c), c))
    return [*(c for c in columns if plain(c) in (*_WATCHED, *CPU_PARTS)), *own[: 3 * OWN_METRICS_MAX]]


def node_of(column: str) -> str:
    """Which of several servers a column of the operating system is about: "a" of "os.a.rss_bytes"; "": of all."""
    return column.partition(".")[2].rpartition(".")[0] if column.startswith("os.") else ""


def plain(column: str) -> str:
    """Without the node's name."""
    node = node_of(column)
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
