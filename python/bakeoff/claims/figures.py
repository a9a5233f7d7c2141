"""Figures of a run that claims are about and the list of metrics does not have, because they come from its seconds or
from its cell: each as a metric, so that what counts for a run counts for them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from ..analysis.metric import Metric, Observed
from ..analysis.over_time import VARIATIONS, Change, FloatArray, by_interval, change_of, end_over_start
from ..analysis.percentiles import same_operation
from ..analysis.registry import is_watched
from ..bundle.read import Bundle
from ..bundle.run_files import EACH_SECOND_S, LATER_S
from ..errors import PlanError
from ..findings.run_values import in_window
from ..model.records.plan import CellRecord
from ..model.records.run import RunRecord
from ..model.resolve import Rate
from ..notebook import read_histograms
from .measured import Measured

#: By metric: the column of the seconds that a run keeps.
_COLUMNS = {
    "rate": "rate_ops_per_s",
    **{f"latency_{name}": f"{name}_ms" for name in ("mean", "p50", "p95", "p99", "max")},
}
#: The last second of a run may be a part of one, whose rate is of few operations.
_WHOLE_S = 0.5
#: Means over an interval of these would be no percentile of the interval.
_NOT_AVERAGED = ("p50_ms", "p95_ms", "p99_ms", "max_ms")


def refuse_without_seconds(measured: Measured) -> None:
    name = measured.metric.name
    if name not in _COLUMNS and not is_watched(name) and not _operations(measured, name):
        hint = f"measure one of {', '.join(_COLUMNS)}, a rate of operations, or a column such as db.Threads_running"
        raise PlanError(f"`{name}` is not kept second by second", where=measured.cells.place, hint=hint)


def _operations(measured: Measured, name: str) -> list[str]:
    """Whose correct ones a rate counts: that of a workload's own, or of one operation."""
    own = {rate.name: rate.operations for rate in measured.cells.plan.rates if isinstance(rate, Rate)}
    return [measured.metric.part] if name.startswith("rate.") else list(own.get(name, []))


def _counted(bundle: Bundle, operations: list[str], run: RunRecord) -> tuple[FloatArray, FloatArray]:
    """As `_seconds`, of operations ended right."""
    columns: list[str] = []

    def pick(names: list[str]) -> list[str]:
        parts = [(name, name.removeprefix("ok.")) for name in names if name.startswith("ok.")]
        columns.extend(name for name, part in parts if any(same_operation(part, o) for o in operations))
        return ["second", "length_s", *columns]

    table = bundle.intervals(run.id, pick)
    if table is None or not columns:
        return _counted_in_histograms(bundle, operations, run)
    # A second in which none of an operation ended has no value of it.
    counts = sum(np.nan_to_num(np.asarray(table.column(name).to_numpy(), dtype=np.float64)) for name in columns)
    counted = table.append_column("chosen", [counts])
    values, length_s = in_window(counted, "chosen", bundle.plan.warm_up_s, run.window_s)
    whole = length_s >= _WHOLE_S
    return np.cumsum(length_s[whole]) - length_s[whole], values[whole] / length_s[whole]


def _counted_in_histograms(bundle: Bundle, operations: list[str], run: RunRecord) -> tuple[FloatArray, FloatArray]:
    """Of a bundle from before the seconds were counted by operation; none is longer than an hour."""
    first = round(bundle.plan.warm_up_s)
    counts = np.zeros(int(run.window_s))
    for one in read_histograms(bundle.folder, run.id):
        if one.outcome == "ok" and any(same_operation(one.operation, name) for name in operations):
            begin, end = one.second - first, one.second - first + one.seconds
            counts[max(begin, 0) : max(end, 0)] += one.response.count / one.seconds
    return np.arange(counts.size, dtype=float), counts


def _seconds(measured: Measured, run: RunRecord) -> tuple[FloatArray, FloatArray]:
    """When each second of the window began, since its start, and the value in it."""
    bundle, name = measured.bundle, measured.metric.name
    assert bundle is not None
    if operations := _operations(measured, name):
        return _counted(bundle, operations, run)
    column = _COLUMNS.get(name, name)
    wanted = ("second", "length_s", column)
    read = bundle.intervals if name in _COLUMNS else bundle.server
    table = read(run.id, lambda names: [each for each in names if each in wanted])
    if table is None or set(table.column_names) != set(wanted):
        return np.empty(0), np.empty(0)
    values, length_s = in_window(table, column, bundle.plan.warm_up_s, run.window_s)
    whole = length_s >= _WHOLE_S
    values, length_s = values[whole], length_s[whole]
    # After an hour a row of a server is of a minute: of each of its seconds.
    seconds = np.maximum(1, np.rint(length_s)).astype(int)
    values, length_s = np.repeat(values, seconds), np.repeat(length_s / seconds, seconds)
    return np.cumsum(length_s) - length_s, values


def _of_run(measured: Measured, label: str, of: Callable[[Observed], float | None]) -> Metric:
    return Metric(f"{measured.metric.name} {label}", "ratio", "neither", f"{measured.metric.label}: {label}", "", of)


def trend(measured: Measured) -> Metric:
    """The end of the window over its start."""
    refuse_without_seconds(measured)

    def of(seen: Observed) -> float | None:
        return end_over_start(*_seconds(measured, seen.run))

    return _of_run(measured, "end of the run over its start", of)


def change(measured: Measured, cell: CellRecord) -> Change | None:
    """Of the cell's valid runs, in the order of blocks."""
    refuse_without_seconds(measured)
    _refuse_mean_of_percentiles(measured)
    return change_of([_seconds(measured, run)[1] for run in measured.runs[cell.id] if run.valid])


def variability(measured: Measured, figure: str, interval_s: float) -> Metric:
    refuse_without_seconds(measured)
    if interval_s > 1:
        _refuse_mean_of_percentiles(measured)
    plan = measured.cells.plan
    is_long = plan.warm_up_s + (plan.window_s or 0.0) > EACH_SECOND_S
    if is_long and interval_s < LATER_S and is_watched(measured.metric.name):
        what = f"after an hour samples of servers cover {LATER_S} s each"
        raise PlanError(what, where=measured.cells.place, hint=f'write interval = "{LATER_S}s" or more')

    def of(seen: Observed) -> float | None:
        seconds, values = _seconds(measured, seen.run)
        values = by_interval(seconds, values, interval_s) if values.size and interval_s > 1 else values
        found = VARIATIONS[figure](values) if values.size > 2 and values.mean() > 0 else math.nan
        return found if math.isfinite(found) else None

    words = {
        "largest": "largest deviation from the mean",
        "cv": "standard deviation over mean",
        "iqr": "IQR over median",
    }
    return _of_run(measured, f"{words[figure]} of intervals of {interval_s:g} s", of)


def _refuse_mean_of_percentiles(measured: Measured) -> None:
    name = measured.metric.name
    if _COLUMNS.get(name) in _NOT_AVERAGED:
        hint = 'measure "rate" or "latency_mean", or test the seconds themselves (`variability` without `interval`)'
        raise PlanError(f"the seconds of `{name}` cannot be averaged", where=measured.cells.place, hint=hint)


def users_by_littles_law(measured: Measured, cell: CellRecord) -> Metric:
    """Throughput times mean response time over the number of users: 1 by Little's law (1961)."""
    users = cell.threads * cell.clients
    return _of_run(measured, "throughput x mean response time / users", partial(_over_users, users))


def _over_users(users: int, seen: Observed) -> float | None:
    mean_ns = None if seen.response is None else seen.response.mean().value_ns
    return None if mean_ns is None else seen.run.rate_ops_per_s * mean_ns / 1e9 / users
