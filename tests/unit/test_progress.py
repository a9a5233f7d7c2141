"""What is said while a plan runs and nobody's terminal is there: seldom enough for a log, often enough to see that it
lives."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from bakeoff.analysis.histograms import Histogram, to_document
from bakeoff.cli.progress import Line
from bakeoff.model.boundary import Interval, IntervalSeries, QueryCounts
from bakeoff.model.records.run import Percentiles, RunRecord
from bakeoff.schedule.run_order import Slot

SLOTS = [Slot(order=n, block=n + 1, cell="c1") for n in range(4)]


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def cell(clients: int = 1) -> Any:
    return SimpleNamespace(clients=clients, record=SimpleNamespace(label="sqlite / 4 threads", system="sqlite"))


def second(number: int, count: int = 100, *, warm_up: bool = False) -> Interval:
    times = to_document(Histogram.from_values([2_000_000] * count))
    series = IntervalSeries(operation="read", part=False, outcome="ok", response=times)
    return Interval(
        second=number,
        length_s=1.0,
        warm_up=warm_up,
        series=[series],
        queries=QueryCounts(read=0, write=0, other=0),
        retries=0,
        retries_after_conflict=0,
        reconnects=0,
    )


def record(slot: Slot) -> RunRecord:
    return RunRecord(
        id=slot.run,
        block=slot.block,
        cell=slot.cell,
        order=slot.order,
        started="",
        state="done",
        seed=1,
        rate_ops_per_s=100.0,
        response=Percentiles(p99_ms=2.0),
    )


def run_of_seconds(line: Line, clock: Clock, slot: Slot, seconds: int, clients: int = 1) -> None:
    line.run_begins(slot, cell(clients))
    for number in range(seconds):
        clock.now_s += 1.0
        for _ in range(clients):
            line.interval(second(number, warm_up=number < 2))
    line.run_ends(slot, cell(clients), record(slot))


def test_a_line_is_said_every_five_seconds_and_one_at_the_end_of_each_run(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    line = Line(clock=clock)
    line.begin(len(SLOTS), 0)
    for slot in SLOTS[:2]:
        run_of_seconds(line, clock, slot, 13)
    assert capsys.readouterr().err.splitlines() == [
        "[0/4] b01-c1 sqlite / 4 threads: second 4, 100 ops/s, p99 2.00 ms, errors 0",
        "[0/4] b01-c1 sqlite / 4 threads: second 9, 100 ops/s, p99 2.00 ms, errors 0",
        "[1/4] b01-c1 sqlite / 4 threads: 100 ops/s, p99 2.00 ms, errors 0, 39 s left",
        "[1/4] b02-c1 sqlite / 4 threads: second 4, 100 ops/s, p99 2.00 ms, errors 0, 34 s left",
        "[1/4] b02-c1 sqlite / 4 threads: second 9, 100 ops/s, p99 2.00 ms, errors 0, 29 s left",
        "[2/4] b02-c1 sqlite / 4 threads: 100 ops/s, p99 2.00 ms, errors 0, 26 s left",
    ]


def test_the_runs_of_a_search_are_not_promised(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    line = Line(clock=clock)
    line.begin(25, 6, at_most=True)
    run_of_seconds(line, clock, SLOTS[0], 4)
    assert capsys.readouterr().err.splitlines() == [
        "6 of at most 25 runs are there already",
        "[7, at most 25] b01-c1 sqlite / 4 threads: 100 ops/s, p99 2.00 ms, errors 0, at most 1 min 12 s left",
    ]


def test_time_left_is_by_the_runs_of_each_cell_and_without_loading(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    line = Line(clock=clock)
    line.begin(8, 0)
    slots = [Slot(order=n, block=1 + n // 2, cell=name) for n, name in enumerate(("c1", "c2", "c1"))]
    for slot, seconds in zip(slots, (4, 28, 4), strict=True):
        line.run_begins(slot, cell())
        if slot.block == 1:
            line.loading(cell(), None)
            clock.now_s += 100.0
        line.stage("resetting")
        clock.now_s += seconds
        line.run_ends(slot, cell(), record(slot))
    ends = [words for words in capsys.readouterr().err.splitlines() if "p99" in words]
    assert [words.rpartition(", ")[2] for words in ends] == ["28 s left", "1 min 36 s left", "1 min 20 s left"]


def test_what_takes_long_before_the_first_second_is_said_too(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    line = Line(clock=clock)
    for _ in range(12):
        clock.now_s += 1.0
        line.loading(cell(), None)
    assert capsys.readouterr().err.splitlines() == ["sqlite: starting and loading"] * 2


def test_a_second_is_told_when_all_clients_have_told_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    line = Line(clock=clock)
    line.begin(len(SLOTS), 0)
    run_of_seconds(line, clock, SLOTS[0], 6, clients=3)
    assert capsys.readouterr().err.splitlines()[0] == (
        "[0/4] b01-c1 sqlite / 4 threads: second 4, 300 ops/s, p99 2.00 ms, errors 0"
    )


def test_clients_on_several_machines_are_told_with_each_second(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    line = Line(clock=clock)
    line.begin(len(SLOTS), 0)
    line.run_begins(SLOTS[0], cell(3))
    line.placed(2)
    clock.now_s += 10
    for _ in range(3):
        line.interval(second(4))
    assert capsys.readouterr().err.splitlines()[0] == (
        "[0/4] b01-c1 sqlite / 4 threads: second 4, 300 ops/s, p99 2.00 ms, errors 0, 3 clients on 2 machines"
    )


def test_quiet_says_nothing_of_what_goes_well(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    line = Line(quiet=True, clock=clock)
    line.begin(len(SLOTS), 0)
    run_of_seconds(line, clock, SLOTS[0], 60)
    assert capsys.readouterr().err == ""


def test_a_second_in_which_nothing_ended_has_no_p99(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    line = Line(clock=clock)
    line.begin(len(SLOTS), 0)
    line.run_begins(SLOTS[0], cell())
    clock.now_s += 10.0
    line.interval(second(4).model_copy(update={"series": []}))
    assert "second 4, 0 ops/s, no p99, errors 0" in capsys.readouterr().err
