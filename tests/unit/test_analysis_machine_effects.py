"""Changes of a level in simulated histories over several machines: a change of machine is none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from bakeoff.analysis.machine_effects import RUNS_MIN, effects_of
from bakeoff.analysis.shifts import levels_of
from numpy.typing import NDArray

from tests.unit.test_analysis_shifts import KINDS, Nights, drifting, heavy_tailed, normal, with_bad_nights

#: The level of each machine: up to 20 % apart.
MACHINES = np.log([1.0, 1.2, 1.07])
Machines = NDArray[np.intp]
YEARS = 40


def drawn(random: np.random.Generator, nights: int) -> Machines:
    return random.integers(0, len(MACHINES), nights)


@pytest.mark.parametrize("kind", [drifting, with_bad_nights, heavy_tailed])
def test_on_machines_drawn_at_random_there_is_at_most_one_false_alarm_a_year(
    kind: Callable[[np.random.Generator, int], Nights],
) -> None:
    random = np.random.default_rng(77)
    alarms = 0
    for _ in range(YEARS):
        nights = kind(random, 365)
        machines = drawn(random, nights.size)
        alarms += len(levels_of(nights + MACHINES[machines], machines=machines).shifts)
    assert alarms <= YEARS


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_of_three_per_cent_on_all_machines_is_found_within_five_nights(
    kind: Callable[[np.random.Generator, int], Nights],
) -> None:
    """In 17 of 20 histories at least; of one machine it is 18."""
    random = np.random.default_rng(2)
    found = 0
    for _ in range(100):
        machines = drawn(random, 65)
        nights = kind(random, 65) + MACHINES[machines]
        nights[60:] -= 0.03
        found += any(
            shift.found >= 60 and shift.after < shift.before for shift in levels_of(nights, 1, machines).shifts
        )
    assert found >= 85


def test_its_place_lies_within_the_interval_and_its_size_too() -> None:
    random = np.random.default_rng(3)
    placed = sized = 0
    for _ in range(100):
        machines = drawn(random, 80)
        nights = normal(random, 80) + MACHINES[machines]
        nights[60:] += 0.03
        shift = max(levels_of(nights, 1, machines).shifts, key=lambda one: one.after - one.before)
        placed += shift.first <= 60 <= shift.last
        sized += shift.low <= 0.03 <= shift.high
    assert placed >= 90
    assert sized >= 90


def test_a_change_of_machine_is_no_change_where_the_machines_are_known() -> None:
    random = np.random.default_rng(4)
    machines = np.repeat([0, 1, 0], 40)
    nights = normal(random, 120) + MACHINES[machines]
    assert len(levels_of(nights).shifts) >= 2
    assert levels_of(nights, machines=machines).shifts == []


def test_a_machine_seen_for_the_first_time_is_no_evidence_until_it_has_its_own_earlier_points() -> None:
    nights = normal(np.random.default_rng(5), 60)
    machines = np.repeat([0, 1], [40, 20])
    moved = np.where(machines == 1, nights - 0.2, nights)
    assert levels_of(moved, machines=machines).shifts == []
    moved[52:] -= 0.05
    (shift,) = levels_of(moved, machines=machines).shifts
    assert (shift.at, shift.first) == (52, 52)
    assert shift.low < -0.05 < shift.high


def test_machines_of_which_each_is_seen_once_tell_nothing() -> None:
    nights = normal(np.random.default_rng(6), 60)
    nights[30:] -= 0.2
    levels = levels_of(nights, machines=np.arange(60))
    assert (levels.shifts, levels.detectable(1)) == ([], None)


def test_a_second_change_is_found_by_what_the_first_level_tells_of_the_machines() -> None:
    random = np.random.default_rng(7)
    machines = drawn(random, 75)
    nights = normal(random, 75) + MACHINES[machines]
    nights[60:67] -= 0.06
    assert [shift.at for shift in levels_of(nights, machines=machines).shifts] == pytest.approx([60, 67], abs=1)


@pytest.mark.parametrize("noise", [(1, 1, 2), (1, 1, 4)])
def test_a_machine_noisier_than_the_others_raises_no_more_alarms(noise: tuple[float, ...]) -> None:
    random = np.random.default_rng(8)
    alarms = 0
    for _ in range(YEARS // 4):
        machines = np.repeat(drawn(random, 53), 7)[:365]
        nights = normal(random, 365) * np.array(noise)[machines]
        alarms += len(levels_of(nights, machines=machines).shifts)
    assert alarms <= YEARS // 4


def test_effects_are_those_of_the_machines_whatever_the_levels() -> None:
    random = np.random.default_rng(9)
    machines = drawn(random, 90)
    nights = normal(random, 90) + MACHINES[machines]
    nights[30:] -= 0.3
    nights[5] = nights[40] = -3
    effects = effects_of(nights, machines, [30], 4)
    first = np.argmax(effects.sizes)
    assert effects.of[:3] == pytest.approx(MACHINES - MACHINES[first], abs=0.01)
    assert effects.sizes[3] < RUNS_MIN
    assert list(effects.known(np.array([0, 3]))) == [True, False]
