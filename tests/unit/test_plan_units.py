"""Quantities as people write them."""

from __future__ import annotations

from typing import Any

import pytest
from bakeoff.plan.document.units import (
    UnitError,
    format_duration,
    parse_cores,
    parse_duration_s,
    parse_rate_ops_per_s,
    parse_ratio,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10),
        ("500ms", 0.5),
        ("2m", 120),
        ("2min", 120),
        ("1h", 3600),
        ("2d", 172800),
        ("250us", 0.00025),
        ("1.5 s", 1.5),
        (0, 0),
    ],
)
def test_durations_are_read_with_their_unit(text: Any, seconds: float) -> None:
    assert parse_duration_s(text) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize("text", [10, 0.5, "10", "10 sec", "10S", "ten s", "", "s", "-1s", True, None, [], "1e999s"])
def test_a_duration_without_a_known_unit_is_refused_with_a_hint(text: Any) -> None:
    with pytest.raises(UnitError) as caught:
        parse_duration_s(text)
    assert '"10s"' in caught.value.hint


@pytest.mark.parametrize(("text", "ratio"), [("0.1%", 0.001), (0.001, 0.001), ("100%", 1), (0, 0), ("0.5", 0.5)])
def test_shares_are_read_as_percent_or_as_numbers(text: Any, ratio: float) -> None:
    assert parse_ratio(text) == pytest.approx(ratio)


@pytest.mark.parametrize("text", ["101%", 1.5, "1 percent", "-1%", True])
def test_a_share_outside_0_to_100_percent_is_refused(text: Any) -> None:
    with pytest.raises(UnitError):
        parse_ratio(text)


@pytest.mark.parametrize(
    ("text", "rate"),
    [(5000, 5000), ("5000/s", 5000), ("5k/s", 5000), ("5 k/s", 5000), ("300/min", 5), ("1M", 1e6), (0.5, 0.5)],
)
def test_rates_are_operations_per_second(text: Any, rate: float) -> None:
    assert parse_rate_ops_per_s(text) == pytest.approx(rate)


@pytest.mark.parametrize("text", [0, -1, "0/s", "5/day", "5x", True, "fast", float("inf"), float("nan")])
def test_a_rate_that_is_not_above_0_is_refused(text: Any) -> None:
    with pytest.raises(UnitError):
        parse_rate_ops_per_s(text)


@pytest.mark.parametrize(
    ("text", "cores"), [("0", [0]), ("0,2-3", [0, 2, 3]), (1, [1]), ([3, 1, 1], [1, 3]), ("", []), ("2 , 0", [0, 2])]
)
def test_cores_are_lists_and_ranges(text: Any, cores: list[int]) -> None:
    assert parse_cores(text) == cores


@pytest.mark.parametrize("text", ["3-1", "a", "0;1", -1, [True], 0.5, "0-99999999"])
def test_what_is_not_a_list_of_cores_is_refused(text: Any) -> None:
    with pytest.raises(UnitError):
        parse_cores(text)


def test_written_durations_read_back_as_the_same_number() -> None:
    for seconds in (0.0, 0.1, 0.5, 1.0, 30.0, 3600.0, 1 / 3):
        assert parse_duration_s(format_duration(seconds)) == seconds
