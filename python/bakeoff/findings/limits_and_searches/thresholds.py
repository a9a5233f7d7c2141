"""What of a plan's `fail_if` came true: changes against the baseline, and values of single cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...analysis.compare import ComparisonAnswer
from ...analysis.estimate import REPETITIONS_MIN, Unstated, cause_words
from ...analysis.limit import TOO_FEW, Limit
from ...analysis.thresholds import Condition, RunReading, alpha_of_each, parse_threshold, status_of
from ...analysis.thresholds import judge as judge_value
from ...analysis.wording import interval_words, percent_words
from ...bundle.read import Bundle
from ...model.boundary import Document
from ...model.records.run import RunRecord
from ..cells import CellAnswer, cell_answers
from ..comparisons import Compared
from ..contestants import Contest, at_words, setting_words, who_words
from ..run_values import observed, too_few_operations
from ..runs import hit_together, invalid_runs_words, mark_words, that_count
from .searches import SearchAnswer


class ThresholdAnswer(Document):
    """Of the plan's `fail_if`, in one cell or of one contestant. status: failed, undecided, passed, not judged. cell:
    empty of a change, and where no level was found. value: of the typical run, in the metric's unit; low, high: the
    interval that decided, None where one run did."""

    condition: str
    status: str
    words: str
    #: Of what is undecided: `interval` (it reaches to either side), `too busy` (too few undisturbed runs) or `too few
    #: operations` (for the percentile); "" otherwise.
    undecided_by: str = ""
    cell: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def fails(self) -> bool:
        """A check that cannot see must not pass for ever."""
        return self.status in ("failed", "not judged")


Runs = Mapping[str, Sequence[RunRecord]]
#: Why a threshold is undecided.
_INTERVAL, _TOO_BUSY = "interval", "too busy"


def thresholds(
    contest: Contest, bundle: Bundle, runs: Runs, search: SearchAnswer | None, compared: Compared
) -> list[ThresholdAnswer]:
    """search: what it found, where the plan is one: its values are judged at the level tried next to what was found,
    not at levels that were only passed. compared: changes are judged as the comparisons are, in one family."""
    found: list[ThresholdAnswer | _Value] = []
    for text in contest.plan.fail_if:
        one = parse_threshold(text, contest.plan.rates)
        if isinstance(one, Condition):
            found += _changes(one, compared.of(one.objective, contest.objective), contest, runs)
            continue
        cells = cell_answers(contest, bundle, runs, [])
        chosen = cells if search is None else _next_to_found(cells, search, contest)
        found += _values_of(one, chosen, contest, bundle, runs)
        if search is not None:
            found += _without_level(one, search)
    alpha = alpha_of_each(sum(isinstance(one, _Value) and one.by_interval for one in found), compared.alpha)
    judged = [_judged(one, alpha) if isinstance(one, _Value) else one for one in found]
    if mark := mark_words([run for of_cell in runs.values() for run in of_cell]):
        judged = [one.model_copy(update={"words": f"{one.words} ({mark})"}) for one in judged]
    return judged


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
            who = who_words(one)
            words = f"Not judged on {fails.words}: no level was found for {who}"
            yield ThresholdAnswer(condition=str(fails), status="not judged", words=words)


@dataclass(frozen=True)
class _Value:
    """One cell under one threshold. why_not: why it cannot be judged; "" where it can. undecided_by: where that is
    nothing that the system did."""

    fails: Limit
    cell: CellAnswer
    runs: list[RunReading]
    why_not: str
    undecided_by: str = ""

    @property
    def by_interval(self) -> bool:
        return not self.why_not and len(self.runs) > 1


def _values_of(
    fails: Limit, cells: Iterable[CellAnswer], contest: Contest, bundle: Bundle, runs: Runs
) -> Iterator[_Value]:
    hit = hit_together(contest.plan.cells, runs)
    for cell in cells:
        made = that_count(runs[cell.cell], hit)
        seen = [observed(bundle, run) for run in (made[:1] if fails.metric.per == "load" else made)]
        values = [fails.metric.of(each) for each in seen]
        readings = [
            RunReading(value, fails.metric.at_least(each))
            for each, value in zip(seen, values, strict=True)
            if value is not None
        ]
        without = [each for each, value in zip(seen, values, strict=True) if value is None]
        few = [too_few_operations(each, fails.metric) for each in without]
        yield _Value(fails, cell, readings, *_why_not(fails, cell, made, few))


def _why_not(
    fails: Limit, cell: CellAnswer, runs: Sequence[RunRecord], unsaid: Sequence[Unstated | None]
) -> tuple[str, str]:
    """(why it cannot be judged, what it is undecided by). What the runs that count say of a system that failed in
    others is no answer: there is none. unsaid: of each run without a value the number of its operations, where that is
    why."""
    if invalid := invalid_runs_words(runs):
        return f"{_where(cell)}: {invalid}", ""
    if cell.too_few_undisturbed:
        return f"too few runs of {_where(cell)} were undisturbed", _TOO_BUSY
    if not runs:
        return f"{_where(cell)} has no run that counts", ""
    if not unsaid:
        return "", ""
    if all(unsaid):
        have_all = [*unsaid, *[0.0] * (len(runs) - len(unsaid))]  # of all its runs
        words = f"for a {fails.metric.label} of {_where(cell)}{cause_words(have_all).removeprefix(TOO_FEW)}"
        return f"{TOO_FEW} {words}: lengthen the window", TOO_FEW
    return f"{_where(cell)} does not say its {fails.metric.label} in every repetition", ""


def _judged(found: _Value, alpha: float) -> ThresholdAnswer:
    fails, condition = found.fails, str(found.fails)
    if found.why_not:
        return _unjudged(condition, fails.words, found.why_not, found.undecided_by, found.cell.cell)
    one = judge_value(fails, found.runs, alpha)
    said = f"{'at least ' if one.at_least else ''}{fails.metric.words(one.value)}"
    if one.runs == 1:
        what = "load" if fails.metric.per == "load" else "run"
        said += f" in the only {what}{', which decides' if one.status != 'undecided' else ''}"
    else:
        beyond = "none" if one.beyond == 0 else "all" if one.beyond == one.runs else str(one.beyond)
        said += f", with {beyond} of {one.runs} runs {fails.words.removeprefix(fails.metric.label).strip()}"
    if one.low is not None and one.high is not None and one.level is not None:
        said += f" ({interval_words(one.low, one.high, fails.metric.words)})"
    words = f"{one.status.capitalize()} on {fails.words}: {_where(found.cell)} has {said}"
    facts = {"cell": found.cell.cell, "value": one.value, "low": one.low, "high": one.high}
    undecided_by = _INTERVAL if one.status == "undecided" else ""
    return ThresholdAnswer(condition=condition, status=one.status, words=words, undecided_by=undecided_by, **facts)


def _unjudged(condition: str, on: str, why: str, undecided_by: str, cell: str = "") -> ThresholdAnswer:
    """Undecided where a quiet machine or a longer window would decide; else not judged, which fails."""
    status = "undecided" if undecided_by else "not judged"
    words = f"{status.capitalize()} on {on}: {why}"
    return ThresholdAnswer(condition=condition, status=status, words=words, undecided_by=undecided_by, cell=cell)


def _changes(
    fails: Condition, found: Sequence[ComparisonAnswer], contest: Contest, runs: Runs
) -> Iterator[ThresholdAnswer]:
    """Of each contestant against the baseline, by the whole interval, as `bakeoff compare --fail-if` judges."""
    if not found:
        yield _unjudged(str(fails), fails.words, "nothing is compared with a baseline here", "")
    for c in found:
        yield _change(fails, c, contest, runs)


def _change(fails: Condition, c: ComparisonAnswer, contest: Contest, runs: Runs) -> ThresholdAnswer:
    where = f"{c.other} against {c.base}{at_words(c.setting_words)}"
    if c.ratio is None or c.low is None or c.high is None:
        few = TOO_FEW if c.verdict == TOO_FEW else _TOO_BUSY if _too_busy(c, contest, runs) else ""
        return _unjudged(str(fails), fails.words, f"{where}: {c.words}", few)
    status = status_of(fails, c.ratio, c.low, c.high)
    change, low, high = (f"{'+' if ratio > 1 else ''}{percent_words(ratio - 1)}" for ratio in (c.ratio, c.low, c.high))
    words = f"{status.capitalize()} on {fails.words}: {where} changed by {change} ({low} to {high})"
    undecided_by = _INTERVAL if status == "undecided" else ""
    return ThresholdAnswer(condition=str(fails), status=status, words=words, undecided_by=undecided_by)


def _too_busy(c: ComparisonAnswer, contest: Contest, runs: Runs) -> bool:
    """Whether there would be enough repetitions if none had been disturbed."""
    sides = [
        runs[cell.id]
        for cell in contest.plan.cells
        if contest.contestant(cell) in (c.base, c.other) and dict(contest.setting(cell)) == c.setting
    ]
    disturbed = any(run.standing == "disturbed" for side in sides for run in side)
    return c.verdict == "too few" and disturbed and all(len(side) >= REPETITIONS_MIN for side in sides)


def _where(cell: CellAnswer) -> str:
    return f"{cell.contestant}{at_words(cell.setting_words)}"
