"""Two systems, one objective: is there a difference, how large, and if none was shown, how large could it be.

The unit of evidence is the repetition. Runs of one bundle are paired by their block (`paired`): each block holds one
run of either system, so whatever drifted between blocks drops out of their log-ratio. Runs of different bundles have no
common blocks (`unpaired`, Welch). `judge` then decides over all the cells at once, by Holm's procedure. See
docs/method/comparison.md.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from bakeoff.analysis.objective import Objective
from bakeoff.analysis.student import t_critical, t_detectable, t_two_sided_p
from bakeoff.analysis.wording import counted, percent_words

REPETITIONS_MIN = 5
ALPHA = 0.05
POWER = 0.80
# Two neighbouring buckets of a histogram differ by this much. Nothing finer is claimed, of any objective: five equal
# pairs of values 0.05 % apart show how values are recorded, not how systems differ.
RESOLUTION_RATIO = 1 / 1024

Verdict = Literal["higher", "lower", "no difference", "too few", "not comparable"]
Design = Literal["paired", "unpaired"]
FloatArray = NDArray[np.float64]
Block = TypeVar("Block", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Evidence:
    """log_ratio: of `other` over `base`; error: its standard error; df: degrees of freedom."""

    log_ratio: float
    error: float
    df: float

    def interval(self, alpha: float) -> tuple[float, float]:
        """Of the log-ratio, at level 1 - alpha: the t interval, widened by what recording cannot resolve."""
        half = self._multiple(t_critical, alpha) + math.log1p(RESOLUTION_RATIO)
        return self.log_ratio - half, self.log_ratio + half

    def p_value(self) -> float:
        """Of the hypothesis that the true ratio lies within what recording cannot resolve."""
        beyond = max(0.0, abs(self.log_ratio) - math.log1p(RESOLUTION_RATIO))
        if self.error == 0:
            return 0.0 if beyond else 1.0
        return t_two_sided_p(beyond / self.error, self.df)

    def detectable(self, alpha: float) -> float:
        """The log-ratio that a like experiment with this noise would show with probability POWER."""
        return self._multiple(lambda a, df: t_detectable(a, df, POWER), alpha) + math.log1p(RESOLUTION_RATIO)

    def _multiple(self, factor: Callable[[float, float], float], alpha: float) -> float:
        return factor(alpha, self.df) * self.error if self.error else 0.0


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why there is nothing to judge."""

    verdict: Verdict
    words: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one cell says before anything is decided.

    base_value, other_value: geometric means of the runs that were used, None if one of them is zero or undefined.
    repetitions: of the one that has fewer.
    """

    cell: str
    objective: Objective
    base: str
    other: str
    design: Design
    repetitions: int
    base_value: float | None
    other_value: float | None
    finding: Evidence | Obstacle
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is said about `other` against `base`. Ratios are other / base; 1.0 means equal.

    verdict: of the objective's value (`higher`, `lower`), not of merit: see `better`.
    low, high: interval at `level`, the level of the step at which Holm's procedure decided this cell (95 % or more),
        so that interval and verdict never contradict each other: it excludes 1 exactly when a difference is claimed.
    plain_low, plain_high: the interval at 95 %, as if this were the only cell.
    p_value, p_adjusted: alone, and over all cells.
    detectable_ratio: smallest relative difference that would have been seen with 80 % probability; only where none
        was shown.
    """

    cell: str
    objective: Objective
    base: str
    other: str
    design: Design
    repetitions: int
    base_value: float | None
    other_value: float | None
    verdict: Verdict
    words: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    plain_low: float | None = None
    plain_high: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    detectable_ratio: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def claims_difference(self) -> bool:
        return self.verdict in ("higher", "lower")

    @property
    def better(self) -> str | None:
        """The name of the better one, where a difference is claimed."""
        if not self.claims_difference:
            return None
        return self.other if (self.verdict == "higher") == self.objective.higher_is_better else self.base

    def swapped(self) -> "Comparison":
        """The same finding told the other way round, with its own base."""
        turned = replace(
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
        )
        return replace(turned, words=_difference_words(turned)) if turned.claims_difference else turned


_TURNED: dict[Verdict, Verdict] = {"higher": "lower", "lower": "higher"}


_WITHOUT_PARTNER = (
    "run without a partner in its block was left out",
    "runs without a partner in their block were left out",
)


def paired(
    cell: str,
    objective: Objective,
    base: str,
    other: str,
    base_runs: Mapping[Block, float | None],
    other_runs: Mapping[Block, float | None],
) -> Estimate:
    """Mean of the log-ratios over the blocks both have; t with (blocks - 1) degrees of freedom.

    base_runs, other_runs: one value a run, by block; None where the run was made but the objective is not defined for
    it. Assumes blocks are independent and their log-ratios roughly normal. A block that only one of them has is left
    out, and noted.
    """
    blocks = [block for block in base_runs if block in other_runs]
    a, b = [base_runs[block] for block in blocks], [other_runs[block] for block in blocks]
    alone = len(base_runs) + len(other_runs) - 2 * len(blocks)
    notes = (counted(alone, *_WITHOUT_PARTNER),) if alone else ()
    finding: Evidence | Obstacle | None = _obstacle(objective, base, other, a, b)
    if finding is None:
        ratios = _logs(b) - _logs(a)
        finding = Evidence(float(ratios.mean()), _standard_error(ratios), float(len(blocks) - 1))
    return Estimate(cell, objective, base, other, "paired", len(blocks), _centre(a), _centre(b), finding, notes)


def unpaired(
    cell: str,
    objective: Objective,
    base: str,
    other: str,
    base_runs: Sequence[float | None],
    other_runs: Sequence[float | None],
) -> Estimate:
    """Difference of the means of the logs, with Welch's standard error and degrees of freedom.

    For runs of different bundles. Whatever differed between the two occasions (another neighbour, a warmer machine) is
    inside the difference and cannot be told from it. base_runs, other_runs: as in `paired`, in any order.
    """
    notes = ("measured on two occasions: whatever else changed between them is part of the difference",)
    finding: Evidence | Obstacle | None = _obstacle(objective, base, other, base_runs, other_runs)
    if finding is None:
        finding = _welch(_logs(base_runs), _logs(other_runs))
    repetitions = min(len(base_runs), len(other_runs))
    centres = _centre(base_runs), _centre(other_runs)
    return Estimate(cell, objective, base, other, "unpaired", repetitions, *centres, finding, notes)


def _welch(a: FloatArray, b: FloatArray) -> Evidence:
    parts = [_standard_error(x) ** 2 for x in (a, b)]
    spread = sum(part**2 / (x.size - 1) for part, x in zip(parts, (a, b), strict=True))
    df = sum(parts) ** 2 / spread if spread > 0 else float(a.size + b.size - 2)
    return Evidence(float(b.mean() - a.mean()), math.sqrt(sum(parts)), df)


def judge(estimates: Iterable[Estimate], *, alpha: float = ALPHA) -> list[Comparison]:
    """One comparison for each estimate, in the same order; Holm's procedure over all that can be judged.

    The chance that any of the claimed differences is none at all is at most `alpha` (family-wise error rate). Pass
    everything that is read together in one call; do not pick the interesting cells first.
    """
    estimates = list(estimates)
    evidence = {i: e.finding for i, e in enumerate(estimates) if isinstance(e.finding, Evidence)}
    steps = _holm(evidence, alpha)
    return [
        _without_verdict(e, e.finding) if isinstance(e.finding, Obstacle) else _conclude(e, e.finding, steps[i], alpha)
        for i, e in enumerate(estimates)
    ]


@dataclass(frozen=True, slots=True)
class _Step:
    """Where Holm's procedure decided one cell: at which alpha, and its p-value adjusted."""

    alpha: float
    p_value: float
    p_adjusted: float
    rejected: bool


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


def _without_verdict(e: Estimate, obstacle: Obstacle) -> Comparison:
    return Comparison(*_facts(e), obstacle.verdict, obstacle.words, notes=e.notes)


def _conclude(e: Estimate, found: Evidence, step: _Step, alpha: float) -> Comparison:
    low, high = (math.exp(x) for x in found.interval(step.alpha))
    plain_low, plain_high = (math.exp(x) for x in found.interval(alpha))
    draft = Comparison(
        *_facts(e),
        "no difference",
        "",
        ratio=math.exp(found.log_ratio),
        low=low,
        high=high,
        level=1 - step.alpha,
        plain_low=plain_low,
        plain_high=plain_high,
        p_value=step.p_value,
        p_adjusted=step.p_adjusted,
        notes=e.notes,
    )
    if step.rejected:
        draft = replace(draft, verdict="higher" if found.log_ratio > 0 else "lower")
        return replace(draft, words=_difference_words(draft))
    detectable = math.expm1(found.detectable(step.alpha))
    words = f"no difference shown; {percent_words(detectable)} could have been seen"
    return replace(draft, detectable_ratio=detectable, words=words)


def _facts(e: Estimate) -> tuple[str, Objective, str, str, Design, int, float | None, float | None]:
    return e.cell, e.objective, e.base, e.other, e.design, e.repetitions, e.base_value, e.other_value


def _difference_words(c: Comparison) -> str:
    if c.ratio is None or c.low is None or c.high is None or c.level is None:
        return c.words
    up = c.verdict == "higher"
    size = [percent_words(abs(x - 1)) for x in (c.ratio, *((c.low, c.high) if up else (c.high, c.low)))]
    interval = f"({level_words(c.level)} interval {size[1]} to {size[2]})"
    if c.objective.name == "rate":
        return f"{c.other} is {size[0]} {'faster' if up else 'slower'} than {c.base} {interval}"
    label = c.objective.label
    return f"{c.other}'s {label} is {size[0]} {'higher' if up else 'lower'} than {c.base}'s {interval}"


def level_words(level: float) -> str:
    """0.95 -> "95 %", 0.99375 -> "99.38 %"; the part that is left out never rounds to nothing."""
    left_out = float(f"{100 * (1 - level):.2g}")
    return f"{100 - left_out:.10g} %"


def _obstacle(
    objective: Objective,
    base: str,
    other: str,
    base_runs: Sequence[float | None],
    other_runs: Sequence[float | None],
) -> Obstacle | None:
    repetitions = min(len(base_runs), len(other_runs))
    if repetitions < REPETITIONS_MIN:
        return Obstacle("too few", f"too few repetitions to compare ({repetitions}, needs {REPETITIONS_MIN})")
    for name, runs in ((base, base_runs), (other, other_runs)):
        undefined = sum(not _has_log(value) for value in runs)
        if undefined:  # leaving these runs out would compare the survivors
            label = objective.label
            words = f"not compared: the {label} of {name} is zero or not defined in {undefined} of {len(runs)} runs"
            return Obstacle("not comparable", words)
    return None


def _has_log(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and value > 0


def _logs(values: Sequence[float | None]) -> FloatArray:
    logs: FloatArray = np.log(np.asarray(values, dtype=float))
    return logs


def _centre(values: Sequence[float | None]) -> float | None:
    """Geometric mean, because ratios are compared; None if any value has none."""
    if not values or not all(map(_has_log, values)):
        return None
    return float(np.exp(_logs(values).mean()))


def _standard_error(values: FloatArray) -> float:
    """0 where values differ only by rounding errors of the logarithm."""
    if np.ptp(values) < 1e-12:
        return 0.0
    return float(values.std(ddof=1) / math.sqrt(values.size))


def _inverse(ratio: float | None) -> float | None:
    return None if ratio is None else 1 / ratio
