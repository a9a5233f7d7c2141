"""What follows from everything that was tried on one system at one level."""

from __future__ import annotations

from typing import Literal

from ..model.records.verification import NOT_APPLICABLE, Verdict, VerificationRecord
from .histories import NAMES
from .isolation import MEANINGS, SCHEDULES, Shown, behaves_like, shown, verdict, violations


def outcomes(record: VerificationRecord) -> list[Shown]:
    """Of each schedule."""
    return [shown(one) for one in record.schedules]


def verdict_of(record: VerificationRecord) -> Verdict | Literal["N/A"]:
    """The worst of all."""
    if record.not_applicable:
        return NOT_APPLICABLE
    own = verdict(outcomes(record), record.allowed)
    found = {one.verdict for one in record.judged} | ({own} if record.schedules or not record.judged else set())
    return next((word for word in MEANINGS if word in found), own)


def behaves_like_of(record: VerificationRecord) -> str:
    """The strongest level that excludes everything that happened; "" where some schedules did not run."""
    return behaves_like(outcomes(record), next((one.implied for one in record.judged), None))


def level_words(record: VerificationRecord) -> str:
    return record.level or "its own level"


def violation_words(record: VerificationRecord) -> list[str]:
    """What happened that is excluded: "lost update (P4)", "transfers that add"."""
    broken = [one.name for one in violations(outcomes(record), record.allowed)]
    judged = [NAMES[one.name] for one in record.judged if one.verdict == "VIOLATED"]
    return [*(f"{SCHEDULES[name].partition(':')[0]} ({name})" for name in broken), *judged]
