"""What of a plan's `fail_if` came true: changes against the baseline, and values of single cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..analysis.fail_if import Condition, parse_threshold, status_of
from ..analysis.limit import Limit
from ..analysis.wording import interval_words, percent_words
from ..model.records import RunRecord
from .answer import CellAnswer, ComparisonAnswer, ThresholdAnswer
from .cells import cell_answers
from .comparisons import compare_all
from .contest import Contest
from .source import Source

Runs = Mapping[str, Sequence[RunRecord]]


def thresholds(contest: Contest, bundle: Source, runs: Runs) -> list[ThresholdAnswer]:
    found: list[ThresholdAnswer] = []
    for text in contest.plan.fail_if:
        one = parse_threshold(text, contest.plan.rates)
        found += _values(one, contest, bundle, runs) if isinstance(one, Limit) else _changes(one, contest, bundle, runs)
    return found


def threshold_sentences(found: Sequence[ThresholdAnswer]) -> list[str]:
    """What failed and what is not decided; what passed is in the data."""
    return [f"{one.words}." for one in found if one.status != "passed"]


def _values(fails: Limit, contest: Contest, bundle: Source, runs: Runs) -> Iterator[ThresholdAnswer]:
    """Of each cell the typical value, with its 95 % interval over the repetitions."""
    for cell in cell_answers(contest, bundle, runs, [fails.metric]):
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


def _changes(fails: Condition, contest: Contest, bundle: Source, runs: Runs) -> Iterator[ThresholdAnswer]:
    """Of each contestant against the baseline, by the whole interval, as `bakeoff compare --fail-if` judges."""
    of_metric = Contest(contest.plan.model_copy(update={"objective": fails.objective.name}))
    found = compare_all(of_metric, bundle, runs).by_setting
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
