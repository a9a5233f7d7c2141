"""Two systems, some objectives: is there a difference, how large, and if none was shown, how large could it be.

`judge` decides over all the estimates that are read together, by Holm's procedure, and says in words what it found.
See docs/method/comparison.md.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import Field, SkipValidation

from bakeoff.analysis.estimate import Design, Estimate, Evidence, Obstacle, Verdict
from bakeoff.analysis.metric import Metric
from bakeoff.analysis.undecided import estimate_words, more_repetitions, more_words, short_words
from bakeoff.analysis.wording import ci_words, interval_of_ratio, percent_words, points_words, than_words
from bakeoff.model.boundary import Document
from bakeoff.model.records.plan import Scalar

ALPHA = 0.05
Size = Literal["matters", "small", "open"]


class FigureDiffers(Document):
    """One figure of two cells, of `other` and `base`: a hint, no tested claim. name: a metric's, or the column of a
    counter of the server's own ("db.Innodb_row_lock_waits_per_s"), whose values are per operation. ratio: None where
    one of the two is zero."""

    name: str
    label: str
    base_value: float
    other_value: float
    ratio: float | None
    words: str


class ComparisonAnswer(Document):
    """What is said about `other` against `base` in one setting. Ratios are other / base, 1.0 means equal; of shares one
    of which is zero the difference, other - base, replaces them.

    verdict: of the objective's value, not of merit: see `better`; or why there is none: too few, too few operations,
        invalid runs, not comparable.
    better: the name of the better one, where a difference is claimed of what has a better side.
    low, high: interval at `level`, the level of the step at which Holm's procedure decided this cell,
        so that interval and verdict never contradict each other: it excludes 1 exactly when a difference is claimed.
    p_value, p_adjusted: alone, and over all cells.
    detectable_ratio: smallest relative difference that is detected with 80 % probability; only where no
        difference was detected.
    matters_ratio: the size that matters, where one was named. size: of a claimed difference whether it was shown to
        exceed that (`matters`), to be less (`small`), or neither (`open`).
    more_repetitions: that would decide whether there is a difference of the size that matters; None where it is
        decided, where no such size is known, where more than MORE_MAX would be needed, and where none can be added.
    """

    setting: dict[str, Scalar] = Field(default_factory=dict)
    setting_words: str = ""
    base: str
    other: str
    base_value: float | None
    other_value: float | None
    #: Why a side has no value: "zero", "overloaded in 2 of 5 runs"; "" where it has one, or nobody knows.
    base_why: str = ""
    other_why: str = ""
    verdict: Verdict
    better: str | None = None
    words: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    detectable_ratio: float | None = None
    matters_ratio: float | None = None
    size: Size | None = None
    more_repetitions: int | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    repetitions: int
    notes: list[str] = Field(default_factory=list)
    #: How many operations failed for good on either side, in a sentence; "" where that is alike, and nobody asks.
    failures: str = ""
    #: What else differs, most first.
    differs: list[FigureDiffers] = Field(default_factory=list)

    @property
    def claims_difference(self) -> bool:
        return self.verdict in ("higher", "lower")

    @property
    def is_undecided(self) -> bool:
        return self.verdict == "no difference"


class Comparison(ComparisonAnswer):
    """An answer with what it was made of, which is not written. plain_low, plain_high: as if this were the only
    cell."""

    cell: str = Field(exclude=True)
    objective: SkipValidation[Metric] = Field(exclude=True)
    design: Design = Field(exclude=True)
    plain_low: float | None = Field(default=None, exclude=True)
    plain_high: float | None = Field(default=None, exclude=True)

    def swapped(self) -> "Comparison":
        """The same finding told the other way round, with its own base."""
        turned = _changed(
            self,
            base=self.other,
            other=self.base,
            base_value=self.other_value,
            other_value=self.base_value,
            verdict=_TURNED.get(self.verdict, self.verdict),
            ratio=_inverse(self.ratio),
            low=_inverse(self.high),
            high=_inverse(self.low),
            plain_low=_inverse(self.plain_high),
            plain_high=_inverse(self.plain_low),
            difference=_negative(self.difference),
            difference_low=_negative(self.difference_high),
            difference_high=_negative(self.difference_low),
        )
        return _changed(turned, words=_words(turned))


@dataclass(frozen=True, slots=True)
class Given:
    """A difference that an earlier analysis claimed. level, low, high: of its interval then, a ratio's or of shares."""

    verdict: Verdict
    repetitions: int
    level: float
    ratio: float
    low: float
    high: float
    matters_ratio: float | None = None
    size: Size | None = None

    @property
    def is_difference(self) -> bool:
        return self.verdict in ("higher", "lower")

    def of_size(self, matters: float | None) -> "Given":
        """This difference, which was also shown to be smaller than `matters`."""
        return replace(self, matters_ratio=matters, size="small")

    def settles(self, matters: float | None) -> bool:
        """Whether nothing is left to ask, where `matters` is the size that matters now."""
        if matters is None:
            return self.is_difference
        same = self.matters_ratio == matters
        return same and (self.verdict == "equivalent" or self.size in ("matters", "small"))


def standing(e: Estimate, given: Given) -> Comparison:
    """What an earlier analysis claimed, with the estimate of all that there is now: a verdict is not taken back for
    having looked again, and the first estimate that is large enough to be claimed is too large on average."""
    found = e.finding
    if isinstance(found, Obstacle):
        return _without_verdict(e, found)
    alpha = min(1 - given.level, ALPHA)  # older bundles have equivalences at 92 %
    step = _Step(alpha, found.p_value(), None, rejected=True)
    draft = _comparison(
        e,
        given.verdict,
        level=1 - alpha,
        p_value=step.p_value,
        matters_ratio=given.matters_ratio,
        size=given.size,
    )
    sized = _with_difference(draft, found, step) if found.of == "shares" else _with_ratio(draft, found, step, alpha)
    if e.repetitions == given.repetitions and given.verdict in ("equivalent", _sign(sized)):
        return _changed(sized, words=_words(sized))
    return _changed(sized, words=_standing_words(sized), notes=[*sized.notes, _given_words(e, given)])


def _sign(c: Comparison) -> Verdict:
    """What the interval says by itself."""
    low, high, equal = (c.low, c.high, 1.0) if c.difference is None else (c.difference_low, c.difference_high, 0.0)
    if low is None or high is None or low <= equal <= high:
        return "no difference"
    return "higher" if low > equal else "lower"


def _standing_words(c: Comparison) -> str:
    """ "A is faster than B, as shown before; with all 12 repetitions +1.1 % (95 % CI -0.5 % to +2.7 %)"."""
    subject, base, way = c.other, c.base, {"higher": "faster", "lower": "slower"}.get(c.verdict, "")
    if c.objective.name != "rate":
        subject, base, way = f"{c.other}'s {c.objective.label}", f"{c.base}'s", c.verdict
    if c.design == "two bundles":
        subject = f"these two bundles differ: {subject}"
    if c.ratio is not None and c.low is not None and c.high is not None and c.level is not None:
        now = estimate_words(c.ratio, c.low, c.high)
    elif c.difference is not None and c.difference_low is not None and c.difference_high is not None:
        middle, low, high = (f"{100 * end:+.2g}" for end in (c.difference, c.difference_low, c.difference_high))
        now = f"{middle} percentage points ({low} to {high})"
    else:
        now = "not known"
    then = f"as shown before; with all {c.repetitions} repetitions {now}"
    if c.verdict == "equivalent":
        return f"equivalent within {percent_words(c.matters_ratio or 0.0)}, {then}"
    return f"{subject} is {way} than {base}{_size_words(c)}, {then}"


def _given_words(e: Estimate, given: Given) -> str:
    shown = f"shown with {given.repetitions} repetitions"
    if isinstance(e.finding, Evidence) and e.finding.of == "ratio":
        return f"{shown}: {estimate_words(given.ratio, given.low, given.high)}"
    return shown


_TURNED: dict[Verdict, Verdict] = {"higher": "lower", "lower": "higher"}


def judge(estimates: Iterable[Estimate], *, alpha: float = ALPHA, matters: float | None = None) -> list[Comparison]:
    """One comparison for each estimate, in the same order; Holm's procedure over all that can be judged.

    The chance that any of the claimed differences is none at all is at most `alpha` (family-wise error rate). Pass
    everything that is read together in one call; do not pick the interesting cells first.

    Where data can be added and judged again, `alpha` is what this analysis may take (`alpha_at`). matters: the relative
    size from which on a difference matters; equivalence within it is read off the interval.
    """
    estimates = list(estimates)
    evidence = {i: e.finding for i, e in enumerate(estimates) if isinstance(e.finding, Evidence)}
    steps = _holm(evidence, alpha) if matters is None else _partitioned(evidence, alpha, math.log1p(matters))
    return [
        _without_verdict(e, e.finding)
        if isinstance(e.finding, Obstacle)
        else _conclude(e, e.finding, steps[i], alpha, matters)
        for i, e in enumerate(estimates)
    ]


@dataclass(frozen=True, slots=True)
class _Step:
    """Where Holm's procedure decided one cell: at which alpha, and its p-value adjusted. size: what of a difference is
    shown about the size that matters; equivalent: that there is none so large."""

    alpha: float
    p_value: float
    p_adjusted: float | None
    rejected: bool
    size: Size | None = None
    equivalent: bool = False


def _holm(evidence: Mapping[int, Evidence], alpha: float) -> dict[int, _Step]:
    """Steps down from the smallest p; the first that is not rejected sets the level for all after it. Holm (1979)."""
    ordered = sorted((found.p_value(), i) for i, found in evidence.items())
    steps: dict[int, _Step] = {}
    p_adjusted, stopped_at = 0.0, None
    for position, (p, i) in enumerate(ordered):
        left = len(ordered) - position
        step_alpha = stopped_at or alpha / left
        low, high = evidence[i].interval(step_alpha)
        rejected = stopped_at is None and not low <= 0 <= high
        if not rejected:
            stopped_at = step_alpha
        p_adjusted = max(p_adjusted, min(1.0, p * left))
        steps[i] = _Step(step_alpha, p, p_adjusted, rejected)
    return steps


def _partitioned(evidence: Mapping[int, Evidence], alpha: float, bound: float) -> dict[int, _Step]:
    """Of each cell three hypotheses: no difference; one of at least `bound`; one of at most `bound`. At any truth those
    of a cell that are true can only be rejected together, so a cell counts once: the level of a step is alpha over the
    cells in which something true may still be rejected. A cell is settled when it is shown to differ by more than
    `bound`, or by something that is less. Shaffer (1986). Equivalence is read off the same interval, which is stricter
    than two one-sided tests at this level: one interval decides everything that is said of a cell."""
    different: dict[int, float] = {}
    beyond: dict[int, float] = {}
    within: dict[int, float] = {}
    settled: set[int] = set()
    while len(settled) < len(evidence):
        level = alpha / (len(evidence) - len(settled))
        for i in evidence.keys() - settled:
            of_ratio = evidence[i].of == "ratio"
            low, high = evidence[i].interval(level)
            if not low <= 0 <= high:
                different.setdefault(i, level)
            if of_ratio and (low > bound or high < -bound):
                beyond.setdefault(i, level)
            if of_ratio and -bound < low and high < bound:
                within.setdefault(i, level)
        now = {i for i in evidence if i in beyond or (i in different and (i in within or evidence[i].of == "shares"))}
        if now == settled:
            break
        settled = now
    left = max(1, len(evidence) - len(settled))
    steps = {}
    for i, found in evidence.items():
        size: Size | None = None
        if i in different and found.of == "ratio":
            size = "matters" if i in beyond else "small" if i in within else "open"
        own = beyond.get(i) or max(different.get(i, 0.0), within.get(i, 0.0)) or alpha / left
        steps[i] = _Step(own, found.p_value(), None, i in different, size, i in within and i not in different)
    return steps


def _without_verdict(e: Estimate, obstacle: Obstacle) -> Comparison:
    return _comparison(e, obstacle.verdict, words=obstacle.words)


def _conclude(e: Estimate, found: Evidence, step: _Step, alpha: float, matters: float | None) -> Comparison:
    verdict: Verdict = "equivalent" if step.equivalent else "no difference"
    if step.rejected:
        verdict = "higher" if found.log_ratio > 0 else "lower"
    undecided = e.design == "paired" and verdict == "no difference" and found.of == "ratio"
    draft = _comparison(
        e,
        verdict,
        level=1 - step.alpha,
        p_value=step.p_value,
        p_adjusted=step.p_adjusted,
        matters_ratio=matters,
        size=step.size,
        more_repetitions=more_repetitions(found, step.alpha, matters) if undecided and matters is not None else None,
    )
    sized = _with_difference(draft, found, step) if found.of == "shares" else _with_ratio(draft, found, step, alpha)
    return _changed(sized, words=_words(sized))


def _with_ratio(c: Comparison, found: Evidence, step: _Step, alpha: float) -> Comparison:
    low, high = map(_ratio, found.interval(step.alpha))
    plain_low, plain_high = map(_ratio, found.interval(alpha))
    return _changed(
        c,
        ratio=_ratio(found.log_ratio),
        low=low,
        high=high,
        plain_low=plain_low,
        plain_high=plain_high,
        detectable_ratio=None if step.rejected or step.equivalent else _ratio(found.detectable(step.alpha)) - 1,
    )


def _with_difference(c: Comparison, found: Evidence, step: _Step) -> Comparison:
    low, high = found.interval(step.alpha)
    return _changed(c, difference=found.log_ratio, difference_low=low, difference_high=high)


def _comparison(e: Estimate, verdict: Verdict, *, words: str = "", **found: Any) -> Comparison:
    better = e.other if verdict == e.objective.better else e.base
    return Comparison(
        cell=e.cell,
        objective=e.objective,
        design=e.design,
        base=e.base,
        other=e.other,
        base_value=e.base_value,
        other_value=e.other_value,
        verdict=verdict,
        better=better if verdict in _TURNED and e.objective.better != "neither" else None,
        words=words,
        repetitions=e.repetitions,
        notes=list(e.notes),
        **found,
    )


def _changed(c: Comparison, **changes: Any) -> Comparison:
    return c.model_copy(update=changes)


def _words(c: Comparison) -> str:
    if c.difference is not None and c.difference_low is not None and c.difference_high is not None and c.level:
        return _share_words(c, c.difference, (c.difference_low, c.difference_high), c.level)
    if c.verdict == "equivalent" and c.ratio is not None and c.low is not None and c.high is not None and c.level:
        within = f"equivalent within {percent_words(c.matters_ratio or 0.0)}"
        these = "these two bundles are " if c.design == "two bundles" else ""
        return f"{these}{within}: {estimate_words(c.ratio, c.low, c.high)}"
    return f"{_difference_words(c)}{_size_words(c)}" if c.claims_difference else _undecided_words(c)


def _size_words(c: Comparison) -> str:
    """Whether a difference is of the size that matters."""
    if c.size is None or c.matters_ratio is None:
        return ""
    least = percent_words(c.matters_ratio)
    return {
        "matters": f", more than the {least} that matter",
        "small": f", less than the {least} that matter",
        "open": f"; whether by the {least} that matter is undecided",
    }[c.size]


def _undecided_words(c: Comparison) -> str:
    if c.ratio is None or c.low is None or c.high is None or c.detectable_ratio is None:
        return c.words
    what = "no difference between these two bundles shown" if c.design == "two bundles" else "no difference shown"
    if c.matters_ratio is not None:
        what = f"{what}, nor equivalence within {percent_words(c.matters_ratio)}"
    words = f"{what}: {short_words(c.ratio, c.low, c.high, c.detectable_ratio)}"
    planned = c.design == "paired" and c.matters_ratio is not None
    return f"{words}; {more_words(c.more_repetitions)}" if planned else words


def _difference_words(c: Comparison) -> str:
    if c.ratio is None or c.low is None or c.high is None or c.level is None:
        return c.words
    interval = f"({ci_words(c.level)} {interval_of_ratio(c.ratio, c.low, c.high)})"
    label, than = c.objective.label, than_words(c.ratio)
    if c.design == "two bundles":
        # What lies between bundles is not in the interval, so nothing is said of systems.
        return f"these two bundles differ: the {label} of {c.other} is {than} that of {c.base} {interval}"
    if c.objective.name == "rate":
        return f"{c.other} is {than_words(c.ratio, ('faster', 'slower'), 'fast')} {c.base} {interval}"
    return f"{c.other}'s {label} is {than} {c.base}'s {interval}"


def _share_words(c: Comparison, difference: float, edges: tuple[float, float], level: float) -> str:
    interval = " to ".join(f"{100 * edge:+.2g}" for edge in edges)
    if not c.claims_difference:
        size = f"{100 * difference:+.2g} percentage points ({interval})"
        return f"no difference shown: {size}"
    way = "higher" if difference > 0 else "lower"
    size = f"{points_words(difference)} {way}"
    return f"{c.other}'s {c.objective.label} is {size} than {c.base}'s ({ci_words(level)} {interval})"


def _ratio(log_ratio: float) -> float:
    """Two or three bundles can have an interval that no number holds; its ends stay finite."""
    return math.exp(max(-_LOG_RATIO_MAX, min(_LOG_RATIO_MAX, log_ratio)))


_LOG_RATIO_MAX = 690.0


def _negative(difference: float | None) -> float | None:
    return None if difference is None else -difference


def _inverse(ratio: float | None) -> float | None:
    return None if ratio is None else 1 / ratio
