"""At which levels a search's limits hold: yes, no or not decided, by the interval of what was found, and the runs next
to it that say so. Runs on the wrong side of the interval are named."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

import numpy as np
from pydantic import Field

from ...analysis.limit import Limit
from ...analysis.search import Outcome, Trial
from ...bundle.read import Bundle
from ...model.boundary import Document
from ...model.records.plan import SearchRecord
from ...model.records.run import RunRecord
from ..contestants import factor_words
from ..run_values import observed
from ..runs import causes_words
from .evidence import LimitRun, Verdict, missed_by_value, named_words, run_words


class TriedLevel(Document):
    """One level of a search. verdict: by the interval of what was found. values: of the typical run, by the limit; None
    where a run has none. met: the runs that kept all limits; missed: those that did not."""

    level: float
    level_words: str
    verdict: Verdict
    runs: int
    met: int
    values: dict[str, float | None]
    value_words: str
    missed: list[LimitRun] = Field(default_factory=list)


class SearchVerdict(Document):
    """verdict: yes where levels are known that hold; no where all that were allowed miss. holds_at, misses_at: the last
    level that is known to hold, and the first that is known not to; None where nothing is known. against: runs on the
    wrong side. disturbed: runs that are no evidence."""

    verdict: Verdict
    holds_at: float | None = None
    misses_at: float | None = None
    tried: list[TriedLevel] = Field(default_factory=list)
    against: list[LimitRun] = Field(default_factory=list)
    disturbed: list[LimitRun] = Field(default_factory=list)
    words: str = ""

    def at(self, level: float, *, highest: bool) -> Verdict:
        sign = 1.0 if highest else -1.0
        if self.holds_at is not None and sign * level <= sign * self.holds_at:
            return "yes"
        if self.misses_at is not None and sign * level >= sign * self.misses_at:
            return "no"
        return "undecided"


def search_verdict(
    search: SearchRecord,
    outcome: Outcome,
    ends: tuple[float | None, float | None],
    tried: Sequence[tuple[RunRecord, Trial]],
    disturbed: Sequence[tuple[RunRecord, float]],
    bundle: Bundle,
    limits: Sequence[Limit],
    *,
    ended: bool,
) -> SearchVerdict:
    """ends: of the interval, in the factor's unit. tried: the runs that count. disturbed: those that do not, with their
    levels."""
    found = SearchVerdict(verdict="undecided")
    if ended:
        holds_at, misses_at = _known(search, outcome, ends, [trial for _, trial in tried])
        verdict: Verdict = "yes" if holds_at is not None else "no" if outcome.status == "never" else "undecided"
        found = SearchVerdict(verdict=verdict, holds_at=holds_at, misses_at=misses_at)
    maker = _Maker(search, bundle, limits)
    by_level: dict[float, list[tuple[RunRecord, Trial]]] = {}
    for run, trial in tried:
        by_level.setdefault(trial.level, []).append((run, trial))
    levels = [maker.level(level, by_level[level], found) for level in sorted(by_level)]
    sides = [(run, trial, found.at(trial.level, highest=search.highest)) for run, trial in tried if not trial.is_silent]
    against = [
        maker.named(run, trial.level, "met" if trial.kept else "missed")
        for run, trial, verdict in sides
        if verdict == ("no" if trial.kept else "yes")
    ]
    missed = [
        (run, level)
        for run, level in disturbed
        if any(missed_by_value(limit, observed(bundle, run)) for limit in limits)
    ]
    left = [maker.named(run, level, "missed") for run, level in missed]
    words = _words(search, found, levels, against)
    if left:
        causes = causes_words([run for run, _ in missed])
        words += f". No evidence, because disturbed by {causes}: {named_words(left)}"
    return found.model_copy(update={"tried": levels, "against": against, "disturbed": left, "words": words})


def _known(
    search: SearchRecord, outcome: Outcome, ends: tuple[float | None, float | None], trials: Sequence[Trial]
) -> tuple[float | None, float | None]:
    """Nothing is known of levels beyond all that were measured, whatever the curves say of them."""
    levels = [trial.level for trial in trials if not trial.is_silent]
    if outcome.status == "always":
        return (max if search.highest else min)(levels), None
    if outcome.status == "never":
        return None, (min if search.highest else max)(levels)
    low, high = ends
    if outcome.status not in ("found", "not found") or low is None or high is None:
        return None, None
    step = 1 if search.whole else 0  # of counts the interval is of the last one that holds
    holds_at, misses_at = (low, high + step) if search.highest else (high, low - step)
    known = [end if min(levels) <= end <= max(levels) else None for end in (holds_at, misses_at)]
    return known[0], known[1]


@dataclass(frozen=True)
class _Maker:
    search: SearchRecord
    bundle: Bundle
    limits: Sequence[Limit]

    def level(self, level: float, made: Sequence[tuple[RunRecord, Trial]], found: SearchVerdict) -> TriedLevel:
        values = {str(limit): self._typical(limit, [run for run, _ in made]) for limit in self.limits}
        said = [
            f"{f'{limit.metric.label} ' if len(self.limits) > 1 else ''}{limit.value_words(value)}"
            for limit in self.limits
            if (value := values[str(limit)]) is not None
        ]
        return TriedLevel(
            level=level,
            level_words=self._level_words(level),
            verdict=found.at(level, highest=self.search.highest),
            runs=len(made),
            met=sum(trial.kept for _, trial in made),
            values=values,
            value_words=", ".join(said),
            missed=[self.named(run, level, "") for run, trial in made if not (trial.kept or trial.is_silent)],
        )

    def _typical(self, limit: Limit, runs: Iterable[RunRecord]) -> float | None:
        values = [self._value(limit, run) for run in runs]
        known = np.array([value for value in values if value is not None])
        if len(known) < len(values):
            return None
        return float(np.exp(np.log(known).mean()) if (known > 0).all() else known.mean())

    def _value(self, limit: Limit, run: RunRecord) -> float | None:
        return limit.metric.of(observed(self.bundle, run)) if run.state == "done" else None

    def named(self, run: RunRecord, level: float, did: str) -> LimitRun:
        """By the limit that it kept least. did: "missed", "met"."""
        seen = observed(self.bundle, run)
        broken = (one for one in self.limits if missed_by_value(one, seen))
        limit = next(broken, None) or max(self.limits, key=lambda one: _known_excess(one.excess(seen)))
        value = self._value(limit, run)
        said = limit.status(seen) if value is None else limit.value_words(value)
        label = f"{limit.metric.label} " if len(self.limits) > 1 and value is not None else ""
        where = f" at {self._level_words(level)}"
        words = f"{run_words(run)}{where}{f' {did} it' if did else ''} ({label}{said})"
        return LimitRun(run=run.id, block=run.block, value=value, words=words)

    def _level_words(self, level: float) -> str:
        return factor_words(self.search.factor, int(level) if level == int(level) else level).removesuffix(" offered")


def _known_excess(excess: float) -> float:
    """Too few operations are no evidence: any other limit says more."""
    return -math.inf if math.isnan(excess) else excess


def _words(
    search: SearchRecord, found: SearchVerdict, levels: Sequence[TriedLevel], against: Sequence[LimitRun]
) -> str:
    """ "Held: yes up to 11,900/s (1.81 ms at 11,500/s); no from 12,700/s (2.60 ms); not decided between"."""
    holds_at, misses_at = found.holds_at, found.misses_at
    if holds_at is None and misses_at is None:
        return "Held: not decided"
    parts = []
    if holds_at is not None:
        at = f"{'up' if search.highest else 'down'} to {_end_words(search, holds_at, up=not search.highest)}"
        parts.append(f"yes {at}{_measured(levels, 'yes', holds_at, search)}")
    if misses_at is not None:
        at = f"from {_end_words(search, misses_at, up=search.highest)}{'' if search.highest else ' down'}"
        parts.append(f"no {at}{_measured(levels, 'no', misses_at, search)}")
    step = 1 if search.whole else 0
    if holds_at is not None and misses_at is not None and abs(misses_at - holds_at) > step:
        parts.append("not decided between")
    elif holds_at is None and found.verdict == "undecided":
        parts.append(f"not decided {'below' if search.highest else 'above'} it")
    tried = {level.level for level in levels}
    ends = [end for end in (holds_at, misses_at) if end is not None and end not in tried]
    words = f"Held: {'; '.join(parts)}"
    if ends and search.whole:
        named = " and ".join(f"{end:g}" for end in ends)
        words += f" ({named} {'was' if len(ends) == 1 else 'were'} not run: concluded from the levels around)"
    return f"{words}. Against that: {named_words(against)}" if against else words


def _end_words(search: SearchRecord, level: float, *, up: bool) -> str:
    """A rate with three digits. up: which way it is rounded, so that nothing is claimed of what is not decided."""
    three = Context(prec=3, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    rounded = float(three.create_decimal(str(level))) if search.factor == "rate" else level
    return factor_words(search.factor, int(rounded) if rounded == int(rounded) else rounded).removesuffix(" offered")


def _measured(levels: Sequence[TriedLevel], verdict: Verdict, end: float, search: SearchRecord) -> str:
    """At the level that was tried closest to the other side."""
    own = [level for level in levels if level.verdict == verdict and level.value_words]
    if not own:
        return ""
    closest = (max if (verdict == "yes") == search.highest else min)(own, key=lambda level: level.level)
    return f" ({closest.value_words}{'' if closest.level == end else f' at {closest.level_words}'})"
