"""What the controller makes of a run's records before it judges them."""

from typing import Any

from bakeoff.schedule.judge import steadiness


def second(at: int, ok: int, *, warm_up: bool = False, length_s: float = 1.0) -> dict[str, Any]:
    """A row of intervals.parquet."""
    rate = ok / length_s
    return {
        "second": at,
        "length_s": length_s,
        "warm_up": warm_up,
        "rate_ops_per_s": rate,
        "mean_ms": 1.0 if ok else None,
    }


def test_a_stall_of_whole_seconds_is_seen_in_both_loops() -> None:
    rows = [second(at, 0 if at in (22, 23) else 100, warm_up=at < 10) for at in range(80)]
    for open_loop in (False, True):
        found = steadiness([*rows, second(80, 0, length_s=0.4)], open_loop=open_loop)
        assert found is not None
        assert found.verdict == "stalled"
        assert "in 2 of 70 seconds, first in second 12 of the window" in found.words


def test_without_a_whole_second_of_the_window_nothing_is_judged() -> None:
    assert steadiness([second(0, 5, warm_up=True), second(1, 5, length_s=0.5)], open_loop=False) is None
