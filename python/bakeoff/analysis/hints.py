"""What else differs between two cells: hints at why, picked from many figures by how large and how steady they differ.

Nothing here is a tested claim: with hundreds of figures some differ by chance.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.analysis.student import t_critical

#: Blocks that are needed for a difference to be called steady.
BLOCKS_MIN = 3
#: Less is no hint.
SIZE_MIN = math.log(1.1)
_ALPHA = 0.01


@dataclass(frozen=True, slots=True)
class Hint:
    """name: of the figure. base_value, other_value: geometric means. least: the log-ratio that is left of the mean when
    its uncertainty is taken off: what is large and steady has much of it."""

    name: str
    base_value: float
    other_value: float
    least: float

    @property
    def ratio(self) -> float:
        return self.other_value / self.base_value


def hint_of(name: str, base: Sequence[float], other: Sequence[float]) -> Hint | None:
    """base, other: one value a block, in the same order. None where a value is not above zero, where there are too few
    blocks, or where the difference may be below SIZE_MIN."""
    a, b = np.asarray(base, dtype=float), np.asarray(other, dtype=float)
    if a.size < BLOCKS_MIN or not ((a > 0).all() and (b > 0).all()):
        return None
    ratios = np.log(b) - np.log(a)
    error = float(ratios.std(ddof=1)) / math.sqrt(a.size)
    least = abs(float(ratios.mean())) - t_critical(_ALPHA, a.size - 1) * error
    if least < SIZE_MIN:
        return None
    return Hint(name, math.exp(float(np.log(a).mean())), math.exp(float(np.log(b).mean())), least)


def per_operation(per_s: Mapping[str, float], rate_ops_per_s: float) -> dict[str, float]:
    """Counters per second as counters per operation."""
    return {name: value / rate_ops_per_s for name, value in per_s.items()} if rate_ops_per_s > 0 else {}
