"""What lies between bundles and what within one, by known truths and by counting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bakeoff.analysis.statistics import Parts, parts, parts_words


def test_what_lies_between_is_that_of_the_means_less_what_the_runs_put_into_it() -> None:
    side = [[math.exp(mean + step) for step in (-0.01, 0.01)] for mean in (0.0, 0.04)]
    found = parts([side, side])
    assert found is not None
    of_means, within = 0.04**2 / 2, 2 * 0.01**2
    assert found.within == pytest.approx(math.sqrt(within))
    assert found.between == pytest.approx(math.sqrt(of_means - within / 2))
    assert found.runs == 2


def test_one_bundle_a_side_or_one_run_each_cannot_tell() -> None:
    assert parts([[[1.0, 1.1, 1.2]], [[1.0, 1.1]]]) is None
    assert parts([[[1.0], [1.1]], [[1.0], [1.2]]]) is None
    assert parts([[[1.0, 1.1], [1.1, 1.0]], [[1.0]]]) is not None


def test_runs_that_differ_alone_leave_nothing_between() -> None:
    found = parts([[[1.0, 1.2], [1.2, 1.0]], [[1.0, 1.2]]])
    assert found is not None
    assert (found.between, found.share_within) == (0.0, 1.0)


def test_known_deviations_are_found_on_average() -> None:
    """The estimate of each part varies much; its square is right on average, with unequal numbers of runs, too."""
    rng = np.random.default_rng(7)
    told = []
    for _ in range(600):
        sides = [
            [[float(x) for x in np.exp(rng.normal(0, 0.04) + rng.normal(0, 0.01, runs))] for runs in each]
            for each in ((5, 5, 5, 3), (5, 10))
        ]
        found = parts(sides)
        assert found is not None
        told.append((found.between**2, found.within**2))
    between, within = np.sqrt(np.mean(told, axis=0))
    assert between == pytest.approx(0.04, rel=0.08)
    assert within == pytest.approx(0.01, rel=0.04)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            [Parts(0.021, 0.009, 5)],
            "bundles vary by about 2.1 % (standard deviation), runs of one bundle by about 0.9 %: more bundles"
            " would narrow the intervals, more repetitions hardly",
        ),
        (
            [Parts(0.001, 0.05, 5)],
            "bundles vary by about 0.1 % (standard deviation), runs of one bundle by about 5.1 %: more bundles would"
            " narrow the intervals, and so would more repetitions of each",
        ),
        (
            [Parts(0.0, 0.01, 5)],
            "runs of one bundle vary by about 1.0 % (standard deviation), and bundles by no more than that explains:"
            " more bundles would narrow the intervals, and so would more repetitions of each",
        ),
        (
            [Parts(0.0, 0.75, 5)],
            "runs of one bundle vary by a factor of about 2.1 (standard deviation), and bundles by no more than that"
            " explains: more bundles would narrow the intervals, and so would more repetitions of each",
        ),
        (
            [Parts(0.021, 0.01, 5), Parts(0.03, 0.02, 5)],
            "bundles vary by 2.1 % to 3.0 % (standard deviation), runs of one bundle by 1.0 % to 2.0 %: more bundles"
            " would narrow the intervals, more repetitions hardly",
        ),
    ],
)
def test_what_would_help_is_said(found: list[Parts], said: str) -> None:
    assert parts_words(found) == said
