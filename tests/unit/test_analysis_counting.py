"""Statistics tested by counting: draw data with a known truth, see how often the statement is right.

Runs are drawn as they come out of a plan: a rate with log-normal noise, and drift over the blocks that hits all alike.
Bounds leave three standard errors of the counting itself, and the seeds are fixed.
"""

import numpy as np
import pytest
from bakeoff.analysis.compare import Comparison, Estimate, judge, paired, unpaired
from bakeoff.analysis.objective import Objective

RATE = Objective.parse("rate")
Random = np.random.Generator


def block_drift(random: Random, repetitions: int, drift: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """A slope and a wandering level, both common to all runs of a block."""
    return drift * (np.linspace(0, 1, repetitions) + random.normal(0, 0.3, repetitions))


def cell(
    random: Random, *, repetitions: int, sd: float = 0.03, drift: float = 0.0, change: float = 0.0, name: str = "c"
) -> Estimate:
    """Two systems of which the second is faster by `change` (a log-ratio)."""
    common = block_drift(random, repetitions, drift)
    a = 5000 * np.exp(common + random.normal(0, sd, repetitions))
    b = 5000 * np.exp(common + change + random.normal(0, sd, repetitions))
    return paired(name, RATE, "A", "B", dict(enumerate(a)), dict(enumerate(b)))


def claims(found: list[Comparison]) -> int:
    return sum(c.claims_difference for c in found)


@pytest.mark.parametrize("repetitions", [5, 7])
@pytest.mark.parametrize("drift", [0.0, 0.3])
def test_a_system_compared_with_itself_is_rarely_called_different(repetitions: int, drift: float) -> None:
    random = np.random.default_rng(17)
    alarms = sum(claims(judge([cell(random, repetitions=repetitions, drift=drift)])) for _ in range(2000))
    assert alarms / 2000 <= 0.065


def test_noise_with_heavy_tails_does_not_raise_false_alarms() -> None:
    random, alarms = np.random.default_rng(18), 0
    for _ in range(1500):
        a, b = (5000 * np.exp(0.02 * random.standard_t(2, 5)) for _ in "ab")
        alarms += claims(judge([paired("c", RATE, "A", "B", dict(enumerate(a)), dict(enumerate(b)))]))
    assert alarms / 1500 <= 0.08


def test_the_interval_holds_the_truth_nineteen_times_in_twenty() -> None:
    random, held = np.random.default_rng(19), 0
    for _ in range(2000):
        found = judge([cell(random, repetitions=5, drift=0.2, change=0.1)])[0]
        assert found.low is not None
        assert found.high is not None
        held += found.low <= np.exp(0.1) <= found.high
    assert 0.935 <= held / 2000 <= 0.97


@pytest.mark.parametrize("sd", [0.01, 0.02])
def test_a_slowdown_of_five_percent_is_found_with_seven_repetitions(sd: float) -> None:
    random = np.random.default_rng(20)
    found = [judge([cell(random, repetitions=7, sd=sd, drift=0.2, change=np.log(0.95))])[0] for _ in range(500)]
    assert sum(c.verdict == "lower" for c in found) / 500 >= 0.8
    assert sum(c.verdict == "higher" for c in found) == 0


def test_the_family_of_all_cells_rarely_holds_a_false_claim() -> None:
    random = np.random.default_rng(21)
    families = [judge([cell(random, repetitions=5, drift=0.1) for _ in range(8)]) for _ in range(800)]
    assert sum(claims(family) > 0 for family in families) / 800 <= 0.075


def test_true_differences_beside_it_do_not_let_a_false_claim_through() -> None:
    random, wrong = np.random.default_rng(22), 0
    for _ in range(800):
        real = [cell(random, repetitions=5, sd=0.01, change=0.3) for _ in range(4)]
        none = [cell(random, repetitions=5) for _ in range(4)]
        wrong += claims(judge([*real, *none])[4:]) > 0
    assert wrong / 800 <= 0.075


def test_without_pairs_drift_between_occasions_is_the_only_thing_that_fools_it() -> None:
    def alarms(shift: float) -> float:
        random, count = np.random.default_rng(23), 0
        for _ in range(800):
            old = list(5000 * np.exp(random.normal(0, 0.02, 6)))
            new = list(5000 * np.exp(random.normal(shift, 0.04, 6)))
            count += claims(judge([unpaired("c", RATE, "old", "new", old, new)]))
        return count / 800

    assert alarms(0.0) <= 0.073
    assert alarms(0.1) >= 0.8
