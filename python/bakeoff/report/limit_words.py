"""How the runs stood to the limits that the plan asks for.

"p99 below 2 ms: yes up to 10,000/s offered (at most 1.31 ms); not decided at 20,000/s offered (...); no at 30,000/s
offered (2.90 ms, ...; missed by all: run 1 (2.81 ms), ...)"
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..analysis.wording import counted
from ..findings.limit_evidence import VERDICT_WORDS
from ..findings.limits import LimitFinding

#: So many are told one by one in the headline.
NAMED_MAX = 4
HEADS = ("holds", "measured", "the verdict rests on")


def limit_sentences(findings: Sequence[LimitFinding]) -> list[str]:
    several = len({(found.contestant, found.setting_words) for found in findings}) > 1
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
            *([", ".join(filter(None, (found.contestant, found.setting_words)))] if _names_anyone(findings) else []),
            *([level.level_words] if _names_levels(findings) else []),
            VERDICT_WORDS[level.verdict],
            level.value_words or "-",
            level.why,
        ]
        for found in findings
        for level in found.levels
    ]


def _names_anyone(findings: Sequence[LimitFinding]) -> bool:
    return len({(found.contestant, found.setting_words) for found in findings}) > 1


def _names_levels(findings: Sequence[LimitFinding]) -> bool:
    return any(level.level_words for found in findings for level in found.levels)


def _subject(found: LimitFinding, several: bool) -> str:
    who = ", ".join(filter(None, (found.contestant, found.setting_words))) if several else ""
    return f"{found.limit_words} ({who})" if who else found.limit_words
