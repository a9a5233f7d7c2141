"""Numbers in words, the same everywhere: two significant digits for what is uncertain, three for what was measured."""

import math


def percent_words(ratio: float, *, digits: int = 2) -> str:
    """0.0512 -> "5.1 %", 0.1234 -> "12 %", 0.0003 -> "0.03 %", 3.14 -> "314 %"; never rounded to zero."""
    if not math.isfinite(ratio):
        return f"{ratio} %"
    text = significant(ratio * 100, digits)
    if "." in text and abs(ratio) < 0.01:
        text = text.rstrip("0").rstrip(".")
    return f"{text} %"


def duration_words(value_ns: float) -> str:
    """Three significant digits with the unit that suits: 850 ns, 12.3 us, 1.25 ms, 2.00 s."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if value_ns >= size * 0.9995:
            return f"{significant(value_ns / size, 3)} {unit}"
    return f"{value_ns:.0f} ns"


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
