"""A table as text that other programs and people read, with its units where they are asked for."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..analysis.wording import significant
from .table import told_of

if TYPE_CHECKING:
    import pyarrow as pa

#: What a spreadsheet takes for the beginning of a formula, as a name may have one: CWE-1236.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(table: pa.Table, *, units: bool = False) -> str:
    """Nothing between two commas: no value. units: in the head, as in Markdown. What a spreadsheet would take for
    a formula has an apostrophe before it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_harmless(name) for name in _head(table, units=units)])
    for row in _rows(table):
        writer.writerow([_harmless(value) if isinstance(value, str) else _text(value) for value in row])
    return text.getvalue()


def as_markdown(table: pa.Table) -> str:
    """For people: units stand in the head, and what is no whole number has four significant digits."""
    lines = [_head(table, units=True), ["---"] * table.num_columns]
    lines += [[_rounded(value) for value in row] for row in _rows(table)]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def _head(table: pa.Table, *, units: bool) -> list[str]:
    """ "latency_p99 (ms)"; only the name where it ends in its unit, or has none."""
    told = {name: told_of(table, name).get("unit") if units else None for name in table.column_names}
    return [f"{name} ({unit})" if unit and not name.endswith(f"_{unit}") else name for name, unit in told.items()]


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    for batch in table.to_batches(max_chunksize=4096):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _rounded(value: Any) -> str:
    return significant(value, 4) if isinstance(value, float) else _text(value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
