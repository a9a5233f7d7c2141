"""Runs x metrics: one row a run, what it is first and then its value of every metric, in the metric's unit."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence

from ..analysis.metric import Metric
from ..model.records import Scalar
from .run_values import observed
from .source import Source

Value = Scalar | None
Row = Mapping[str, Value]


def runs_table(bundle: Source, metrics: Sequence[Metric]) -> list[Row]:
    """In the order in which the runs were made; all rows have the same columns. None: not defined or not known, as is
    everything of a run that failed."""
    cells = {cell.id: cell for cell in bundle.plan.cells}
    factors = dict.fromkeys(name for cell in bundle.plan.cells for name in cell.levels if name != "system")
    rows: list[Row] = []
    for run in bundle.runs:
        cell, seen = cells[run.cell], observed(bundle, run)
        rows.append(
            {
                "run": run.id,
                "cell": run.cell,
                "block": run.block,
                "started": run.started,
                "system": cell.system,
                "workload": cell.workload,
                **{name: cell.levels.get(name) for name in factors},
                "valid": run.valid,
                **{metric.name: metric.of(seen) if run.state == "done" else None for metric in metrics},
            }
        )
    return rows


def without_empty(rows: Sequence[Row], metrics: Sequence[Metric]) -> list[Row]:
    """The rows without the metrics that no run has."""
    empty = {m.name for m in metrics if all(row[m.name] is None for row in rows)}
    return [{name: value for name, value in row.items() if name not in empty} for row in rows]


def as_csv(rows: Sequence[Row]) -> str:
    """Nothing between two commas: no value."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _text(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def as_markdown(rows: Sequence[Row]) -> str:
    return "\n".join(_markdown(rows)) + "\n"


def _markdown(rows: Sequence[Row]) -> Iterator[str]:
    names = list(rows[0]) if rows else []
    for line in (names, ["---"] * len(names), *([_text(value) for value in row.values()] for row in rows)):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |"


def _text(value: Value) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
