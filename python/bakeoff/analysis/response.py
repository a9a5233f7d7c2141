"""Response times of runs as one distribution, merged exactly from their histograms, and what may be said of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..model.boundary import HistogramDoc, Series
from ..model.records import OperationSummary, Percentiles, RunRecord
from .encode import to_document
from .histograms import Histogram, merge
from .percentiles import QUANTILES, Distribution, distribution
from .validity import overloaded


def decode(document: HistogramDoc) -> Histogram:
    """HistogramError where its summary and its values disagree."""
    return Histogram.from_event(document.model_dump())


def merge_documents(documents: Sequence[HistogramDoc]) -> HistogramDoc:
    """One document stays as it is; several are decoded, added and encoded again."""
    filled = [d for d in documents if d.count] or list(documents[:1])
    if len(filled) == 1:
        return filled[0]
    total = sum(d.count for d in filled)
    mean_ns = sum(d.mean_ns * d.count for d in filled) / total
    return to_document(merge([decode(d) for d in filled]), mean_ns)


def is_overloaded(run: RunRecord) -> bool:
    return overloaded(run.due, run.completed)


def merged_distribution(runs: Sequence[RunRecord]) -> Distribution:
    """All operations of the runs: those that failed rank above every time."""
    return Distribution(
        waited=merge([decode(run.headline) for run in runs]),
        failed=sum(_failed(run) for run in runs),
        revoked=sum(run.revoked for run in runs),
        unknown=sum(run.errors.get("unknown", 0) for run in runs),
    )


def percentiles(spread: Distribution, *, overloaded: bool = False) -> Percentiles:
    """Headline times in ms, with words where one may not be stated."""
    found = {f"{name}_ms": spread.percentile(q) for name, q in QUANTILES.items()}
    waited = spread.waited
    max_ms = None if waited.max_ns is None else waited.max_ns / 1e6
    if overloaded:
        return Percentiles(max_ms=max_ms, words=dict.fromkeys(found, "not stated (overloaded)"))
    mean_ns = waited.mean_ns()
    return Percentiles(
        **{name: None if p.value_ns is None else p.value_ns / 1e6 for name, p in found.items()},
        max_ms=max_ms,
        mean_ms=None if mean_ns is None else mean_ns / 1e6,
        words={name: p.words for name, p in found.items() if p.value_ns is None},
        at_least=[name for name, p in found.items() if p.at_least],
    )


def operation_summaries(series: Iterable[Series]) -> list[OperationSummary]:
    """Each kind of operation, parts of others included and marked; in the order they first occur."""
    groups: dict[tuple[str, str | None], dict[str, list[Series]]] = {}
    for each in (s for s in series if s.count):
        groups.setdefault((each.operation, each.part_of), {}).setdefault(each.outcome, []).append(each)
    return [
        OperationSummary(
            operation=operation,
            part_of=part_of,
            ok=sum(s.count for s in outcomes.get("ok", [])),
            errors={name: sum(s.count for s in found) for name, found in outcomes.items() if name != "ok"},
            response=percentiles(_of_outcomes(outcomes)),
        )
        for (operation, part_of), outcomes in groups.items()
    ]


def operation_distribution(series: Iterable[Series]) -> Distribution:
    """Of one kind of operation: all of its outcomes."""
    outcomes: dict[str, list[Series]] = {}
    for each in series:
        outcomes.setdefault(each.outcome, []).append(each)
    return _of_outcomes(outcomes)


def _of_outcomes(outcomes: Mapping[str, Sequence[Series]]) -> Distribution:
    return distribution({name: merge([decode(s.response) for s in found]) for name, found in outcomes.items()})


def _failed(run: RunRecord) -> int:
    """`wrong` and `fail`. Operations of unknown outcome are in the histogram; revoked ones are counted apart."""
    return sum(count for outcome, count in run.errors.items() if outcome not in ("unknown", "revoked"))
