"""Interim analyses: which answers were given before, what of them stands, and what the next one may claim."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from ..analysis.compare import ALPHA, Comparison, Given, judge, standing
from ..analysis.estimate import Estimate, Evidence, Obstacle
from ..model.records import AnalysisRecord, RunRecord, VerdictRecord

_UNRECORDED = (
    "not judged: this analysis could not be recorded in the bundle, so what chance of error it would add to those"
    " before it could not be kept"
)


def short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def fingerprint(runs: Iterable[RunRecord]) -> str:
    """Of what is analysed: every run that was made, and whether it counts."""
    return short("\n".join(sorted(f"{run.id} {run.started} {run.valid}" for run in runs)))


def place_of(past: Sequence[AnalysisRecord], data: str, family: Iterable[str]) -> int | None:
    """Where the same questions were asked of the same data before."""
    asked = set(family)
    places = (i for i, one in enumerate(past) if one.data == data and asked <= set(one.family))
    return next(places, None)


def claims(past: Iterable[AnalysisRecord]) -> dict[str, Given]:
    """By question, the first claim of each: what was said then is not said again by a later one."""
    found: dict[str, Given] = {}
    for one in past:
        for v in one.verdicts:
            if v.verdict in ("higher", "lower"):
                found.setdefault(v.question, Given(v.verdict, v.repetitions, v.level, v.ratio, v.low, v.high))
    return found


def judged(
    estimates: Mapping[str, Estimate],
    before: Iterable[AnalysisRecord],
    alpha: float | None,
    this: AnalysisRecord | None = None,
) -> dict[str, Comparison]:
    """Of each question what was claimed before, with the latest estimate; the open ones are one family at `alpha`.
    None: they are not judged. this: where this analysis was made before, what it said then."""
    given = claims(before)
    still = {question: unless_recorded(e, alpha) for question, e in estimates.items() if question not in given}
    decided = dict(zip(still, judge(still.values(), alpha=alpha or ALPHA), strict=True))
    now = given | {
        q: one for q, one in claims([this] if this else []).items() if q in decided and not decided[q].claims_difference
    }
    return {q: standing(e, now[q]) if q in now else decided[q] for q, e in estimates.items()}


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
    if c.verdict not in ("higher", "lower", "no difference") or c.level is None or None in ends:
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
    )
