"""Planned faults as they are carried out, on servers that only write down what is done to them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bakeoff.analysis.histograms import Histogram, to_document
from bakeoff.errors import ServerError
from bakeoff.model.boundary import HistogramDoc, Interval, IntervalSeries, QueryCounts, Tenths
from bakeoff.model.faults import FaultRecord, PlannedFault, events
from bakeoff.model.records.run import NodeSilence
from bakeoff.schedule import faults as schedule_faults
from bakeoff.schedule.faults import Faults, error_ratio_outside_faults, with_effects
from bakeoff.schedule.nodes import silences

from tests.builders.seconds import seconds_of

WAIT_S = 30.0


class Server:
    """Writes down what is done to it. A start waits until `started` is set, or the server is killed."""

    start_timeout_s = WAIT_S

    def __init__(self, name: str, done: list[str]) -> None:
        self.name = name
        self.done = done
        self.started = threading.Event()
        self.started.set()
        self.killed = threading.Event()

    def kill(self) -> None:
        self.done.append(f"kill {self.name}")
        self.killed.set()

    def stop(self) -> None:
        self.done.append(f"stop {self.name}")

    def freeze(self) -> None:
        self.done.append(f"freeze {self.name}")

    def thaw(self) -> None:
        self.done.append(f"thaw {self.name}")

    def answers(self) -> bool:
        self.done.append(f"ask {self.name}")
        return True

    def start(self) -> None:
        self.killed.clear()
        self.done.append(f"start {self.name}")
        while not self.started.wait(0.01):
            if self.killed.is_set():
                raise ServerError("killed by SIGKILL")


class Cut:
    """Stands for a partition. `possible` is False: it cannot be made."""

    possible = True

    def __init__(self, server: Server, others: list[Server]) -> None:
        self.server = server
        self.others = " and ".join(other.name for other in others)

    def begin(self) -> None:
        if not self.possible:
            raise ServerError("no connection was found")
        self.server.done.append(f"cut {self.server.name} off from {self.others}")

    def end(self) -> None:
        self.server.done.append(f"reconnect {self.server.name}")


@pytest.fixture(autouse=True)
def cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_faults, "Partition", Cut)


class Run:
    """Of servers n1 and n2, whose window begins now."""

    def __init__(self, *planned: PlannedFault) -> None:
        self.done: list[str] = []
        self.marks: list[int] = []
        self.servers = {name: Server(name, self.done) for name in ("n1", "n2")}
        servers = cast(Any, self.servers)
        self.faults = Faults(planned, servers, self._rejoin, self.marks.append, time.time())

    def _rejoin(self, node: str) -> str:
        self.servers[node].start()
        return "all that it had missed"

    def until(self, words: str) -> None:
        self.wait_for(lambda: words in self.done)

    def wait_for(self, true: Callable[[], bool]) -> None:
        give_up = time.monotonic() + WAIT_S
        while not true():
            assert time.monotonic() < give_up, self.done
            time.sleep(0.001)

    def carried_out(self) -> list[FaultRecord]:
        """To the end of all that is planned."""
        self.faults.start()
        self.wait_for(lambda: not any(thread.is_alive() for thread in self.faults._threads))
        self.faults.end()
        self.faults.heal()
        return self.faults.records


def fault(do: Any, node: str = "n1", at_s: float = 0.05, for_s: float | None = None) -> PlannedFault:
    return PlannedFault(at_s=at_s, node=node, do=do, for_s=for_s)


@pytest.mark.parametrize(
    ("planned", "done"),
    [
        (fault("freeze", for_s=0.02), ["freeze n1", "thaw n1"]),
        (fault("kill", for_s=0.02), ["kill n1", "start n1"]),
        (fault("stop", for_s=0.02), ["stop n1", "start n1"]),
        (fault("restart"), ["stop n1", "start n1"]),
        (fault("partition", for_s=0.02), ["cut n1 off from n2", "reconnect n1", "ask n1"]),
    ],
)
def test_a_fault_is_done_at_its_time_and_ended_at_its_time(planned: PlannedFault, done: list[str]) -> None:
    run = Run(planned)
    (record,) = run.carried_out()
    assert run.done == done
    assert run.marks == [0]
    assert record.begun_s is not None
    assert record.ended_s is not None
    assert record.back_s is not None
    assert planned.at_s <= record.begun_s <= record.ended_s <= record.back_s
    assert record.ended_s >= planned.at_s + (planned.for_s or 0)
    assert not record.failure
    assert not record.after_load
    assert not run.faults.away()


@pytest.mark.parametrize(("do", "back"), [("kill", "start"), ("stop", "start")])
def test_what_stays_as_it_was_left_is_made_whole_when_the_load_has_ended(do: str, back: str) -> None:
    run = Run(fault(do))
    run.faults.start()
    run.until(f"{do} n1")
    run.faults.end()
    assert run.faults.away() == {"n1"}
    run.faults.heal()
    (record,) = run.faults.records
    assert record.after_load
    assert record.back_s is not None
    assert run.done[-1] == f"{back} n1"
    assert not run.faults.away()


def test_one_that_has_to_wait_for_another_is_tried_again_once_that_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a Galera cluster whose nodes have all ended: the last to end begins."""
    run = Run(fault("kill", "n1"), fault("kill", "n2", at_s=0.06))
    start = run.servers["n1"].start

    def after_the_other() -> None:
        if "start n2" not in run.done:
            raise ServerError("n2 holds commits that n1 does not")
        start()

    monkeypatch.setattr(run.servers["n1"], "start", after_the_other)
    run.faults.start()
    run.until("kill n2")
    run.faults.end()
    run.faults.heal()
    assert run.done[2:] == ["start n2", "start n1"]
    assert [record.failure for record in run.faults.records] == ["", ""]
    assert not run.faults.away()


@pytest.mark.parametrize(
    ("planned", "done"),
    [
        (fault("freeze"), ["freeze n1", "thaw n1"]),
        (fault("partition"), ["cut n1 off from n2", "reconnect n1", "ask n1"]),
    ],
)
def test_nothing_stays_frozen_or_cut_off_when_the_load_has_ended(planned: PlannedFault, done: list[str]) -> None:
    run = Run(planned)
    run.faults.start()
    run.until(done[0])
    run.faults.end()
    assert run.done == done
    assert run.faults.records[0].after_load


@pytest.mark.parametrize("first", ["freeze", "partition"])
def test_a_fault_that_has_ended_is_not_ended_again(first: str) -> None:
    run = Run(fault(first, for_s=0.02), fault("kill", at_s=0.1))
    run.faults.start()
    run.until("kill n1")
    run.faults.end()
    assert run.done[-1] == "kill n1"
    assert run.faults.away() == {"n1"}
    run.faults.heal()
    assert run.done[-1] == "start n1"
    assert [record.failure for record in run.faults.records] == ["", ""]


def test_a_partition_that_cannot_be_made_leaves_the_server_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cut, "possible", False)
    run = Run(fault("partition", for_s=0.02))
    (record,) = run.carried_out()
    assert record.failure == "no connection was found"
    assert record.begun_s is None
    assert not run.faults.away()
    assert run.done == []


def test_a_start_that_takes_long_delays_no_other_fault() -> None:
    run = Run(fault("restart", "n1"), fault("kill", "n2", at_s=0.06))
    run.servers["n1"].started.clear()
    run.faults.start()
    run.until("start n1")
    run.until("kill n2")
    assert run.faults.away() == {"n1", "n2"}
    run.servers["n1"].started.set()
    run.faults.end()


def test_a_run_that_is_broken_off_kills_what_is_being_started_and_thaws_what_is_frozen() -> None:
    run = Run(fault("restart", "n1"), fault("freeze", "n2"), fault("kill", "n2", at_s=3600))
    run.servers["n1"].started.clear()
    run.faults.start()
    run.until("start n1")
    run.until("freeze n2")
    run.faults.end(at_once=True)
    assert "kill n1" in run.done
    assert run.done[-1] == "thaw n2"
    assert "n1 did not come back: killed by SIGKILL" in run.faults.records[0].failure


def test_a_fault_that_a_run_did_not_last_for_is_reported() -> None:
    run = Run(fault("kill", at_s=3600))
    run.faults.start()
    run.faults.end()
    run.faults.heal()
    assert run.faults.records[0].failure == "the run had already ended"
    assert not run.done


def second(at: int, ok: list[int], unknown: int = 0) -> Interval:
    ended = {"ok": [1_000_000] * sum(ok), "unknown": [700_000_000] * unknown}
    return Interval(
        second=at,
        length_s=1.0,
        warm_up=at < 2,
        series=[
            IntervalSeries(operation="update", part=False, outcome=cast(Any, outcome), response=_histogram(times_ns))
            for outcome, times_ns in ended.items()
        ],
        queries=QueryCounts(),
        retries=0,
        retries_after_conflict=0,
        reconnects=0,
        tenths=Tenths(ok=ok, writes=ok),
    )


def ended_at(window_end_s: float, unfinished_s: float = 0.0, backlog_s: float = 0.0) -> Any:
    """A result. unfinished_s, backlog_s: the age of one operation; 0: there was none."""
    unfinished, backlog = (_histogram([round(age_s * 1e9)] if age_s else []) for age_s in (unfinished_s, backlog_s))
    return SimpleNamespace(window_end_s=window_end_s, errors=[], unfinished=unfinished, backlog=backlog)


def _histogram(times_ns: list[int]) -> HistogramDoc:
    return to_document(Histogram.from_values(times_ns))


def test_the_clients_seconds_become_what_a_fault_did() -> None:
    """2 s of warm-up, 10 s of window, two clients. Killed at 4.2 s; for 0.7 s nothing ends but one that is lost."""
    full, hole = [10] * 10, [10, 10, *[0] * 7, 10]
    of_each = [second(at, hole if at == 6 else full, unknown=int(at == 6)) for at in range(12)]
    seconds, _ = seconds_of(of_each, of_each, warm_up_s=2.0, faults=True)
    killed = FaultRecord(planned=fault("kill", at_s=4.2), begun_s=4.21, ended_s=4.7, back_s=4.88)
    never = FaultRecord(planned=fault("kill", at_s=9.9), failure="the run had already ended")
    result = ended_at(12.0)
    found = with_effects([killed, never], seconds.tenths, seconds.judged, [result], 2.0)
    assert found[1].effect is None
    effect = found[0].effect
    assert effect is not None
    assert effect.without_writes_s == pytest.approx(0.8)
    assert effect.full_rate_s == pytest.approx(0.6, abs=0.11)
    assert (effect.unknown, effect.longest_wait_s) == (2, 0.7)
    assert error_ratio_outside_faults(found, seconds.judged) == 0.0
    assert error_ratio_outside_faults([never], seconds.judged) is None


def test_a_fault_that_was_done_when_the_window_had_ended_is_reported_and_loses_nothing() -> None:
    """2 s of warm-up, 3 s of window; the machine was late by 0.15 s."""
    seconds, _ = seconds_of([second(at, [10] * 10) for at in range(5)], warm_up_s=2.0, faults=True)
    late = FaultRecord(planned=fault("restart", at_s=2.95), begun_s=3.1, ended_s=3.2, back_s=3.4)
    (found,) = with_effects([late], seconds.tenths, seconds.judged, [ended_at(5.0)], 2.0)
    assert found.effect is None
    assert found.failure == "the window ended before it was done"
    assert error_ratio_outside_faults([found], seconds.judged) is None


def test_what_faults_did_that_are_one_event_is_reported_once() -> None:
    """2 s of warm-up, 10 s of window; frozen and killed at about 4 s, restarted at 8 s."""
    hole = [10, 10, *[0] * 7, 10]
    of_each = [second(at, hole if at == 6 else [10] * 10, unknown=3 * (at == 6)) for at in range(12)]
    seconds, _ = seconds_of(of_each, warm_up_s=2.0, faults=True)
    pair = [
        FaultRecord(planned=fault("freeze", "n1", at_s=4.2), begun_s=4.22, ended_s=4.8, back_s=4.8),
        FaultRecord(planned=fault("kill", "n2", at_s=4.2), begun_s=4.21, ended_s=4.8, back_s=5.1),
    ]
    later = FaultRecord(planned=fault("restart", "n1", at_s=8.0), begun_s=8.0, ended_s=8.1, back_s=8.2)
    found = with_effects([*pair, later], seconds.tenths, seconds.judged, [ended_at(12.0)], 2.0)
    first, none, last = (record.effect for record in found)
    assert none is None
    assert first is not None
    assert last is not None
    assert (first.unknown, first.detect_s is None) == (3, False)
    assert first.felt_s == pytest.approx(5.1 - 4.21), "until both are back"
    assert first.watched_s == pytest.approx(8.0 - 4.21)
    assert last.unknown == 0


def test_faults_at_most_a_second_apart_are_one_event() -> None:
    planned = [fault("kill", at_s=at_s) for at_s in (2.0, 2.0, 3.0, 4.5, 9.0, 9.5)]
    assert events(planned) == [[0, 1, 2], [3], [4, 5]]
    assert events([]) == []


def test_what_never_ended_counts_as_a_wait_at_its_age() -> None:
    """2 s of warm-up, 10 s of window; killed at 4 s, after which nothing is answered."""
    of_each = [second(at, [10] * 10 if at < 6 else [0] * 10) for at in range(12)]
    seconds, _ = seconds_of(of_each, warm_up_s=2.0, faults=True)
    killed = FaultRecord(planned=fault("kill", at_s=4.0), begun_s=4.0)
    begun, not_begun = ended_at(12.0, unfinished_s=6.0), ended_at(12.0, backlog_s=5.8)
    for result, wait_s in ((begun, 6.0), (not_begun, 5.8)):
        (found,) = with_effects([killed], seconds.tenths, seconds.judged, [result], 2.0)
        assert found.effect is not None
        assert found.effect.longest_wait_s == pytest.approx(wait_s, rel=0.01)


def test_silence_of_the_node_that_was_hurt_is_planned_and_that_of_another_is_not() -> None:
    hurt = FaultRecord(planned=fault("kill", "n1"), begun_s=4.0, ended_s=6.0, back_s=7.0)
    found = [
        NodeSilence(node="n1", from_s=3.5, to_s=8.0),
        NodeSilence(node="n1", from_s=9.0, to_s=12.0),
        NodeSilence(node="n2", from_s=4.5),
    ]
    assert [silence.planned for silence in silences(found, [hurt])] == [True, False, False]
