"""What one cell says of two systems before anything is decided: a log-ratio with its standard error, or why there is
none.

The unit of evidence is the repetition where two systems ran in common blocks (`paired`), and the bundle where they
did not (`unpaired`): runs of one bundle share what was peculiar to its day. With one bundle a side what lies between
bundles cannot be known, and is left out of the interval. See docs/method/bundles.md.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from bakeoff.analysis.metric import Metric
from bakeoff.analysis.wording import counted, signed_words

from .statistics import f_p, t_critical, t_detectable, t_two_sided_p

REPETITIONS_MIN = 5
POWER = 0.80
# Two adjacent buckets of a histogram differ by this much. Nothing finer is claimed, of any objective: five equal
# pairs of values 0.05 % apart show how values are recorded, not how systems differ.
RESOLUTION_RATIO = 1 / 1024

#: `invalid runs`: a side failed in some of its runs; the others would be a comparison of survivors.
#: `equivalent`: shown to differ by less than the size that matters.
Verdict = Literal[
    "higher", "lower", "equivalent", "no difference", "too few", "invalid runs", "too few operations", "not comparable"
]
Design = Literal["paired", "two bundles", "several bundles"]
FloatArray = NDArray[np.float64]
Block = TypeVar("Block", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Invalid:
    """A run that was made and does not count; causes: the checks that speak against it, by name."""

    causes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Unstated:
    """A run that counts and has no value to compare. cause: a few words. have, needed: of operations, where their
    number is the cause."""

    cause: str
    have: int | None = None
    needed: int = 0


#: What a run says: the objective's value; None or Unstated where it has none; Invalid where the run does not count.
RunValue = float | Invalid | Unstated | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """log_ratio: of `other` over `base`; error: its standard error; df: degrees of freedom. of: `shares` where the
    difference of two shares replaces the log-ratio, because one of them is zero. whole: where outlying blocks
    were left out that speak against what the others say, the evidence of all blocks: a claim needs both."""

    log_ratio: float
    error: float
    df: float
    of: Literal["ratio", "shares"] = "ratio"
    whole: "Evidence | None" = None

    def interval(self, alpha: float) -> tuple[float, float]:
        """Of the log-ratio, at level 1 - alpha: the t interval, widened by what recording cannot resolve; with `whole`
        the least that holds both intervals."""
        half = self._multiple(t_critical, alpha) + math.log1p(RESOLUTION_RATIO)
        low, high = self.log_ratio - half, self.log_ratio + half
        if self.whole is not None:
            of_all = self.whole.interval(alpha)
            return min(low, of_all[0]), max(high, of_all[1])
        return low, high

    def p_value(self) -> float:
        """Of the hypothesis that the true ratio lies within what recording cannot resolve."""
        beyond = max(0.0, abs(self.log_ratio) - math.log1p(RESOLUTION_RATIO))
        if self.whole is not None:
            agrees = self.whole.log_ratio * self.log_ratio > 0
            return max(replace(self, whole=None).p_value(), self.whole.p_value() if agrees else 1.0)
        if self.error == 0:
            return 0.0 if beyond else 1.0
        return t_two_sided_p(beyond / self.error, self.df)

    def detectable(self, alpha: float) -> float:
        """The log-ratio that a like experiment with this noise would show with probability POWER."""
        if self.whole is not None:
            return max(replace(self, whole=None).detectable(alpha), self.whole.detectable(alpha))
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

    base_value, other_value: geometric means, None if one of the runs is invalid, zero or undefined. repetitions: of
    the one that has fewer, in units of evidence: blocks, runs or bundles. log_ratios: of each block, where there are.
    """

    cell: str
    objective: Metric
    base: str
    other: str
    design: Design
    repetitions: int
    base_value: float | None
    other_value: float | None
    finding: Evidence | Obstacle
    notes: tuple[str, ...] = ()
    log_ratios: Mapping[Hashable, float] = field(default_factory=dict)


_WITHOUT_PARTNER = (
    "run whose block has no run of the other side was left out of this comparison",
    "runs whose blocks have no run of the other side were left out of this comparison",
)
_BOTH_INVALID = (
    "block was left out: both runs were invalid there, for the same cause",
    "blocks were left out: both runs were invalid there, for the same cause",
)


def paired(
    cell: str,
    objective: Metric,
    base: str,
    other: str,
    base_runs: Mapping[Block, RunValue],
    other_runs: Mapping[Block, RunValue],
) -> Estimate:
    """Mean of the log-ratios over the blocks both have; t with (blocks - 1) degrees of freedom.

    base_runs, other_runs: one value a run, by block. Assumes blocks are independent and their log-ratios roughly
    normal. A block that only one of them has is left out, and noted. So is a block whose two runs are invalid for the
    same cause (something that hit the machine); any other invalid run refuses the comparison.

    Of shares, such as that of aborted attempts, some of which are zero, the differences are taken: 0 % against 39 % has
    no ratio, and is clear enough.
    """
    both = _invalid_alike(base_runs, other_runs)
    left = [{block: value for block, value in runs.items() if block not in both} for runs in (base_runs, other_runs)]
    blocks = [block for block in left[0] if block in left[1]]
    a, b = ([runs[block] for block in blocks] for runs in left)
    alone = len(left[0]) + len(left[1]) - 2 * len(blocks)
    notes = [counted(len(both), *_BOTH_INVALID)] if both else []
    notes += [counted(alone, *_WITHOUT_PARTNER)] if alone else []
    finding: Evidence | Obstacle | None = None
    if (both and not blocks) or any(isinstance(value, Invalid) for runs in left for value in runs.values()):
        finding = _survivors({base: list(base_runs.values()), other: list(other_runs.values())})
    shares = has_zero_shares(objective, [*a, *b])
    finding = finding or _obstacle(objective, {base: a, other: b}, has_value=_is_share if shares else _has_log)
    by_block: dict[Hashable, float] = {}
    if finding is None:
        steps = np.asarray(b, dtype=float) - np.asarray(a, dtype=float) if shares else _logs(b) - _logs(a)
        finding = of_steps(steps, "shares" if shares else "ratio")
        by_block = {} if shares else dict(zip(blocks, steps.tolist(), strict=True))
        notes += [] if shares else _outlying_words(steps, {base: a, other: b}, blocks)
    values = (_mean(a), _mean(b)) if shares else (_centre(a), _centre(b))
    return Estimate(cell, objective, base, other, "paired", len(blocks), *values, finding, tuple(notes), by_block)


#: A note of a mean.
DIFFER = "the settings' effects differ: this mean describes none of them"


def over_settings(cell: str, estimates: Sequence[Estimate], *, claimed: bool = False) -> Estimate | None:
    """The same two in several settings, all `paired`, as one question: for each block that all of them have, the mean
    of their log-ratios, each setting counting the same. None where one of them could not be judged, or where the
    settings' effects differ: the mean of -19 % and -3 % describes neither. claimed: an earlier analysis claimed
    something of it, which stands, with a note where the effects now differ.

    What differs between settings is no noise here: the answer is about these settings, not about others like them.
    """
    if not all(isinstance(e.finding, Evidence) for e in estimates):
        return None
    blocks = [block for block in estimates[0].log_ratios if all(block in e.log_ratios for e in estimates)]
    if len(blocks) < REPETITIONS_MIN:
        return None
    by_setting = np.asarray([[e.log_ratios[block] for block in blocks] for e in estimates])
    apart = differ(by_setting)
    if apart and not claimed:
        return None
    ratios = by_setting.mean(axis=0)
    first = estimates[0]
    facts = cell, first.objective, first.base, first.other, first.design, len(blocks)
    notes = (DIFFER,) if apart else ()
    log_ratios = dict(zip(blocks, ratios.tolist(), strict=True))
    return Estimate(*facts, None, None, of_steps(ratios, "ratio"), notes=notes, log_ratios=log_ratios)


#: Of the test whether effects differ: it errs towards not pooling, because it sees little.
HETEROGENEITY_ALPHA = 0.10


def differ(ratios: FloatArray) -> bool:
    """Whether settings differ in their effect: the F test of settings against what is left of the log-ratios (a row a
    setting, a column a block) without the means of settings and of blocks. It is independent of the mean of all."""
    settings, blocks = ratios.shape
    of_settings = ratios.mean(axis=1)
    rest = ratios - of_settings[:, None] - ratios.mean(axis=0)[None, :] + ratios.mean()
    between = blocks * float(of_settings.var(ddof=1))
    within = float((rest**2).sum()) / ((settings - 1) * (blocks - 1))
    if np.ptp(of_settings) <= math.log1p(RESOLUTION_RATIO):
        return False
    if within <= _ROUNDING**2:
        return True
    return f_p(between / within, settings - 1, (settings - 1) * (blocks - 1)) < HETEROGENEITY_ALPHA


def alone(objective: Metric, name: str, runs: Mapping[Block, RunValue]) -> Evidence | Obstacle:
    """Of one cell by itself: the log of its value, over the blocks, whether outlying or not. Any run that is invalid,
    or whose value has no logarithm, refuses it."""
    sides = {name: list(runs.values())}
    return _survivors(sides) or _obstacle(objective, sides) or of_steps(_logs(sides[name]), both=True)


def of_steps(steps: FloatArray, of: Literal["ratio", "shares"] = "ratio", *, both: bool = False) -> Evidence:
    """steps: one a block. Log-ratios of outlying blocks are left out, so that the rest says what the typical run does.
    Where some of them speak against the rest, their sum must not: a system is not called faster for stalling seldom.
    both: always keep all blocks next to the rest, where what they speak against is another bound than "equal"."""
    whole = Evidence(float(steps.mean()), _standard_error(steps), float(steps.size - 1), of)
    out = outlying(steps) if of == "ratio" else np.zeros(steps.size, dtype=bool)
    kept = steps[~out]
    if kept.size == steps.size or kept.size < REPETITIONS_MIN:
        return whole
    centre = float(kept.mean())
    against = both or ((steps[out] - centre) * centre < 0).any()
    return Evidence(centre, _standard_error(kept), float(kept.size - 1), of, whole if against else None)


def outlying(steps: FloatArray) -> NDArray[np.bool_]:
    """Of each block whether its log-ratio lies further from the median than it does in one of a hundred comparisons
    with normal noise, in units of the median distance."""
    if steps.size < REPETITIONS_MIN:
        return np.zeros(steps.size, dtype=bool)
    distance = np.abs(steps - np.median(steps))
    unit = max(float(np.median(distance)), math.log1p(RESOLUTION_RATIO) / 2)
    bound = float(np.interp(steps.size, list(_OUTLYING), list(_OUTLYING.values())))
    found: NDArray[np.bool_] = distance > bound * unit
    return found


#: By the number of blocks, simulated (`benches/judgement.py`): the greatest distance, in units of the median distance,
#: that one of a hundred normal samples exceeds.
_OUTLYING = {
    5: 28.5, 6: 15.2, 7: 16.0, 8: 11.8, 9: 12.4, 10: 10.3, 11: 10.6, 12: 9.3, 13: 9.6, 14: 8.7, 15: 8.9,
    16: 8.3, 18: 8.0, 20: 7.8, 25: 7.5, 30: 7.1, 40: 6.8, 60: 6.5, 100: 6.3,
}  # fmt: skip


def _outlying_words(
    steps: FloatArray, sides: Mapping[str, Sequence[RunValue]], blocks: Sequence[Block]
) -> tuple[str, ...]:
    """Each outlying block by the side whose run is further from its own median."""
    found = []
    logs = {name: _logs(values) for name, values in sides.items()}
    for i in np.flatnonzero(outlying(steps)).tolist():
        apart = {name: float(of[i] - np.median(of)) for name, of in logs.items()}
        name = max(apart, key=lambda name: abs(apart[name]))
        found.append(f"{name} in block {blocks[i]} ({signed_words(math.exp(apart[name]))} from its median)")
    if not found:
        return ()
    shown = "; ".join(found[:_OUTLYING_NAMED]) + ("; ..." if len(found) > _OUTLYING_NAMED else "")
    count = f"{len(found)} of {counted(int(steps.size), 'block', 'blocks')}"
    if steps.size - len(found) < REPETITIONS_MIN:
        return (f"outlying: {count}: {shown}; too few others are left to judge without them",)
    whole = Evidence(float(steps.mean()), _standard_error(steps), float(steps.size - 1))
    ends = " to ".join(signed_words(math.exp(end)) for end in whole.interval(ALPHA_NOTED))
    return (
        f"outlying: {count}: {shown}; the estimate is of the typical run, without them; over all runs"
        f" {signed_words(math.exp(whole.log_ratio))} ({ends})",
    )


#: Outlying blocks that are named; the rest are counted.
_OUTLYING_NAMED = 3
#: Of the interval over all runs, in a note.
ALPHA_NOTED = 0.05


def unpaired(
    cell: str,
    objective: Metric,
    base: str,
    other: str,
    base_bundles: Sequence[Sequence[RunValue]],
    other_bundles: Sequence[Sequence[RunValue]],
) -> Estimate:
    """For runs of different bundles: for each bundle of a side the values of its runs, in any order.

    Several bundles: each counts once, with the mean of its logs; the difference of the sides' means has the variance
    of bundles, pooled over both sides, with (bundles - 2) degrees of freedom. That assumes that bundles vary
    alike on both sides, and holds its level with few and with unequal numbers of them, where Welch's does not.

    One bundle each: the runs are the evidence, with Welch's standard error and degrees of freedom. The interval then
    is about these two bundles only. Any invalid run refuses the comparison.
    """
    sides = [[list(runs) for runs in side if runs] for side in (base_bundles, other_bundles)]
    a, b = ([value for runs in side for value in runs] for side in sides)
    alone = all(len(side) == 1 for side in sides)
    finding: Evidence | Obstacle | None = _survivors({base: a, other: b})
    finding = finding or _obstacle(objective, {base: a, other: b}, least=REPETITIONS_MIN if alone else 1)
    if finding is None:
        finding = _welch(_logs(a), _logs(b)) if alone else _pooled(*([_mean_log(o) for o in side] for side in sides))
    values = [_centre_of_bundles(side) for side in sides]
    evidence = sides if not alone else (a, b)
    return Estimate(
        cell,
        objective,
        base,
        other,
        "two bundles" if alone else "several bundles",
        min(map(len, evidence)),
        values[0],
        values[1],
        finding,
        (_ONE_BUNDLE if alone else _bundles_words(*map(len, sides)),),
    )


_ONE_BUNDLE = (
    "one bundle a side: how much two bundles of one and the same system differ is not known, and not in the"
    " interval; give several bundles a side"
)


def _bundles_words(base: int, other: int) -> str:
    words = f"{counted(base, 'bundle', 'bundles')} against {other}: each counts once, with the mean of its runs"
    return words if min(base, other) > 1 else f"{words}; a single one is taken to vary as those of the other side do"


def _welch(a: FloatArray, b: FloatArray) -> Evidence:
    parts = [_standard_error(x) ** 2 for x in (a, b)]
    spread = sum(part**2 / (x.size - 1) for part, x in zip(parts, (a, b), strict=True))
    df = sum(parts) ** 2 / spread if spread > 0 else float(a.size + b.size - 2)
    return Evidence(float(b.mean() - a.mean()), math.sqrt(sum(parts)), df)


def _pooled(a: Sequence[float], b: Sequence[float]) -> Evidence:
    means = float(np.mean(a)), float(np.mean(b))
    df = len(a) + len(b) - 2
    squares = sum((x - mean) ** 2 for side, mean in zip((a, b), means, strict=True) for x in side)
    error = math.sqrt(squares / df * (1 / len(a) + 1 / len(b)))
    return Evidence(means[1] - means[0], error if error > _ROUNDING else 0.0, float(df))


def _invalid_alike(a: Mapping[Block, RunValue], b: Mapping[Block, RunValue]) -> set[Block]:
    """Blocks in which both runs are invalid for the same cause."""
    return {block for block, value in a.items() if isinstance(value, Invalid) and b.get(block) == value}


def _survivors(sides: Mapping[str, Sequence[RunValue]]) -> Obstacle | None:
    """What a side did when it worked says nothing of how it works: there is no comparing with what is left.

    A test of imbalance would not help: 3 of 10 against none is p = 0.21, and passes for chance four times in five.
    """
    found = []
    for name, runs in sides.items():
        invalid = [value for value in runs if isinstance(value, Invalid)]
        if invalid and len(invalid) == len(runs):
            found.append(f"no valid run of {name}")
        elif invalid:
            causes = ", ".join(sorted({cause for value in invalid for cause in value.causes}))
            were = "was" if len(invalid) == 1 else "were"
            found.append(f"{len(invalid)} of {counted(len(runs), 'run', 'runs')} of {name} {were} invalid ({causes})")
    return Obstacle("invalid runs", f"not compared: {' and '.join(found)}") if found else None


def _obstacle(
    objective: Metric,
    sides: Mapping[str, Sequence[RunValue]],
    *,
    least: int = REPETITIONS_MIN,
    has_value: Callable[[RunValue], bool] = lambda value: _has_log(value),
) -> Obstacle | None:
    repetitions = min(map(len, sides.values()))
    if repetitions < least:
        return Obstacle("too few", f"too few repetitions to compare ({repetitions}, needs {least})")
    if of_few := [words for name, runs in sides.items() if (words := _too_few_words(objective, name, runs))]:
        return Obstacle("too few operations", f"not compared: {' and '.join(of_few)}: lengthen the window")
    for name, runs in sides.items():
        undefined = sum(not has_value(value) for value in runs)
        if undefined:  # leaving these runs out would compare the survivors
            label = objective.label
            if whys := cause_words(runs):
                return Obstacle("not comparable", f"not compared: {name} has no {label} to compare: {whys}")
            what = "is zero, not defined or only a lower bound"
            words = f"not compared: the {label} of {name} {what} in {undefined} of {len(runs)} runs"
            return Obstacle("not comparable", words)
    return None


def _too_few_words(objective: Metric, name: str, runs: Sequence[RunValue]) -> str:
    """ "too few operations for a p99 of after in 5 of 5 runs (37 to 41 of the 1,000 it needs)"; "" where something else
    keeps a run from having a value, or nothing does."""
    without = [value for value in runs if not isinstance(value, int | float)]
    few = [value for value in without if isinstance(value, Unstated) and value.have is not None]
    if not few or len(few) < len(without):
        return ""
    return f"too few operations for a {objective.label} of {name} {_how_few(few, len(runs))}"


def _how_few(few: Sequence[Unstated], runs: int) -> str:
    have = sorted(value.have for value in few if value.have is not None)
    counts = f"{have[0]:,}" if have[0] == have[-1] else f"{have[0]:,} to {have[-1]:,}"
    return f"in {len(few)} of {runs} runs ({counts} of the {max(value.needed for value in few):,} it needs)"


def cause_words(runs: Sequence[RunValue]) -> str:
    """Why runs have no value, each cause once: "overloaded in 2 of 5 runs, zero in 1 of 5 runs"; "" where nobody
    knows."""
    by_cause: dict[str, list[Unstated]] = {}
    for value in runs:
        if isinstance(value, Unstated):
            by_cause.setdefault(value.cause.partition(" (")[0], []).append(value)
    said = []
    for kind, found in by_cause.items():
        few = found[0].have is not None
        cause = found[0].cause if len({value.cause for value in found}) == 1 else kind  # details differ from run to run
        said.append(f"{cause} {_how_few(found, len(runs)) if few else f'in {len(found)} of {len(runs)} runs'}")
    return ", ".join(said)


def has_zero_shares(objective: Metric, values: Sequence[RunValue]) -> bool:
    return objective.unit == "ratio" and any(value == 0 for value in values)


def _is_share(value: RunValue) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and value >= 0


def _mean(values: Sequence[RunValue]) -> float | None:
    """None if any is not a share."""
    return float(np.asarray(values, dtype=float).mean()) if values and all(map(_is_share, values)) else None


def _has_log(value: RunValue) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and value > 0


def _logs(values: Sequence[RunValue]) -> FloatArray:
    logs: FloatArray = np.log(np.asarray(values, dtype=float))
    return logs


def _mean_log(values: Sequence[RunValue]) -> float:
    return float(_logs(values).mean())


def _centre(values: Sequence[RunValue]) -> float | None:
    """Geometric mean, because ratios are compared; None if any value has none."""
    return _centre_of_bundles([values])


def _centre_of_bundles(bundles: Sequence[Sequence[RunValue]]) -> float | None:
    """Geometric mean of the bundles' geometric means."""
    if not bundles or not all(runs and all(map(_has_log, runs)) for runs in bundles):
        return None
    return math.exp(sum(map(_mean_log, bundles)) / len(bundles))


def _standard_error(values: FloatArray) -> float:
    """0 where values differ only by rounding errors of the logarithm."""
    if np.ptp(values) < _ROUNDING:
        return 0.0
    return float(values.std(ddof=1) / math.sqrt(values.size))


_ROUNDING = 1e-12
