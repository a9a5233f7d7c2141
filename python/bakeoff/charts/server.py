"""What was watched beside the load, on the load's time axis: which of the columns are shown, and how they are named.

A server may tell of a hundred things each second. All of them are in the bundle (server.parquet); the report shows
those of the operating system and, of the server's own, the few that most often explain a change of speed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from .numbers import bytes_words, short

OWN_METRICS_MAX = 8
#: Words in the names of things that explain stalls and slow-downs, whatever the product calls the whole.
_TELLING = ("fsync", "dirty", "checkpoint", "history", "wait", "lock", "flush", "compact", "pending", "miss", "read")
_UNITS = (
    ("_bytes_per_s", "bytes/s"),
    ("_per_s", "per second"),
    ("_bytes", "bytes"),
    ("_cores", "cores"),
    ("_ratio", "share"),
    ("_ms", "ms"),
    ("_s", "s"),
)

Series = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Metric:
    column: str
    title: str
    unit: str
    words: Callable[[float], str]


def metrics_of(runs: Sequence[Mapping[str, Series]]) -> list[Metric]:
    """The columns worth a panel: all of the operating system, then the most telling of the servers' own."""
    moving = [column for column in dict.fromkeys(chain.from_iterable(runs)) if _moves(runs, column)]
    system = [column for column in moving if column.startswith("os.")]
    own = sorted((c for c in moving if not c.startswith("os.")), key=lambda c: (_rank(c), c))
    return [describe(column) for column in [*system, *own[:OWN_METRICS_MAX]]]


def describe(column: str) -> Metric:
    """ "os.server_cpu_cores" -> server cpu, cores."""
    origin, _, name = column.partition(".")
    unit = ""
    for ending, meaning in _UNITS:
        if name.endswith(ending):
            name, unit = name.removesuffix(ending), meaning
            break
    if origin != "os" and not unit:
        unit = "per second or momentary, as the server counts it"
    title = re.sub(r"_+", " ", name) if origin == "os" else name
    short_unit = unit if len(unit) < 12 else ""
    return Metric(column, f"{title}, {unit}" if unit else title, short_unit, bytes_words if "bytes" in unit else short)


def _moves(runs: Sequence[Mapping[str, Series]], column: str) -> bool:
    values = {value for run in runs for _, value in run.get(column, ())}
    return len(values) > 1


def _rank(column: str) -> int:
    lower = column.lower()
    return next((rank for rank, word in enumerate(_TELLING) if word in lower), len(_TELLING))
