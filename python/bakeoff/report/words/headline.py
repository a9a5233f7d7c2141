"""The first sentences of a report: what a reader who stops here should take away.

Only the order is decided here; each kind of sentence is made in a room of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis.compare import ALPHA, ComparisonAnswer
from ...findings.cells import CellAnswer
from ...findings.comparisons import Compared, value_thresholds
from ...findings.contestants import Contest
from ...findings.in_bundle import Findings
from ...model.records.plan import PlanRecord
from .cells import ABORTS, abort_words, figure_words, not_compared_words, not_valid_words, size_words
from .clients_and_nodes import client_sentences, lag_sentences
from .doubts import untested_words
from .faults import closed_loop_words, fault_sentences
from .limits import limit_sentences, search_sentences
from .pairs import differs_words, over_all_words, pair_words
from .shapes import shape_words
from .stages import stage_sentences


def headline_words(found: Findings, levels: Sequence[str]) -> list[str]:
    """levels: of isolation, what they mean. A search is asked one thing; that levels beyond what it found fail is how
    it finds it."""
    contest, cells, comparisons = found.contest, found.cells, found.comparisons
    slow = client_sentences(contest, found.runs)  # whether each of several clients got its share
    if found.search is not None:
        return [*search_sentences(found.search), *limit_sentences(found.held), *slow]
    answered = [
        *pair_words(contest, comparisons, found.compared.over_all, cells),
        *shape_words(contest, found.shapes),
        *over_all_words(found.compared.over_all, comparisons),
    ]
    of_faults = fault_sentences(found.faults, dict(contest.middle))
    closed = closed_loop_words(found.faults, dict(contest.middle))
    return [
        *limit_sentences(found.held),
        *stage_sentences(found.stages, dict(contest.middle)),
        *(of_faults if closed else []),
        *closed,
        *(answered or figure_words(contest, cells)),
        *levels,
        *slow,
        *size_words(contest, cells),
        *([] if closed else of_faults),
        *lag_sentences(contest, found.bundle, found.runs),
        *look_words(found.compared),
        *_aborts(contest, comparisons, cells),
        *not_valid_words(cells),
        *not_compared_words(comparisons, cells),
        *differs_words(contest, comparisons, found.between_levels, said=_said(contest, cells)),
        *untested_words(contest.plan, found.bundle.runs),
    ]


def _aborts(contest: Contest, comparisons: Sequence[ComparisonAnswer], cells: Sequence[CellAnswer]) -> list[str]:
    """None where every comparison there tells what failed for good, and how often it was tried."""
    middle = [one for one in comparisons if one.setting == dict(contest.middle)]
    told = bool(middle) and all(one.failures for one in middle)
    return [] if told else abort_words(contest, cells)


def _said(contest: Contest, cells: Sequence[CellAnswer]) -> list[str]:
    """Metrics that a sentence of their own is about."""
    aborts, sizes = abort_words(contest, cells), size_words(contest, cells)
    return [*([ABORTS] if aborts else []), *(["size_on_disk_bytes"] if sizes else [])]


def look_words(compared: Compared) -> list[str]:
    """What it costs to have analysed the bundle before; nothing at the first analysis."""
    if compared.alpha is None:
        return [
            "This analysis could not be recorded in the bundle (it cannot be written to), so it claims nothing that was"
            " not claimed before: copy the bundle to a folder of your own, and report on the copy."
        ]
    if not compared.before or not compared.by_setting:
        return []
    return [
        f"This bundle was analysed before{_repetitions(compared)}: a difference is now claimed at"
        f" {_chance_words(compared.alpha)}. Verdicts that were given stand."
    ]


def value_analysis_words(plan: PlanRecord, compared: Compared) -> list[str]:
    """Of limits, and of a `fail_if` on values: their verdicts are of the latest runs, each time."""
    asked = [*(["`fail_if`"] if value_thresholds(plan) else []), *(["`limit`"] if plan.limits else [])]
    if compared.alpha is None or not compared.before or not asked:
        return []
    return [
        f"Values were compared with {' and '.join(asked)} before. They are judged again, over all runs, at"
        f" {_chance_words(compared.alpha)}. What was said of a value before does not stand."
    ]


def _chance_words(alpha: float) -> str:
    now, together = (f"{100 * one:.2g} %" for one in (alpha, ALPHA))
    return f"a chance of error of {now}, so that all analyses of this bundle together stay within {together}"


def _repetitions(compared: Compared) -> str:
    made = [max((v.repetitions for v in one.verdicts), default=0) for one in compared.before]
    known = [str(count) for count in dict.fromkeys(made) if count]
    return f", with {' and with '.join(known)} repetitions" if known else ""
