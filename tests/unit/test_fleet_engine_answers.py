"""An engine that gives no answer about a plan's options, in words."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from bakeoff.errors import EngineError
from bakeoff.fleet.engine_program import engine_list, resolve
from bakeoff.model.resolve import WorkloadRequest
from bakeoff.systems.options import request
from bakeoff.workloads.hatshop import write_events


def scripted(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The engine, which is this script from now on."""
    engine = tmp_path / "engine"
    engine.write_text(f"#!/bin/sh\n{script}\n")
    engine.chmod(0o755)
    monkeypatch.setenv("BAKEOFF_ENGINE", str(engine))
    return engine


def refused(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineError:
    """What is said where the engine is this script."""
    asked = request("sqlite", {}, isolation=None)
    scripted(script, tmp_path, monkeypatch)
    with pytest.raises(EngineError) as caught:
        resolve([asked])
    return caught.value


def test_an_engine_that_does_not_list_what_it_can_is_named_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = scripted("exit 9", tmp_path, monkeypatch)
    engine_list.cache_clear()
    with pytest.raises(EngineError) as caught:
        engine_list()
    assert f"['{engine}', 'list']" in caught.value.what


def test_an_engine_that_was_killed_is_named_as_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = refused("kill -KILL $$", tmp_path, monkeypatch)
    assert error.what == "the engine ended while resolving the plan's options (killed by SIGKILL)"
    assert "memory" in error.hint


def test_an_engine_that_crashed_is_not_told_to_have_met_a_full_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = refused("kill -SEGV $$", tmp_path, monkeypatch)
    assert error.what.endswith("(killed by SIGSEGV)")
    assert "memory" not in error.hint


def test_an_engine_that_takes_too_long_is_reported_with_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bakeoff.fleet.engine_program._PATIENCE_S", 0.01)
    error = refused("exec sleep 600", tmp_path, monkeypatch)
    assert error.what == "the engine did not resolve the plan's options within 0.01 s"


def test_a_long_file_of_events_is_announced_and_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with (tmp_path / "events.jsonl").open("wb") as file:
        file.truncate(45_000_000_000)
    events = {"events_file": {"name": "events.jsonl", "path": str(tmp_path / "events.jsonl")}}
    asked = WorkloadRequest(kind="hatshop", options=events, seed=0)
    waited: list[float] = []

    def run(*_: object, timeout: float, **__: object) -> None:
        waited.append(timeout)
        raise subprocess.TimeoutExpired("engine", timeout)

    monkeypatch.setattr("bakeoff.fleet.engine_program.subprocess.run", run)
    with pytest.raises(EngineError):
        resolve([asked])
    assert capsys.readouterr().err == "reading events.jsonl (41.9 GiB): about 5 min 00 s\n"
    assert waited[0] > 3000


def test_a_short_one_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_events({"events": 50}, 0, tmp_path / "events.jsonl")
    resolve(
        [
            WorkloadRequest(
                kind="hatshop", options={"events_file": {"name": "e", "path": str(tmp_path / "events.jsonl")}}
            )
        ]
    )
    assert capsys.readouterr().err == ""


def test_an_engine_of_another_version_is_told_to_be_reinstalled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = refused("echo no such word >&2; exit 2", tmp_path, monkeypatch)
    assert error.what.endswith("(exit code 2): no such word")
    assert "pip install" in error.hint
