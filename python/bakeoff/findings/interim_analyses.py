"""Interim analyses: which answers were given before, what of them stands, and what the next one may claim."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from ..analysis.compare import ALPHA, Comparison, Given, judge, standing
from ..analysis.estimate import Estimate, Evidence, Obstacle
from ..model.prices import COST
from ..model.records.bundle import AnalysisRecord, VerdictRecord
from ..model.records.plan import CellRecord
from ..model.records.run import RunRecord

_LIMIT = "limit "
_UNRECORDED = (
    "not judged: this analysis could not be recorded in the bundle, so what chance of error it would add to those"
    " before it could not be kept"
)


def short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def fingerprint(runs: Iterable[RunRecord]) -> str:
    """Of what is analysed: every run that was made, and whether it counts."""
    return short("\n".join(sorted(f"{run.id} {run.started} {run.valid}" for run in runs)))


def at_prices(question: str, *sides: Iterable[CellRecord]) -> str:
    """Of a cost at other prices another question, whose answer is not known from the earlier one."""
    if COST not in question:
        return question
    amounts = [sorted(f"{cell.id} {cell.prices.amounts if cell.prices else ''}" for cell in side) for side in sides]
    return f"{question} at prices {short(str(amounts))}"


def limit_questions(limits: Iterable[str]) -> list[str]:
    """In a family: of each limit that the plan asks for."""
    return [f"{_LIMIT}{text}" for text in limits]


def place_of(past: Sequence[AnalysisRecord], data: str, family: Iterable[str]) -> int | None:
    """Where the same questions were asked of the same data before."""
    asked = set(family)
    places = (i for i, one in enumerate(past) if one.data == data and _has_asked(one.family, asked))
    return next(places, None)


def _has_asked(family: Sequence[str], asked: set[str]) -> bool:
    """A family without any limit is of a version that judged limits, and did not record them."""
    if not any(question.startswith(_LIMIT) for question in family):
        asked = {question for question in asked if not question.startswith(_LIMIT)}
    return asked <= set(family)


def claims(past: Iterable[AnalysisRecord]) -> dict[str, Given]:
    """By question the verdicts that stand: the first, or a later one that says more of the size that matters. A
    difference, and equivalence within some size, are both true of a small difference."""
    found: dict[str, Given] = {}
    for one in past:
        for v in one.verdicts:
            given = Given(v.verdict, v.repetitions, v.level, v.ratio, v.low, v.high, v.matters_ratio, v.size)
            first = found.get(v.question)
            if given.verdict != "no difference" and (first is None or v.size in ("matters", "small")):
                found[v.question] = given
            elif first is not None and first.verdict == "equivalent" and given.is_difference:
                found[v.question] = given.of_size(first.matters_ratio)
    return found


def judged(
    estimates: Mapping[str, Estimate],
    before: Iterable[AnalysisRecord],
    alpha: float | None,
    this: AnalysisRecord | None = None,
    matters: float | None = None,
) -> dict[str, Comparison]:
    """Of each question what was claimed before, with the latest estimate; the open ones are one family at `alpha`.
    None: they are not judged. this: where this analysis was made before, what it said then. matters: the size that
    matters; of a difference that was claimed, whether it is of that size stays open until it is shown."""
    given = claims(before)
    done = {q for q, one in given.items() if one.settles(matters)}
    still = {q: unless_recorded(e, alpha) for q, e in estimates.items() if q not in done}
    decided = dict(zip(still, judge(still.values(), alpha=alpha or ALPHA, matters=matters), strict=True))
    now = given | claims([this] if this else [])
    return {q: _standing(e, now.get(q), decided.get(q)) for q, e in estimates.items()}


def _standing(e: Estimate, given: Given | None, decided: Comparison | None) -> Comparison:
    """decided: what is said of it now; None: it was not asked again."""
    if decided is not None and (given is None or decided.verdict == given.verdict):
        return decided
    assert given is not None, "what was not asked was given"
    if decided is not None and given.is_difference and decided.verdict == "equivalent":
        return standing(e, given.of_size(decided.matters_ratio))
    if decided is not None and given.verdict == "equivalent" and decided.verdict in ("higher", "lower"):
        return decided
    return standing(e, given)


def unless_recorded(e: Estimate, alpha: float | None) -> Estimate:
    """alpha: None where nothing new may be claimed."""
    if alpha is not None:
        return e
    return replace(e, finding=Obstacle("not comparable", _UNRECORDED)) if isinstance(e.finding, Evidence) else e


def record(
    data: str,
    family: Sequence[str],
    alpha: float,
    found: Mapping[str, Comparison],
    before: Sequence[str] = (),
    after: Sequence[str] = (),
) -> AnalysisRecord:
    return AnalysisRecord(
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        data=data,
        before=list(before),
        after=list(after),
        alpha=alpha,
        family=list(family),
        verdicts=[one for question, c in found.items() if (one := _verdict(question, c))],
    )


def _verdict(question: str, c: Comparison) -> VerdictRecord | None:
    ends = (c.ratio, c.low, c.high) if c.difference is None else (c.difference, c.difference_low, c.difference_high)
    if c.verdict not in ("higher", "lower", "equivalent", "no difference") or c.level is None or None in ends:
        return None
    ratio, low, high = (end or 0.0 for end in ends)
    return VerdictRecord(
        question=question,
        verdict=c.verdict,
        repetitions=c.repetitions,
        level=c.level,
        ratio=ratio,
        low=low,
        high=high,
        matters_ratio=c.matters_ratio,
        size=c.size,
    )
