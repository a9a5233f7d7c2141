"""Whether a run settled: on series with a known truth, some of them by counting."""

import numpy as np
import pytest
from bakeoff.analysis.validity.steady import FloatArray, Trend, fit_trend, judge, largest_deviation, mser5, variation
from bakeoff.plan.cells import DEFAULT_WINDOW_S
from scipy import stats


def noisy(seconds: int, *, correlation: float = 0.0, cv: float = 0.03, seed: int = 1) -> FloatArray:
    """A stationary series around 1000 in which adjacent values are correlated (first-order autoregression)."""
    random = np.random.default_rng(seed)
    x, out = random.normal(), np.empty(seconds)
    for i in range(seconds):
        x = correlation * x + np.sqrt(1 - correlation**2) * random.normal()
        out[i] = x
    return 1000 * (1 + cv * out)


def test_a_level_series_is_steady() -> None:
    found = judge(noisy(60))
    assert found.verdict == "steady"
    assert found.ok is True
    assert found.words.startswith("no trend of the rate shown; 10 s means stayed within")


def test_below_thirty_seconds_nothing_is_tested_but_the_variation_is_reported() -> None:
    found = judge(noisy(29))
    assert (found.verdict, found.ok) == ("not tested", None)
    assert found.words == "not tested: 29 one-second values of the rate, needs 30"
    assert found.cv == pytest.approx(0.03, rel=0.4)
    assert found.largest_deviation_ratio is not None


def test_a_warm_up_that_was_too_short_is_seen_and_where_it_ended() -> None:
    series = noisy(120)
    series[:20] *= 0.3
    found = judge(series)
    assert found.verdict == "transient"
    assert found.settled_after_s is not None
    assert 20 <= found.settled_after_s <= 60  # never inside the transient
    assert found.transient_ratio == pytest.approx((20 * 0.3 + 100) / 120 - 1, abs=0.02)
    assert f"had settled only by second {found.settled_after_s} of the window" in found.words
    assert "below that of the settled part" in found.words


@pytest.mark.parametrize(("change", "verb"), [(-0.2, "fell"), (0.2, "rose")])
def test_a_slope_over_the_window_is_a_trend(change: float, verb: str) -> None:
    found = judge(noisy(120) * np.linspace(1, 1 + change, 120))
    assert found.verdict == "trend"
    assert f"the rate still {verb} by" in found.words


def test_a_significant_slope_below_five_percent_is_no_trend() -> None:
    found = judge(noisy(120, cv=0.001) * np.linspace(1, 1.04, 120))
    assert found.trend is not None
    assert found.trend.p_value < 0.001
    assert found.verdict == "steady"


def test_a_fitted_line_says_what_it_gains_over_the_series() -> None:
    trend = fit_trend(np.linspace(950, 1050, 100))
    assert trend.change_ratio == pytest.approx(0.1, rel=0.02)
    assert trend.p_value == 0.0
    assert fit_trend(np.full(100, 5.0)).p_value == 1.0


@pytest.mark.parametrize("seed", range(10))
def test_mser_minimises_its_score_over_every_cut_up_to_half(seed: int) -> None:
    series = noisy(90, correlation=0.7, seed=seed)
    series[:13] += 10 * seed
    means = series.reshape(-1, 5).mean(axis=1)
    scores = {d: ((means[d:] - means[d:].mean()) ** 2).sum() / (18 - d) ** 2 for d in range(10)}
    assert mser5(series) == 5 * min(scores, key=lambda d: scores[d])


def test_mser_never_cuts_more_than_half_nor_a_constant() -> None:
    assert mser5(np.arange(100.0)) <= 50
    assert mser5(np.full(60, 3.0)) == 0


@pytest.mark.parametrize("seed", range(3))
def test_the_slope_has_the_p_value_that_scipy_gives_it(seed: int) -> None:
    series = noisy(60, cv=0.1, seed=seed)
    reference = stats.linregress(np.arange(10), series.reshape(10, 6).mean(axis=1))
    assert fit_trend(series).p_value == pytest.approx(reference.pvalue, rel=1e-9)
    assert fit_trend(series).change_ratio == pytest.approx(10 * reference.slope / series.mean(), rel=1e-9)


def test_values_that_fill_no_batch_are_left_out_at_the_start_of_a_trend() -> None:
    series = noisy(60)
    assert fit_trend(np.concatenate(([9e9, 9e9], series))) == fit_trend(series)


def test_a_large_slope_that_may_be_chance_is_no_trend() -> None:
    assert not Trend(0.3, 0.06).shown
    assert not Trend(0.049, 0.0).shown
    assert Trend(-0.3, 0.04).shown


def test_seconds_in_which_nothing_ended_are_a_stall_in_a_closed_loop_and_in_an_open_one() -> None:
    """Also in a window too short for anything else."""
    rates, times = noisy(40), noisy(40)
    rates[[15, 16, 17]], times[[15, 16, 17]] = 0.0, np.nan
    for found in (judge(rates), judge(rates, response_ms=times)):
        assert (found.verdict, found.ok, found.silent_s) == ("stalled", False, 3)
        assert "nothing ended well in 3 of 40 seconds, first in second 15 of the window" in found.words


def test_where_little_is_done_a_silent_second_is_no_stall() -> None:
    rates = np.tile([0.0, 3.0], 40)
    found = judge(rates)
    assert (found.verdict, found.silent_s) == ("steady", 40)


def test_silent_seconds_keep_their_place_and_the_time_of_those_who_waited() -> None:
    rates, times = np.full(80, 10.0), np.full(80, 5.0)
    rates[:20], times[:20] = 0.0, np.nan
    times[20] = 90.0
    found = judge(rates, response_ms=times)
    assert found.seconds == 80
    assert found.settled_after_s == 25  # not 5, as if the window had begun with its first answer
    assert (found.verdict, found.silent_s) == ("transient", 20)
    assert "mean response time" in found.words


def test_of_silent_seconds_at_the_end_nobody_knows_a_time() -> None:
    rates, times = np.full(80, 10.0), np.full(80, 5.0)
    rates[70:], times[70:] = 0.0, np.nan
    assert judge(rates, response_ms=times).seconds == 70
    assert judge(np.zeros(80), response_ms=np.full(80, np.nan)).verdict == "not tested"


def test_a_series_of_zeros_is_not_called_steady() -> None:
    found = judge([0.0] * 80)
    assert found.verdict == "not tested"
    assert "zero throughout" in found.words
    assert (found.cv, found.largest_deviation_ratio) == (None, None)


def test_variation_and_largest_deviation_are_what_their_names_say() -> None:
    series = np.full(60, 100.0)
    series[20:30] = 88.0
    assert largest_deviation(series) == pytest.approx(88 / 98 - 1)
    assert variation(np.asarray([90.0, 110.0])) == pytest.approx(np.sqrt(200) / 100)
    assert largest_deviation(series[:19]) is None


def test_a_stationary_correlated_series_is_rarely_accused() -> None:
    verdicts = [judge(noisy(60, correlation=0.7, cv=0.03, seed=seed)).verdict for seed in range(400)]
    assert sum(v != "steady" for v in verdicts) <= 0.06 * len(verdicts)


def test_a_fall_of_a_fifth_is_nearly_always_found() -> None:
    line = np.linspace(1, 0.8, 60)
    verdicts = [judge(noisy(60, cv=0.05, seed=seed) * line).verdict for seed in range(200)]
    assert sum(v != "steady" for v in verdicts) >= 0.95 * len(verdicts)


def test_the_default_window_is_judged() -> None:
    assert judge(noisy(round(DEFAULT_WINDOW_S))).verdict == "steady"
