"""Statistics tested by counting: draw data with a known truth, see how often the statement is right.

Runs are drawn as they come out of a plan: a rate with log-normal noise, and drift over the blocks that hits all alike.
Bounds leave three standard errors of the counting itself, and the seeds are fixed.
"""

import numpy as np
import pytest
from bakeoff.analysis.compare import ALPHA, Comparison, judge
from bakeoff.analysis.estimate import Estimate, Invalid, over_settings, paired, unpaired
from bakeoff.analysis.registry import metric
from bakeoff.analysis.statistics import alpha_after, alpha_at

RATE = metric("rate")
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


def test_true_differences_next_to_it_do_not_let_a_false_claim_through() -> None:
    random, wrong = np.random.default_rng(22), 0
    for _ in range(800):
        real = [cell(random, repetitions=5, sd=0.01, change=0.3) for _ in range(4)]
        none = [cell(random, repetitions=5) for _ in range(4)]
        wrong += claims(judge([*real, *none])[4:]) > 0
    assert wrong / 800 <= 0.075


def failing(random: Random, repetitions: int, share: float, change: float) -> Estimate:
    """The second system is faster by `change` when it works, and does not in a share of its runs."""
    a = 5000 * np.exp(random.normal(0, 0.01, repetitions))
    b = 5000 * np.exp(change + random.normal(0, 0.01, repetitions))
    gone = Invalid(frozenset({"errors"}))
    runs = {i: gone if random.random() < share else float(value) for i, value in enumerate(b)}
    return paired("c", RATE, "A", "B", dict(enumerate(a)), runs)


@pytest.mark.parametrize(("repetitions", "none_failed"), [(7, 0.7**7), (10, 0.7**10)])
def test_a_system_is_not_called_faster_for_the_runs_that_it_survived(repetitions: int, none_failed: float) -> None:
    random = np.random.default_rng(24)
    found = [judge([failing(random, repetitions, 0.3, np.log(1.05))])[0] for _ in range(1000)]
    assert sum(c.claims_difference for c in found) / 1000 <= none_failed + 0.03  # only where it never failed
    assert {c.verdict for c in found if not c.claims_difference} == {"invalid runs"}


def test_blocks_that_failed_for_all_leave_the_level_as_it_is() -> None:
    random, gone, alarms = np.random.default_rng(25), Invalid(frozenset({"errors"})), 0
    for _ in range(2000):
        hit = random.random(10) < 0.2
        a, b = ({i: gone if h else float(np.exp(random.normal(0, 0.03))) for i, h in enumerate(hit)} for _ in "ab")
        alarms += claims(judge([paired("c", RATE, "A", "B", a, b)]))
    assert alarms / 2000 <= 0.065


def bundle(random: Random, repetitions: int = 5, *, within: float = 0.01, between: float = 0.02) -> list[float]:
    return [float(x) for x in np.exp(random.normal(0, between) + random.normal(0, within, repetitions))]


@pytest.mark.parametrize(("before", "after"), [(2, 2), (3, 3), (5, 5), (2, 5), (4, 1)])
def test_bundles_of_one_system_are_rarely_called_different(before: int, after: int) -> None:
    random, alarms = np.random.default_rng(26), 0
    for _ in range(2000):
        sides = [[bundle(random) for _ in range(count)] for count in (before, after)]
        alarms += claims(judge([unpaired("c", RATE, "before", "after", *sides)]))
    assert alarms / 2000 <= 0.065


def test_the_interval_over_bundles_holds_the_truth_nineteen_times_in_twenty() -> None:
    random, held = np.random.default_rng(27), 0
    for _ in range(2000):
        old, new = ([bundle(random) for _ in range(3)] for _ in "ab")
        found = judge([unpaired("c", RATE, "before", "after", old, [[1.1 * x for x in runs] for runs in new])])[0]
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 1.1 <= found.high
    assert 0.935 <= held / 2000 <= 0.975


def test_one_bundle_a_side_cannot_tell_bundles_from_systems_and_says_so() -> None:
    random = np.random.default_rng(23)
    found = [judge([unpaired("c", RATE, "a", "b", [bundle(random)], [bundle(random)])])[0] for _ in range(500)]
    assert claims(found) / 500 >= 0.5  # of one and the same system
    assert all("these two bundles" in c.words and c.notes[0].startswith("one bundle a side") for c in found)


def looked(random: Random, change: float) -> int:
    """Of two systems, somebody who adds the repetitions that are asked for, up to 15, while nothing is shown: at which
    look a difference is claimed; 0: at none of three."""
    a, b = random.normal(0, 0.03, 40), random.normal(change, 0.03, 40)
    blocks = 5
    for look in (1, 2, 3):
        sides = [{i: float(np.exp(x)) for i, x in enumerate(side[:blocks])} for side in (a, b)]
        (found,) = judge([paired("c", RATE, "A", "B", *sides)], alpha=alpha_at(look, ALPHA), matters=0.05)
        if found.claims_difference:
            return look
        blocks += min(15, found.more_repetitions or 15)
    return 0


def test_adding_repetitions_until_a_difference_is_shown_rarely_shows_one_that_is_none() -> None:
    random = np.random.default_rng(26)
    assert sum(looked(random, 0.0) > 0 for _ in range(1000)) / 1000 <= 0.065


def test_adding_the_repetitions_that_are_asked_for_finds_more() -> None:
    random = np.random.default_rng(27)
    at = [looked(random, np.log(1.05)) for _ in range(200)]
    assert at.count(1) / 200 <= 0.65
    assert sum(look > 0 for look in at) / 200 >= 0.8


def effects(random: Random, changes: list[float], repetitions: int) -> Estimate | None:
    return over_settings("all", [cell(random, repetitions=repetitions, sd=0.03, change=c) for c in changes])


@pytest.mark.parametrize(("changes", "least", "most"), [([-0.1] * 4, 0.85, 0.95), ([-0.21, -0.03], 0.0, 0.02)])
def test_settings_are_pooled_where_they_do_not_differ(changes: list[float], least: float, most: float) -> None:
    """Log-ratios of -19 % and -3 % at 3 % noise, 5 repetitions."""
    random = np.random.default_rng(41)
    pooled = sum(effects(random, changes, 5) is not None for _ in range(600)) / 600
    assert least <= pooled <= most


SHIPPED = alpha_at(1, ALPHA)
STALL, STALLS = np.log(0.7), 0.1


def stalling(random: Random, repetitions: int, change: float) -> Estimate:
    """B is faster by `change` (a log-ratio) in the typical run, and stalls by 30 % in one run of ten."""
    a, b = (random.normal(mean, 0.01, repetitions) for mean in (0, change))
    b = b + STALL * (random.random(repetitions) < STALLS)
    return paired("c", RATE, "A", "B", dict(enumerate(np.exp(a))), dict(enumerate(np.exp(b))))


@pytest.mark.parametrize("repetitions", [5, 7, 20])
def test_the_shipped_interval_holds_the_typical_run_where_one_side_stalls(repetitions: int) -> None:
    random, held, alarms = np.random.default_rng(31), 0, 0
    for _ in range(1000):
        (found,) = judge([stalling(random, repetitions, 0.0)], alpha=SHIPPED)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 1 <= found.high
        alarms += found.claims_difference
    assert held / 1000 >= 0.94
    assert alarms / 1000 <= 0.06


@pytest.mark.parametrize(("repetitions", "bound"), [(5, 0.62), (20, 0.16), (40, 0.09)])
def test_what_is_faster_but_slower_on_average_for_its_stalls_is_called_faster_only_where_it_did_not_stall(
    repetitions: int, bound: float
) -> None:
    """Truly 0.6 % slower over all runs. Where no run of a plan stalled, nothing in it can tell: (1 - 0.1)^n."""
    random = np.random.default_rng(32)
    found = [judge([stalling(random, repetitions, np.log(1.03))], alpha=SHIPPED)[0] for _ in range(600)]
    assert sum(c.verdict == "higher" for c in found) / 600 <= bound
    noted = [c for c in found if any(note.startswith("outlying") for note in c.notes)]
    assert sum(c.verdict == "higher" for c in noted if repetitions < 20) / 600 <= 0.02  # noise that looks like a stall


def test_outlying_runs_are_rarely_seen_in_normal_noise() -> None:
    random = np.random.default_rng(33)
    for repetitions in (5, 7, 12, 20):
        found = [judge([cell(random, repetitions=repetitions)], alpha=SHIPPED)[0] for _ in range(600)]
        assert sum(bool(c.notes) for c in found) / 600 <= 0.025


def stopped_when_it_looks_good(random: Random, looks: range, change: float = 0.0) -> bool:
    """Whoever reports after every few blocks of a running plan, and stops at the first claim."""
    a, b = random.normal(0, 0.03, looks.stop), random.normal(change, 0.03, looks.stop)
    spent: list[float] = []
    for blocks in looks:
        spent.append(alpha_after(spent, ALPHA))
        sides = [{i: float(np.exp(x)) for i, x in enumerate(side[:blocks])} for side in (a, b)]
        if judge([paired("c", RATE, "A", "B", *sides)], alpha=spent[-1])[0].claims_difference:
            return True
    return False


def test_reporting_after_each_block_and_stopping_at_the_first_claim_stays_within_five_percent() -> None:
    random = np.random.default_rng(34)
    assert sum(stopped_when_it_looks_good(random, range(5, 15)) for _ in range(800)) / 800 <= 0.07


def test_a_plan_that_grows_by_cells_after_each_answer_stays_within_five_percent() -> None:
    """What is still open is asked again, with four new cells each time, of more blocks each time."""
    random, wrong = np.random.default_rng(35), 0
    for _ in range(400):
        logs = random.normal(0, 0.03, (12, 2, 20))
        spent: list[float] = []
        still = set(range(12))
        for cells, blocks in ((4, 5), (8, 10), (12, 20)):
            spent.append(alpha_after(spent, ALPHA))
            asked = [i for i in range(cells) if i in still]
            sides = [[dict(enumerate(np.exp(logs[i, side, :blocks]))) for side in (0, 1)] for i in asked]
            found = judge(
                [paired(str(i), RATE, "A", "B", *s) for i, s in zip(asked, sides, strict=True)], alpha=spent[-1]
            )
            still -= {i for i, c in zip(asked, found, strict=True) if c.claims_difference}
        wrong += len(still) < 12
    assert wrong / 400 <= 0.08


def test_of_a_family_with_a_size_that_matters_hardly_anything_false_is_claimed() -> None:
    """Pairs that are alike, that differ by just what matters, by less and by more: a difference of none, equivalence of
    those that differ by what matters, and "more than matters" of those that do not, are false."""
    matters = 0.03
    truths = [0.0, 0.0, np.log1p(matters), np.log1p(matters), -np.log1p(matters), 0.01, 0.09]
    random, wrong = np.random.default_rng(36), 0
    for _ in range(800):
        family = [cell(random, repetitions=8, sd=0.01, change=float(truth)) for truth in truths]
        found = judge(family, alpha=SHIPPED, matters=matters)
        wrong += any(
            (c.claims_difference and (truth == 0 or (c.verdict == "higher") != (truth > 0)))
            or (abs(truth) >= np.log1p(matters) and (c.verdict == "equivalent" or c.size == "small"))
            or (abs(truth) <= np.log1p(matters) and c.size == "matters")
            for c, truth in zip(found, truths, strict=True)
        )
    assert wrong / 800 <= 0.06
