"""Several analyses of one question: what a comparison is judged at when data are added after an answer was given.

Who reads an answer, adds repetitions because it was undecided, and reads again, has two chances to be misled. So the
chance that is allowed in all is shared out: each analysis is judged, over all repetitions made until then, at four
fifths of what the analyses before it left. What they spend adds up to `alpha` at most, however many there will be and
whatever was seen before, and whatever questions are added: a verdict that was given stands, so each analysis asks only
what is still open, and answers it at its own share. See docs/method/comparison.md, and benches/looking.py.
"""

from collections.abc import Sequence

#: Of what is left, spent on the next analysis: most on the first, which for most plans is the only one.
SPENT_RATIO = 0.8
#: So little that nothing is claimed at it, and not zero, at which there is no interval.
_ALPHA_MIN = 1e-9


def alpha_at(look: int, alpha: float) -> float:
    """look: from 1. The chance of a false claim that this analysis may take, of `alpha` in all."""
    return alpha * SPENT_RATIO * (1 - SPENT_RATIO) ** (look - 1)


def alpha_after(spent: Sequence[float], alpha: float) -> float:
    """What the next analysis may take, where those before it took `spent`."""
    return max(_ALPHA_MIN, SPENT_RATIO * (alpha - sum(spent)))
