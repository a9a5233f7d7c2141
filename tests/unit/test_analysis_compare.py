"""What a comparison says, word for word, and that its words, verdict and interval never contradict each other."""

import math
import re
from collections.abc import Sequence

import numpy as np
import pytest
from bakeoff.analysis.compare import Comparison, judge
from bakeoff.analysis.estimate import Estimate, Invalid, RunValue, paired, unpaired
from bakeoff.analysis.metric import Metric
from bakeoff.analysis.registry import metric

RATE, P99 = metric("rate"), metric("latency_p99")
B = [100.0, 103.0, 98.0, 101.0, 99.0, 102.0, 97.0]
NOISE = [0.004, -0.006, 0.001, 0.005, -0.003, -0.002, 0.001]


def times(values: Sequence[float], factor: float, noise: Sequence[float] = NOISE) -> list[float]:
    return [v * factor * math.exp(e) for v, e in zip(values, noise, strict=False)]


def estimate(a: Sequence[float | None], b: Sequence[float | None], objective: Metric = RATE) -> Estimate:
    """A against its base B."""
    return paired("threads=8", objective, "B", "A", dict(enumerate(b)), dict(enumerate(a)))


def compare(a: Sequence[float | None], b: Sequence[float | None], objective: Metric = RATE) -> Comparison:
    return judge([estimate(a, b, objective)])[0]


def test_a_higher_rate_is_faster_and_names_its_base() -> None:
    found = compare(times(B, 1.05), B)
    assert found.words == "A is 5.0 % faster than B (95 % CI 4.5 % to 5.5 %)"
    assert (found.verdict, found.better) == ("higher", "A")


def test_the_same_finding_the_other_way_round_has_the_other_base() -> None:
    found = compare(times(B, 1.05), B).swapped()
    assert found.words == "B is 4.8 % slower than A (95 % CI 4.3 % to 5.2 %)"
    assert (found.verdict, found.better) == ("lower", "A")
    assert found.ratio == pytest.approx(1 / 1.05, rel=1e-3)
    assert found.swapped() == compare(times(B, 1.05), B)


def test_latency_is_lower_or_higher_and_lower_is_better() -> None:
    lower = compare(times(B, 0.9), B, P99)
    assert lower.words == "A's p99 is 10 % lower than B's (95 % CI 9.6 % to 10 %)"
    assert lower.better == "A"
    higher = compare(times(B, 1.5), B, P99)
    assert higher.words == "A's p99 is 50 % higher than B's (95 % CI 49 % to 51 %)"
    assert higher.better == "B"


def test_no_difference_names_the_smallest_detectable_difference() -> None:
    found = compare(times(B, 1.001), B)
    assert found.words == (
        "no difference shown: +0.1 % (95 % CI -0.36 % to +0.56 %); smallest detectable change +0.6 % or -0.59 %"
    )
    assert found.swapped().words.startswith("no difference shown: -0.1 % (95 % CI -0.56 % to +0.36 %); ")
    assert found.detectable_ratio == pytest.approx(0.006, rel=0.01)
    assert found.better is None
    assert found.low is not None
    assert found.high is not None
    assert found.low < 1 < found.high


def test_the_smallest_detectable_difference_is_seen_four_times_in_five() -> None:
    random = np.random.default_rng(11)
    base = random.normal(0, 0.02, 7)
    detectable = compare(list(np.exp(base - base.mean())), [1.0] * 7).detectable_ratio
    assert detectable is not None
    sd, seen = float(base.std(ddof=1)), 0
    for _ in range(1500):
        seen += compare(list((1 + detectable) * np.exp(random.normal(0, sd, 7))), [1.0] * 7).claims_difference
    assert 0.76 <= seen / 1500 <= 0.84


def test_more_than_twice_as_much_is_also_said_as_times() -> None:
    found = compare(times(B, 5.8), B)
    assert found.words.startswith("A is 5.8x as fast as B (95 % CI ")
    assert found.swapped().words.startswith("B is 83 % slower than A (95 % CI ")
    unseen = compare([0.5, 2.0, 0.4, 2.5, 1.0], [1.0] * 5)
    assert re.search(r" to \d\.\dx\); smallest detectable change \d\.\dx or -\d\d %$", unseen.words)


def test_drift_that_hits_both_alike_drops_out() -> None:
    drifting = [v * (1 - 0.1 * i) for i, v in enumerate(B)]
    assert compare(times(drifting, 1.05), drifting).words == compare(times(B, 1.05), B).words


def test_fewer_than_five_repetitions_are_not_compared_but_keep_their_values() -> None:
    found = compare(times(B[:4], 2), B[:4])
    assert found.words == "too few repetitions to compare (4, needs 5)"
    assert (found.verdict, found.ratio, found.low) == ("too few", None, None)
    assert found.base_value == pytest.approx(100.48, abs=0.01)


def test_runs_are_paired_by_block_and_those_without_a_partner_are_noted() -> None:
    a = dict(enumerate(times(B, 1.05)))
    b = dict(reversed(list(enumerate(B))))
    del a[3]
    found = judge([paired("c", RATE, "B", "A", b, a)])[0]
    assert found.repetitions == 6
    assert found.verdict == "higher"
    assert found.high is not None
    assert found.high < 1.06  # paired in reverse the spread would be ten times as wide
    assert found.notes == ["1 run whose block has no run of the other side was left out of this comparison"]


@pytest.mark.parametrize("value", [None, 0.0, math.nan])
def test_a_run_without_a_value_makes_the_cell_not_comparable(value: float | None) -> None:
    found = compare([*times(B[:6], 2), value], B, P99)
    assert found.verdict == "not comparable"
    assert found.words == "not compared: the p99 of A is zero, not defined or only a lower bound in 1 of 7 runs"
    assert found.other_value is None
    assert found.base_value is not None


def test_identical_values_show_no_difference() -> None:
    found = compare([5.0] * 6, [5.0] * 6)
    assert found.words == (
        "no difference shown: 0 % (95 % CI -0.098 % to +0.098 %); smallest detectable change +0.098 % or -0.098 %"
    )
    assert found.p_value == 1.0


def test_a_constant_ratio_without_any_spread_is_a_difference() -> None:
    found = compare([v * 1.02 for v in B], B)
    assert found.words == "A is 2.0 % faster than B (95 % CI 1.9 % to 2.1 %)"
    assert found.p_value == 0.0


def test_what_recording_cannot_resolve_is_never_claimed() -> None:
    assert compare([v * 1.0009 for v in B], B).verdict == "no difference"


def test_holm_corrects_over_the_cells_that_can_be_judged() -> None:
    # Alone p = 0.020; with three like it none may be claimed.
    weak = estimate([math.exp(0.02 + e) for e in (0.02, -0.01, 0.015, -0.025, 0.01, -0.01, 0.0)], [1.0] * 7)
    alone = judge([weak])[0]
    assert alone.p_value == pytest.approx(0.020, abs=0.001)
    assert alone.verdict == "higher"
    together = judge([weak] * 4)
    assert [c.verdict for c in together] == ["no difference"] * 4
    assert together[0].p_adjusted == pytest.approx(4 * (alone.p_value or 0))
    assert together[0].level == pytest.approx(1 - 0.05 / 4)
    assert (together[0].plain_low, together[0].plain_high) == (alone.low, alone.high)
    # A cell with nothing to judge takes no share of alpha.
    assert judge([weak, estimate(B[:3], B[:3])])[0].level == pytest.approx(0.95)


def test_holm_steps_down_so_that_a_clear_cell_makes_room_for_the_next() -> None:
    clear = estimate(times(B, 1.5), B)
    fair = estimate([math.exp(0.024 + e) for e in (0.02, -0.01, 0.015, -0.025, 0.01, -0.01, 0.0)], [1.0] * 7)
    fair_p = judge([fair])[0].p_value
    assert fair_p is not None
    assert 0.05 / 6 < fair_p < 0.05 / 5  # Bonferroni over six would refuse it, Holm's second step does not
    found = judge([fair, clear, *[estimate(times(B, 1.0), B)] * 4])
    assert [c.verdict for c in found] == ["higher", "higher"] + ["no difference"] * 4
    assert found[0].level == pytest.approx(1 - 0.05 / 5)
    assert "(95 % CI" in found[0].words


def test_verdict_interval_and_adjusted_p_never_contradict_each_other() -> None:
    random = np.random.default_rng(3)
    for _ in range(60):
        cells = [
            estimate(list(np.exp(random.normal(random.choice([0, 0.02, 0.05]), 0.02, 6))), [1.0] * 6)
            for _ in range(int(random.integers(1, 12)))
        ]
        for c in judge(cells):
            assert c.low is not None
            assert c.high is not None
            assert c.plain_low is not None
            assert c.plain_high is not None
            assert c.p_adjusted is not None
            assert c.claims_difference == (not c.low <= 1 <= c.high) == (c.p_adjusted < 0.05)
            assert c.low <= c.plain_low <= c.plain_high <= c.high
            assert ("no difference" in c.words) == (not c.claims_difference)


def test_an_invalid_run_of_one_side_refuses_the_comparison() -> None:
    a: dict[int, RunValue] = dict(enumerate(times(B, 1.05)))
    a |= {1: Invalid(frozenset({"errors"})), 4: Invalid(frozenset({"integrity"}))}
    found = judge([paired("c", RATE, "B", "A", dict(enumerate(B)), a)])[0]
    assert (found.verdict, found.better, found.ratio) == ("invalid runs", None, None)
    assert found.words == "not compared: 2 of 7 runs of A were invalid (errors, integrity)"
    assert found.other_value is None  # the survivors' figure must not stand next to the other's
    assert found.base_value is not None


def test_blocks_in_which_both_were_invalid_for_one_cause_are_left_out() -> None:
    gone = Invalid(frozenset({"errors"}))
    a: dict[int, RunValue] = {**dict(enumerate(times(B, 1.05))), 2: gone}
    b: dict[int, RunValue] = {**dict(enumerate(B)), 2: gone}
    found = judge([paired("c", RATE, "B", "A", b, a)])[0]
    assert (found.verdict, found.repetitions) == ("higher", 6)
    assert found.notes == ["1 block was left out: both runs were invalid there, for the same cause"]
    b[2] = Invalid(frozenset({"integrity"}))
    found = judge([paired("c", RATE, "B", "A", b, a)])[0]
    assert found.words == (
        "not compared: 1 of 7 runs of B was invalid (integrity) and 1 of 7 runs of A was invalid (errors)"
    )
    a, b = (dict.fromkeys(range(5), gone) for _ in "ab")
    found = judge([paired("c", RATE, "B", "A", b, a)])[0]
    assert found.words == "not compared: no valid run of B and no valid run of A"


def test_one_bundle_a_side_says_only_how_these_two_differ() -> None:
    found = judge([unpaired("c", RATE, "before", "after", [B], [times(B, 1.1)])])[0]
    assert found.design == "two bundles"
    assert found.words.startswith(
        "these two bundles differ: the throughput of after is 10 % higher than that of before (95 %"
    )
    assert found.notes[0].startswith("one bundle a side: how much two bundles")
    # Welch by hand: two samples with the spread of B on a log scale.
    assert found.low is not None
    assert found.low < 1.075  # far wider than when paired
    same = judge([unpaired("c", RATE, "before", "after", [B], [B])])[0]
    assert same.words.startswith("no difference between these two bundles shown: 0 % (")


def test_several_bundles_a_side_are_bundles_that_count_once_each() -> None:
    old, new = [times(B, f) for f in (1.0, 1.01, 0.99)], [times(B, f) for f in (1.09, 1.1, 1.11)]
    found = judge([unpaired("c", RATE, "before", "after", old, new)])[0]
    assert (found.design, found.repetitions) == ("several bundles", 3)
    assert found.words.startswith("after is 10 % faster than before (95 % CI ")
    assert found.notes == ["3 bundles against 3: each counts once, with the mean of its runs"]
    few = judge([unpaired("c", RATE, "before", "after", [o[:1] for o in old], [n[:1] for n in new])])[0]
    assert few.verdict == "higher"  # one run of each bundle is evidence, too
    alone = judge([unpaired("c", RATE, "before", "after", old, new[:1])])[0]
    assert alone.notes[0].endswith("; a single one is taken to vary as those of the other side do")


def test_bundles_agree_with_scipys_pooled_t() -> None:
    from scipy import stats

    old, new = [[90.0, 100.0], [104.0], [97.0, 99.0, 98.0]], [[110.0, 112.0], [120.0, 118.0]]
    found = judge([unpaired("c", RATE, "before", "after", old, new)])[0]
    means = [[float(np.log(runs).mean()) for runs in side] for side in (new, old)]
    interval = stats.ttest_ind(*means).confidence_interval(0.95)
    resolution = math.log1p(1 / 1024)
    assert found.low == pytest.approx(math.exp(interval.low - resolution), rel=1e-9)
    assert found.high == pytest.approx(math.exp(interval.high + resolution), rel=1e-9)


def test_an_invalid_run_of_any_bundle_refuses_the_comparison() -> None:
    new = [times(B, 1.1), [*B[:6], Invalid(frozenset({"run failed"}))]]
    found = judge([unpaired("c", RATE, "before", "after", [B, B], new)])[0]
    assert (found.verdict, found.other_value) == ("invalid runs", None)
    assert found.words == "not compared: 1 of 14 runs of after was invalid (run failed)"


def test_welch_agrees_with_scipy() -> None:
    from scipy import stats

    a, b = times(B, 1.0), [90.0, 130.0, 105.0, 99.0, 120.0]
    found = judge([unpaired("c", RATE, "old", "new", [a], [b])])[0]
    reference = stats.ttest_ind(np.log(b), np.log(a), equal_var=False)
    interval = reference.confidence_interval(0.95)
    resolution = math.log1p(1 / 1024)
    assert found.low == pytest.approx(math.exp(interval.low - resolution), rel=1e-9)
    assert found.high == pytest.approx(math.exp(interval.high + resolution), rel=1e-9)
    assert found.p_value is not None
    assert found.p_value > reference.pvalue  # the same, less what recording cannot resolve


@pytest.mark.parametrize("family", [1, 20, 1000])
def test_an_interval_from_almost_nothing_stays_finite(family: int) -> None:
    """One degree of freedom and a wild bundle, at the levels of large families."""
    wild = unpaired("c", RATE, "before", "after", [[100.0, 101.0], [303.0, 104.0]], [[99.0, 102.0]])
    found = judge([wild] * family)[0]
    assert found.words == "no difference shown: -25 %; not even 10x or a tenth could be detected"
    assert found.low is not None
    assert found.high is not None
    assert found.detectable_ratio is not None
    assert 0 < found.low < 1 < found.high < math.inf
    assert math.isfinite(found.detectable_ratio)
    assert math.isfinite(found.swapped().high or math.inf)


ABORTS = metric("abort_ratio")
SHARES = [0.391, 0.388, 0.395, 0.390, 0.386]


def test_a_share_of_zero_is_reported_by_its_difference() -> None:
    found = compare(SHARES, [0.0] * 5, ABORTS)
    assert found.words == "A's abort ratio is 39 percentage points higher than B's (95 % CI +38 to +40)"
    assert (found.verdict, found.better, found.ratio) == ("higher", "B", None)
    assert (found.other_value, found.base_value) == (pytest.approx(0.39), 0.0)
    turned = found.swapped()
    assert turned.words == "B's abort ratio is 39 percentage points lower than A's (95 % CI -40 to -38)"


def test_shares_above_zero_keep_their_ratio() -> None:
    assert compare(SHARES, [2 * x for x in SHARES], ABORTS).ratio == pytest.approx(0.5)


def test_shares_that_are_all_zero_show_no_difference() -> None:
    found = compare([0.0] * 5, [0.0] * 5, ABORTS)
    assert found.words.startswith("no difference shown: +0 percentage points (-0.098 to +0.098)")


def test_rare_aborts_are_seldom_called_different() -> None:
    """Some 20 of 10,000 attempts, often none: far from normal; 5 % is meant, and two standard errors are allowed."""
    rng = np.random.default_rng(5)
    counts = rng.poisson(rng.gamma(0.5, 40, (600, 2, 5)))
    judged = [compare(list(map(float, a / 1e4)), list(map(float, b / 1e4)), ABORTS) for a, b in counts]
    zero = [c for c in judged if c.difference is not None]
    assert len(zero) > 100
    assert sum(c.claims_difference for c in zero) / len(zero) < 0.07


def sized(factor: float, noise: float = 1.0, matters: float = 0.05) -> Comparison:
    a = times(B, factor, [noise * e for e in NOISE])
    return judge([estimate(a, B)], alpha=0.04, matters=matters)[0]


@pytest.mark.parametrize(
    ("factor", "noise", "verdict", "size", "words"),
    [
        (
            1.12,
            1,
            "higher",
            "matters",
            r"A is 12 % faster than B \(95 % CI .*\), more than the 5.0 % that matter",
        ),
        (1.02, 1, "higher", "small", r"A is 2.0 % faster than B \(95 % CI .*\), less than the 5.0 % that matter"),
        (1.05, 2, "higher", "open", r".*; whether by the 5.0 % that matter is undecided"),
        (0.90, 1, "lower", "matters", r"A is 10 % slower than B .*, more than the 5.0 % that matter"),
        (1.001, 1, "equivalent", None, r"equivalent within 5.0 %: \+0.1 % \(95 % CI .*\)"),
        (1.01, 20, "no difference", None, r"no difference shown, nor equivalence within 5.0 %: .*; about \d+ more .*"),
    ],
)
def test_a_size_that_matters_has_four_answers_and_one_that_leaves_the_size_open(
    factor: float, noise: float, verdict: str, size: str | None, words: str
) -> None:
    found = sized(factor, noise)
    assert (found.verdict, found.size) == (verdict, size)
    assert re.fullmatch(words, found.words), found.words


def test_a_size_below_what_recording_resolves_is_never_called_equivalent() -> None:
    assert sized(1.0, matters=0.0009).verdict == "no difference"


STALLED = [1.0, 0.998, 1.003, 1.001, 0.7, 0.999, 1.002]


def test_an_outlying_run_is_named_and_the_estimate_is_of_the_others() -> None:
    found = compare(times(B, 1.02), [b * s for b, s in zip(B, STALLED, strict=True)])
    assert found.verdict == "higher"  # the base stalled, and is slower without that, too
    assert found.ratio == pytest.approx(1.02, abs=0.003)
    (note,) = found.notes
    assert note.startswith(
        "outlying: 1 of 7 blocks: B in block 4 (-31 % from its median); the estimate is of the typical"
    )


def test_what_is_faster_but_stalls_is_not_called_faster() -> None:
    found = compare([b * 1.02 * s for b, s in zip(B, STALLED, strict=True)], B)
    assert found.verdict == "no difference"
    assert found.ratio == pytest.approx(1.02, abs=0.003)
    assert found.low is not None
    assert found.low < 0.95


def test_with_five_blocks_an_outlying_one_is_named_and_kept() -> None:
    found = compare([b * s for b, s in zip(B[:5], [1.0, 0.998, 1.003, 1.001, 0.4], strict=True)], B[:5])
    assert found.verdict == "no difference"
    assert found.notes[0].endswith("too few others are left to judge without them")
