"""[search]: the highest (or lowest) level of a factor at which limits are kept. Its levels are not in the plan: they
are tried one after the other, and the plan grows by a cell for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ..analysis.limit import LimitError, parse
from ..analysis.percentiles import samples_needed
from ..analysis.registry import UnknownMetric
from ..model.levels import LOAD
from ..model.prices import Priced
from ..model.records.plan import PlanRecord, Scalar, SearchRecord, subject_of
from ..model.resolve import Rate
from ..suggestions import one_of
from .cells import DEFAULT_WINDOW_S
from .document.source import Source
from .document.tables import MeasureTable, PlanDocument, SearchTable
from .document.units import RATE_MAX_OPS_PER_S
from .factors import Factor, read_level
from .grid import Combination, varying
from .resolved import ResolvedPlan

#: What may be sought: how the load is made. (Where levels begin if the plan does not say it, and how far they may go.)
_RANGES: dict[str, tuple[float, float, float]] = {
    "rate": (1.0, 1000.0, RATE_MAX_OPS_PER_S),
    **{name: (1.0, 1.0, float(LOAD[name].most)) for name in ("threads", "sessions", "clients")},
}

#: Arrivals come by chance: a window may have fewer.
_SPARE = 1.3


@dataclass(frozen=True)
class Sought:
    """combinations: of all else that varies; each is a subject of its own."""

    record: SearchRecord
    combinations: list[Combination]

    def tried(self, tried: Mapping[str, Sequence[Scalar]]) -> list[Combination]:
        """Of each subject the levels that were tried; of one that has none yet, the first."""
        return self._at(lambda subject: tried.get(subject) or [self._level(self.record.first)])

    def ends(self) -> list[Combination]:
        """What the search may come to."""
        return self._at(lambda _: [self._level(self.record.low), self._level(self.record.high)])

    def _at(self, levels: Callable[[str], Sequence[Scalar]]) -> list[Combination]:
        several = {name for name, known in varying(self.combinations).items() if len(known) > 1} | {"system"}
        found = []
        for one in self.combinations:
            subject = subject_of({name: level for name, level in one.all_levels.items() if name in several})
            found += [replace(one, levels={**one.levels, self.record.factor: level}) for level in levels(subject)]
        return found

    def _level(self, value: float) -> Scalar:
        return int(value) if self.record.whole else value


def read_search(document: PlanDocument, factors: dict[str, Factor], source: Source) -> SearchRecord | None:
    """What [search] asks for; limits are checked where cells are known. Its factor joins `factors`. Raises
    PlanError."""
    table = document.search
    if table is None:
        return None
    way, name = ("highest", table.highest) if table.highest is not None else ("lowest", table.lowest or "")
    if name not in _RANGES:
        raise source.error(f"`{name}` cannot be searched", "search", way, hint=one_of(name, _RANGES))
    if name in factors:
        what = f"`{name}` is set twice, as a factor and in [search]"
        raise source.error(what, "search", way, hint="remove it from [factors]: the search chooses its levels")
    if "repetitions" in document.measure.model_fields_set:
        hint = "remove it; `runs` in [search] limits the search"
        raise source.error("a search decides how often it runs a level", "measure", "repetitions", hint=hint)
    if document.compare.matters is not None:
        hint = "remove it; `precision` in [search] says how narrow the interval becomes"
        raise source.error("a search compares no sizes of differences", "compare", "matters", hint=hint)
    factors[name] = Factor(name, "load", (name,), None)
    return _record(table, factors[name], way == "highest", document, source)


def refuse_pointless(search: SearchRecord, rates: Iterable[Rate | Priced], source: Source) -> None:
    """What no level can break or keep, and what is looked for at the wrong end. rates: the workloads' own metrics."""
    for limit in (parse(text, rates) for text in search.limits):
        if limit.metric.unit in ("ms", "s") and limit.bound == 0:
            raise source.error(f'"{limit}" is not a limit: every time is above 0', "search", "while", hint="raise it")
        if search.highest and limit.metric.better == "lower" and not limit.is_ceiling:
            other = f'write while = "{limit.metric.name} < ...", or seek lowest = "{search.factor}"'
            what = f'"{limit}" is easier to keep with more load, so no highest level exists'
            raise source.error(what, "search", "while", hint=other)


def with_levels_of(plan: ResolvedPlan, was: PlanRecord) -> ResolvedPlan:
    """A search's plan, with the levels that a bundle of it has come to; any other as it is."""
    search = plan.record.search
    if search is None or plan.with_levels is None or was.search is None or was.search.factor != search.factor:
        return plan
    tried: dict[str, list[Scalar]] = {}
    for cell in was.cells:
        tried.setdefault(search.subject(cell), []).append(cell.levels[search.factor])
    return plan.with_levels(tried)


def _record(table: SearchTable, factor: Factor, highest: bool, document: PlanDocument, source: Source) -> SearchRecord:
    low, first, high = _RANGES[factor.name]
    if factor.name == "rate":
        low = _least_rate(table, document.measure)
    if factor.name == "sessions" and document.measure.threads is not None:
        high = document.measure.threads
    if table.from_ is not None:
        least, low = low, _end(factor, table.from_, source, "from")
        first = low
        if factor.name == "rate" and low < least:
            what = f"at {low:g}/s a window has too few operations for a percentile of `while`"
            raise source.error(what, "search", "from", hint=f"start at {least:g}/s or above, or make the window longer")
    if table.to is not None:
        high = _end(factor, table.to, source, "to")
    if low >= high:
        raise source.error(f"`to` ({high:g}) is not above the start of the search ({low:g})", "search", "to")
    return SearchRecord(
        factor=factor.name,
        highest=highest,
        limits=list(table.while_),
        low=low,
        high=high,
        first=min(max(first, low), high),
        whole=factor.name != "rate",
        precision_ratio=table.precision,
        runs=table.runs,
    )


def _least_rate(table: SearchTable, measure: MeasureTable) -> float:
    """At which a window has operations enough for every percentile that is asked for."""
    operations = 1.0
    for text in table.while_:
        with suppress(LimitError, UnknownMetric):  # refused elsewhere
            quantile = parse(text).metric.quantile
            operations = max(operations, samples_needed(quantile) if quantile else 1.0)
    if measure.operations is not None or operations == 1.0:
        return 1.0
    return float(f"{_SPARE * operations / (measure.window or DEFAULT_WINDOW_S):.2g}")


def _end(factor: Factor, value: Any, source: Source, key: str) -> float:
    return float(read_level(replace(factor, name=key), value, source, "search"))
