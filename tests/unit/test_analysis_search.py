"""A search finds the capacity that exists, says how sure it is, and says honestly what it did not find."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

import numpy as np
import pytest
from bakeoff.analysis.search import FLAT, Outcome, Question, Trial, difference, next_step, so_far

RATE = Question(low=10, high=1e6, first=1000)
CAPACITY = 12_345.0
#: How far a run at this level, the n-th of its search, is beyond the limit.
Server = Callable[[float, int], float]


def searched(server: Server, question: Question = RATE) -> tuple[Outcome, list[Trial]]:
    trials: list[Trial] = []
    while not isinstance(step := next_step(question, trials), Outcome):
        assert len(trials) < question.runs_max
        trials.append(Trial(step, server(step, len(trials))))
    return step, trials


def quiet(level: float, _: int) -> float:
    """The p99 of an M/M/1 queue over its limit, without any noise."""
    load = 0.8 * level / CAPACITY
    return math.inf if load >= 1 else math.log(0.2 / (1 - load))


def cliff(level: float, _: int) -> float:
    return -1.0 if level < CAPACITY else math.inf


@pytest.mark.parametrize("server", [quiet, cliff])
def test_it_finds_the_capacity_within_the_precision_that_is_asked_for(server: Server) -> None:
    found, trials = searched(server)
    assert found.status == "found"
    assert found.low is not None
    assert found.high is not None
    assert found.low <= CAPACITY <= found.high
    assert found.high / found.low <= 1.05 / 0.95 + 1e-9
    assert found.runs == len(trials) <= 20


def test_each_end_rests_on_two_runs() -> None:
    """One run that stalls decides nothing."""
    found, trials = searched(lambda level, n: math.inf if n == 1 else quiet(level, n))
    assert trials[1].level < CAPACITY
    assert not trials[1].kept
    assert found.status == "found"
    assert (found.low or 0) <= CAPACITY <= (found.high or 0)
    assert sum(trial.kept for trial in trials) >= 2


SILENT = math.nan


def test_runs_of_too_few_operations_say_nothing_and_the_search_goes_up_from_them() -> None:
    found, trials = searched(lambda level, n: SILENT if level < 3000 else quiet(level, n))
    assert found.status == "found"
    assert (found.low or 0) <= CAPACITY <= (found.high or 0)
    assert [trial.level for trial in trials[:2]] == [1000, 4000]
    assert found.runs == len(trials)


def test_what_is_not_kept_where_it_can_be_judged_is_not_said_of_levels_below() -> None:
    found, trials = searched(lambda level, n: SILENT if level < 3000 else math.inf)
    assert found.status == "never"
    assert found.silent_to == max(trial.level for trial in trials if trial.is_silent)
    assert 1.5 <= min(trial.level for trial in trials if not trial.is_silent) / found.silent_to < 2


def test_where_no_run_has_operations_enough_nothing_is_claimed() -> None:
    found, trials = searched(lambda level, n: SILENT, Question(low=1, high=64, first=1, whole=True))
    assert (found.status, found.silent_to) == ("unjudged", 64)
    assert [trial.level for trial in trials] == [1, 4, 16, 64]
    assert so_far(RATE, trials[:2]) == Outcome("unjudged", None, None, None, 2, silent_to=4)


def test_a_limit_that_is_kept_everywhere_is_said_to_be_and_nothing_is_claimed_beyond() -> None:
    found, trials = searched(lambda level, n: -1.0, Question(low=10, high=50_000, first=1000))
    assert (found.status, found.low, found.high) == ("always", None, None)
    assert [trial.level for trial in trials] == [1000, 4000, 16_000, 50_000, 50_000, 50_000]


def test_a_limit_that_is_kept_nowhere_is_said_so_at_the_lowest_level() -> None:
    found, trials = searched(lambda level, n: 1.0, Question(low=100, high=1e6, first=1000))
    assert (found.status, found.runs) == ("never", 5)
    assert [trial.level for trial in trials] == [1000, 250, 100, 100, 100]


def test_when_the_runs_are_used_up_what_is_known_is_an_interval() -> None:
    random = np.random.default_rng(1)
    found, _ = searched(lambda level, n: 0.5 * math.log(level / CAPACITY) + random.normal(0, 0.4))
    assert (found.status, found.runs) == ("not found", 25)
    assert found.low is not None
    assert found.high is not None
    assert found.high > 1.2 * found.low


def test_runs_that_are_used_up_before_a_limit_was_broken_bound_it_on_one_side() -> None:
    found, trials = searched(lambda level, n: -1.0, Question(low=1, high=1e9, first=1, runs_max=8))
    assert (found.status, found.estimate, found.low, found.high) == ("not found", None, trials[-1].level, None)


def test_the_lowest_level_is_sought_in_the_same_way() -> None:
    """Threads that a rate needs: too few do not reach it."""
    threads = Question(low=1, high=4096, first=1, highest=False, whole=True)
    found, trials = searched(lambda level, n: math.log(50 / level), threads)
    assert found.status == "found"
    assert (found.low or 0) <= 50 <= (found.high or 0)
    assert all(trial.level == int(trial.level) for trial in trials)


def test_counts_are_whole_and_end_between_two_adjacent_levels() -> None:
    found, _ = searched(lambda level, n: -1.0 if level <= 3 else 1.0, Question(low=1, high=1000, first=1, whole=True))
    assert found.status == "found"
    assert math.floor(found.low or 0) == math.floor(found.high or 0) == 3


def test_the_same_runs_give_the_same_next_level_so_a_search_can_be_continued() -> None:
    _, trials = searched(quiet)
    for made in range(1, len(trials)):
        assert next_step(RATE, trials[:made]) == trials[made].level


def test_levels_can_be_named() -> None:
    _, trials = searched(quiet)
    assert all(trial.level == float(f"{trial.level:.2e}") for trial in trials)


def test_a_search_that_was_cut_short_knows_what_its_runs_say() -> None:
    _, trials = searched(quiet)
    assert so_far(RATE, []) is None
    early, late = so_far(RATE, trials[:4]), so_far(RATE, trials)
    assert early
    assert late
    assert (early.status, late.status) == ("not found", "found")
    assert (early.high or 0) / (early.low or 1) > (late.high or 0) / (late.low or 1)


def test_two_capacities_differ_by_a_ratio_whose_interval_is_of_both() -> None:
    base, other = Outcome("found", 100, 95, 105, 9), Outcome("found", 150, 140, 160, 9)
    gap = difference(base, other)
    assert gap
    assert gap.ratio == pytest.approx(1.5)
    assert 140 / 105 < gap.low < 140 / 100
    assert 160 / 100 < gap.high < 160 / 95
    assert difference(base, Outcome("always", None, None, None, 6)) is None


def queue(utilisation: float, arrivals: int, random: np.random.Generator) -> tuple[Server, float]:
    """M/M/1 of 1000 a second, every arrival simulated after Lindley; its p99 is limited to what it is at this
    utilisation by the known distribution of response times."""
    limit_s = math.log(100) / (1000 * (1 - utilisation))

    def run(rate: float, _: int) -> float:
        warm = arrivals // 5
        gaps, services = random.exponential(1 / rate, warm + arrivals), random.exponential(1e-3, warm + arrivals)
        walk = np.cumsum(services[:-1] - gaps[1:])
        waits = np.append(0.0, walk - np.minimum(np.minimum.accumulate(walk), 0))
        due = np.cumsum(gaps)
        ended = due + waits + services
        if (ended[warm:] <= due[-1]).mean() < 0.99:
            return math.inf
        return math.log(np.quantile((waits + services)[warm:], 0.99) / limit_s)

    return run, 1000 * utilisation


@pytest.mark.parametrize("utilisation", [0.6, 0.9])
def test_the_interval_holds_the_known_capacity_of_a_queue(utilisation: float) -> None:
    """12 searches each: benches/search.py counts hundreds. Less than 11 of 12 has a chance of 2 in 100 at 97 %."""
    random, held = np.random.default_rng(7), 0
    for _ in range(12):
        server, capacity = queue(utilisation, 20_000, random)
        found, _trials = searched(server)
        held += (found.low or 0) <= capacity <= (found.high or 0)
    assert held >= 11


def four_servers(utilisation: float, limit_s: float, random: np.random.Generator) -> tuple[Server, float]:
    """M/M/4 of 1000 a second each, every arrival simulated; limit_s: its p99 at this utilisation, by the known
    distribution (`Queue.limit_s` of benches/search.py)."""

    def run(rate: float, _: int) -> float:
        warm, counted = 2_000, 10_000
        due = np.cumsum(random.exponential(1 / rate, warm + counted))
        free, ended = [0.0] * 4, []
        for arrival, service in zip(due, random.exponential(1e-3, warm + counted), strict=True):
            ended.append(max(arrival, free[0]) + service)
            heapq.heapreplace(free, ended[-1])
        response, done = np.array(ended[warm:]) - due[warm:], (np.array(ended[warm:]) <= due[-1]).mean()
        return math.inf if done < 0.99 else math.log(np.quantile(response, 0.99) / limit_s)

    return run, 4000 * utilisation


def test_a_limit_that_an_idle_server_hardly_keeps_is_not_claimed_to_be_reached_anywhere() -> None:
    """Idle, the p99 is 3.5 % below the limit."""
    random = np.random.default_rng(1)
    for _ in range(3):
        found, trials = searched(four_servers(0.5, 0.0047642, random)[0])
        assert (found.status, found.estimate, found.low, found.high) == ("flat", None, None, None)
        assert found.runs == len(trials) <= 25
        assert found.margin is not None
        assert abs(found.margin) <= FLAT


def test_a_limit_that_load_breaks_is_still_found() -> None:
    """Idle, the p99 is 16 % below the limit."""
    random = np.random.default_rng(1)
    for _ in range(3):
        server, capacity = four_servers(0.7, 0.0054926, random)
        found, _trials = searched(server)
        assert found.status in ("found", "not found")
        assert (found.low or 0) <= capacity <= (found.high or 0)


def test_before_it_ends_a_search_looks_far_below_what_it_found() -> None:
    found, trials = searched(quiet, Question(low=10, high=1e6, first=10_000))
    assert found.status == "found"
    assert found.low is not None
    assert min(trial.level for trial in trials) <= found.low / 2
    assert trials[-1].level <= found.low / 2, "the last is that one"


def test_where_the_range_ends_before_that_nothing_is_said_of_it() -> None:
    found, trials = searched(quiet, Question(low=9_000, high=1e6, first=10_000))
    assert found.status == "found"
    assert min(trial.level for trial in trials) >= 9_000


def test_one_run_far_below_that_stalls_or_scatters_does_not_make_it_flat() -> None:
    steep = [Trial(4000, -0.02), Trial(1000, -0.7), Trial(1000, -0.7)]
    near = [Trial(level, quiet(level, 0)) for level in (11_000, 12_000, 12_300, 12_400, 12_700, 14_000) * 3]
    last = so_far(RATE, [*steep, *near])
    assert last
    assert last.status != "flat"
