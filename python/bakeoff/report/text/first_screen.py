"""The first screen for a terminal, in 80 columns: the answer, how far to trust it, one row for each thing compared."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator

from ...terminal import aligned, one_line
from ..first_screen import FirstScreen, Row

WIDTH = 80
#: The value to the low end of its interval, from there to the value, and on to the high end.
_SURE, _UP_TO_VALUE, _UP_TO_HIGH = "█", "▓", "░"
_COLOURS = {"shown": "32", "not trustworthy": "31", "undecided": "33", "partly shown": "33"}
_BAR_MAX, _BAR_MIN = 24, 8


def first_lines(first: FirstScreen, *, colour: bool = False) -> Iterator[str]:
    for line in _wrapped(first.answer):
        yield f"\x1b[1m{line}\x1b[0m" if colour else line
    code = _COLOURS.get(first.certainty) if colour else None
    certainty = first.certainty_words.upper()
    for number, line in enumerate(_wrapped(first.certainty_line)):
        yield line.replace(certainty, f"\x1b[{code}m{certainty}\x1b[0m", 1) if code and not number else line
    yield from _wrapped(first.trust)
    yield ""
    yield from _table(first)
    yield from _wrapped(first.more) if first.more else ()


def wants_colour() -> bool:
    """A terminal that shows it, whose user has not said no (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _table(first: FirstScreen) -> Iterator[str]:
    """Rows of a setting stand under its name, where there are several."""
    if not first.rows:
        return
    settings = list(dict.fromkeys(row.setting_words for row in first.rows))
    shared = first.shared_name
    verdicts = [", ".join(filter(None, (row.verdict, row.stamp))) for row in first.rows]
    plain = [
        [row.name.removeprefix(shared), row.value_words, "", row.change, verdict]
        for row, verdict in zip(first.rows, verdicts, strict=True)
    ]
    change = first.change_head.replace(shared, "", 1) if shared else first.change_head
    head = [shared.rstrip(" ="), first.value_head, "", change if len(settings) == 1 else "", ""]
    # A head that is much longer than its values would take the bars' room: it stands on a line of its own.
    with_head = len(first.value_head) <= max(len(row.value_words) for row in first.rows) + 4
    widest = [head[0], first.value_head if with_head else "", "", *head[3:]]
    used = sum(max(map(len, column)) + 2 for column in zip(widest, *plain, strict=True)) - 2
    room = min(_BAR_MAX, WIDTH - used) if any(row.value is not None for row in first.rows) else 0
    room = room if room >= _BAR_MIN else 0
    bars = (_bar(row, first.longest_bar(row), room) for row in first.rows)
    rows = [[*cells[:2], bar, *cells[3:]] for cells, bar in zip(plain, bars, strict=True)]
    lines = [[one_line(cell) for cell in line] for line in ([head] if with_head else []) + rows]
    shown = iter(aligned(lines, {0, 2, 3, 4}))
    if with_head:
        yield next(shown)
    else:
        yield one_line(", ".join(filter(None, (head[0], first.value_head, head[3]))))
    before = None
    for row, line in zip(first.rows, shown, strict=True):
        if len(settings) > 1 and row.setting_words != before:
            yield f"{one_line(row.setting_words)}:"
        before = row.setting_words
        yield line
    if room and any(row.low is not None for row in first.rows):
        drawn = f"{_UP_TO_VALUE}{_UP_TO_HIGH}"
        yield f"{drawn} {first.interval_words}; the value is between {_UP_TO_VALUE} and {_UP_TO_HIGH}"


def _bar(row: Row, most: float, columns: int) -> str:
    if not columns or row.value is None:
        return ""
    low, high = (row.value if end is None else end for end in (row.low, row.high))
    ends = (low, row.value, high)
    at = [round(end / most * columns) if most > 0 else 0 for end in ends]
    return _SURE * at[0] + _UP_TO_VALUE * (at[1] - at[0]) + _UP_TO_HIGH * (at[2] - at[1])


def _wrapped(words: str) -> list[str]:
    return textwrap.wrap(one_line(words), WIDTH, break_on_hyphens=False)
