"""Which clients fell behind the others: equal ones are left alone, one at half the CPU is found. Figures of many more
runs: benches/clients.py."""

from __future__ import annotations

import numpy as np
import pytest
from bakeoff.analysis.validity.slow_clients import FloatArray, behind_in_rate, behind_in_response

from benches.clients import answered, drawn, share_false, share_found

#: Tenths of a second of the window, and operations of a client in each.
WINDOW = (30, 100.0)


@pytest.mark.parametrize("clients", [2, 3, 6, 50])
def test_of_runs_of_equal_clients_at_most_one_in_twenty_sets_one_apart(clients: int) -> None:
    assert share_false(np.random.default_rng(1), 100, clients, *WINDOW, scatter=0.03) <= 0.05
    assert share_false(np.random.default_rng(2), 100, clients, 10, 1.0, scatter=0.03) <= 0.09, "ten operations each"


@pytest.mark.parametrize(("clients", "slow"), [(2, 1), (3, 1), (6, 1), (6, 3), (50, 1), (50, 10)])
def test_clients_with_half_the_cpu_are_found_and_no_others(clients: int, slow: int) -> None:
    assert share_found(np.random.default_rng(3), 100, clients, *WINDOW, scatter=0.02, slow=slow) >= 0.95


def test_half_the_rate_is_said_as_a_share_of_the_others() -> None:
    [found] = behind_in_rate(np.array([[100.0] * 30, [100.0] * 30, [50.0] * 30]))
    assert (found.client, found.words) == (2, "50 % of the throughput of the others")


def test_what_slows_all_clients_at_once_sets_none_apart() -> None:
    stalls = np.where(np.arange(60) % 10 < 4, 0.0, 100.0)
    assert behind_in_rate(np.array([stalls, stalls * 0.9])) == []
    assert [each.client for each in behind_in_rate(np.array([stalls, stalls * 0.5]))] == [1]


def test_a_single_stall_of_one_client_is_no_steady_lack() -> None:
    steady = drawn(np.random.default_rng(4), 4, 300, 100.0, 0.0)
    steady[1, 100:160] = 0.0
    assert behind_in_rate(steady) == []


@pytest.mark.parametrize("ended", [np.ones((1, 30)), np.ones((3, 2)), np.zeros((3, 30)), np.empty((2, 0))])
def test_where_nothing_can_be_compared_nobody_is_behind(ended: FloatArray) -> None:
    assert behind_in_rate(ended) == []


def test_in_an_open_loop_times_set_a_client_apart_where_they_are_worth_telling() -> None:
    rng = np.random.default_rng(5)
    assert [answered(rng, 6, 10, scatter=0.05, factor=2.0) for _ in range(20)] == [[0]] * 20
    assert not any(answered(rng, 6, 10, scatter=0.05) for _ in range(20))
    ended = np.full((2, 10), 1000.0)
    assert behind_in_response(ended, np.array([[20_000.0] * 10, [60_000.0] * 10])) == [], "40 us are nothing"
    [found] = behind_in_response(ended, np.array([[200_000.0] * 10, [600_000.0] * 10]))
    assert found.words == "3.0 times the mean response time of the others"


def test_seconds_in_which_nothing_ended_have_no_mean() -> None:
    mean_ns = np.array([[1e6] * 10, [np.nan, *[3e6] * 9]])
    ended = np.where(np.isnan(mean_ns), 0.0, 50.0)
    assert behind_in_response(ended, mean_ns) == [], "its first part has none"
