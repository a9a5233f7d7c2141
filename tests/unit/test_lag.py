"""How old the oldest commit is that a replica has not applied, from positions alone."""

from __future__ import annotations

import pytest
from bakeoff.systems.mysql.replication import transactions
from bakeoff.systems.server.replication import Lag


def test_who_has_applied_all_is_not_behind() -> None:
    lag = Lag()
    assert [lag.age_s(at_s, 10, 10) for at_s in (0.0, 1.0, 2.0)] == [0.0, 0.0, 0.0]


def test_a_commit_that_is_not_applied_grows_old_from_when_it_was_made() -> None:
    lag = Lag()
    assert lag.age_s(10.0, 100, 100) == 0.0
    assert [lag.age_s(at_s, 101, 100) for at_s in (11.0, 12.0, 15.0)] == [0.0, 1.0, 4.0]


@pytest.mark.parametrize("delay_s", [0.0, 0.01, 0.25, 1.0, 3.5])
def test_a_replica_that_applies_at_a_constant_delay_is_found_that_far_behind(delay_s: float) -> None:
    """1,000 commits a second, one look each second."""
    lag = Lag()

    def committed(at_s: float) -> int:
        return int(1000 * max(0.0, at_s))

    ages = [lag.age_s(float(at_s), committed(at_s), committed(at_s - delay_s)) for at_s in range(20)]
    assert ages[6:] == [pytest.approx(delay_s, abs=0.002)] * 14


def test_of_commits_before_the_first_analysis_the_age_is_at_least_the_time_since() -> None:
    lag = Lag()
    assert lag.age_s(10.0, 100, 40) == 0.0
    assert lag.age_s(13.0, 200, 40) == 3.0
    assert lag.age_s(14.0, 200, 150) == pytest.approx(14.0 - 11.53)


def test_with_data_put_back_it_begins_again() -> None:
    lag = Lag()
    lag.age_s(0.0, 1000, 1000)
    assert lag.age_s(100.0, 10, 10) == 0.0
    assert lag.age_s(101.0, 11, 10) == 0.0
    assert lag.age_s(102.0, 11, 10) == 1.0


def test_what_is_applied_is_forgotten() -> None:
    lag = Lag()
    for at_s in range(10_000):
        lag.age_s(float(at_s), at_s, at_s - 3)
    assert len(lag._seen) <= 5


def test_a_position_counts_the_transactions_of_all_domains() -> None:
    assert [transactions(position) for position in ("", "0-1-120", "0-1-120,1-2-3")] == [0, 120, 123]
