"""A changing rate divided into parts that have figures of their own."""

from __future__ import annotations

import pytest
from bakeoff.analysis.stages import PARTS_MAX, Part, parts_of
from bakeoff.model.boundary import Stage


def stage(for_s: float, *rates: float) -> Stage:
    return Stage(for_s=for_s, from_ops_per_s=rates[0], to_ops_per_s=rates[-1])


def test_steps_are_parts_and_their_rates_are_of_all_clients() -> None:
    assert parts_of([stage(60, 100), stage(30, 0), stage(10, 400)], clients=2) == [
        Part("1", 0, 60, 200, 200),
        Part("2", 60, 90, 0, 0),
        Part("3", 90, 100, 800, 800),
    ]


def test_a_ramp_is_divided_into_equal_parts_none_of_them_short() -> None:
    first, *ramp, last = parts_of([stage(10, 100), stage(100, 0, 1000), stage(10, 1000)])
    assert (first.name, last.name) == ("1", "3")
    assert [part.name for part in ramp] == ["2.1", "2.2", "2.3", "2.4", "2.5"]
    assert (ramp[1].from_s, ramp[1].to_s) == (30, 50)
    assert (ramp[1].from_ops_per_s, ramp[1].to_ops_per_s) == (200, 400)
    assert [part.name for part in parts_of([stage(11, 1, 2)])] == ["1.1", "1.2"]
    assert [part.name for part in parts_of([stage(9, 1, 2)])] == ["1"]


@pytest.mark.parametrize("ramps", range(1, PARTS_MAX + 1))
def test_there_are_never_more_parts_than_a_table_can_show(ramps: int) -> None:
    parts = parts_of([stage(100, 1, 2)] * ramps)
    assert ramps <= len(parts) <= PARTS_MAX
    assert parts[-1].to_s == pytest.approx(100 * ramps)


def test_many_stages_are_shown_as_equal_parts_of_the_time_with_their_lowest_and_highest_rate() -> None:
    parts = parts_of([stage(60, minute) for minute in range(1440)])
    assert len(parts) == PARTS_MAX
    assert parts[6] == Part("7/24", 21_600, 25_200, 360, 419)
    assert sum(part.to_s - part.from_s for part in parts) == pytest.approx(86_400)


def test_a_ramp_across_many_parts_counts_in_each_with_what_lies_in_it() -> None:
    parts = parts_of([stage(240, 0, 2400), *[stage(1, 7)] * 240])
    assert (parts[0].from_ops_per_s, parts[0].to_ops_per_s) == pytest.approx((0, 200))
    assert (parts[11].from_ops_per_s, parts[11].to_ops_per_s) == pytest.approx((2200, 2400))
    assert (parts[12].from_ops_per_s, parts[12].to_ops_per_s) == (7, 7)
