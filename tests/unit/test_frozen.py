"""Who has fallen silent: an engine that tells of nothing that goes on, a server that answers no look."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from bakeoff.errors import EngineError
from bakeoff.fleet.local import LocalEngines
from bakeoff.schedule.one_run import SERVER_SILENCE_S, Watcher, notice_frost
from bakeoff.schedule.order import Slot
from bakeoff.schedule.sampler import Sampler


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
        with pytest.raises(EngineError, match="has told of nothing for 0 s"):
            list(engines.events(silence_s=0.3))
    assert engines.warnings


class Looks:
    """A sampler whose server has been silent for as long as it is told."""

    def __init__(self) -> None:
        self.silent_s = 0.0

    def server_silent_s(self) -> float:
        return self.silent_s


class Told(Watcher):
    def __init__(self) -> None:
        self.messages: list[str] = []

    def message(self, words: str) -> None:
        self.messages.append(words)


def test_a_silent_server_is_told_once_and_its_return_too() -> None:
    looks, told, frozen = Looks(), Told(), False
    slot = Slot(order=0, block=1, cell="c")
    for silent_s in (0.0, 1.0, SERVER_SILENCE_S, SERVER_SILENCE_S + 1, SERVER_SILENCE_S + 2, 0.5, 0.5):
        looks.silent_s = silent_s
        frozen = notice_frost(cast(Sampler, looks), frozen, slot, told)
        assert frozen == (silent_s > SERVER_SILENCE_S)
    assert told.messages == [
        f"{slot.run}: the server has not answered for 9 s",
        f"{slot.run}: the server answers again",
    ]
