"""Whether what is said of a sweep's shape deserves belief, by counting in simulations whose truth is known.

    .venv/bin/python benches/shape.py        # about a minute

Curves: rates over doubling threads that rise to a peak and fall behind it, with the noise of a run given for the first
and for the last level, and a drift of 10 % over the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from bakeoff.analysis.compare import judge
from bakeoff.analysis.estimate import RunValue, paired
from bakeoff.analysis.registry import metric
from bakeoff.analysis.shape import Shape, Sweep

SIMULATIONS = 1000
DRIFT = 0.10
RATE = metric("rate")
#: By name: values at the levels, of which there are as many.
CURVES = {
    "a clear peak": (10, 20, 38, 60, 70, 61),
    "a flat peak": (10, 20, 50, 69, 70, 69),
    "still rising": (10, 20, 38, 60, 80, 100),
    "level": (70, 70, 70, 70, 70, 70),
    "three levels": (50, 70, 61),
    "eight levels": (10, 20, 38, 55, 66, 70, 65, 58),
}


def simulated(
    rng: np.random.Generator, curve: Sequence[float], repetitions: int, noise: tuple[float, float]
) -> dict[int, dict[int, RunValue]]:
    """Rates by level and block."""
    spread = np.linspace(*noise, len(curve))
    drift = np.linspace(0, DRIFT, repetitions)
    logs = np.log(curve) + drift[:, None] + rng.normal(0, 1, (repetitions, len(curve))) * spread
    return {level: dict(enumerate(map(float, np.exp(logs[:, level])))) for level in range(len(curve))}


def found(rng: np.random.Generator, curve: Sequence[float], repetitions: int, noise: tuple[float, float]) -> Shape[int]:
    sweep = Sweep(simulated(rng, curve, repetitions, noise), "higher")
    estimates = [
        paired("", RATE, str(base), str(other), sweep.runs[base], sweep.runs[other]) for base, other in sweep.pairs
    ]
    shape = sweep.shape(dict(zip(sweep.pairs, judge(estimates), strict=True)))
    if shape is None:
        raise ValueError("every level has a value")
    return shape


def best_is_named(shape: Shape[int], curve: Sequence[float]) -> bool:
    return any(curve[level] == max(curve) for level in shape.best)


def none_is_wronged(shape: Shape[int], curve: Sequence[float]) -> bool:
    """No level that is as good as the best is said to be worse; on a level curve all of them are."""
    return all(level in shape.best for level, value in enumerate(curve) if value == max(curve))


def intervals_hold(shape: Shape[int], curve: Sequence[float]) -> bool:
    """All of them at once, against the level measured as best."""
    ratios = {level: curve[level] / curve[shape.top] for level in shape.against}
    return all((c.low or 0) <= ratios[level] <= (c.high or 0) for level, c in shape.against.items())


def main() -> None:
    print(
        "curve, repetitions, noise: the best is named; none as good is called worse; all intervals hold; levels named"
    )
    for name, curve in CURVES.items():
        for repetitions, noise in ((5, (0.02, 0.02)), (5, (0.005, 0.05)), (10, (0.02, 0.02))):
            rng = np.random.default_rng(1)
            shapes = [found(rng, curve, repetitions, noise) for _ in range(SIMULATIONS)]
            counts = [
                sum(told(shape, curve) for shape in shapes) / SIMULATIONS
                for told in (best_is_named, none_is_wronged, intervals_hold)
            ]
            named = sum(len(shape.best) for shape in shapes) / SIMULATIONS
            print(
                f"{name}, {repetitions}, {noise[0]:.1%} to {noise[1]:.1%}: "
                + "; ".join(f"{share:.1%}" for share in counts)
                + f"; {named:.1f}"
            )


if __name__ == "__main__":
    main()
