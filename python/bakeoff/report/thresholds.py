"""What of a plan's `fail_if` came true: changes against the baseline, and values of single cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..analysis.fail_if import Condition, parse_threshold, status_of
from ..analysis.limit import Limit
from ..analysis.wording import interval_words, percent_words
from ..model.records import RunRecord
from .answer import CellAnswer, ComparisonAnswer, ThresholdAnswer
from .cells import cell_answers
from .comparisons import Compared
from .contest import Contest, setting_words
from .search_words import SearchAnswer
from .source import Source

Runs = Mapping[str, Sequence[RunRecord]]


def thresholds(
    contest: Contest, bundle: Source, runs: Runs, search: SearchAnswer | None, compared: Compared
) -> list[ThresholdAnswer]:
    """search: what it found, where the plan is one: its values are judged at the level tried next to what was found,
    not at levels that were only passed. compared: changes are judged as the comparisons are, in one family."""
    found: list[ThresholdAnswer] = []
    for text in contest.plan.fail_if:
        one = parse_threshold(text, contest.plan.rates)
        if isinstance(one, Condition):
            found += _changes(one, compared.of(one.objective, contest.objective))
            continue
        cells = cell_answers(contest, bundle, runs, [one.metric])
        found += _values(one, cells if search is None else _next_to_found(cells, search, contest))
        if search is not None:
            found += _without_level(one, search)
    return found


def threshold_sentences(found: Sequence[ThresholdAnswer]) -> list[str]:
    """What failed and what is not decided; what passed is in the data."""
    return [f"{one.words}." for one in found if one.status != "passed"]


def _next_to_found(cells: Sequence[CellAnswer], search: SearchAnswer, contest: Contest) -> Iterator[CellAnswer]:
    """Of each contestant in each setting the level tried that is next to the one that was found."""
    levels = {cell.id: float(cell.levels[search.factor]) for cell in contest.plan.cells}
    settings = {cell.id: setting_words(contest.without_axis(contest.setting(cell))) for cell in contest.plan.cells}
    for one in search.found:
        own = [c for c in cells if (c.contestant, settings[c.cell]) == (one.contestant, one.setting_words)]
        if (estimate := one.estimate) is not None:
            yield min(own, key=lambda cell: abs(math.log(levels[cell.cell] / estimate)))
        elif one.status == "always":
            yield (max if search.highest else min)(own, key=lambda cell: levels[cell.cell])


def _without_level(fails: Limit, search: SearchAnswer) -> Iterator[ThresholdAnswer]:
    for one in search.found:
        if one.estimate is None and one.status != "always":
            who = ", ".join(filter(None, (one.contestant, one.setting_words)))
            words = f"Not judged on {fails.words}: no level was found for {who}"
            yield ThresholdAnswer(condition=str(fails), status="not judged", words=words)


def _values(fails: Limit, cells: Iterable[CellAnswer]) -> Iterator[ThresholdAnswer]:
    """Of each cell the typical value, with its 95 % interval over the repetitions."""
    for cell in cells:
        spread = cell.metrics.get(fails.metric.name)
        where = _where(cell)
        if spread is None or not cell.valid:
            words = f"Not judged on {fails.words}: {where} does not say its {fails.metric.label} in every repetition"
            yield ThresholdAnswer(condition=str(fails), status="not judged", words=words)
            continue
        ends = (spread.low, spread.high)
        status = "passed"
        if fails.kept_by(spread.value):
            status = "failed" if all(end is not None and fails.kept_by(end) for end in ends) else "undecided"
        said = fails.metric.words(spread.value)
        if spread.low is not None and spread.high is not None:
            said += f" (95 % interval {interval_words(spread.low, spread.high, fails.metric.words)})"
        words = f"{status.capitalize()} on {fails.words}: {where} has {said}"
        yield ThresholdAnswer(condition=str(fails), status=status, words=words)


def _changes(fails: Condition, found: Sequence[ComparisonAnswer]) -> Iterator[ThresholdAnswer]:
    """Of each contestant against the baseline, by the whole interval, as `bakeoff compare --fail-if` judges."""
    if not found:
        words = f"Not judged on {fails.words}: nothing is compared with a baseline here"
        yield ThresholdAnswer(condition=str(fails), status="not judged", words=words)
    for c in found:
        yield _change(fails, c)


def _change(fails: Condition, c: ComparisonAnswer) -> ThresholdAnswer:
    where = f"{c.other} against {c.base}{f' at {c.setting_words}' if c.setting_words else ''}"
    if c.ratio is None or c.low is None or c.high is None:
        words = f"Not judged on {fails.words}: {where}: {c.words}"
        return ThresholdAnswer(condition=str(fails), status="not judged", words=words)
    status = status_of(fails, c.ratio, c.low, c.high)
    change, low, high = (f"{'+' if ratio > 1 else ''}{percent_words(ratio - 1)}" for ratio in (c.ratio, c.low, c.high))
    words = f"{status.capitalize()} on {fails.words}: {where} changed by {change} ({low} to {high})"
    return ThresholdAnswer(condition=str(fails), status=status, words=words)


def _where(cell: CellAnswer) -> str:
    return f"{cell.contestant}{f' at {cell.setting_words}' if cell.setting_words else ''}"
