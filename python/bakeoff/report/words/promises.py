"""What is said of systems that do not keep what their level of isolation promises, and of those that were not
checked."""

from __future__ import annotations

from collections.abc import Sequence

from ...findings.promises import NOT_CHECKED, PromiseAnswer
from ...verify.histories import NAMES

HEADS = ("level", "promise", "behaves like", "what happened")
#: With its figures, since those of the load are next to it.
_PROBED = NAMES["under load"]
#: Below a table of promises.
MEANING = "HELD: nothing happened that the vendor's documentation excludes; that does not prove that it cannot happen."


def violation_clauses(promises: Sequence[PromiseAnswer]) -> list[str]:
    return [one.violation_words(one.system) for one in promises if one.is_violated]


def promise_sentences(promises: Sequence[PromiseAnswer]) -> list[str]:
    """The first of a report, where there is something to say."""
    told = [f"{words}. Its figures are shown, and marked VIOLATED." for words in violation_clauses(promises)]
    missing = [f"{one.system} at {one.level}" for one in promises if one.verdict == NOT_CHECKED]
    if missing:
        told.append(f"What they promise was not checked: {', '.join(missing)}.")
    return told


def promise_row(promise: PromiseAnswer) -> list[str]:
    """After the system's name, as HEADS names it."""
    schedules = [check.words for check in promise.checks if check.name == "schedules"]
    others = [f"{check.name}: {check.verdict}" for check in promise.checks if _is_told(check.name, check.verdict)]
    probed = [f"{check.name}: {check.words}" for check in promise.checks if check.name == _PROBED]
    happened = "; ".join([*schedules, *others, *probed]) or promise.why_not or "-"
    return [promise.level, promise.verdict, promise.behaves_like or "-", happened]


def _is_told(name: str, verdict: str) -> bool:
    return name not in ("schedules", _PROBED) and verdict in ("VIOLATED", "INCONCLUSIVE")
