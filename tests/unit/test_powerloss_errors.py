"""What goes wrong with `bakeoff-powerloss` is said in words."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from bakeoff.errors import ServerError
from bakeoff.provision import powerloss


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """In its place."""
    path = tmp_path / powerloss.PROGRAM
    monkeypatch.setattr(powerloss, "found", lambda: (path, tmp_path / powerloss.LIBRARY))
    return path


def test_one_that_takes_too_long_is_said_with_its_limit(monkeypatch: pytest.MonkeyPatch, program: Path) -> None:
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(powerloss, "_APPLY_TIMEOUT_S", 0.1)
    with pytest.raises(ServerError, match=r"bakeoff-powerloss apply took more than 0 s"):
        powerloss.lose_power([], program.parent)


def test_one_that_does_not_start_is_said_with_the_reason(program: Path) -> None:
    with pytest.raises(ServerError, match="bakeoff-powerloss check could not be started: No such file or directory"):
        powerloss.not_judged(program.parent)


def test_a_process_that_has_ended_runs_without_the_library() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    for pid in (ended.pid, os.getpid()):
        with pytest.raises(ServerError, match="runs without the library"):
            powerloss.refuse_unloaded(pid, "storage", "systems.m")
