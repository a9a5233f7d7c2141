"""Statements tested by counting: of each kind those that are true, false, and exactly at their bound, where a decision
is wrong whichever it is. Bounds leave three standard errors of the counting itself, and the seeds are fixed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from itertools import combinations, pairwise

import numpy as np
import pytest
from bakeoff.analysis.decision import Open, Peak, Plain, Question, Statement, Within, decide
from bakeoff.analysis.estimate import Evidence, alone, of_steps, paired
from bakeoff.analysis.over_time import VARIATIONS, slope_weights
from bakeoff.analysis.registry import metric

Random = np.random.Generator
RATE = metric("rate")
SD = 0.02
RUNS = 6
DRAWS = 500
ALPHA = 0.05
#: Of DRAWS draws, with three standard errors.
AT_MOST = ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / DRAWS)


def levels(random: Random, *means: float) -> list[dict[int, float]]:
    """Runs of each level, with a drift that hits all levels of a block alike."""
    drift = random.normal(0, 0.1, RUNS)
    return [dict(enumerate((mean * np.exp(drift + random.normal(0, SD, RUNS))).tolist())) for mean in means]


def ratio(base: dict[int, float], other: dict[int, float]) -> Evidence:
    found = paired("", RATE, "A", "B", base, other).finding
    assert isinstance(found, Evidence)
    return found


def between(low: float, high: float) -> Callable[[Random, float], Question]:
    """Of B against A."""
    ends = math.log(low) if low else -math.inf, math.log(high)
    return lambda random, truth: Within(ratio(*levels(random, 100, 100 * truth)), *ends)


def order(random: Random, truth: float) -> Question:
    """Three in order, each `truth` times the next."""
    found = [ratio(b, a) for a, b in pairwise(levels(random, truth**2, truth, 1))]
    return Statement([Within(one, 0.0) for one in found])


def independent(random: Random, truth: float) -> Question:
    """Four levels within 5 % of each other, the last `truth` times the others."""
    pairs = combinations(levels(random, 1, 1, 1, truth), 2)
    return Statement([Within(ratio(a, b), -math.log(1.05), math.log(1.05)) for a, b in pairs])


def trend(random: Random, truth: float) -> Question:
    """Over five levels, the last `truth` times the first."""
    drawn = levels(random, *(truth ** (n / 4) for n in range(5)))
    logs = np.log([[one[block] / drawn[0][block] for block in range(RUNS)] for one in drawn])
    return Within(of_steps(slope_weights([0, 1, 2, 3, 4]) @ logs), 0.0)


def level(random: Random, truth: float) -> Question:
    """A cell alone, below 1."""
    found = alone(RATE, "A", levels(np.random.default_rng(random.integers(1 << 30)), truth)[0])
    assert isinstance(found, Evidence)
    return Within(found, high=0.0)


def peak(random: Random, truth: float) -> Question:
    """The best of four is the third, `truth` times the second."""
    drawn = dict(zip([1, 2, 4, 8], levels(random, 0.8, 1, truth, 0.7), strict=True))
    pairs = {(a, b): paired("", RATE, str(a), str(b), drawn[a], drawn[b]) for a, b in combinations(drawn, 2)}
    return Peak([pairs], "higher", [4])


def law(random: Random, truth: float) -> Question:
    """Of a cell alone, a ratio that is 1 by a law, within 5 %."""
    found = alone(RATE, "A", levels(np.random.default_rng(random.integers(1 << 30)), truth)[0])
    assert isinstance(found, Evidence)
    return Within(found, -math.log(1.05), math.log(1.05))


def variability(random: Random, truth: float) -> Question:
    """How far the seconds of B's runs vary is more than A's, and `truth` times it."""

    def runs(sd: float) -> dict[int, float]:
        return {run: VARIATIONS["iqr"](100 * np.exp(random.normal(0, sd, 60))) for run in range(RUNS)}

    return Within(ratio(runs(0.05), runs(0.05 * truth)), 0.0)


def counted(kind: Callable[[Random, float], Question], truth: float, alpha: float = ALPHA) -> Counter[str]:
    random = np.random.default_rng(22)
    return Counter(kind(random, truth).status(alpha) for _ in range(DRAWS))


@pytest.mark.parametrize(
    ("kind", "true", "false"),
    [
        (between(1.0, math.inf), 1.12, 0.88),
        (between(1.2, math.inf), 1.35, 1.05),
        (between(1.25, 1.5), 1.37, 1.1),
        (between(1 / 1.08, 1.08), 1.0, 1.2),
        (order, 1.15, 0.87),
        (independent, 1.0, 1.25),
        (trend, 1.15, 0.87),
        (variability, 2.0, 0.5),
        (peak, 1.2, 0.8),
    ],
    ids=["difference", "by at least", "ratio", "equivalent", "order", "independent", "trend", "variability", "peak"],
)
def test_what_is_true_by_far_holds_and_what_is_false_by_far_fails(
    kind: Callable[[Random, float], Question], true: float, false: float
) -> None:
    held, failed = counted(kind, true), counted(kind, false)
    assert held["holds"] > 0.8 * DRAWS or kind is independent
    assert failed["fails"] > 0.8 * DRAWS
    assert held["fails"] <= AT_MOST * DRAWS
    assert failed["holds"] == 0


@pytest.mark.parametrize(
    ("kind", "bound"),
    [
        (between(1.0, math.inf), 1.0),
        (between(1.2, math.inf), 1.2),
        (between(1.25, 1.5), 1.5),
        (between(1 / 1.05, 1.05), 1.05),
        (order, 1.0),
        (trend, 1.0),
        (level, 1.0),
        (law, 1.05),
        (variability, 1.0),
        (peak, 1.0),
    ],
    ids=["difference", "by at least", "ratio", "equivalent", "order", "trend", "level", "law", "variability", "peak"],
)
@pytest.mark.parametrize("alpha", [ALPHA, ALPHA / 10])
def test_at_its_bound_a_statement_is_rarely_decided(
    kind: Callable[[Random, float], Question], bound: float, alpha: float
) -> None:
    random = np.random.default_rng(23)
    open_ones = sum(kind(random, bound).status(alpha) == "open" for _ in range(DRAWS))
    assert 1 - open_ones / DRAWS <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / DRAWS)


def test_levels_that_differ_by_the_margin_are_rarely_called_independent_of_it() -> None:
    assert counted(independent, 1.05)["holds"] <= AT_MOST * DRAWS


def test_all_statements_together_are_wrong_in_one_of_twenty_articles() -> None:
    """Some true by far, which leave their share of the level to those at their bound."""
    random, wrong, decided = np.random.default_rng(24), 0, 0
    for _ in range(DRAWS):
        clear = [Statement([between(1.0, math.inf)(random, 1.5)]) for _ in range(3)]
        at_bound = [Statement([between(1.0, math.inf)(random, 1.0)]) for _ in range(5)]
        found = decide([*clear, *at_bound])
        decided += sum(one.status == "holds" for one in found[:3])
        wrong += any(one.status != "open" for one in found[3:])
    assert wrong / DRAWS <= AT_MOST
    assert decided > 0.95 * 3 * DRAWS


def test_what_is_asked_alone_is_decided_at_its_share_of_the_family() -> None:
    one = Statement([between(1.0, math.inf)(np.random.default_rng(1), 1.5)])
    assert [found.alpha for found in decide([one], family=10)] == [pytest.approx(0.005)]


def test_one_part_that_fails_is_enough_and_one_that_is_open_leaves_it_open() -> None:
    up, down = (between(1.0, math.inf)(np.random.default_rng(2), truth) for truth in (1.5, 0.6))
    nothing = Open("not run")
    assert Statement([up, nothing]).status(0.05) == "open"
    assert Statement([up, nothing, down]).status(0.05) == "fails"
    assert Statement([up, up]).status(0.05) == "holds"


def test_curves_have_the_same_peak_only_where_each_has_one() -> None:
    random = np.random.default_rng(3)
    curve = {}
    for name, means in {"a": (1, 2, 1.5), "b": (1, 2, 1.5), "c": (1, 1.5, 2), "d": (1, 2, 2)}.items():
        drawn = dict(zip([1, 2, 4], levels(random, *means), strict=True))
        curve[name] = {(x, y): paired("", RATE, "", "", drawn[x], drawn[y]) for x, y in combinations(drawn, 2)}
    assert Peak([curve["a"], curve["b"]], "higher").status(0.05) == "holds"
    assert Peak([curve["a"], curve["c"]], "higher").status(0.05) == "fails"
    assert Peak([curve["a"], curve["d"]], "higher").status(0.05) == "open"
    assert Peak([curve["a"]], "higher", [1, 4]).status(0.05) == "fails"


def test_no_errors_at_all_are_at_most_none_and_some_errors_are_more() -> None:
    assert Within(Plain([0.0] * 5), 0.0, 0.0).status(0.05) == "holds"
    assert Within(Plain([0.0, 0.1, 0.0, 0.12, 0.1]), 0.0, 0.01).status(0.05) == "open"
    assert Within(Plain([0.0, 0.01, 0.0, 0.01, 0.0]), 0.0, 0.05).status(0.05) == "holds"
    assert Within(Plain([0.0, 0.3, 0.31, 0.32, 0.3, 0.31, 0.3, 0.3]), 0.0, 0.01).status(0.05) == "fails"
