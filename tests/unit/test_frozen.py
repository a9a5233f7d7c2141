"""Who has fallen silent: an engine that tells of nothing that goes on, a server that answers no look."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.errors import EngineError
from bakeoff.fleet.hosts import LocalEngines
from bakeoff.schedule.nodes import SERVER_SILENCE_S, FrozenNodes


def engine(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`script` in the engine's place."""
    path = folder / "engine.sh"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("BAKEOFF_ENGINE", str(path))


def test_an_engine_that_only_warns_is_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warning = '{"event":"warning","what":"still here","at_s":0}'
    engine(tmp_path, f"while sleep 0.02; do echo '{warning}'; done", monkeypatch)
    with LocalEngines("a run") as engines:
        engines.start(tmp_path / "run.json", {}, tmp_path / "engine.log")
        with pytest.raises(EngineError, match="has sent nothing for 0 s"):
            list(engines.events(silence_s=0.3))
    assert engines.warnings


class Clock:
    """As the monotonic one, when the test says so."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_a_silent_server_is_reported_once_and_its_return_too() -> None:
    told: list[str] = []
    frost = FrozenNodes(told.append, Clock())
    for silent_s in (0.0, 1.0, SERVER_SILENCE_S, SERVER_SILENCE_S + 1, SERVER_SILENCE_S + 2, 0.5, 0.5):
        frost.notice({"server": silent_s}, away=())
        assert frost.all_frozen == (silent_s > SERVER_SILENCE_S)
    assert told == ["the server has not answered for 9 s", "the server answers again"]


def test_of_several_nodes_the_silent_one_is_named_and_the_others_are_not_frozen() -> None:
    told: list[str] = []
    frost = FrozenNodes(told.append, Clock())
    frost.notice({"n1": 0.2, "n2": SERVER_SILENCE_S + 1, "n3": 0.4}, away=())
    assert told == ["n2 has not answered for 9 s"]
    assert (frost.frozen, frost.all_frozen) == ({"n2"}, False)


def test_what_a_planned_fault_makes_of_a_node_is_no_frost_nor_is_the_time_until_it_is_asked_again() -> None:
    told: list[str] = []
    clock = Clock()
    frost = FrozenNodes(told.append, clock)
    frost.notice({"server": SERVER_SILENCE_S + 5}, away={"server"})
    clock.now_s += 1
    frost.notice({"server": SERVER_SILENCE_S + 6}, away=())
    assert not told
    clock.now_s += SERVER_SILENCE_S
    frost.notice({"server": 2 * SERVER_SILENCE_S + 6}, away=())
    assert told == ["the server has not answered for 9 s"]
