"""Whether the runs of one cell hold a limit: yes, no, or not decided, with what says so.

It is judged as a value of `fail_if` is (`analysis/thresholds.py`): one run decides by its value, several by the
interval of the typical run. Disturbed and invalid runs are no evidence. A run that has no value because it was
overloaded, or because too many of its operations failed, missed the limit: such runs say "no" where none of the
others kept it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from pydantic import Field

from ...analysis.limit import MISSED, TOO_FEW, Limit, Status
from ...analysis.metric import Observed
from ...analysis.thresholds import Judged, RunReading, judge
from ...analysis.wording import interval_words
from ...bundle.read import Bundle
from ...model.boundary import Document
from ...model.records.plan import Scalar
from ...model.records.run import RunRecord
from ..run_values import observed
from ..runs import causes_words, invalid_runs_words, of_runs, that_count, too_few_undisturbed

Verdict = Literal["yes", "no", "undecided"]
VERDICT_WORDS: dict[Verdict, str] = {"yes": "yes", "no": "no", "undecided": "not decided"}
_UNMEASURED: dict[Status, str] = {
    "not met": "half of its few operations were beyond it",
    "too many failed": "too many operations failed",
}
_VERDICTS: dict[str, Verdict] = {"passed": "yes", "failed": "no", "undecided": "undecided"}
#: Runs that are named in a sentence; the data have all.
RUNS_NAMED_MAX = 5


class LimitRun(Document):
    """One run that is named. value: in the metric's unit, None where the run does not say it. words: "run 3 (2.31 ms)",
    "run 4 (overloaded)"."""

    run: str
    block: int
    value: float | None
    words: str


class LimitLevel(Document):
    """One cell. value: of the typical run, in the metric's unit; low, high: its interval, which decides; None where one
    run does, or where nothing is judged. runs: that count; met: of them, those that kept the limit; reasons: of the
    others, how often each. missed: the runs that missed it. disturbed: runs that were left out, whatever they had."""

    cell: str
    level: Scalar | None
    level_words: str
    verdict: Verdict
    value: float | None = None
    at_least: bool = False
    low: float | None = None
    high: float | None = None
    interval_level: float | None = None
    runs: int
    met: int
    reasons: dict[str, int] = Field(default_factory=dict)
    missed: list[LimitRun] = Field(default_factory=list)
    disturbed: list[LimitRun] = Field(default_factory=list)
    #: "1.31 ms, 1.20 ms to 1.42 ms"; "" where there is no value.
    value_words: str = ""
    #: What the verdict rests on: "all 5 runs met it", "missed by run 2 (2.10 ms)", or why nothing was judged.
    why: str = ""
    #: Why nothing was judged, in the words that several levels share: "too few undisturbed runs".
    obstacle: str = ""

    @property
    def words(self) -> str:
        """In a sentence: "1.31 ms, 1.20 ms to 1.42 ms; all 5 runs met it". Where all runs missed it, a
        table names them."""
        all_missed = self.runs == len(self.missed) > 1
        why = f"all {self.runs} runs missed it" if all_missed and not self.obstacle else self.why
        return "; ".join(filter(None, (self.value_words, why)))


@dataclass(frozen=True)
class Evidence:
    """What the runs of one cell say to a limit. seen: the runs that count. disturbed: attempts that do not.
    obstacle: why nothing can be judged, and the same with its figures; "" where it can."""

    limit: Limit
    seen: list[Observed]
    disturbed: list[Observed]
    obstacle: tuple[str, str] = ("", "")

    @cached_property
    def statuses(self) -> list[Status]:
        return [self.limit.status(one) for one in self.seen]

    @cached_property
    def values(self) -> list[float | None]:
        return [self.limit.metric.of(one) for one in self.seen]

    @property
    def is_barred(self) -> bool:
        return bool(self.obstacle[0])

    @property
    def by_interval(self) -> bool:
        return not self.is_barred and len(self.seen) > 1 and None not in self.values


def evidence(
    limit: Limit, bundle: Bundle, runs: Sequence[RunRecord], attempts: Sequence[RunRecord], hit: set[int]
) -> Evidence:
    """runs: of one cell, one for each place; attempts: all that were made for it. hit: blocks that are left out, see
    `hit_together`."""
    made = that_count(runs, hit)
    shared = limit.metric.per == "load"
    seen = [observed(bundle, run) for run in (made[:1] if shared else made)]
    left = [run for run in attempts if run.standing == "disturbed" and not run.valid]
    found = Evidence(limit, seen, [observed(bundle, run) for run in left])
    return replace(found, obstacle=_obstacle(found, runs, made))


def _obstacle(found: Evidence, runs: Sequence[RunRecord], made: Sequence[RunRecord]) -> tuple[str, str]:
    if too_few_undisturbed(runs):
        left = [run for run in runs if run.standing == "disturbed" and not run.valid]
        were = "was" if len(left) == 1 else "were"
        said = f"{of_runs(len(left), len(runs))} {were} disturbed ({causes_words(left)})"
        return "too few undisturbed runs", said
    if not made:
        return "no run counts", "no run counts"
    if invalid := invalid_runs_words(made):
        return "invalid runs", invalid
    silent = Counter(
        status
        for status, value in zip(found.statuses, found.values, strict=True)
        if value is None and status not in MISSED
    )
    for status, count in silent.most_common(1):
        label = found.limit.metric.label
        what = f"too few operations for a {label}" if status == TOO_FEW else f"no {label}"
        return what, f"{of_runs(count, len(made))} {'has' if count == 1 else 'have'} {what}"
    return "", ""


def judged_level(found: Evidence, cell: str, level: Scalar | None, level_words: str, alpha: float) -> LimitLevel:
    """alpha: of each end of the interval."""
    one = _judged(found, alpha)
    verdict = _verdict(found, one)
    met = found.statuses.count("met")
    reasons = Counter(status for status in found.statuses if status != "met")
    missed = [_named(seen, found) for seen, status in zip(found.seen, found.statuses, strict=True) if status in MISSED]
    level_of = LimitLevel(
        cell=cell,
        level=level,
        level_words=level_words,
        verdict=verdict,
        runs=len(found.seen),
        met=met,
        reasons=dict(reasons),
        missed=missed,
        disturbed=[_named(seen, found) for seen in found.disturbed],
        why=_why(found, verdict, missed, met),
        obstacle=found.obstacle[0],
    )
    if one is None:
        return level_of
    return level_of.model_copy(
        update={
            "value": one.value,
            "at_least": one.at_least,
            "low": one.low,
            "high": one.high,
            "interval_level": one.level,
            "value_words": _value_words(found.limit, one),
        }
    )


def _judged(found: Evidence, alpha: float) -> Judged | None:
    """None where a run has no value."""
    if found.is_barred:
        return None
    readings = [
        RunReading(value, found.limit.metric.at_least(seen))
        for seen, value in zip(found.seen, found.values, strict=True)
        if value is not None
    ]
    return judge(found.limit.opposite, readings, alpha) if len(readings) == len(found.seen) else None


def _verdict(found: Evidence, one: Judged | None) -> Verdict:
    if found.is_barred:
        return "undecided"
    if one is not None:
        return _VERDICTS[one.status]
    return "no" if all(status in MISSED for status in found.statuses) else "undecided"


def _value_words(limit: Limit, one: Judged) -> str:
    words = f"{'at least ' if one.at_least else ''}{limit.value_words(one.value)}"
    if one.low is None or one.high is None or one.level is None:
        return words
    return f"{words}, {interval_words(one.low, one.high, limit.metric.words)}"


def _why(found: Evidence, verdict: Verdict, missed: Sequence[LimitRun], met: int) -> str:
    parts = [found.obstacle[1], _runs_words(found, verdict, missed, met), _disturbed_words(found)]
    return "; ".join(filter(None, parts))


def _runs_words(found: Evidence, verdict: Verdict, missed: Sequence[LimitRun], met: int) -> str:
    runs = len(found.seen)
    if runs == 1 and not found.is_barred:
        what = "load" if found.limit.metric.per == "load" else "run"
        if verdict == "undecided":
            return f"the only {what} has a lower bound only"
        return f"the only {what} decides{'' if found.values[0] is not None else f': {_unmeasured(found.statuses[0])}'}"
    if not missed:
        return "" if found.is_barred else f"all {runs} runs met it" if met == runs else ""
    return f"missed by {'all: ' if len(missed) == runs > 1 else ''}{named_words(missed)}"


def named_words(runs: Sequence[LimitRun]) -> str:
    """ "run 2 (2.10 ms) and run 5 (2.20 ms)", "run 1 (..), .. and 3 more"."""
    words = [run.words for run in runs[:RUNS_NAMED_MAX]]
    if len(runs) > RUNS_NAMED_MAX:
        words.append(f"{len(runs) - RUNS_NAMED_MAX} more")
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _disturbed_words(found: Evidence) -> str:
    """Of runs that missed the limit while they were disturbed."""
    missed = [seen for seen in found.disturbed if missed_by_value(found.limit, seen)]
    if not missed:
        return ""
    who = named_words([_named(seen, found) for seen in missed])
    return f"left out: {who}, which missed it while disturbed by {causes_words([seen.run for seen in missed])}"


def missed_by_value(limit: Limit, seen: Observed) -> bool:
    """Whether the run is evidence or not."""
    value = limit.metric.of(seen) if seen.run.state == "done" else None
    return value is not None and not limit.kept_by(value)


def _named(seen: Observed, found: Evidence) -> LimitRun:
    run, metric = seen.run, found.limit.metric
    value = metric.of(seen) if run.state == "done" else None
    said = _unmeasured(found.limit.status(seen))
    if value is not None:
        said = f"{'at least ' if metric.at_least(seen) else ''}{found.limit.value_words(value)}"
    mark = ", DISTURBED" if run.is_marked else ""
    return LimitRun(run=run.id, block=run.block, value=value, words=f"{run_words(run)} ({said}{mark})")


def run_words(run: RunRecord) -> str:
    """ "run 2", "run 2, attempt 3"."""
    return f"run {run.block}{f', attempt {run.attempt}' if run.attempt > 1 else ''}"


def _unmeasured(status: Status) -> str:
    return _UNMEASURED.get(status, status)
