"""The first sentences of a report: what a reader who stops here should take away.

Only the order is decided here; each kind of sentence is made in a room of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..findings.contestants import Contest
from ..findings.limits import LimitFinding
from ..findings.searches import SearchAnswer
from ..model.records import RunRecord
from .answer import CellAnswer, CellsDiffer, ComparisonAnswer, FaultAnswer, ShapeAnswer
from .cell_words import ABORTS, abort_words, figure_words
from .comparisons import Compared
from .differs import differs_words
from .fault_words import closed_loop_words, fault_sentences
from .left_out import not_compared_words, not_valid_words
from .limit_words import limit_sentences
from .look_words import look_words
from .over_all import over_all_words
from .pair_words import pair_words
from .search_words import search_sentences
from .shape_words import shape_words
from .size_words import size_words
from .untested_words import untested_words

#: So many pairs are told of on the first screen.
PAIRS_MAX = 3


def headline_words(
    contest: Contest,
    compared: Compared,
    shapes: Sequence[ShapeAnswer],
    neighbours: Sequence[CellsDiffer],
    cells: Sequence[CellAnswer],
    held: Sequence[LimitFinding],
    search: SearchAnswer | None,
    runs: Sequence[RunRecord],
    faults: Sequence[FaultAnswer],
    lags: Sequence[str],
    slow: Sequence[str],
    levels: Sequence[str],
) -> list[str]:
    """slow: whether each of several clients got its share. levels: of isolation, what they mean. A search is asked one
    thing; that levels beyond what it found fail is how it finds it."""
    if search is not None:
        return [*search_sentences(search), *limit_sentences(held), *slow]
    comparisons = compared.by_setting
    answered = [
        *pair_words(contest, comparisons, compared.over_all, cells),
        *shape_words(contest, shapes),
        *over_all_words(compared.over_all, comparisons),
    ]
    of_faults = fault_sentences(faults, dict(contest.middle))
    closed = closed_loop_words(faults, dict(contest.middle))
    return [
        *limit_sentences(held),
        *(of_faults if closed else []),
        *closed,
        *(answered or figure_words(contest, cells)),
        *levels,
        *slow,
        *size_words(contest, cells),
        *([] if closed else of_faults),
        *lags,
        *look_words(compared),
        *_aborts(contest, comparisons, cells),
        *not_valid_words(cells),
        *not_compared_words(comparisons, cells),
        *differs_words(contest, comparisons, neighbours, said=_said(contest, cells)),
        *untested_words(contest.plan, runs),
    ]


def aside_words(
    contest: Contest,
    compared: Compared,
    shapes: Sequence[ShapeAnswer],
    neighbours: Sequence[CellsDiffer],
    cells: Sequence[CellAnswer],
) -> list[str]:
    """The sentences of the headline that a first screen can do without: those that answer nothing that was asked, and
    of many pairs all but the first, because the chart shows them."""
    comparisons = compared.by_setting
    return [
        *pair_words(contest, comparisons, compared.over_all, cells)[PAIRS_MAX:],
        *(shape_words(contest, shapes) if comparisons else []),
        *differs_words(contest, comparisons, neighbours, said=_said(contest, cells)),
    ]


def _aborts(contest: Contest, comparisons: Sequence[ComparisonAnswer], cells: Sequence[CellAnswer]) -> list[str]:
    """None where every comparison there tells what failed for good, and how often it was tried."""
    middle = [found for found in comparisons if found.setting == dict(contest.middle)]
    told = bool(middle) and all(found.failures for found in middle)
    return [] if told else abort_words(contest, cells)


def _said(contest: Contest, cells: Sequence[CellAnswer]) -> list[str]:
    """Metrics that a sentence of their own is about."""
    aborts, sizes = abort_words(contest, cells), size_words(contest, cells)
    return [*([ABORTS] if aborts else []), *(["size_on_disk_bytes"] if sizes else [])]
