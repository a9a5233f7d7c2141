"""What else differs between two cells: hints at why, picked from many figures by how large and how steady they differ.

Nothing here is a tested claim: with hundreds of figures some differ by chance.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .statistics import t_critical

#: Blocks that are needed for a difference to be called steady.
BLOCKS_MIN = 3
#: Less is no hint.
SIZE_MIN = math.log(1.1)
_ALPHA = 0.01


@dataclass(frozen=True, slots=True)
class Hint:
    """name: of the figure. base_value, other_value: geometric means, or plain ones where some value is zero. least: the
    log-ratio that is left of the mean when its uncertainty is taken off: what is large and steady has much of it."""

    name: str
    base_value: float
    other_value: float
    least: float

    @property
    def ratio(self) -> float | None:
        """None: the base is zero, or the other."""
        return self.other_value / self.base_value if self.base_value and self.other_value else None


def hint_of(name: str, base: Sequence[float], other: Sequence[float]) -> Hint | None:
    """base, other: one value a block, in the same order. None where a value is below zero, where there are too few
    blocks, or where the difference may be below SIZE_MIN."""
    a, b = np.asarray(base, dtype=float), np.asarray(other, dtype=float)
    if a.size < BLOCKS_MIN or (a < 0).any() or (b < 0).any():
        return None
    if not ((a > 0).all() and (b > 0).all()):
        return _of_differences(name, a, b)
    ratios = np.log(b) - np.log(a)
    least = abs(float(ratios.mean())) - _uncertain(ratios)
    if least < SIZE_MIN:
        return None
    return Hint(name, math.exp(float(np.log(a).mean())), math.exp(float(np.log(b).mean())), least)


def _of_differences(name: str, a: NDArray[np.float64], b: NDArray[np.float64]) -> Hint | None:
    """Where a value is zero there is no ratio. Against nothing at all the mean is certain to the factor by which it
    exceeds its uncertainty, that of its paired t over the critical one; and so it is ranked among ratios."""
    base, other = float(a.mean()), float(b.mean())
    uncertain = _uncertain(b - a)
    size = abs(other - base)
    least = math.inf if size > 0 and uncertain == 0 else math.log(size / uncertain) if size > 0 else 0.0
    if min(base, other) > 0:
        least = min(least, abs(math.log(other / base)))
    return Hint(name, base, other, least) if least >= SIZE_MIN else None


def _uncertain(values: NDArray[np.float64]) -> float:
    """Half the interval of their mean."""
    return t_critical(_ALPHA, values.size - 1) * float(values.std(ddof=1)) / math.sqrt(values.size)
