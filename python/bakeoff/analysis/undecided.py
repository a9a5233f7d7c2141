"""What is said where no difference was shown: the estimate with its interval, the smallest change that could be
detected, and how many more repetitions would decide whether there is one of the size that matters."""

import math

from bakeoff.analysis.estimate import POWER, RESOLUTION_RATIO, Evidence
from bakeoff.analysis.wording import are_times, counted, signed_words, times_words

from .statistics import SPENT_RATIO, t_detectable, t_equivalence

#: Nobody adds more than that.
MORE_MAX = 100
#: From here on it is not worth saying how large a difference could be detected.
_BLIND_FROM = 10.0
_ROUNDED_FROM = 10


def more_repetitions(found: Evidence, alpha: float, matters: float) -> int | None:
    """How many more blocks a comparison in blocks needs so that the next analysis decides with probability POWER, with
    the noise found: it shows a true difference of the size that matters, and equivalence where there is none. None
    above MORE_MAX, or where recording cannot resolve that size.

    matters: a ratio, 0.05 is 5 %. alpha: that it was judged at; the next analysis has less. What was estimated plays no
    part: planning for the difference that was seen is planning for chance (the fallacy of observed power; Hoenig and
    Heisey 2001). The noise is estimated from a few blocks, so the number is rough.
    """
    next_alpha = alpha * (1 - SPENT_RATIO)
    size = math.log1p(matters) - math.log1p(RESOLUTION_RATIO)
    blocks = round(found.df) + 1
    noise = found.error * math.sqrt(blocks)

    def decided_by(more: int) -> bool:
        df = blocks + more - 1
        needed = max(t_detectable(next_alpha, df, POWER), t_equivalence(next_alpha, df, POWER))
        return needed * noise / math.sqrt(blocks + more) <= size

    if size <= 0 or not decided_by(MORE_MAX):
        return None
    too_few, enough = 0, MORE_MAX
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if decided_by(middle) else (middle, enough)
    return enough


def short_words(ratio: float, low: float, high: float, detectable_ratio: float) -> str:
    """For a table: "+1.4 % (95 % CI -2.3 % to +5.0 %); smallest detectable change +6.1 % or -5.7 %"."""
    blind = 1 + detectable_ratio >= _BLIND_FROM
    return f"{signed_words(ratio) if blind else estimate_words(ratio, low, high)}; {detectable_words(detectable_ratio)}"


def estimate_words(ratio: float, low: float, high: float) -> str:
    """ "+1.4 % (95 % CI -2.3 % to +5.0 %)"."""
    words = times_words if are_times(ratio, high) else signed_words
    return f"{words(ratio)} (95 % CI {words(low)} to {words(high)})"


def more_words(more: int | None, what: str = "it") -> str:
    """ "about 15 more repetitions would decide it"."""
    if more is None:
        return f"more than {MORE_MAX} more repetitions would be needed to decide {what}"
    return f"about {counted(rounded(more), 'more repetition', 'more repetitions')} would decide {what}"


def rounded(more: int) -> int:
    """As rough as it is known: upwards to a multiple of 5."""
    return more if more <= _ROUNDED_FROM else 5 * math.ceil(more / 5)


def detectable_words(detectable_ratio: float) -> str:
    """In both directions: "smallest detectable change +6.1 % or -5.7 %", "... 8.2x or -88 %"."""
    ratio = 1 + detectable_ratio
    if ratio >= _BLIND_FROM:
        return f"not even {_BLIND_FROM:.0f}x or a tenth could be detected"
    return f"smallest detectable change {signed_words(ratio)} or {signed_words(1 / ratio)}"
