"""The headline's sentence about an answer that is not the first of its bundle."""

from __future__ import annotations

from ..analysis.compare import ALPHA
from ..analysis.looks import alpha_at
from .comparisons import Compared


def look_words(compared: Compared) -> list[str]:
    """What it costs to have looked before; nothing at the first look."""
    if not compared.judged or not compared.by_setting:
        return []
    before = " and with ".join(map(str, compared.judged))
    now, first, all_looks = (
        f"{100 * alpha:.2g} %" for alpha in (alpha_at(compared.look, ALPHA), alpha_at(1, ALPHA), ALPHA)
    )
    return [
        f"This was judged before, with {before} repetitions: a difference is now claimed at a chance of error of"
        f" {now}, not {first}, so that all looks together keep {all_looks}."
    ]
