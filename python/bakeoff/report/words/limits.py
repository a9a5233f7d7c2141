"""Limits, thresholds and searches, in sentences and as rows of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...analysis.wording import counted
from ...findings.contestants import Placed, who_words
from ...findings.limits_and_searches.evidence import VERDICT_WORDS
from ...findings.limits_and_searches.limits import LimitFinding
from ...findings.limits_and_searches.searches import SearchAnswer
from ...findings.limits_and_searches.thresholds import ThresholdAnswer

#: Limits that the headline reports one by one.
NAMED_MAX = 4
HEADS = ("holds", "measured", "the verdict rests on")


def limit_sentences(findings: Sequence[LimitFinding]) -> list[str]:
    several = _names_anyone(findings)
    sentences = [f"{_subject(found, several)}: {found.words}." for found in findings[:NAMED_MAX]]
    if len(findings) > NAMED_MAX:
        verdicts = Counter(level.verdict for found in findings[NAMED_MAX:] for level in found.levels)
        told = [f"{VERDICT_WORDS[verdict]} in {count}" for verdict in VERDICT_WORDS if (count := verdicts[verdict])]
        cells = counted(verdicts.total(), "cell", "cells")
        sentences.append(f"Limits in the other settings: {', '.join(told)} of {cells}.")
    return sentences


def limit_heads(findings: Sequence[LimitFinding]) -> list[str]:
    """Of a table of all levels; see `limit_rows`."""
    return ["limit", *(["of"] if _names_anyone(findings) else []), *(["at"] if _names_levels(findings) else []), *HEADS]


def limit_rows(findings: Sequence[LimitFinding]) -> list[list[str]]:
    return [
        [
            found.limit_words,
            *([who_words(found)] if _names_anyone(findings) else []),
            *([level.level_words] if _names_levels(findings) else []),
            VERDICT_WORDS[level.verdict],
            level.value_words or "-",
            level.why,
        ]
        for found in findings
        for level in found.levels
    ]


def _names_anyone(findings: Sequence[Placed]) -> bool:
    return len(set(map(who_words, findings))) > 1


def _names_levels(findings: Sequence[LimitFinding]) -> bool:
    return any(level.level_words for found in findings for level in found.levels)


def _subject(found: LimitFinding, several: bool) -> str:
    who = who_words(found) if several else ""
    return f"{found.limit_words} ({who})" if who else found.limit_words


def search_sentences(answer: SearchAnswer | None) -> list[str]:
    """Each contestant's capacity, and then what one has over another."""
    if answer is None:
        return []
    several = _names_anyone(answer.found)
    question = answer.question[:1].upper() + answer.question[1:]
    sentences = []
    for found in answer.found:
        who = f" ({who_words(found)})" if several else ""
        cost = f"; {found.cost.words}" if found.cost else ""
        sentences.append(f"{question}{who}: {found.words}{cost}. {found.held.words}.")
    return sentences + [f"{found.words}." for found in (*answer.differences, *answer.cost_differences)]


def threshold_sentences(found: Sequence[ThresholdAnswer]) -> list[str]:
    """What failed and what is not decided, in full; what passed only by name."""
    said = [f"{one.words}." for one in found if one.status != "passed"]
    others = {one.condition for one in found if one.status != "passed"}
    passed = [one.words.partition(": ")[0] for one in found if one.condition not in others]
    on = [words.removeprefix("Passed on ") for words in dict.fromkeys(passed)]
    return [*said, f"Passed on {', '.join(on)}."] if on else said
