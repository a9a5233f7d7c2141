"""Of findings of one kind over several runs: the worst, never the first that happens to be there."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.records import Validity


def worst(found: Sequence[Validity]) -> Validity:
    """The first of those that have no figure: older bundles kept none."""
    return max(found, key=lambda one: -1.0 if one.value is None else one.value)


def worst_words(found: Sequence[Validity]) -> str:
    return worst(found).words


def median_words(found: Sequence[Validity]) -> str:
    """ "11 %"; "" where there are too few figures for a median to say more than the worst does."""
    known = sorted((one for one in found if one.value is not None), key=lambda one: one.value or 0.0)
    if len(known) < 3 or len(known) < len(found):
        return ""
    middle = known[(len(known) - 1) // 2].value_words
    return "" if middle == known[-1].value_words else middle
