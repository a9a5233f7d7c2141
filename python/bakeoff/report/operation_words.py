"""The headline's clause about operations that go the other way than the verdict: reads slower, all together faster. Of
a side that aborts much of its work no short time is called an advantage: what was given up held up nobody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..findings.run_values import time_words
from .answer import CellAnswer, ComparisonAnswer
from .cell_words import ABORTS
from .failure_words import no_benefit_words

#: So many times longer or shorter; less is within what a verdict over all operations says anyway.
TIMES_MIN = 2.0
#: So many operations are named.
NAMED_MAX = 2
_PERCENTILES = {"p50_ms": "p50", "p99_ms": "p99"}


def operation_words(found: ComparisonAnswer, cells: Sequence[CellAnswer]) -> list[str]:
    """ "But its READ takes longer: p50 375 µs against 10.5 µs (not tested)."; none where nothing goes the other way."""
    if found.better is None:
        return []
    sides = {cell.contestant: cell for cell in cells if cell.setting == found.setting}
    other, base = sides.get(found.other), sides.get(found.base)
    if other is None or base is None:
        return []
    longer = found.better == found.other
    against = list(_against(other, base, longer=longer))[:NAMED_MAX]
    if not against:
        return []
    shorter = base if longer else other
    aborts = shorter.metrics.get(ABORTS)
    why = no_benefit_words(shorter, aborts.value if aborts else None)
    no_benefit = f"; no advantage of {shorter.contestant} by itself, because {why}" if why else ""
    return [f"But its {'; its '.join(against)} (not tested{no_benefit})."]


def _against(other: CellAnswer, base: CellAnswer, *, longer: bool) -> Iterator[str]:
    """Of each operation the first percentile that goes the other way. longer: which way that is."""
    theirs = {found.operation: found.response for found in base.by_operation if found.part_of is None}
    for found in other.by_operation:
        if found.part_of is not None or found.operation not in theirs:
            continue
        response, before = found.response, theirs[found.operation]
        for name, label in _PERCENTILES.items():
            mine, its = getattr(response, name), getattr(before, name)
            if not mine or not its or (mine / its if longer else its / mine) < TIMES_MIN:
                continue
            times = f"{label} {time_words(response, name)} against {time_words(before, name)}"
            yield f"{found.operation} takes {'longer' if longer else 'less time'}: {times}"
            break
