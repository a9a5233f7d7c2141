"""Numbers as they stand at an axis, where they are round."""

from __future__ import annotations

from ..analysis.wording import BYTE_UNITS


def short(value: float) -> str:
    """0, 250, 12k, 1.5M, 2G; below one 0.05."""
    size = abs(value)
    for suffix, unit in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if size >= unit * 0.9995:
            return f"{value / unit:.4g}{suffix}"
    return f"{value:.4g}"


def milliseconds_tick(value_ms: float) -> str:
    """500 µs, 2 ms, 1 s."""
    if value_ms == 0:
        return "0"
    for unit, size in (("s", 1e3), ("ms", 1.0), ("µs", 1e-3)):
        if value_ms >= size * 0.9995:
            return f"{value_ms / size:.4g} {unit}"
    return f"{value_ms * 1e6:.4g} ns"


def percent_tick(ratio: float) -> str:
    """0 %, 0.5 %, 40 %."""
    return f"{ratio * 100:.4g} %"


def bytes_tick(value_bytes: float) -> str:
    """0, 512 MiB, 1 GiB."""
    for unit, size in BYTE_UNITS:
        if value_bytes >= size * 0.9995:
            return f"{value_bytes / size:.4g} {unit}"
    return f"{value_bytes:.4g} B" if value_bytes else "0"
