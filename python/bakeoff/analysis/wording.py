"""Numbers in words, the same everywhere: two significant digits for what is uncertain, three for what was measured."""

import math
from collections.abc import Callable

#: From here on a ratio is written as a factor: few see at once that a rise of 480 % is 5.8x as much.
_TIMES_FROM = 2.0
_KNOWN_TIMES = 100.0


def percent_words(ratio: float, *, digits: int = 2) -> str:
    """0.0512 -> "5.1 %", 0.1234 -> "12 %", 0.0003 -> "0.03 %", 3.14 -> "314 %"; never rounded to zero."""
    if not math.isfinite(ratio):
        return f"{ratio} %"
    text = significant(ratio * 100, digits)
    if "." in text and abs(ratio) < 0.01:
        text = text.rstrip("0").rstrip(".")
    return f"{text} %"


def times_words(*ratios: float) -> str:
    """Ratios as factors: "5.8x", "1.2x to 5.8x"; "" of what is no number."""
    if not all(map(math.isfinite, ratios)):
        return ""
    return " to ".join(dict.fromkeys(f"{significant(ratio, 2)}x" for ratio in (min(ratios), max(ratios))))


def are_times(*ratios: float) -> bool:
    """Whether ratios are written as factors, because one is at least 2, not as percentages."""
    return max(ratios) >= _TIMES_FROM and all(map(math.isfinite, ratios))


def apart_words(ratio: float) -> str:
    """How far a ratio lies from 1, as a percentage: "13 %"; what is not all never rounds to all: "99.96 %"."""
    digits = 2 if not 0 < ratio < 0.01 else min(6, -math.floor(math.log10(ratio)))
    return percent_words(abs(ratio - 1), digits=digits)


def than_words(ratio: float, ways: tuple[str, str] = ("higher", "lower"), quality: str = "") -> str:
    """ "5.8x as fast as", "12 % faster than", "63 % slower than"; without a quality "5.8x", of "A's is 5.8x B's"."""
    if are_times(ratio):
        return f"{times_words(ratio)} as {quality} as" if quality else times_words(ratio)
    return f"{apart_words(ratio)} {ways[ratio < 1]} than"


def interval_of_ratio(ratio: float, low: float, high: float) -> str:
    """The ends as `than_words` tells the ratio: "3.6x to 9.3x", "9.0 % to 17 %", the smaller change first."""
    if are_times(ratio):
        return times_words(low, high)
    return " to ".join(apart_words(end) for end in ((low, high) if ratio > 1 else (high, low)))


def points_words(*differences: float) -> str:
    """How far shares lie apart, without a direction: "39 percentage points", "12 to 39 percentage points"."""
    sizes = sorted(abs(difference) for difference in differences)
    words = dict.fromkeys(significant(100 * size, 2) for size in (sizes[0], sizes[-1]))
    return f"{' to '.join(words)} percentage points"


def change_words(*ratios: float) -> str:
    """How far ratios lie from 1, without a direction: (0.87,) -> "13 %", (0.87, 0.5) -> "13 % to 50 %", (1.2, 5.8) ->
    "1.2x to 5.8x"."""
    if are_times(*ratios):
        return times_words(*ratios)
    ordered = sorted(ratios, key=lambda ratio: abs(ratio - 1))
    return " to ".join(dict.fromkeys(apart_words(ratio) for ratio in (ordered[0], ordered[-1])))


def by_words(*ratios: float, quality: str = "high") -> str:
    """After "faster in 6 of 8 settings": ", by 22 % to 60 %" or ": 5.0x to 5.1x as fast"."""
    return f": {times_words(*ratios)} as {quality}" if are_times(*ratios) else f", by {change_words(*ratios)}"


def more_or_less(ratio: float) -> str:
    """ "2.4x as much", "13 % less"."""
    return f"{change_words(ratio)} {'as much' if are_times(ratio) else 'more' if ratio > 1 else 'less'}"


def ci_words(level: float) -> str:
    """Intervals of claims are wider, so that all claims together keep an error of 5 %: each is one of 95 %, too."""
    return "95 % CI" if level >= 0.95 - 1e-9 else f"{significant(100 * level, 2)} % CI"


def signed_words(ratio: float) -> str:
    """1.014 -> "+1.4 %", 0.95 -> "-5.0 %", 5.8 -> "5.8x"."""
    if are_times(ratio):
        return times_words(ratio)
    return f"{'+' if ratio > 1 else '-' if ratio < 1 else ''}{apart_words(ratio)}"


def duration_words(value_ns: float) -> str:
    """Three significant digits with the unit that suits: 850 ns, 12.3 µs, 1.25 ms, 2.00 s."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if value_ns >= size * 0.9995:
            return f"{significant(value_ns / size, 3)} {unit}"
    return f"{value_ns:.0f} ns"


def milliseconds_words(value_ms: float) -> str:
    return duration_words(value_ms * 1e6)


def seconds_words(value_s: float) -> str:
    """Of what people wait for: 0.5 s, 4 s, 3 min 20 s, 2 h 05 min."""
    if 0 < value_s < 9.95 and value_s != int(value_s):
        return f"{value_s:.1f} s"
    whole = round(value_s)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


#: Of memory and of disks, largest first: the units that servers take their settings in.
BYTE_UNITS = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def bytes_words(value_bytes: float) -> str:
    """512 B, 64 MiB, 1.50 GiB: three digits, or none behind the point where the number is whole."""
    for unit, size in BYTE_UNITS:
        if value_bytes >= size * 0.9995:
            return f"{significant(value_bytes / size, 3 if value_bytes % size else 1)} {unit}"
    return f"{value_bytes:.0f} B"


def size_words(taken_bytes: int, held_bytes: int | None) -> str:
    """What files take on disk; where they have holes, what they hold: 12.5 MiB of 30.1 MiB (42 %)."""
    if not held_bytes or taken_bytes > 0.99 * held_bytes:
        return bytes_words(taken_bytes)
    return f"{bytes_words(taken_bytes)} of {bytes_words(held_bytes)} ({percent_words(taken_bytes / held_bytes)})"


def rate_words(value_ops_per_s: float) -> str:
    """12,345/s; small rates keep three digits."""
    return f"{grouped(value_ops_per_s)}/s"


def interval_words(low: float, high: float, words: Callable[[float], str], between: str = " to ") -> str:
    """Both ends, each in these words; "not known" where they lie more than _KNOWN_TIMES to either side of their middle:
    two repetitions that differ widely bound nothing."""
    if low > 0 and high > low * _KNOWN_TIMES**2:
        return "not known"
    return f"{words(low)}{between}{words(high)}"


def grouped(value: float) -> str:
    """Three significant digits below 100, whole and with thousands separated above; never an exponent."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    text = f"{value:.3g}"
    return significant(value, 3).rstrip("0") if "e" in text else text


def count_words(count: int) -> str:
    return f"{count:,}"


def counted(count: int, one: str, many: str) -> str:
    """ "1 connection was", "1,200 connections were": the count with the words that agree with it."""
    return f"{count_words(count)} {one if count == 1 else many}"


def significant(value: float, digits: int) -> str:
    """Rounded to `digits` significant ones, thousands separated, without an exponent; whole digits are all kept."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return f"{rounded if decimals else value:,.{decimals}f}"
