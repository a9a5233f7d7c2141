"""What is said of systems that do not keep what their level of isolation promises, and of those that were not
checked."""

from __future__ import annotations

from collections.abc import Sequence

from ...findings.promises import NOT_CHECKED, PromiseAnswer
from ...verify.histories import NAMES
from ...verify.isolation import MEANINGS

HEADS = ("level", "promise", "behaves like", "what happened")
#: Verdicts of single checks that are named next to what the schedules showed.
_TOLD = ("VIOLATED", "INCONCLUSIVE")
#: With its figures, since those of the load are next to it.
_PROBED = NAMES["under load"]


def violation_clauses(promises: Sequence[PromiseAnswer]) -> list[str]:
    return [one.violation_words(one.system) for one in promises if one.is_violated]


def promise_sentences(promises: Sequence[PromiseAnswer]) -> list[str]:
    """The first of a report, where there is something to say."""
    sentences = [f"{words}. Its figures are shown, and marked VIOLATED." for words in violation_clauses(promises)]
    missing = [f"{one.system} at {one.level}" for one in promises if one.verdict == NOT_CHECKED]
    if missing:
        sentences.append(f"What they promise was not checked: {', '.join(missing)}.")
    return sentences


def promise_row(promise: PromiseAnswer) -> list[str]:
    """After the system's name, as HEADS names it."""
    happened = [check.words for check in promise.checks if check.name == "schedules"]
    others = [check for check in promise.checks if check.name not in ("schedules", _PROBED)]
    for word in _TOLD:
        if names := [check.name for check in others if check.verdict == word]:
            happened.append(f"{word}: {', '.join(names)}")
    happened += [f"{check.name}: {check.words}" for check in promise.checks if check.name == _PROBED]
    return [promise.level, promise.verdict, promise.behaves_like or "-", "; ".join(happened) or promise.why_not or "-"]


def verdict_meanings(promises: Sequence[PromiseAnswer]) -> list[str]:
    """Of those that are shown, a sentence each."""
    seen = {one.verdict for one in promises} | {check.verdict for one in promises for check in one.checks}
    return [f"{word}: {meaning}." for word, meaning in MEANINGS.items() if word in seen]
