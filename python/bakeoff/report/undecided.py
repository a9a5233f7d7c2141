"""The headline's sentences about comparisons that show no difference: how large one can be, what would decide it."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.compare import level_words
from ..analysis.undecided import more_words, rounded, seen_words, size_words
from .answer import ComparisonAnswer


def undecided_words(found: ComparisonAnswer, *, by_rate: bool) -> list[str]:
    """Of one comparison; none where it is decided, or nothing could be judged."""
    ratio, low, high, level = found.ratio, found.low, found.high, found.level
    seen = found.detectable_ratio
    if ratio is None or low is None or high is None or level is None or seen is None:
        return []
    ways = ("faster", "slower") if by_rate else ("higher", "lower")
    estimate, *edges = (f"{size_words(value)} {ways[value < 1]}" for value in (ratio, low, high))
    more = _sentence(more_words(found.more_repetitions)) + _resumed(found.more_repetitions)
    if found.more_repetitions is None:
        more = f"{more}: a difference, if there is one, lies between {' and '.join(edges)}"
    return [
        f"The estimate is {estimate} ({level_words(level)} interval {' to '.join(edges)});"
        f" {seen_words(seen, 'a difference of ')}.",
        f"{more}.",
    ]


def decide_words(found: Sequence[ComparisonAnswer], whole: ComparisonAnswer | None = None) -> list[str]:
    """Of several settings: how many more repetitions would probably decide those that repetitions can; where they can
    none of them, whether they can `whole`, which is over all settings."""
    undecided = [c for c in found if c.is_undecided]
    more = [c.more_repetitions for c in undecided if c.more_repetitions is not None]
    if not undecided:
        return []
    if not more and whole is not None and whole.is_undecided and whole.more_repetitions is not None:
        over_all = more_words(whole.more_repetitions, f"it {whole.setting_words}")
        return [
            f"More repetitions would hardly decide a setting by itself; {over_all}{_resumed(whole.more_repetitions)}."
        ]
    if not more:
        return ["More repetitions would hardly decide what is undecided."]
    those = "all" if len(more) == len(undecided) else f"{len(more)} of the"
    which = "it" if len(undecided) == 1 else f"{those} {len(undecided)} that are undecided"
    return [f"{_sentence(more_words(max(more), which))}{_resumed(max(more))}."]


def _resumed(more: int | None) -> str:
    """How to add them."""
    return "" if more is None else f" (--resume --repetitions +{rounded(more)})"


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
