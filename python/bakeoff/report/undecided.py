"""The headline's sentences about comparisons that show no difference: how large one can be, what would decide it."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.compare import level_words
from ..analysis.undecided import detectable_words, more_words, rounded, size_words
from ..analysis.wording import percent_words
from .answer import ComparisonAnswer

_SAY = 'Say what size matters ([compare] matters = "5%") to learn how many repetitions would decide it'


def undecided_words(found: ComparisonAnswer, *, by_rate: bool) -> list[str]:
    """Of one comparison; none where it is decided, or nothing could be judged."""
    ratio, low, high, level = found.ratio, found.low, found.high, found.level
    seen = found.detectable_ratio
    if ratio is None or low is None or high is None or level is None or seen is None:
        return []
    ways = ("faster", "slower") if by_rate else ("higher", "lower")
    estimate, *edges = (f"{size_words(value)} {ways[value < 1]}" for value in (ratio, low, high))
    return [
        f"The estimate is {estimate} ({level_words(level)} interval {' to '.join(edges)}); {detectable_words(seen)}.",
        f"{_decided_by([found], 'it')}.",
    ]


def decide_words(found: Sequence[ComparisonAnswer], whole: ComparisonAnswer | None = None) -> list[str]:
    """Of several settings: how many more repetitions would decide those that repetitions can; where they can none of
    them, whether they can `whole`, which is over all settings."""
    undecided = [c for c in found if c.is_undecided]
    if not undecided:
        return []
    more = [c.more_repetitions for c in undecided if c.more_repetitions is not None]
    if not more and whole is not None and whole.is_undecided and whole.more_repetitions is not None:
        return [f"{_decided_by([whole], f'it {whole.setting_words}')}."]
    those = "all" if len(more) in (0, len(undecided)) else f"{len(more)} of the"
    return [f"{_decided_by(undecided, 'it' if len(undecided) == 1 else f'{those} {len(undecided)} undecided')}."]


def _decided_by(undecided: Sequence[ComparisonAnswer], what: str) -> str:
    """Planned for the size that matters, with the noise found; never for the difference that was seen."""
    matters = undecided[0].matters_ratio
    if matters is None:
        return _SAY
    more = max((c.more_repetitions for c in undecided if c.more_repetitions is not None), default=None)
    within = f"whether there is a difference of {percent_words(matters)}"
    words = more_words(more, within if what == "it" else f"{what}: {within}")
    return f"{words[:1].upper()}{words[1:]}{_resumed(more)}"


def _resumed(more: int | None) -> str:
    """How to add them."""
    return "" if more is None else f" (--resume --repetitions +{rounded(more)})"
