"""One line over all settings: where each of them leans the same way and most are too uncertain to say so alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ..analysis.estimate import Estimate, over_settings
from .answer import ComparisonAnswer


def over_all(
    estimates: Sequence[Estimate], question: Callable[[str, str], str], claimed: Collection[str]
) -> dict[str, Estimate]:
    """One for each contestant that meets the baseline in several settings, by the question of the two names. They are
    judged with those of the settings, whichever way these lean, so that nothing is picked by what was seen. claimed:
    the questions that earlier analyses answered, which stay."""
    found = {}
    for other in dict.fromkeys(e.other for e in estimates):
        theirs = [e for e in estimates if e.other == other]
        asked = question(other, theirs[0].base)
        words = f"over all {len(theirs)} settings"
        if len(theirs) > 1 and (whole := over_settings(words, theirs, claimed=asked in claimed)):
            found[asked] = whole
    return found


def lean_alike(whole: ComparisonAnswer, by_setting: Sequence[ComparisonAnswer]) -> bool:
    ratios = [c.ratio for c in by_setting if c.other == whole.other and c.ratio is not None]
    return all(ratio > 1 for ratio in ratios) or all(ratio < 1 for ratio in ratios)


def over_all_words(wholes: Sequence[ComparisonAnswer], by_setting: Sequence[ComparisonAnswer]) -> list[str]:
    """Where the settings alone do not say it already."""
    undecided = {c.other for c in by_setting if not c.claims_difference}
    claimed = [whole for whole in wholes if whole.claims_difference and whole.other in undecided]
    return [f"O{whole.setting_words[1:]}{_lean_words(whole, by_setting)}: {whole.words}." for whole in claimed]


def _lean_words(whole: ComparisonAnswer, by_setting: Sequence[ComparisonAnswer]) -> str:
    return (
        ", which all lean the same way" if lean_alike(whole, by_setting) else ", which no longer all lean the same way"
    )
