"""Levels of factors in words, and as amounts: "2 threads", "5,000/s offered", "flush_log=2", "preset a"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..analysis.wording import grouped
from ..model.records import Scalar
from ..model.said import TABLE_FORMAT

#: A sweep has at least so many levels; of two the question is which is more.
SWEPT_MIN = 3
#: What is asked of a system at once. More of it is more load, which has a knee.
LOAD = ("threads", "clients", "users", "rate")
#: Factors whose levels are names that speak for themselves.
_NAMES = ("system", "plan", "side", TABLE_FORMAT)
_COUNTED = ("threads", "clients", "sessions", "workers", "users")
#: A server's own names stand in these tables of a system.
_OWN_NAME = re.compile(r"(?:^|\.)(?:settings|session|start)\.(?P<name>.+)")
_AMOUNT = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[a-zA-Zµ]+)")
_UNITS = {
    **{f"{prefix}{unit}": 1024.0**n for n, prefix in enumerate("KMGT", 1) for unit in ("", "B", "iB")},
    **{"kB": 1024.0, "k": 1024.0, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0},
}


def amount(level: Scalar | None) -> float | None:
    """Of a number, or of a size or duration as people write it ("64M", "10ms"); None: it is a name."""
    if isinstance(level, bool) or level is None:
        return None
    if isinstance(level, int | float):
        return float(level)
    found = _AMOUNT.fullmatch(level.strip())
    return float(found["number"]) * _UNITS[found["unit"]] if found and found["unit"] in _UNITS else None


def are_codes(name: str, levels: Sequence[Scalar]) -> bool:
    """Whether a server's setting has numbers for names: 0, 1, 2 are three ways, not three amounts."""
    return own_name(name) is not None and sorted(levels, key=str) == list(range(len(levels)))


def own_name(name: str) -> str | None:
    """ "sync_binlog" of "mariadb.settings.sync_binlog"; None of what is no server's setting."""
    found = _OWN_NAME.search(name)
    return found["name"] if found else None


def level_words(level: Scalar) -> str:
    """As the plan has it, numbers readable; without what it is a level of."""
    if isinstance(level, bool):
        return "on" if level else "off"
    if isinstance(level, float):
        return f"{level:,g}" if abs(level) < 1e6 else grouped(level)
    return f"{level:,}" if isinstance(level, int) else level


def factor_words(name: str, *levels: Scalar, between: str = " to ") -> str:
    """One level, or several as a span: "16 threads", "16 to 64 threads", "sync_binlog=0 to 100", "preset a"."""
    if own := own_name(name):
        return f"{own}={between.join(_as_set(level) for level in levels)}"
    words = [level_words(level) for level in levels]
    if name in _COUNTED:
        return f"{between.join(words)} {name.removesuffix('s') if levels == (1,) else name}"
    if name == "rate":
        return f"{between.join(f'{each}/s' for each in words)} offered"
    if name.rpartition(".")[2] in _NAMES:
        return between.join(words)
    return f"{name.rpartition('.')[2]} {between.join(words)}"


def short_words(name: str, *levels: Scalar, between: str = " to ") -> str:
    """In a sentence that has named the factor: a size or time with its unit speaks for itself ("16M to 64M")."""
    return (
        between.join(map(str, levels)) if all(map(_has_unit, levels)) else factor_words(name, *levels, between=between)
    )


def _has_unit(level: Scalar) -> bool:
    return isinstance(level, str) and amount(level) is not None


def axis_words(name: str) -> str:
    return "offered rate, operations per second" if name == "rate" else own_name(name) or name.rpartition(".")[2]


def _as_set(level: Scalar) -> str:
    """A server's number is written as its own files have it."""
    return str(level) if isinstance(level, int) and not isinstance(level, bool) else level_words(level)
