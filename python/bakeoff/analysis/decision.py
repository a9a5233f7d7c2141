"""Whether a statement about what was measured holds, fails or stays open; and several statements, read together.

A statement is about ratios: "at least 1.2 times as fast" says that a log-ratio lies above log 1.2. It holds where the
whole interval of the ratio lies within these bounds, fails where none of it does, and is open between. So equivalence
within a margin is decided by the interval (stricter than two one-sided tests: Schuirmann 1987), and an interval and a
verdict never contradict each other.

A statement of several parts holds if every part does, each at the whole level: it is wrong only where a part that does
not hold is taken for one that does (intersection-union test: Berger 1982, "Multiparameter hypothesis testing and
acceptance sampling"). It fails if one part fails, each at its share of the level (Bonferroni).

Statements that are read together are decided step by step, from the share of each in the level: those that are decided
leave their share to the rest (Holm 1979; that a statement counts once though it may be wrong in two ways: Shaffer
1986). The chance that any of them is decided wrongly is at most `alpha`, whatever is true.

Tested by counting, in tests/unit/test_analysis_decision.py: statements that are true, false, and at the bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from bakeoff.analysis.compare import ALPHA, judge
from bakeoff.analysis.estimate import Estimate
from bakeoff.analysis.shape import Direction, best_levels
from bakeoff.analysis.statistics import t_critical
from bakeoff.model.records.plan import Scalar

Status = Literal["holds", "fails", "open"]


class Question(Protocol):
    def status(self, alpha: float) -> Status:
        """A wrong one has at most the probability `alpha`; the larger it is, the more is decided."""
        ...


class Interval(Protocol):
    def interval(self, alpha: float) -> tuple[float, float]: ...


@dataclass(frozen=True, slots=True)
class Plain:
    """Of values some of which are zero, so that there are no logs: their mean, with its t interval from zero on."""

    values: Sequence[float]

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    def interval(self, alpha: float) -> tuple[float, float]:
        size = len(self.values)
        half = t_critical(alpha, size - 1) * float(np.std(self.values, ddof=1)) / math.sqrt(size)
        return max(0.0, self.mean - half), self.mean + half


@dataclass(frozen=True, slots=True)
class Within:
    """Whether a log-ratio, or a plain mean, lies between `low` and `high`. Zero errors lie within "at most zero"."""

    evidence: Interval
    low: float = -math.inf
    high: float = math.inf

    def status(self, alpha: float) -> Status:
        low, high = self.evidence.interval(alpha)
        if self.low <= low and high <= self.high:
            return "holds"
        return "fails" if high < self.low or low > self.high else "open"


@dataclass(frozen=True, slots=True)
class Open:
    """Nothing to decide by. why: in a clause."""

    why: str

    def status(self, alpha: float) -> Status:
        return "open"


@dataclass(frozen=True)
class Peak:
    """Whether the best level is one of `at`; with several curves and no `at`, whether all have the same. pairs: of each
    curve what compares its levels, by (base, other)."""

    curves: Sequence[Mapping[tuple[Scalar, Scalar], Estimate]]
    direction: Direction
    at: Sequence[Scalar] = ()
    #: Of the curves, where they are several.
    names: Sequence[str] = ()

    def sets(self, alpha: float) -> list[list[Scalar]]:
        """Of each curve the levels that may be the best: the true one is left out of any with at most `alpha`."""
        found = []
        for pairs in self.curves:
            judged = judge(pairs.values(), alpha=alpha / len(self.curves))
            levels = list(dict.fromkeys(level for pair in pairs for level in pair))
            found.append(best_levels(levels, dict(zip(pairs, judged, strict=True)), self.direction))
        return found

    def status(self, alpha: float) -> Status:
        sets = [set(levels) for levels in self.sets(alpha)]
        if not all(sets):
            return "open"
        if self.at or len(sets) == 1:
            wanted = set(self.at)
            if all(found <= wanted for found in sets):
                return "holds"
            return "open" if all(found & wanted for found in sets) else "fails"
        if len(set.union(*sets)) == 1:
            return "holds"
        return "open" if set.intersection(*sets) else "fails"


@dataclass(frozen=True)
class Statement:
    """parts: at least one."""

    parts: Sequence[Question]

    def status(self, alpha: float) -> Status:
        if any(part.status(alpha / len(self.parts)) == "fails" for part in self.parts):
            return "fails"
        return "holds" if all(part.status(alpha) == "holds" for part in self.parts) else "open"


@dataclass(frozen=True, slots=True)
class Decision:
    """alpha: at which it was decided, or is open."""

    status: Status
    alpha: float


def decide(statements: Sequence[Statement], family: int = 0, alpha: float = ALPHA) -> list[Decision]:
    """One for each, in the same order. family: how many are read together, those that have no data yet included, so
    that what is decided does not depend on which of them were asked now."""
    left = max(family, len(statements))
    found: dict[int, Decision] = {}
    while True:
        level = alpha / max(left, 1)
        now = {n: one.status(level) for n, one in enumerate(statements) if n not in found}
        decided = {n: Decision(status, level) for n, status in now.items() if status != "open"}
        if not decided:
            return [found.get(n, Decision("open", level)) for n in range(len(statements))]
        found |= decided
        left -= len(decided)
