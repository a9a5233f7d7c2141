"""What the runs of a bundle say to a comparison, and the typical repetition of a cell.

A figure of a cell is the geometric mean of its repetitions' own, percentiles included: the repetition is the unit of
evidence, so its interval is over repetitions. See docs/method/percentiles.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.estimate import Invalid, RunValue, Unstated, cause_words
from ..analysis.limit import TOO_FEW
from ..analysis.metric import Metric, Observed
from ..analysis.percentiles import is_overloaded, samples_needed
from ..analysis.summary import summarise
from ..analysis.validity.slow_clients import FloatArray
from ..analysis.wording import milliseconds_words
from ..bundle.read import Bundle
from ..model.boundary import Document
from ..model.records.run import Percentiles, RunRecord
from .runs import causes

if TYPE_CHECKING:
    import pyarrow as pa

#: A stream's hash covers its first 10,000 operations; runs with so few that some stream may have ended earlier have
#: different hashes for the same work.
_HASHED_OPERATIONS = 10_000
_TIMES = ("second", "length_s")
_LAG = re.compile(r"db\.(.+)\.lag_s")
_COUNTER = re.compile(r"db\.\w+_per_s")


def observed(bundle: Bundle, run: RunRecord) -> Observed:
    load = next((load for load in bundle.loads if run.cell in load.cells), None)
    if load is not None and run.reload_s:
        load = load.model_copy(update={"elapsed_s": run.reload_s, "rows_per_s": load.rows / run.reload_s})
    cell = bundle.cells.get(run.cell)
    return Observed(
        run,
        load,
        cell.rates if cell else [],
        lambda column: _server_mean(bundle, run, column),
        lambda: lags_s(bundle, run),
        cell.prices if cell else None,
    )


def run_values(bundle: Bundle, runs: Sequence[RunRecord], metric: Metric) -> dict[int, RunValue]:
    """By block, in the metric's unit; Unstated where it is not defined or only a lower bound, Invalid where the run
    counts against its system. A disturbed run says nothing, as if it had not been made. What a load says is one value
    however many runs share its data, whatever became of them."""
    if is_shared(metric, runs):
        return {run.block: metric.of(observed(bundle, run)) for run in runs[:1]}
    return {
        run.block: _value(observed(bundle, run), metric) if run.valid else Invalid(causes(run))
        for run in runs
        if run.valid or run.standing != "disturbed"
    }


def is_shared(metric: Metric, runs: Sequence[RunRecord]) -> bool:
    """Whether all runs have one value, that of the load of their data; not where each was loaded for."""
    return metric.per == "load" and not all(run.reload_s for run in runs)


def why_no_value(bundle: Bundle, runs: Sequence[RunRecord], metric: Metric) -> str:
    """Why runs have no common value to compare, and in how many of them; "not compared" where each has one."""
    if not runs:
        return "no run"
    reasons = [_why_no_value(observed(bundle, run), metric) for run in runs]
    causes = {reason.cause for reason in reasons if reason}
    if all(reasons) and len(causes) == 1 and TOO_FEW not in causes:
        return causes.pop()
    return cause_words(reasons) or "not compared"


def _why_no_value(seen: Observed, metric: Metric) -> Unstated | None:
    """None: it has one that can be compared."""
    if not seen.run.valid:
        return Unstated("disturbed" if seen.run.standing == "disturbed" else "not valid")
    value = metric.of(seen)
    if value is not None:
        return Unstated("a lower bound") if metric.at_least(seen) else Unstated("zero") if value == 0 else None
    if metric.unit == "ms" and is_overloaded(seen.run):
        return Unstated("overloaded")
    return too_few_operations(seen, metric) or Unstated(
        seen.run.response.words.get(metric.name.removeprefix("latency_") + "_ms", "not defined")
    )


def too_few_operations(seen: Observed, metric: Metric) -> Unstated | None:
    """Where nothing but their number keeps a percentile of a run from being stated."""
    spread = seen.response_of(metric.part) if metric.part else seen.response
    if metric.quantile is None or spread is None or not spread.has_too_few(metric.quantile):
        return None
    return Unstated(TOO_FEW, spread.count, samples_needed(metric.quantile))


def _value(seen: Observed, metric: Metric) -> RunValue:
    """A lower bound is compared with nothing, and only a share may be zero."""
    value = metric.of(seen)
    if value is not None and not metric.at_least(seen):
        return value
    return _why_no_value(seen, metric)


def counters_per_s(bundle: Bundle, run: RunRecord) -> dict[str, float]:
    """What the server itself counts, by its column: per second of the window, not of single nodes."""
    table = bundle.server(run.id, lambda names: [n for n in names if n in _TIMES or _COUNTER.fullmatch(n)])
    if table is None or not set(_TIMES) <= set(table.column_names):
        return {}
    return {
        name: mean
        for name in table.column_names
        if name not in _TIMES and (mean := _window_mean(table, name, bundle.plan.warm_up_s, run.window_s)) is not None
    }


def _server_mean(bundle: Bundle, run: RunRecord, column: str) -> float | None:
    wanted = (*_TIMES, column)
    table = bundle.server(run.id, lambda names: [name for name in wanted if name in names])
    if table is None or set(table.column_names) != set(wanted):
        return None
    return _window_mean(table, column, bundle.plan.warm_up_s, run.window_s)


def lags_s(bundle: Bundle, run: RunRecord) -> dict[str, list[float]]:
    """Of each replica, in the order of time, over the window."""
    table = bundle.server(run.id, lambda names: [n for n in names if n in _TIMES or _LAG.fullmatch(n)])
    if table is None or not set(_TIMES) <= set(table.column_names):
        return {}
    columns = {found[1]: name for name in table.column_names if (found := _LAG.fullmatch(name))}
    inside = {n: in_window(table, name, bundle.plan.warm_up_s, run.window_s)[0] for n, name in columns.items()}
    return {node: values.tolist() for node, values in inside.items() if len(values)}


def _window_mean(table: pa.Table, column: str, warm_up_s: float, window_s: float) -> float | None:
    value, length_s = in_window(table, column, warm_up_s, window_s)
    return float(np.average(value, weights=length_s)) if len(value) else None


def in_window(table: pa.Table, column: str, warm_up_s: float, window_s: float) -> tuple[FloatArray, FloatArray]:
    """Values and lengths, s, of the rows whose middle lies in the window."""
    second, length_s, value = (
        np.asarray(table.column(name).to_numpy(), dtype=np.float64) for name in (*_TIMES, column)
    )
    middle_s = second + length_s / 2 - warm_up_s
    inside = (middle_s >= 0) & (middle_s <= window_s) & ~np.isnan(value)
    return value[inside], length_s[inside]


def same_operations(a: RunRecord, b: RunRecord) -> bool:
    """Whether two runs asked for the same, as far as is known: only of runs that were long enough for all of their
    hashes to be complete."""
    return a.stream_hashes == b.stream_hashes or not (_hashes_complete(a) and _hashes_complete(b))


def _hashes_complete(run: RunRecord) -> bool:
    """Streams of one run do not differ by a factor of four."""
    return run.state == "done" and run.ok > 4 * _HASHED_OPERATIONS * max(len(run.stream_hashes), 1)


#: The percentiles of `Percentiles`.
QUANTILE_WORDS = {"p50_ms": "p50", "p95_ms": "p95", "p99_ms": "p99", "p999_ms": "p99.9"}


def time_words(response: Percentiles, name: str) -> str | None:
    """One of `response` for people: "1.25 ms", "at least 1.00 s"; None where it is not stated."""
    value: float | None = getattr(response, name)
    if value is None:
        return None
    return f"{'at least ' if name in response.at_least else ''}{milliseconds_words(value)}"


class Spread(Document):
    """Of one figure over the valid repetitions: value: geometric mean; low, high: its 95 % CI, None below two."""

    value: float
    low: float | None
    high: float | None
    minimum: float
    maximum: float
    cv: float | None


_QUANTITIES = (*QUANTILE_WORDS, "mean_ms")


def typical_response(runs: Sequence[RunRecord]) -> tuple[Percentiles, dict[str, Spread]]:
    """Response times of the typical run, and each with its spread. A percentile that one of the runs does not have is
    not stated; `words` say why. The longest time is that of all of them, and its spread that of each run's longest."""
    spreads: dict[str, Spread] = {}
    words: dict[str, str] = {}
    for name in _QUANTITIES:
        values = [value for run in runs if (value := getattr(run.response, name)) is not None]
        if len(values) == len(runs) and (spread := spread_of(values)):
            spreads[name] = spread
        elif name in QUANTILE_WORDS:
            words[name] = _why_not(name, runs)
    response = Percentiles(
        **{name: spread.value for name, spread in spreads.items()},
        max_ms=max((run.response.max_ms for run in runs if run.response.max_ms is not None), default=None),
        words=words,
        at_least=[name for name in (*spreads, "max_ms") if any(name in run.response.at_least for run in runs)],
    )
    longest = [run.response.max_ms for run in runs if run.response.max_ms is not None]
    if len(longest) == len(runs) and (spread := spread_of(longest)):
        spreads["max_ms"] = spread
    return response, spreads


def _why_not(name: str, runs: Sequence[RunRecord]) -> str:
    """ "not defined (2.0 % failed) in 1 of 5 runs": in the words of the first that has none."""
    without = [run for run in runs if getattr(run.response, name) is None]
    why = without[0].response.words.get(name, "not known") if without else "no samples"
    return why if len(without) == len(runs) else f"{why} in {len(without)} of {len(runs)} runs"


def spread_of(values: Sequence[float]) -> Spread | None:
    """The typical repetition is the geometric mean and its interval that of the logarithms, because comparisons are of
    ratios: what is printed of two cells is then the ratio that is printed of their comparison."""
    plain = summarise(values)
    if plain is None:
        return None
    value, low, high = plain.mean, plain.low, plain.high
    if plain.minimum > 0 and (logs := summarise([math.log(value) for value in values])):
        value = math.exp(logs.mean)
        low, high = (None if edge is None else math.exp(edge) for edge in (logs.low, logs.high))
    return Spread(
        value=value,
        low=None if low is None else max(0.0, low),
        high=high,
        minimum=plain.minimum,
        maximum=plain.maximum,
        cv=plain.cv,
    )
