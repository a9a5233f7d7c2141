"""What a fault did: planted gaps and falls of made-up series are found, each as it was planted."""

from __future__ import annotations

import numpy as np
import pytest
from bakeoff.analysis.faults import Array, Fault, Second, Tenths, effect, error_ratio_outside_faults, longest_gap_s

WINDOW_S = 30.0


def series(
    *gaps: tuple[float, float], rate: float = 2_000.0, slow: tuple[float, float, float] = (0, 0, 1), seed: int = 1
) -> Array:
    """Times of operations that ended ok at a Poisson rate, but for the gaps (from, to). slow: (from, to, share of the
    rate)."""
    random = np.random.default_rng(seed)
    ended = np.cumsum(random.exponential(1 / rate, round(rate * WINDOW_S * 1.2)))
    keep = ended < WINDOW_S
    for begin, end in gaps:
        keep &= (ended < begin) | (ended >= end)
    begin, end, share = slow
    keep &= (ended < begin) | (ended >= end) | (random.random(len(ended)) < share)
    return np.asarray(ended[keep])


def tenths(ok: Array, writes: Array | None = None) -> Tenths:
    edges = np.arange(round(WINDOW_S * 10) + 1) / 10
    counts, of_writes = (
        np.histogram(ended, edges)[0].astype(float) for ended in (ok, np.array([]) if writes is None else writes)
    )
    return Tenths(edges[:-1], counts, of_writes)


@pytest.mark.parametrize("gap_s", [0.35, 0.7, 2.0, 6.3])
@pytest.mark.parametrize("seed", range(5))
def test_a_planted_gap_is_found_within_a_tenth(gap_s: float, seed: int) -> None:
    at_s = 10.0 + 0.037 * seed
    ended = series((at_s, at_s + gap_s), seed=seed)
    found = effect(Fault(at_s, at_s + gap_s, WINDOW_S), at_s, tenths(ended, ended), [], [])
    assert found.without_writes_s == pytest.approx(gap_s, abs=0.11)
    assert found.full_rate_s == pytest.approx(gap_s, abs=0.21)
    assert found.rate_before_ops_per_s == pytest.approx(2_000, rel=0.05)


def test_a_burst_after_a_stall_does_not_bring_its_end_forward() -> None:
    ended = np.concatenate([series((10, 30)), np.linspace(12, 13, 4_000), np.linspace(13, 30, 34_000)])
    assert effect(Fault(10, 12, WINDOW_S), 10, tenths(ended, ended), [], []).full_rate_s == pytest.approx(2.0, abs=0.11)


def test_reads_that_go_on_hide_no_gap_of_writes() -> None:
    found = effect(Fault(10, 15, WINDOW_S), 10, tenths(series(), series((10, 13))), [], [])
    assert found.without_writes_s == pytest.approx(3.0, abs=0.11)
    assert found.without_success_s == 0.0


def test_writes_that_go_on_hide_no_gap_of_reads() -> None:
    ended, writes = series((10, 13)), np.linspace(0.05, WINDOW_S - 0.05, 3_000)
    found = effect(Fault(10, 15, WINDOW_S), 10, tenths(np.concatenate([ended, writes]), writes), [], [])
    assert found.without_reads_s == pytest.approx(3.0, abs=0.11)
    assert found.without_writes_s == 0.0


def test_where_few_read_a_usual_gap_is_not_the_faults() -> None:
    reads, writes = np.arange(0.5, WINDOW_S, 1.0), series()
    found = effect(Fault(10, 10, WINDOW_S), 10, tenths(np.concatenate([reads, writes]), writes), [], [])
    assert found.without_reads_s == 0.0
    assert effect(Fault(10, 10, WINDOW_S), 10, tenths(writes, writes), [], []).without_reads_s is None


def test_where_nothing_writes_nothing_is_said_of_writes() -> None:
    found = effect(Fault(10, 12, WINDOW_S), 10, tenths(series((10, 12))), [], [])
    assert found.without_writes_s is None
    assert found.without_success_s == pytest.approx(2.0, abs=0.11)


def test_a_gap_before_the_fault_or_long_after_it_is_not_its() -> None:
    ended = series((3, 7), (25, 29))
    found = effect(Fault(10, 11, WINDOW_S), 10, tenths(ended, ended), [], [])
    assert found.without_writes_s == 0.0
    assert found.gap_before_s == pytest.approx(4.0, abs=0.11)


def test_a_server_that_comes_back_later_is_watched_until_then() -> None:
    """A donor that stalls while it sends its state does so long after the load is back at its rate."""
    ended = series((10, 10.5), (20, 21.4))
    found = effect(Fault(10, 22, WINDOW_S), 10, tenths(ended, ended), [], [])
    assert found.without_writes_s == pytest.approx(1.4, abs=0.11)


@pytest.mark.parametrize("seed", range(5))
def test_the_full_rate_is_where_it_stays(seed: int) -> None:
    """Half of the rate for 8 s, with a second in between that was full again."""
    ended = np.sort(np.concatenate([series(slow=(10, 18, 0.5), seed=seed), series(slow=(0, 30, 0.0))]))
    spike = np.linspace(13, 14, 1_200, endpoint=False)
    found = effect(Fault(10, 10, WINDOW_S), 10, tenths(np.concatenate([ended, spike])), [], [])
    assert found.full_rate_s == pytest.approx(8.0, abs=0.2)


def test_a_rate_that_never_fell_was_full_from_the_start() -> None:
    assert effect(Fault(10, 15, WINDOW_S), 10, tenths(series()), [], []).full_rate_s == 0.0


def test_a_rate_that_did_not_come_back_is_not_known_and_was_watched_for_so_long() -> None:
    found = effect(Fault(10, None, WINDOW_S), 10, tenths(series(slow=(10, 30, 0.5))), [], [])
    assert found.full_rate_s is None
    assert found.watched_s == 20.0


def test_a_noisy_rate_is_back_when_it_is_as_it_was() -> None:
    """It falls to two thirds every other second, before the fault and after it."""
    second = np.arange(30)
    ended = np.concatenate(
        [np.linspace(s, s + 1, 2_000 if s % 2 else 1_300, endpoint=False) for s in second if s not in (10, 11)]
    )
    found = effect(Fault(10, 12, WINDOW_S), 10, tenths(ended, ended), [], [])
    assert found.full_rate_s == pytest.approx(2.0, abs=0.3)


@pytest.mark.parametrize("before_s", [1, 2, 5, 20])
@pytest.mark.parametrize("rate", [50, 100, 200, 1_000])
def test_chance_alone_takes_no_rate_away(rate: int, before_s: int) -> None:
    """Poisson arrivals, 15 s watched, and a fault that does nothing."""
    random, draws = np.random.default_rng(rate + before_s), 50
    start_s = np.arange((before_s + 15) * 10) / 10
    none = Fault(before_s, before_s + 1, before_s + 15)
    counts = random.poisson(rate / 10, (draws, len(start_s))).astype(float)
    found = [effect(none, before_s, Tenths(start_s, ok, ok), [], []) for ok in counts]
    assert sum(one.not_back for one in found) <= 0.05 * draws
    assert sum((one.full_rate_s or 0.0) > 1.0 for one in found) <= 0.1 * draws


@pytest.mark.parametrize("seed", range(5))
def test_half_of_a_low_rate_is_not_taken_for_chance(seed: int) -> None:
    found = effect(Fault(10, 10, WINDOW_S), 10, tenths(series(rate=300, slow=(10, 30, 0.5), seed=seed)), [], [])
    assert found.not_back


def test_nothing_is_said_of_a_rate_of_which_too_little_was_counted_or_watched() -> None:
    few = effect(Fault(10, 10, WINDOW_S), 10, tenths(series((10, 30), rate=20.0)), [], [])
    short = effect(Fault(29.2, None, WINDOW_S), 10, tenths(series((29.2, 30))), [], [])
    for found in (few, short):
        assert found.rate_before_ops_per_s is None
        assert found.full_rate_s is None
        assert not found.not_back


def test_a_gap_is_of_the_fault_with_which_it_began() -> None:
    """The second is done while nothing is written because of the first."""
    all_of_it = tenths(series((10, 14)), series((10, 14)))
    first = effect(Fault(10, 12, WINDOW_S, next_s=13.8), 10, all_of_it, [], [])
    second = effect(Fault(13.8, 14, WINDOW_S), 10, all_of_it, [], [])
    assert first.without_writes_s == pytest.approx(4.0, abs=0.11)
    assert second.without_writes_s == 0.0


def test_without_a_second_before_it_there_is_no_rate_to_come_back_to() -> None:
    found = effect(Fault(0.5, 1, WINDOW_S), 0.5, tenths(series((0.5, 2))), [], [])
    assert found.rate_before_ops_per_s is None
    assert found.full_rate_s is None
    assert found.without_success_s == pytest.approx(1.5, abs=0.11)


def test_the_first_failure_after_the_fault_is_when_it_was_noticed() -> None:
    quiet = [Second(s, ok=9, failed=0, unknown=0, longest_ms=1) for s in range(30)]
    seconds = [*quiet[:10], Second(10, 9, 2, 0, 5), Second(11, 9, 0, 1, 1_900), *quiet[12:]]
    fault = Fault(10.2, 12.2, WINDOW_S)
    found = effect(fault, 10.2, tenths(series((10.2, 12))), seconds, [3.0, 10.45, 11.0])
    assert found.detect_s == pytest.approx(0.25)
    assert (found.failed, found.unknown) == (2, 1)
    assert found.longest_wait_s == pytest.approx(1.9)
    assert effect(fault, 10.2, tenths(series()), seconds, [3.0]).detect_s == pytest.approx(0.8)


def test_a_load_that_only_waited_noticed_nothing() -> None:
    seconds = [Second(s, 9, 0, 0, 2_010.0 if s == 12 else 1.0) for s in range(30)]
    found = effect(Fault(10, 12, WINDOW_S), 10, tenths(series((10, 12.01))), seconds, [])
    assert found.detect_s is None
    assert found.longest_wait_s == pytest.approx(2.01)


def test_at_a_low_rate_gaps_are_usual_and_reported() -> None:
    ended = series(rate=8.0)
    found = effect(Fault(10, 12, WINDOW_S), 10, tenths(ended, ended), [], [])
    assert found.gap_before_s >= 0.3


def test_no_tenth_was_empty_is_no_gap() -> None:
    start_s = np.arange(10) / 10
    assert longest_gap_s(start_s, np.ones(10), 0, 1) == 0.0
    assert longest_gap_s(start_s, np.zeros(10), 0, 1) == pytest.approx(1.0)
    assert longest_gap_s(np.array([]), np.array([]), 0, 1) == 0.0


def test_errors_are_judged_in_the_seconds_in_which_no_fault_was_felt() -> None:
    seconds = [Second(s, ok=99, failed=s == 3, unknown=50 if s in (10, 11) else 0, longest_ms=1) for s in range(-5, 20)]
    assert error_ratio_outside_faults([(10.2, 11.5)], seconds) == pytest.approx(1 / (18 * 99 + 1))
    assert error_ratio_outside_faults([(0.0, 20.0)], seconds) == 0.0


def test_the_second_in_which_the_next_fault_began_is_that_ones() -> None:
    """The rate never comes back, so the first is felt until the second begins, at 15.3."""
    quiet = [Second(s, ok=9, failed=0, unknown=0, longest_ms=1) for s in range(30)]
    seconds = [*quiet[:15], Second(15, 9, 0, 4, 900), *quiet[16:29], Second(29, 9, 1, 0, 5)]
    slow = tenths(series(slow=(10, 30, 0.5)))
    first = effect(Fault(10, 12, WINDOW_S, next_s=15.3), 10, slow, seconds, [15.4])
    second = effect(Fault(15.3, 16, WINDOW_S), 10, slow, seconds, [15.4])
    assert (first.unknown, first.detect_s, first.watched_s) == (0, None, pytest.approx(5.3))
    assert (second.unknown, second.failed) == (4, 1)
    assert second.detect_s == pytest.approx(0.1)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.55])
@pytest.mark.parametrize("seed", range(5))
def test_a_second_fall_is_found_with_its_time_and_depth(share: float, seed: int) -> None:
    ended = series((10, 12), slow=(18.0, 21.5, share), seed=seed)
    found = effect(Fault(10, 17, WINDOW_S), 10, tenths(ended, ended), [], [])
    assert found.full_rate_s == pytest.approx(2.0, abs=0.21)
    assert found.second_drop_s == pytest.approx(8.0, abs=0.3)
    assert found.second_drop_for_s == pytest.approx(3.5, abs=0.4)
    assert found.second_drop_to_ops_per_s == pytest.approx(2_000 * share, abs=150)


def test_a_fall_that_goes_on_is_as_long_as_it_was_watched() -> None:
    found = effect(Fault(10, 17, WINDOW_S), 10, tenths(series((10, 12), slow=(20.0, 30.0, 0.3))), [], [])
    assert found.second_drop_for_s == pytest.approx(10, abs=0.3)


def test_a_short_stall_and_chance_are_no_second_fall() -> None:
    stall = effect(Fault(10, 12, WINDOW_S), 10, tenths(series((10, 12), (20.0, 20.6))), [], [])
    assert (stall.second_drop_s, stall.second_drop_for_s) == (None, 0.0)
    for rate in (80, 200, 2_000):
        found = [
            effect(Fault(10, 10, WINDOW_S), 10, tenths(series(rate=rate, seed=seed)), [], []) for seed in range(100)
        ]
        assert sum(one.second_drop_s is not None for one in found) <= 1


def test_where_the_rate_did_not_come_back_no_second_fall_is_known() -> None:
    found = effect(Fault(10, None, WINDOW_S), 10, tenths(series(slow=(10, 30, 0.3))), [], [])
    assert (found.full_rate_s, found.second_drop_for_s) == (None, None)
