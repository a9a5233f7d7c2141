"""Numbers as people read them at an axis or beside a mark: three digits and a unit that suits."""

from __future__ import annotations

import math


def rate_words(value_ops_per_s: float) -> str:
    """12,345/s; small rates keep three digits."""
    return f"{grouped(value_ops_per_s)}/s"


def grouped(value: float) -> str:
    """Three significant digits below 100, whole and with thousands separated above."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def short(value: float) -> str:
    """For axes: 0, 250, 12k, 1.5M, 2G; below one 0.05."""
    size = abs(value)
    for suffix, unit in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if size >= unit * 0.9995:
            return f"{value / unit:.4g}{suffix}"
    return f"{value:.4g}"


def milliseconds_words(value_ms: float) -> str:
    """850 ns, 12.3 µs, 1.25 ms, 2.00 s: three digits."""
    for unit, size in (("s", 1e3), ("ms", 1.0), ("µs", 1e-3)):
        if value_ms >= size * 0.9995:
            return f"{three_digits(value_ms / size)} {unit}"
    return f"{value_ms * 1e6:.0f} ns"


def milliseconds_tick(value_ms: float) -> str:
    """At an axis, where the number is round: 500 µs, 2 ms, 1 s."""
    if value_ms == 0:
        return "0"
    for unit, size in (("s", 1e3), ("ms", 1.0), ("µs", 1e-3)):
        if value_ms >= size * 0.9995:
            return f"{value_ms / size:.4g} {unit}"
    return f"{value_ms * 1e6:.4g} ns"


def bytes_words(value_bytes: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value_bytes >= size * 0.9995:
            return f"{three_digits(value_bytes / size)} {unit}"
    return f"{value_bytes:.0f} B"


def bytes_tick(value_bytes: float) -> str:
    """At an axis, where the number is round: 0, 500 MB, 1 GB."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value_bytes >= size * 0.9995:
            return f"{value_bytes / size:.4g} {unit}"
    return f"{value_bytes:.4g}"


def three_digits(value: float) -> str:
    if value == 0:
        return "0"
    decimals = max(0, 2 - math.floor(math.log10(abs(float(f"{value:.2e}")))))
    return f"{value:,.{decimals}f}"
