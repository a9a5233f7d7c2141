"""A rate that was recorded, such as a day in production, as stages of a plan."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from pydantic import Field

from ...input_files import read_text
from ...suggestions import meant
from .units import DURATION_MAX_S, RATE_MAX_OPS_PER_S, Table, UnitError

STAGES_MAX = 10_000
_FACTOR_MAX = 1e6
_COLUMNS = "the first line has the names of the columns, `time` (seconds, or date and time) and `rate` (per second)"


class RecordedRate(Table):
    """`stages` as a table: its keys, and what the schema says of them. `stages_of` checks them, in words."""

    file: str
    speed: float = Field(default=1, gt=0, le=_FACTOR_MAX)
    scale: float = Field(default=1, gt=0, le=_FACTOR_MAX)


def stages_of(table: Mapping[str, Any], base_dir: Path) -> list[dict[str, Any]]:
    """As a plan writes them. table: `file`, a CSV file whose path starts at base_dir; `speed`, by how much faster it is
    played; `scale`, by how much each rate is multiplied. A row's rate holds until the time of the next one, and the
    last one's as long as that before it. Raises UnitError."""
    for key in table.keys() - RecordedRate.model_fields.keys():
        raise UnitError(f"unknown key `{key}`", meant(key, RecordedRate.model_fields))
    if not isinstance(table.get("file"), str):
        raise UnitError("`stages` as a table needs `file`", 'for instance stages = { file = "day.csv", speed = 24 }')
    speed, scale = (_factor(table, name) for name in ("speed", "scale"))
    rows = list(islice(_rows(table["file"], base_dir), STAGES_MAX + 1))
    if len(rows) < 2:
        what = f"{table['file']} has {len(rows) or 'no'} row{'' if len(rows) == 1 else 's'} of a time and a rate"
        raise UnitError(what, "write at least two: a row's rate holds until the next row's time")
    if len(rows) > STAGES_MAX:
        raise UnitError(f"{table['file']} has more than {STAGES_MAX:,} rows", "one row a minute is enough for a week")
    if (highest := max(rate for _, rate in rows) * scale) > RATE_MAX_OPS_PER_S:
        what = f"the highest rate of {table['file']}, times `scale`, is {highest:g} per second"
        raise UnitError(what, f"at most {RATE_MAX_OPS_PER_S:g} is possible")
    lengths_s = [(later - time) / speed for (time, _), (later, _) in pairwise(rows)]
    lengths_s.append(lengths_s[-1])
    if max(lengths_s) > DURATION_MAX_S:
        raise UnitError(f"a row of {table['file']}, at this `speed`, lasts longer than a year", "2 is twice as fast")
    return [
        {"rate": rate * scale, "for": f"{length_s:.9f}s"} for (_, rate), length_s in zip(rows, lengths_s, strict=True)
    ]


def _factor(table: Mapping[str, Any], name: str) -> float:
    value = table.get(name, 1)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _FACTOR_MAX:
        what = f"`{name}` of `stages` must be a number above 0 and at most {_FACTOR_MAX:,.0f}"
        raise UnitError(what, "2 is twice as much")
    return float(value)


def _rows(name: str, base_dir: Path) -> Iterator[tuple[float, float]]:
    """Times in seconds, each later than the one before, and rates."""
    try:
        text = read_text(base_dir / name, encoding="utf-8-sig")
    except OSError as error:
        raise UnitError(f"cannot read {name}: {error.strerror}", "paths start at the plan's folder") from None
    except UnicodeDecodeError:
        raise UnitError(f"{name} is not UTF-8 text", _COLUMNS) from None
    lines = csv.reader(text.splitlines())
    try:
        columns = [one.strip() for one in next(lines, [])]
        if not any(columns):
            raise UnitError(f"{name} is empty, or its first line is", _COLUMNS)
        if not {"time", "rate"} <= {*columns}:
            raise UnitError(f"{name} has no column `time` or no column `rate`, but {', '.join(columns)}", _COLUMNS)
        yield from _read(name, lines, columns)
    except csv.Error as error:
        raise UnitError(f"{name}, line {lines.line_num}: {error}", _COLUMNS) from None


def _read(name: str, lines: Any, columns: list[str]) -> Iterator[tuple[float, float]]:
    """lines: a reader of CSV, after the first."""
    before, kind = -math.inf, ""
    for cells in filter(None, lines):
        row = dict(zip(columns, cells, strict=False))
        where = f"{name}, line {lines.line_num}"
        (time, own), rate = _seconds(row.get("time"), where), _number(row.get("rate"))
        if own != (kind := kind or own):
            raise UnitError(f"{where}: its time has {own}, and those before it {kind}", "write all in the same way")
        if rate is None or not 0 <= rate < math.inf:
            raise UnitError(f"{where}: `rate` is not a number from 0 on", _COLUMNS)
        if time <= before:
            raise UnitError(f"{where}: its time is not later than the one before", "sort the rows by time")
        yield time, rate
        before = time


def _seconds(text: str | None, where: str) -> tuple[float, str]:
    """With the way in which it is written."""
    number = _number(text)
    if number is not None and math.isfinite(number):
        return number, "seconds"
    try:
        found = datetime.fromisoformat((text or "").strip())
        if found.tzinfo:
            return found.timestamp(), "a time zone"
        # No clock is put forward in the middle of a day.
        return found.replace(tzinfo=UTC).timestamp(), "a date and no time zone"
    except ValueError:
        raise UnitError(f"{where}: `time` is neither seconds nor a date and time", _COLUMNS) from None


def _number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None
