"""Progress of a running plan: on a pipe a line every few seconds; on a terminal a status line that is redrawn, with
finished runs and warnings above it."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from types import SimpleNamespace
from typing import Any

import pytest
from bakeoff.analysis.histograms import Histogram, to_document
from bakeoff.bundle.run_files import Row
from bakeoff.cli.progress import CLEAR, Line
from bakeoff.model.boundary import Interval, IntervalSeries, Progress, QueryCounts
from bakeoff.model.records.run import Percentiles, RunRecord, Validity
from bakeoff.schedule.run_order import Slot
from bakeoff.schedule.seconds import merge_second

SLOTS = [Slot(order=n, block=n + 1, cell="c1") for n in range(4)]


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def cell(clients: int = 1) -> Any:
    return SimpleNamespace(
        clients=clients,
        expected_window_s=10.0,
        workload=SimpleNamespace(loaded_rows=1_000),
        record=SimpleNamespace(label="sqlite / 4 threads", system="sqlite"),
    )


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


def row(interval: Interval, clients: int = 1) -> Row:
    return merge_second([interval] * clients).row


def record(slot: Slot, *validity: Validity) -> RunRecord:
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
        validity=list(validity),
    )


def run_of_seconds(line: Line, clock: Clock, slot: Slot, seconds: int, clients: int = 1) -> None:
    line.run_begins(slot, cell(clients))
    for number in range(seconds):
        clock.now_s += 1.0
        line.second(row(second(number, warm_up=number < 2), clients))
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
        "6 of at most 25 runs are done already",
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


def test_a_second_is_that_of_all_clients(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    line = Line(clock=clock)
    line.begin(len(SLOTS), 0)
    run_of_seconds(line, clock, SLOTS[0], 6, clients=3)
    assert capsys.readouterr().err.splitlines()[0] == (
        "[0/4] b01-c1 sqlite / 4 threads: second 4, 300 ops/s, p99 2.00 ms, errors 0"
    )


def test_clients_on_several_machines_are_reported_with_each_second(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    line = Line(clock=clock)
    line.begin(len(SLOTS), 0)
    line.run_begins(SLOTS[0], cell(3))
    line.placed(2)
    clock.now_s += 10
    line.second(row(second(4), clients=3))
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
    line.second(row(second(4).model_copy(update={"series": []})))
    assert "second 4, 0 ops/s, no p99, errors 0" in capsys.readouterr().err


class Terminal:
    """A terminal as stderr."""

    def __init__(self, shown: int) -> None:
        self._shown = shown

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self._shown, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def drawn(self) -> list[str]:
        """Each status that was drawn in place, and each line that stays (with its line end)."""
        written = b""
        while select.select([self._shown], [], [], 0.1)[0]:
            written += os.read(self._shown, 1 << 16)
        return written.decode().replace("\r\n", "\n").split(CLEAR)[1:]


@contextmanager
def terminal(columns: int) -> Iterator[Terminal]:
    """Within a test, because pytest replaces stderr before it."""
    shown, ours = os.openpty()
    with open(ours, "w") as stream, redirect_stderr(stream):
        found = Terminal(shown)
        found.resize(columns)
        yield found
    os.close(shown)


def test_a_terminal_shows_bar_time_left_and_throughput_in_one_line() -> None:
    clock = Clock()
    with terminal(100) as shown:
        line = Line(estimated_run_s=13.0, clock=clock)
        line.begin(len(SLOTS), 0)
        run_of_seconds(line, clock, SLOTS[0], 12)
        line.run_begins(SLOTS[1], cell())
        line.close()
        found = shown.drawn()
    assert found[0] == "[0/4 ..........] about 52 s left | sqlite / 4 threads"
    assert found[1] == "[0/4 ..........] about 51 s left | sqlite / 4 threads: warm-up, 100 ops/s, p99 2.00 ms"
    assert found[3] == "[0/4 ..........] about 49 s left | sqlite / 4 threads: 1 of 10 s, 100 ops/s, p99 2.00 ms"
    assert found[13] == "[1/4] b01-c1 sqlite / 4 threads: 100 ops/s, p99 2.00 ms, errors 0\n"
    assert found[14:] == ["[1/4 ##........] 36 s left | sqlite / 4 threads", ""]


def test_a_narrow_terminal_shows_no_bar_and_never_breaks_the_line() -> None:
    with terminal(80) as shown:
        line = Line(estimated_run_s=13.0, clock=Clock())
        line.begin(len(SLOTS), 0)
        for columns in (80, 40):
            shown.resize(columns)
            line.run_begins(SLOTS[0], cell())
            line.second(row(second(0)))
        found = shown.drawn()
    assert found[1::2] == [
        "[0/4] about 52 s left | sqlite / 4 threads: 1 of 10 s, 100 ops/s, p99 2.00 ms",
        "[0/4] about 52 s left | sqlite / 4 thre",
    ]


def test_loading_shows_the_time_left() -> None:
    with terminal(80) as shown:
        Line(clock=Clock()).loading(cell(), Progress(done=250, total=1_000, elapsed_s=10.0))
        assert shown.drawn() == ["sqlite: loading 25%, 25 rows/s, 30 s left"]


def test_why_a_run_does_not_count_is_shown_each_time_and_a_warning_once(capsys: pytest.CaptureFixture[str]) -> None:
    disturbed = Validity(name="other processes", severity="disturbed", ok=False, words="85 % went to other processes")
    busy = Validity(name="client", severity="warning", ok=False, words="the client was busy")
    passed = Validity(name="steal", severity="warning", ok=True, words="0 % was taken")
    line = Line(clock=Clock())
    line.begin(len(SLOTS), 0)
    for slot in SLOTS[:2]:
        line.run_ends(slot, cell(), record(slot, disturbed, busy, passed))
    warnings = [words for words in capsys.readouterr().err.splitlines() if words.startswith("warning: ")]
    assert warnings == [
        "warning: b01-c1: 85 % went to other processes",
        "warning: b01-c1: the client was busy",
        "warning: b02-c1: 85 % went to other processes",
    ]


def test_that_a_disturbed_run_did_nothing_comes_before_what_disturbed_it(capsys: pytest.CaptureFixture[str]) -> None:
    disturbed = Validity(name="other processes", severity="disturbed", ok=False, words="85 % went to other processes")
    nothing = Validity(name="operations", severity="invalid", ok=False, words="no operation ended in the window")
    line = Line(clock=Clock())
    line.begin(len(SLOTS), 0)
    line.run_ends(SLOTS[0], cell(), record(SLOTS[0], disturbed, nothing))
    warnings = [words for words in capsys.readouterr().err.splitlines() if words.startswith("warning: ")]
    assert warnings == [
        "warning: b01-c1: no operation ended in the window",
        "warning: b01-c1: 85 % went to other processes",
    ]
