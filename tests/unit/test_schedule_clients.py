"""What is kept of each client of a run."""

from __future__ import annotations

from typing import Any

import pytest
from bakeoff.fleet.engines import Place
from bakeoff.model.boundary import (
    ClientCost,
    HistogramDoc,
    Interval,
    IntervalSeries,
    QueryCounts,
    RunResult,
    Series,
    Tenths,
    WorkerCost,
)
from bakeoff.schedule.merge import merge_results
from bakeoff.schedule.run_record import client_records

from tests.builders.seconds import seconds_of
from tests.unit.test_schedule_merge import document, result, series

EMPTY = HistogramDoc.empty()
SECONDS = 5


def cost(busy: float, delay: float = 0.0) -> ClientCost:
    return ClientCost(
        cpu_user_s=2.0, cpu_system_s=1.0, memory_peak_bytes=10, context_switches_voluntary=0,
        context_switches_involuntary=0, workers=[WorkerCost(busy_ratio=busy, run_queue_delay_ratio=delay)],
        steal_ratio=0.02, cpu_mhz=None,
    )  # fmt: skip


def seconds(per_tenth: int, *, mean_ns: float = 1e6, warm_up: int = 0) -> list[Interval]:
    """Of one client: some seconds of warm-up, in which nothing is reported, and of the window."""
    ok = document([round(mean_ns)] * 10 * per_tenth)
    return [
        Interval(
            second=second,
            length_s=1.0,
            warm_up=second < warm_up,
            series=[IntervalSeries(operation="READ", part=False, outcome="ok", response=ok)],
            queries=QueryCounts(),
            retries=0,
            retries_after_conflict=0,
            reconnects=0,
            tenths=Tenths(ok=[0 if second < warm_up else per_tenth] * 10, writes=[0] * 10),
        )
        for second in range(warm_up + SECONDS)
    ]


def told(number: int, *parts: Series, busy: float = 0.5, delay: float = 0.0, **other: Any) -> RunResult:
    return result(*parts, client=number, **other).model_copy(update={"cost": cost(busy, delay)})


def records(*per_tenth: int, places: list[Place] | None = None, **other: Any) -> list[Any]:
    results = [told(n, series([1000, 2000])) for n in range(len(per_tenth))]
    kept, _ = seconds_of(*(seconds(each, warm_up=2) for each in per_tenth))
    settings: dict[str, Any] = {"cores": [0, 1], "open_loop": False} | other
    return client_records(results, places or [Place()] * len(per_tenth), kept.clients, **settings)


def test_the_clients_records_add_up_to_the_run_to_the_count() -> None:
    parts = [
        told(0, series([1000, 5_000_000]), series([900], "fail_conflict")),
        told(1, series([2000] * 7), series([70_000_000], "unknown"), busy=0.9, delay=0.05),
    ]
    whole = merge_results(parts)
    found = client_records(
        parts, [Place(), Place()], seconds_of(seconds(5), seconds(5))[0].clients, [], open_loop=False
    )
    assert sum(one.ok for one in found) == whole.ok == 9
    assert sum(one.headline.count for one in found) == whole.headline.count == 10
    assert [one.errors for one in found] == [{"fail_conflict": 1}, {"unknown": 1}]
    assert [one.failures for one in found] == [1, 0]
    assert sum(one.rate_ops_per_s for one in found) == pytest.approx(whole.rate_ops_per_s)
    second = found[1]
    assert (second.cpu_s, second.workers_busy_ratio, second.workers_run_queue_delay_ratio) == (3.0, [0.9], [0.05])
    assert (second.number, second.machine, second.steal_ratio, second.due) == (1, "this machine", 0.02, None)


def test_of_a_single_client_on_this_machine_the_run_tells_all() -> None:
    assert records(5) == []
    [found] = records(5, places=[Place(machine="load1", is_here=False, cores=8, clock_offset_ns=-7, clock_bound_ns=3)])
    assert (found.machine, found.cores, found.clock_offset_ns, found.clock_bound_ns) == ("load1", 8, -7, 3)
    assert records(5, places=[Place(machine="worker-0", cores=8)]) == [], "a worker on this machine"


def test_a_client_that_lacks_half_of_the_others_rate_is_reported_with_its_reason() -> None:
    far = Place(machine="load2", is_here=False, server_round_trip_ns={"server": 5_000_000})
    near = Place(machine="load1", is_here=False, server_round_trip_ns={"server": 200_000})
    found = records(100, 100, 50, places=[near, near, far])
    assert [bool(one.behind) for one in found] == [False, False, True]
    assert found[2].behind == "50 % of the throughput of the others"
    assert found[2].signs == ["5.00 ms to the server and back, the others 200 µs"]


def test_the_warm_up_says_nothing_of_who_is_behind() -> None:
    assert [one.behind for one in records(100, 100)] == ["", ""]


def test_in_an_open_loop_a_client_is_behind_by_its_response_times() -> None:
    results = [told(n, series([1000]), due=7) for n in range(3)]
    slow, _ = seconds_of(seconds(20), seconds(20), seconds(20, mean_ns=4e6))
    found = client_records(results, [Place()] * 3, slow.clients, [], open_loop=True)
    assert [one.behind for one in found] == ["", "", "4.0 times the mean response time of the others"]
    assert [one.due for one in found] == [7, 7, 7]


def test_a_window_too_short_to_compare_sets_nobody_apart() -> None:
    two = [told(n, series([1000])) for n in range(2)]
    assert [
        one.behind for one in client_records(two, [Place()] * 2, seconds_of([], [])[0].clients, [], open_loop=True)
    ] == ["", ""]


def test_tenths_of_clients_whose_clocks_are_not_known_to_a_tenth_are_not_reported() -> None:
    clients = seconds(5), seconds(6)
    for interval in [*clients[0], *clients[1]]:
        interval.series = [IntervalSeries(operation="READ", part=False, outcome="ok", response=document([1000]))]
    assert seconds_of(*clients, clock_bound_ns=99_000_000)[1].tenths.rows[0]["ok"] == 11
    _, unknown = seconds_of(*clients, clock_bound_ns=101_000_000)
    assert unknown.tenths.rows == []
    assert len(unknown.intervals.rows) == SECONDS
