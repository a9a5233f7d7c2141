"""Response times of several runs as one distribution, merged exactly from their histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import BundleError
from ..model.boundary import HistogramDoc, Series
from ..model.records import OperationSummary, Percentiles, RunRecord

if TYPE_CHECKING:
    from ..analysis.histograms import Histogram
    from ..analysis.percentiles import Distribution

QUANTILES = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99, "p999_ms": 0.999}
QUANTILE_WORDS = {"p50_ms": "p50", "p95_ms": "p95", "p99_ms": "p99", "p999_ms": "p99.9"}


def merged_distribution(runs: Sequence[RunRecord]) -> Distribution:
    """All operations of the runs: those that failed rank above every time."""
    from ..analysis.histograms import merge
    from ..analysis.percentiles import Distribution

    return Distribution(
        waited=merge([_decoded(run.headline) for run in runs]),
        failed=sum(_failed(run) for run in runs),
        revoked=sum(run.revoked for run in runs),
    )


def is_overloaded(run: RunRecord) -> bool:
    from ..analysis.validity import overloaded

    return overloaded(run.due, run.completed)


def merged_percentiles(runs: Sequence[RunRecord]) -> Percentiles:
    """Of the operations of all the runs together, never a mean of percentiles; none where one was overloaded."""
    if not any(run.headline.count for run in runs):
        return Percentiles(words=dict.fromkeys(QUANTILES, "no samples"))
    max_ms = max(run.headline.max_ns for run in runs) / 1e6
    if any(is_overloaded(run) for run in runs):
        return Percentiles(max_ms=max_ms, words=dict.fromkeys(QUANTILES, "not stated (overloaded)"))
    count = sum(run.headline.count for run in runs)
    mean_ns = sum(run.headline.mean_ns * run.headline.count for run in runs) / count
    return _percentiles(merged_distribution(runs)).model_copy(update={"max_ms": max_ms, "mean_ms": mean_ns / 1e6})


def _percentiles(spread: Distribution) -> Percentiles:
    found = {name: spread.percentile(quantile) for name, quantile in QUANTILES.items()}
    waited = spread.waited
    mean_ns = waited.mean_ns()
    return Percentiles(
        **{name: None if p.value_ns is None else p.value_ns / 1e6 for name, p in found.items()},
        max_ms=None if waited.max_ns is None else waited.max_ns / 1e6,
        mean_ms=None if mean_ns is None else mean_ns / 1e6,
        words={name: p.words for name, p in found.items() if p.value_ns is None},
    )


def by_operation(runs: Sequence[RunRecord]) -> list[OperationSummary]:
    """Each kind of operation over all the runs, parts of others included and marked; in the order they first occur."""
    from ..analysis.histograms import merge
    from ..analysis.percentiles import distribution

    groups: dict[tuple[str, str | None], dict[str, list[Series]]] = {}
    for series in (s for run in runs for s in run.series if s.count):
        groups.setdefault((series.operation, series.part_of), {}).setdefault(series.outcome, []).append(series)
    return [
        OperationSummary(
            operation=operation,
            part_of=part_of,
            ok=sum(s.count for s in outcomes.get("ok", [])),
            errors={name: sum(s.count for s in found) for name, found in outcomes.items() if name != "ok"},
            response=_percentiles(
                distribution({name: merge([_decoded(s.response) for s in found]) for name, found in outcomes.items()})
            ),
        )
        for (operation, part_of), outcomes in groups.items()
    ]


def percentile_ranges(runs: Sequence[RunRecord]) -> dict[str, tuple[float, float]]:
    """Lowest and highest of the runs' own percentiles, ms."""
    ranges: dict[str, tuple[float, float]] = {}
    for name in QUANTILES:
        values = [value for run in runs if (value := getattr(run.response, name)) is not None]
        if values:
            ranges[name] = (min(values), max(values))
    return ranges


def _decoded(document: HistogramDoc) -> Histogram:
    from ..analysis.histograms import Histogram, HistogramError

    if not document.count:
        return Histogram.empty()
    try:
        return Histogram.from_hdr(
            document.hdr, min_ns=document.min_ns, max_ns=document.max_ns, out_of_range=document.out_of_range
        )
    except HistogramError as error:
        raise BundleError(
            f"a histogram in a run's result.json cannot be read: {error}",
            hint="the file was changed or cut short; copy the bundle again",
        ) from error


def _failed(run: RunRecord) -> int:
    """`wrong` and `fail`. Operations of unknown outcome are in the histogram; revoked ones are counted apart."""
    return sum(count for outcome, count in run.errors.items() if outcome not in ("unknown", "revoked"))
