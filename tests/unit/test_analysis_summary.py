"""Over repetitions, and the audits of a single run."""

import numpy as np
import pytest
from bakeoff.analysis.summary import effective_sample_size, littles_law, summarise


def test_a_summary_says_where_the_repetitions_lie() -> None:
    s = summarise([90.0, 100.0, 110.0, 130.0])
    assert s is not None
    assert (s.count, s.mean, s.median, s.minimum, s.maximum) == (4, 107.5, 105.0, 90.0, 130.0)
    assert s.sd == pytest.approx(17.078, abs=1e-3)
    assert s.cv == pytest.approx(17.078 / 107.5, abs=1e-4)
    assert s.geometric_mean == pytest.approx((90 * 100 * 110 * 130) ** 0.25)
    # t(0.975, 3) = 3.182, from a printed table.
    assert s.low == pytest.approx(107.5 - 3.182 * 17.078 / 2, abs=0.01)
    assert s.high == pytest.approx(107.5 + 3.182 * 17.078 / 2, abs=0.01)


def test_one_repetition_has_no_spread_and_none_has_no_summary() -> None:
    one = summarise([5.0])
    assert one is not None
    assert (one.mean, one.sd, one.low) == (5.0, None, None)
    assert summarise([]) is None
    zero = summarise([0.0, 2.0])
    assert zero is not None
    assert zero.geometric_mean is None


def test_the_interval_of_the_mean_holds_the_truth_nineteen_times_in_twenty() -> None:
    random = np.random.default_rng(5)
    held = 0
    for _ in range(1000):
        s = summarise(list(random.normal(100, 3, 5)))
        assert s is not None
        assert s.low is not None
        assert s.high is not None
        held += s.low <= 100 <= s.high
    assert 0.93 <= held / 1000 <= 0.97


def test_independent_seconds_are_worth_about_their_number() -> None:
    random = np.random.default_rng(6)
    worth = [effective_sample_size(list(random.normal(0, 1, 300))) for _ in range(50)]
    assert 200 <= float(np.mean(worth)) <= 300


def test_correlated_seconds_are_worth_what_theory_says() -> None:
    random, worth = np.random.default_rng(7), []
    for _ in range(50):
        x = [random.normal()]
        for _ in range(999):
            x.append(0.7 * x[-1] + np.sqrt(1 - 0.49) * random.normal())
        worth.append(effective_sample_size(x))
    assert float(np.mean(worth)) == pytest.approx(1000 * (1 - 0.7) / (1 + 0.7), rel=0.2)


def test_constant_short_and_empty_series_count_as_they_are() -> None:
    assert effective_sample_size([3.0] * 60) == 60
    assert effective_sample_size([1.0, 2.0]) == 2
    assert effective_sample_size([]) == 0


def test_littles_law_exposes_a_figure_that_cannot_be() -> None:
    audit = littles_law(2000, 0.004, users=16)
    assert audit.users == pytest.approx(8)
    assert audit.ratio == pytest.approx(0.5)
    assert littles_law(2000, 0.004).ratio is None
