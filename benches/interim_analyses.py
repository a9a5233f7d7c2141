"""What interim analyses cost: how often one and the same system is called different by somebody who adds repetitions
until a difference is shown, and how often a true one is found, by our rule and by others that were considered.

    .venv/bin/python benches/interim_analyses.py          # simulated, with a known truth: seconds

Every attempt analyses 5 repetitions, and where nothing is shown adds some and analyses again, up to three times. Rules:

naive        5 % at every analysis, over all repetitions
ours         four fifths of what is left, over all repetitions (bakeoff.analysis.statistics)
Bauer-Koehne the repetitions of each analysis judged by themselves, their p-values combined as products (Bauer and
             Koehne 1994; for a third analysis again, Brannath, Posch and Bauer 2002), with the same share for the first
once         5 % at one analysis at the last number of repetitions: what patience would have found
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np
from bakeoff.analysis.compare import ALPHA
from bakeoff.analysis.statistics import SPENT_RATIO, alpha_at
from bakeoff.analysis.undecided import MORE_MAX
from numpy.typing import NDArray
from scipy import special

ATTEMPTS = 100_000
DOUBLING = (5, 10, 20)
Floats = NDArray[np.float64]
Claims = NDArray[np.bool_]
Extend = Callable[[Floats, int], NDArray[np.int_]]


def t_of(x: Floats, counts: NDArray[np.int_]) -> Floats:
    """Of the first `counts` log-ratios of each row."""
    kept = np.arange(x.shape[1]) < counts[:, None]
    mean = np.where(kept, x, 0).sum(axis=1) / counts
    square = np.where(kept, (x - mean[:, None]) ** 2, 0).sum(axis=1) / (counts - 1)
    return np.asarray(mean / np.sqrt(square / counts))


def p_of(t: Floats, counts: NDArray[np.int_]) -> Floats:
    return np.asarray(2 * special.stdtr(counts - 1, -np.abs(t)))


def at_levels(x: Floats, levels: Sequence[float], extend: Extend) -> list[float]:
    """The share of attempts that have claimed something by each analysis."""
    counts, claimed, shares = np.full(len(x), DOUBLING[0]), np.zeros(len(x), dtype=bool), []
    for analysis, level in enumerate(levels):
        t = t_of(x, counts)
        claimed |= p_of(t, counts) <= level
        shares.append(float(claimed.mean()))
        if analysis + 1 < len(levels):
            counts = extend(t, analysis)
    return shares


def doubled(t: Floats, analysis: int) -> NDArray[np.int_]:
    return np.full(len(t), DOUBLING[analysis + 1])


def combined(x: Floats) -> list[float]:
    """Bauer and Koehne, each direction at half of ALPHA."""
    claimed, shares = np.zeros(len(x), dtype=bool), []
    left = {sign: np.full(len(x), ALPHA / 2) for sign in (1, -1)}
    for begin, end in zip((0, *DOUBLING), DOUBLING, strict=False):
        counts = np.full(len(x), end - begin)
        t = t_of(x[:, begin:end], counts)
        for sign, level in left.items():
            p = special.stdtr(counts - 1, -sign * t)
            first = SPENT_RATIO * level
            claimed |= p <= first
            left[sign] = np.minimum((level - first) / np.log(1 / first) / p, 0.999)
        shares.append(float(claimed.mean()))
    return shares


def greedy(t: Floats, analysis: int) -> NDArray[np.int_]:
    """Whoever wants to deceive adds as many as make a claim at the second analysis most probable, were there no
    difference: r times what there is, r = (c^2 - z^2) / z^2 (Proschan and Hunsberger 1995); 100 at most."""
    critical = float(special.ndtri(1 - alpha_at(analysis + 2, ALPHA) / 2))
    z = np.clip(np.abs(t), 1e-3, critical - 1e-3)
    more = np.clip((critical**2 - z**2) / z**2 * DOUBLING[0], 1, MORE_MAX)
    return np.asarray(DOUBLING[0] + np.round(more)).astype(int)


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    rng = np.random.default_rng(1)
    ours = [alpha_at(analysis, ALPHA) for analysis in (1, 2, 3)]
    print("levels of our analyses: " + ", ".join(f"{100 * level:.2g} %" for level in ours))
    print("share of attempts that claim a difference by the first, second, third analysis (5, 10, 20 repetitions)")
    for effect in (0.0, 0.6, 1.0, 1.4):
        x = rng.normal(effect, 1, (ATTEMPTS, DOUBLING[-1]))
        rules = {
            "naive": at_levels(x, [ALPHA] * 3, doubled),
            "ours": at_levels(x, ours, doubled),
            "Bauer-Koehne": combined(x),
            "once": [float((p_of(t_of(x, n), n) <= ALPHA).mean()) for n in (np.full(len(x), c) for c in DOUBLING)],
        }
        print("no difference:" if effect == 0 else f"a difference of {effect:g} times the noise of a log-ratio:")
        for name, shares in rules.items():
            print(f"  {name:<12} " + "  ".join(f"{share:6.1%}" for share in shares))
    x = rng.normal(0, 1, (ATTEMPTS // 2, DOUBLING[0] + MORE_MAX))
    deceived = at_levels(x, ours[:2], greedy)
    print(f"no difference, and the number added chosen to deceive (1 to 100): {deceived[1]:.1%} by the second analysis")


if __name__ == "__main__":
    main()
