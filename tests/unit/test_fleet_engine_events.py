"""What clients tell is read in one room, wherever they run. Here nobody runs: lines are put in by hand."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from bakeoff.errors import EngineError
from bakeoff.fleet.engines import Engines, EngineTrouble, Place
from bakeoff.model.boundary import Ready

READY = (
    '{"event":"ready","format":1,"engine_version":"0.1.0","pid":7,"runner":"tokio","io":null,"client":"null",'
    '"workers":1,"sessions":1,"connect_s":0.1}'
)
WARNING = '{"event":"warning","what":"clock_source is hpet","at_s":0.5}'


class ByHand(Engines):
    lead_s = 0.0

    def __init__(self, clients: int) -> None:
        super().__init__("run 1")
        self.sent: list[str] = []
        for number in range(clients):
            self.add(f"client {number} on load{number}")

    def start(self, document: Path, env: Mapping[str, str], log: Path) -> None: ...

    def places(self) -> list[Place]:
        return []

    def pids(self) -> list[int]:
        return []

    def close(self) -> None: ...

    def _send(self, line: str) -> None:
        self.sent.append(line)


def test_all_clients_are_ready_in_their_own_order_and_warnings_are_kept() -> None:
    lines = ByHand(2)
    for client, line in ((1, READY.replace("7", "8")), (0, WARNING), (0, READY.encode())):
        lines.receive(client, line)
    assert [ready.pid for ready in lines.wait_ready(60)] == [7, 8]
    assert [(client, warning.what) for client, warning in lines.warnings] == [(0, "clock_source is hpet")]


def test_a_client_that_is_late_is_counted() -> None:
    lines = ByHand(3)
    lines.receive(0, READY)
    with pytest.raises(EngineError, match="2 of 3 clients were not ready within 0 s"):
        lines.wait_ready(0.05)


def test_what_the_engine_says_went_wrong_is_passed_on() -> None:
    lines = ByHand(1)
    lines.receive(0, '{"event":"error","what":"no such table","where":"load","hint":"make it","kind":"usage"}')
    with pytest.raises(EngineTrouble) as caught:
        list(lines.events())
    assert (caught.value.where, caught.value.hint, caught.value.exit_code) == ("run 1, load", "make it", 2)


def test_a_client_that_ends_without_a_result_is_named_with_its_last_words() -> None:
    lines = ByHand(2)
    lines.ended(1, -9, "out of memory\n")
    with pytest.raises(EngineError, match=r"client 1 on load1 ended without a result .*SIGKILL") as caught:
        list(lines.events())
    assert caught.value.hint == "end of its log: out of memory"


def test_one_that_is_lost_is_reported_in_the_words_of_who_lost_it_after_all_it_reported_before() -> None:
    lines = ByHand(2)
    lines.receive(0, READY)
    lines.lost(0, EngineError("load0 was lost", where="run 1"))
    events = lines.events()
    assert isinstance(next(events)[1], Ready)
    with pytest.raises(EngineError, match="load0 was lost"):
        next(events)


def test_silence_is_a_clients_own_and_a_line_of_another_does_not_excuse_it() -> None:
    lines = ByHand(2)
    lines.receive(0, READY)
    with pytest.raises(EngineError, match="client 0 on load0 has sent nothing for 0 s"):
        list(lines.events(silence_s=0.0))
    assert lines.silent


def test_time_in_which_an_event_is_handled_is_no_silence() -> None:
    lines = ByHand(1)
    lines.receive(0, READY)
    lines.receive(0, READY)
    events = lines.events(silence_s=0.3)
    next(events)
    time.sleep(0.5)
    assert isinstance(next(events)[1], Ready)
    with pytest.raises(EngineError, match="has sent nothing"):
        next(events)


def test_control_lines_are_the_engines() -> None:
    lines = ByHand(1)
    lines.begin(5)
    lines.mark(3)
    lines.stop()
    assert lines.sent == [
        '{"control":"start_at","unix_ns":5}',
        '{"control":"mark","id":3}',
        '{"control":"stop"}\n{"control":"stop"}',
    ]
