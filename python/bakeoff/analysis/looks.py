"""Looking more than once: what a comparison is judged at when repetitions are added after its answer was read.

Who reads an answer, adds repetitions because it was undecided, and reads again, has two chances to be misled. So the
chance that is allowed in all is shared out: each look is judged, over all repetitions made until then, at four fifths
of what the looks before it left. The levels of all looks add up to `alpha`, however many there will be and whatever was
seen before. See docs/method/comparison.md, and benches/looking.py for what it costs.
"""

#: Of what is left, spent on the next look: most on the first, which for most plans is the only one.
SPENT_RATIO = 0.8


def alpha_at(look: int, alpha: float) -> float:
    """look: from 1. The chance of a false claim that this look may take, of `alpha` in all."""
    return alpha * SPENT_RATIO * (1 - SPENT_RATIO) ** (look - 1)
