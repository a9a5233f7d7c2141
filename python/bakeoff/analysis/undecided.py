"""What is said where no difference was shown: the estimate with its interval, what would have been seen, and how many
more repetitions would probably decide it."""

import math

from bakeoff.analysis.estimate import POWER, RESOLUTION_RATIO, Evidence
from bakeoff.analysis.looks import SPENT_RATIO
from bakeoff.analysis.student import t_detectable
from bakeoff.analysis.wording import change_words, counted, percent_words, significant

#: Nobody adds more than that.
MORE_MAX = 100
#: From here on a difference is said as times: "700 % would have been seen" is no size that anybody pictures.
_TIMES_FROM = 2.0
#: From here on it is not worth saying how large a difference would have been seen.
_BLIND_FROM = 10.0
_ROUNDED_FROM = 10


def more_repetitions(found: Evidence, alpha: float) -> int | None:
    """How many more blocks a comparison in blocks needs to be decided with probability POWER, with the noise found and
    the estimate as the truth; None above MORE_MAX, or where recording cannot resolve the estimate.

    alpha: that it was judged at; the next look has less. Both noise and truth are estimated from a few blocks, so the
    number is rough.
    """
    next_alpha = alpha * (1 - SPENT_RATIO)
    effect = abs(found.log_ratio) - math.log1p(RESOLUTION_RATIO)
    blocks = round(found.df) + 1
    noise = found.error * math.sqrt(blocks)

    def decided_by(more: int) -> bool:
        return t_detectable(next_alpha, blocks + more - 1, POWER) * noise / math.sqrt(blocks + more) <= effect

    if effect <= 0 or not decided_by(MORE_MAX):
        return None
    too_few, enough = 0, MORE_MAX
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if decided_by(middle) else (middle, enough)
    return enough


def short_words(ratio: float, low: float, high: float, detectable_ratio: float) -> str:
    """For a table: "+1.4 % (-2.3 % to +5.0 %); 6.1 % would have been seen"."""
    blind = 1 + detectable_ratio >= _BLIND_FROM
    return f"{signed_words(ratio) if blind else estimate_words(ratio, low, high)}; {seen_words(detectable_ratio)}"


def estimate_words(ratio: float, low: float, high: float) -> str:
    """ "+1.4 % (-2.3 % to +5.0 %)"."""
    return f"{signed_words(ratio)} ({signed_words(low)} to {signed_words(high)})"


def more_words(more: int | None, what: str = "it") -> str:
    """ "about 15 more repetitions would probably decide it"."""
    if more is None:
        return f"more repetitions would hardly decide {what}"
    return f"about {counted(rounded(more), 'more repetition', 'more repetitions')} would probably decide {what}"


def rounded(more: int) -> int:
    """As rough as it is known: upwards to a multiple of 5."""
    return more if more <= _ROUNDED_FROM else 5 * math.ceil(more / 5)


def signed_words(ratio: float) -> str:
    """1.014 -> "+1.4 %", 0.95 -> "-5.0 %", 5.8 -> "5.8 times"."""
    if ratio >= _TIMES_FROM:
        return size_words(ratio)
    return f"{'+' if ratio > 1 else ''}{percent_words(ratio - 1)}"


def seen_words(detectable_ratio: float, of: str = "") -> str:
    """ "6.1 % would have been seen", "only 8.2 times or more would have been seen"; of: "a difference of "."""
    ratio = 1 + detectable_ratio
    if ratio >= _BLIND_FROM:
        return f"not even {_BLIND_FROM:.0f} times as much would have been seen"
    size = f"only {size_words(ratio)} or more" if ratio >= _TIMES_FROM else percent_words(detectable_ratio)
    return f"{of}{size} would have been seen"


def size_words(ratio: float) -> str:
    """How far a ratio lies from 1, without a direction: 0.95 -> "5.0 %", 5.8 -> "5.8 times"."""
    return f"{significant(ratio, 2)} times" if ratio >= _TIMES_FROM else change_words(ratio)
