"""How far two machines' clocks are apart, and how well that is known."""

from __future__ import annotations

from bakeoff.fleet.clock_offset import Exchange, Offset, bound_over, offset
from hypothesis import given
from hypothesis import strategies as st

DELAYS_NS = st.integers(0, 10**9)
SHIFTS_NS = st.integers(-(10**15), 10**15)


def exchange(ahead_ns: int, there_ns: int, answer_ns: int, back_ns: int, sent_ns: int = 10**12) -> Exchange:
    """Between two machines of which the other's clock is so far ahead, and ways that took so long."""
    arrived = sent_ns + there_ns
    answered = arrived + answer_ns
    return Exchange(sent_ns, arrived + ahead_ns, answered + ahead_ns, answered + back_ns)


@given(SHIFTS_NS, st.lists(st.tuples(DELAYS_NS, DELAYS_NS, DELAYS_NS), min_size=1, max_size=20))
def test_the_true_offset_is_within_the_bound_whatever_each_way_took(
    ahead_ns: int, delays: list[tuple[int, int, int]]
) -> None:
    found = offset([exchange(ahead_ns, *each) for each in delays])
    assert abs(found.ahead_ns - ahead_ns) <= found.bound_ns
    assert found.round_trip_ns == min(there + back for there, _, back in delays)
    assert found.bound_ns <= found.round_trip_ns // 2 + 2


@given(SHIFTS_NS, st.integers(-(10**7), 10**7), *[DELAYS_NS] * 4, st.floats(0, 1))
def test_so_is_an_offset_that_drifts_one_way_at_any_time_of_the_run(
    ahead_ns: int, drift_ns: int, there: int, back: int, there_after: int, back_after: int, share: float
) -> None:
    before = offset([exchange(ahead_ns, there, 0, back)])
    after = offset([exchange(ahead_ns + drift_ns, there_after, 0, back_after, sent_ns=10**14)])
    assert abs(ahead_ns + round(share * drift_ns) - before.ahead_ns) <= bound_over(before, after)


def test_equal_ways_are_reported_exactly_and_a_drift_adds_to_the_bound() -> None:
    assert offset([exchange(36_000 * 10**9, 5_000_000, 100, 5_000_000)]) == Offset(
        36_000 * 10**9, 5_000_001, 10_000_000
    )
    assert bound_over(Offset(0, 50, 100), Offset(30, 50, 100)) == 80
    assert bound_over(Offset(0, 50, 100), Offset(0, 10, 20)) == 50
