"""What a test sees of a plan and its bundle, and the parts that a test consists of: each a question with bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..analysis.decision import Open, Plain, Question, Within
from ..analysis.estimate import (
    DIFFER,
    REPETITIONS_MIN,
    Estimate,
    Evidence,
    Obstacle,
    alone,
    of_steps,
    over_settings,
)
from ..analysis.metric import Metric
from ..analysis.wording import are_times, counted, signed_words, times_words
from ..bundle.read import Bundle
from ..findings.comparisons import Values, estimate_in_blocks
from ..findings.run_values import run_values
from ..findings.runs import runs_by_cell
from ..model.records.plan import CellRecord
from ..model.records.run import RunRecord
from .document import Where
from .select import Cells, words

#: Why there is no ratio.
ZERO = "one of the two is zero, so there is no ratio"
Pairs = Sequence[tuple[CellRecord, CellRecord]]


@dataclass(frozen=True)
class Part:
    """about: what is measured of which cells. wanted: what the claim says of it. values: of the sides, in words.
    shown: how a figure of its interval is written. notes: what was left out, or differs between pairs."""

    about: str
    wanted: str
    question: Question
    values: str = ""
    shown: Callable[[float], str] = signed_words
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Measured:
    """bundle: None where there is none, for the reason `lacks`."""

    cells: Cells
    metric: Metric
    bundle: Bundle | None
    lacks: str = "not run"

    @cached_property
    def runs(self) -> Mapping[str, Sequence[RunRecord]]:
        """Without those that count only because whoever ran the plan allowed disturbed runs."""
        return runs_by_cell(run for run in (self.bundle.runs if self.bundle else []) if not run.is_marked)

    def ratio(self, of: Where, against: Where, metric: Metric | None = None) -> Estimate:
        return self.over_pairs(self.cells.pairs(of, against), (words(against), words(of)), metric)

    def ratios(self, of: Where, against: Where, metric: Metric | None = None, *, apart: bool = False) -> list[Estimate]:
        """One over all pairs; of each pair where their effects differ, or `apart` says so."""
        pairs = self.cells.pairs(of, against)
        whole = self.over_pairs(pairs, (words(against), words(of)), metric)
        if len(pairs) == 1 or self.bundle is None or not (apart or DIFFER in whole.notes):
            return [whole]
        return [self.over_pairs([pair], (self.label(pair[0]), self.label(pair[1])), metric) for pair in pairs]

    def over_pairs(self, pairs: Pairs, names: tuple[str, str], metric: Metric | None = None) -> Estimate:
        """The mean of the log-ratios over all pairs, each counting the same, in every block. names: of the base and of
        the other. A disturbed run is no evidence, and one that was not valid refuses the question."""
        objective = metric or self.metric
        nothing = Estimate("", objective, *names, "paired", 0, None, None, Obstacle("too few", self.lacks))
        if self.bundle is None:
            return nothing
        found = [self._of_pair(pair, objective, names) for pair in pairs]
        if len(found) == 1:
            return found[0]
        obstacles = [one for one in found if isinstance(one.finding, Obstacle)]
        shares = any(isinstance(one.finding, Evidence) and one.finding.of == "shares" for one in found)
        several = ZERO if shares else "its settings have too few repetitions in common"
        return next(iter(obstacles), over_settings("", found, claimed=True) or _refused(nothing, several))

    def alone(
        self, cell: CellRecord, metric: Metric | None = None, *, zeros: bool = False
    ) -> Evidence | Plain | Obstacle:
        """zeros: whether zero is a value like any other."""
        if self.bundle is None:
            return Obstacle("too few", self.lacks)
        values = run_values(self.bundle, self.runs[cell.id], metric or self.metric)
        known = [value for value in values.values() if isinstance(value, int | float)]
        if zeros and len(known) == len(values) >= REPETITIONS_MIN and min(known) == 0:
            return Plain(known)
        found = alone(metric or self.metric, self.label(cell), values)
        return found if isinstance(found, Evidence) else self._with_disturbed(found, [cell])

    def _of_pair(self, pair: tuple[CellRecord, CellRecord], metric: Metric, names: tuple[str, str]) -> Estimate:
        assert self.bundle is not None
        found = estimate_in_blocks("", metric, names, pair, Values(self.bundle, self.runs))
        invalid = sum(run.standing == "invalid" for cell in pair for run in self.runs[cell.id])
        if isinstance(found.finding, Evidence) and invalid and pair[0].system == pair[1].system:
            # Nothing but the system itself need have hit both sides.
            why = Obstacle(
                "invalid runs", f"{counted(invalid, 'run is', 'runs are')} invalid on both sides of one system"
            )
            return replace(found, finding=why)
        if isinstance(found.finding, Evidence):
            return found
        return replace(found, finding=self._with_disturbed(found.finding, pair))

    def _with_disturbed(self, found: Obstacle, cells: Sequence[CellRecord]) -> Obstacle:
        runs = [run for cell in cells for run in self.runs[cell.id]]
        disturbed = sum(run.standing == "disturbed" and not run.valid for run in runs)
        if found.verdict != "too few" or not disturbed:
            return found
        return replace(
            found, words=f"{found.words}: {disturbed} of {counted(len(runs), 'run was', 'runs were')} disturbed"
        )

    def label(self, cell: CellRecord) -> str:
        return words({"system": cell.system, **cell.levels})


def _refused(estimate: Estimate, why: str) -> Estimate:
    obstacle = Obstacle("not comparable", why)
    return Estimate("", estimate.objective, estimate.base, estimate.other, "paired", 0, None, None, obstacle)


def part(
    about: str,
    finding: Evidence | Plain | Obstacle,
    low: float = 0.0,
    high: float = math.inf,
    *,
    wanted: str = "",
    values: str = "",
    shown: Callable[[float], str] = signed_words,
) -> Part:
    """Whether what was found lies between `low` and `high`, both ratios (or values, of a cell alone)."""
    wanted = wanted or bounds_words(low, high, shown)
    if isinstance(finding, Obstacle):
        return Part(about, wanted, Open(finding.words), values, shown)
    if isinstance(finding, Plain):
        return Part(about, wanted, Within(finding, low, high), values, shown)
    ends = math.log(low) if low > 0 else -math.inf, math.log(high) if 0 < high < math.inf else high or -math.inf
    if finding.of == "shares" and any(math.isfinite(end) and end for end in ends):
        return Part(about, wanted, Open(ZERO), values, shown)
    return Part(about, wanted, Within(finding, *ends), values, shown)


def of_ratio(estimate: Estimate, low: float = 0.0, high: float = math.inf) -> Part:
    """Of two sides: how the other's value compares with the base's."""
    about = f"{estimate.objective.label} of {estimate.other} against {estimate.base}"
    sides = [estimate.objective.words(v) for v in (estimate.other_value, estimate.base_value) if v is not None]
    found = estimate.finding
    if isinstance(found, Evidence) and found.of == "ratio" and estimate.log_ratios:
        found = of_steps(np.asarray([*estimate.log_ratios.values()]), both=True)
    values = " against ".join(sides) if len(sides) == 2 else ""
    return replace(part(about, found, low, high, values=values), notes=estimate.notes)


def bounds_words(low: float, high: float, shown: Callable[[float], str]) -> str:
    """ "at least +20 %", "-4.8 % to +5.0 %"; "higher", "lower" of a ratio with 1 as its only bound."""
    if (low, high) in ((1.0, math.inf), (0.0, 1.0)) and shown is signed_words:
        return "higher" if low else "lower"
    shown = alike([x for x in (low, high) if x < math.inf], shown)
    if low > 0 and high < math.inf:
        return f"{shown(low)} to {shown(high)}"
    return f"at least {shown(low)}" if low > 0 else f"at most {shown(high)}"


def alike(ratios: Sequence[float], shown: Callable[[float], str]) -> Callable[[float], str]:
    """How all of them are written: ratios as factors if one of them is."""
    return times_words if shown is signed_words and are_times(*ratios) else shown


def toward(side: str, by: float) -> tuple[float, float]:
    """The bounds of a ratio that is "higher" or "lower" by at least this factor."""
    return (by, math.inf) if side in ("higher", "rising", "rises") else (0.0, 1 / by)


def around_one(within: float) -> tuple[float, float]:
    return 1 / (1 + within), 1 + within
