"""Changes of a level in simulated histories: how many are found that are none, and how soon those that are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from bakeoff.analysis.shifts import AFTER_MIN, levels_of
from numpy.typing import NDArray

Nights = NDArray[np.float64]
YEARS = 60
NIGHT = 0.01  # the standard deviation of a night's log rate: 1 %


def normal(random: np.random.Generator, nights: int) -> Nights:
    return random.normal(0, NIGHT, nights)


def drifting(random: np.random.Generator, nights: int) -> Nights:
    """3 % slower in a year: nobody changed anything on one day."""
    return normal(random, nights) - np.linspace(0, 0.03, nights)


def with_bad_nights(random: np.random.Generator, nights: int) -> Nights:
    """One night in forty is 10 % slower: a backup ran on the host."""
    return normal(random, nights) - 0.1 * (random.random(nights) < 1 / 40)


def heavy_tailed(random: np.random.Generator, nights: int) -> Nights:
    return NIGHT * random.standard_t(4, nights) / np.sqrt(2)


def with_quiet_weekends(random: np.random.Generator, nights: int) -> Nights:
    """Half a per cent faster on two nights of seven, and a week without any in summer."""
    found = normal(random, nights) + 0.005 * (np.arange(nights) % 7 >= 5)
    return np.delete(found, slice(200, 207))


KINDS = [normal, drifting, with_bad_nights, heavy_tailed, with_quiet_weekends]


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_at_most_one_false_alarm_a_year(kind: Callable[[np.random.Generator, int], Nights]) -> None:
    random = np.random.default_rng(1)
    alarms = sum(len(levels_of(kind(random, 365)).shifts) for _ in range(YEARS))
    assert alarms <= YEARS


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_of_three_per_cent_is_found_within_five_nights(
    kind: Callable[[np.random.Generator, int], Nights],
) -> None:
    random = np.random.default_rng(2)
    found = 0
    for _ in range(200):
        nights = kind(random, 65)
        nights[60:] -= 0.03
        found += any(shift.found >= 60 and shift.after < shift.before for shift in levels_of(nights).shifts)
    assert found >= 180


def test_its_place_lies_within_the_interval_and_its_size_too() -> None:
    random = np.random.default_rng(3)
    placed = sized = 0
    for _ in range(200):
        nights = normal(random, 80)
        nights[60:] += 0.03
        shift = max(levels_of(nights).shifts, key=lambda one: one.after - one.before)
        placed += shift.first <= 60 <= shift.last
        sized += shift.low <= 0.03 <= shift.high
    assert placed >= 180
    assert sized >= 180


def test_two_bad_nights_are_no_change_and_three_alike_are() -> None:
    nights = normal(np.random.default_rng(4), 40)
    assert levels_of(np.append(nights, [-0.3] * (AFTER_MIN - 1))).shifts == []
    (shift,) = levels_of(np.append(nights, [-0.3] * AFTER_MIN)).shifts
    assert (shift.at, shift.first, shift.last) == (40, 40, 40)


def test_a_way_back_is_a_second_change() -> None:
    nights = normal(np.random.default_rng(5), 60)
    nights[30:40] -= 0.05
    assert [shift.at for shift in levels_of(nights).shifts] == [30, 40]


def test_many_series_share_the_false_alarms() -> None:
    random = np.random.default_rng(6)
    alarms = sum(len(levels_of(normal(random, 365), series=10).shifts) for _ in range(YEARS))
    assert alarms <= YEARS / 10 + 3


def test_what_would_be_seen_is_said_and_nothing_of_a_few_points() -> None:
    nights = normal(np.random.default_rng(7), 60)
    assert 0.015 < (levels_of(nights).detectable(1) or 0) < 0.035
    assert levels_of(nights[:14]).detectable(1) is None
    nothing = levels_of(nights[:0])
    assert (nothing.shifts, nothing.spread) == ([], None)


def test_values_without_any_noise_are_judged_too() -> None:
    assert levels_of(np.zeros(50)).shifts == []
    assert [shift.at for shift in levels_of(np.repeat([0.0, 1.0], 25)).shifts] == [25]
