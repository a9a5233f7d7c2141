"""Over repetitions, and the audits of a single run."""

import numpy as np
import pytest
from bakeoff.analysis.summary import summarise


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
