"""Whatever happens, a command ends with one sentence and a documented exit code, never with a traceback."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bakeoff import cli
from bakeoff.cli import workloads
from bakeoff.errors import ExitCode


def ending(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    def fail(_: argparse.Namespace) -> int:
        raise error

    monkeypatch.setattr(workloads, "run", fail)
    return cli.main(["workloads"])


def test_a_full_disk_that_nothing_foresaw_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ending(monkeypatch, OSError(28, "No space left on device", "/results/x")) == ExitCode.ENVIRONMENT
    assert capsys.readouterr().err.splitlines() == [
        "error: No space left on device (/results/x)",
        "  hint: free some space, or use another folder",
    ]


def test_a_bug_is_called_one_and_shows_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ending(monkeypatch, ZeroDivisionError("division by zero")) == ExitCode.ENVIRONMENT
    words = capsys.readouterr().err
    assert words.startswith("error: this should not have happened: ZeroDivisionError: division by zero\n")
    assert "Traceback" not in words


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_an_error_and_not_noise_at_exit() -> None:
    command = [sys.executable, "-m", "bakeoff", "workloads"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    assert done.returncode == ExitCode.ENVIRONMENT
    assert done.stderr.startswith("error: No space left on device\n")
    assert "Exception ignored" not in done.stderr


def test_a_terminal_without_the_letters_of_a_title_still_gets_the_plan(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('title = "データ"\n[systems.sqlite]\n[workload]\nkind = "ycsb"\nrecords = 10\n', encoding="utf-8")
    command = [sys.executable, "-m", "bakeoff", "run", str(plan), "--dry-run"]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(command, capture_output=True, env=ascii_only, cwd=tmp_path)
    assert done.returncode == ExitCode.DONE, done.stderr
    assert done.stdout.startswith(b"???")
