"""One line over all settings: where each of them leans the same way and most are too uncertain to say so alone."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.estimate import Estimate, over_settings
from .answer import ComparisonAnswer


def over_all(estimates: Sequence[Estimate]) -> list[Estimate]:
    """One for each contestant that meets the baseline in several settings. They are judged with those of the settings,
    whichever way these lean, so that nothing is picked by what was seen."""
    found = []
    for other in dict.fromkeys(e.other for e in estimates):
        theirs = [e for e in estimates if e.other == other]
        if len(theirs) > 1 and (whole := over_settings(f"over all {len(theirs)} settings", theirs)):
            found.append(whole)
    return found


def lean_alike(whole: ComparisonAnswer, by_setting: Sequence[ComparisonAnswer]) -> bool:
    ratios = [c.ratio for c in by_setting if c.other == whole.other and c.ratio is not None]
    return all(ratio > 1 for ratio in ratios) or all(ratio < 1 for ratio in ratios)


def over_all_words(wholes: Sequence[ComparisonAnswer], by_setting: Sequence[ComparisonAnswer]) -> list[str]:
    """Where the settings alone do not say it already."""
    undecided = {c.other for c in by_setting if not c.claims_difference}
    claimed = [whole for whole in wholes if whole.claims_difference and whole.other in undecided]
    return [f"O{whole.setting_words[1:]}, which all lean the same way: {whole.words}." for whole in claimed]
