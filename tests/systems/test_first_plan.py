"""A plan that was made for somebody runs as it is, and a quick one leaves a bundle that its own plan continues."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.cli import main
from bakeoff.errors import ExitCode

SHORT = ["--set", "measure.window=1s", "--set", "measure.warm_up=0", "--set", "measure.repetitions=1"]


def test_a_first_plan_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, bundle = tmp_path / "my.toml", tmp_path / "bundle"
    assert main(["init", str(plan)]) == ExitCode.DONE
    part = ["--only", "sqlite,threads=1", "--set", "workload.records=100", *SHORT]
    assert main(["run", str(plan), "--out", str(bundle), "--together", "--quiet", *part]) == ExitCode.DONE
    assert "Not the whole plan: only sqlite, threads=1." in capsys.readouterr().out


def test_a_quick_comparison_leaves_its_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = tmp_path / "bundle"
    words = ["--workload", "ycsb-c", "--threads", "1", "--size", "100", "--window", "1s", "--repetitions", "1"]
    assert main(["quick", "sqlite", *words, "--out", str(bundle), "--together", "--quiet", "--json"]) == ExitCode.DONE
    assert json.loads(capsys.readouterr().out)["answer"]["demonstration"]
    shutil.rmtree(next((bundle / "runs").iterdir()))
    again = ["run", str(bundle / "plan.toml"), "--resume", str(bundle), "--together", "--quiet"]
    assert main(again) == ExitCode.DONE
    assert len(Bundle.open(bundle).runs) == 1
