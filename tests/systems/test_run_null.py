"""The null system as a user has it: what it stores outlives the load, and a check after a run finds what was lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import bakeoff, only_bundle, write_plan

PLAN = """
title = "An instrument"

[systems.null]
store = true
{system}

[workload]
kind = "ycsb"
preset = "{preset}"
records = 200
data_integrity = true

[measure]
warm_up = "0s"
operations = 2_000
repetitions = 2
reset = "{reset}"
"""


def ran(folder: Path, *, reset: str, preset: str = "d", system: str = "") -> list[bool]:
    """Whether all checks held, of each run. (YCSB D inserts one operation in twenty.)"""
    text = PLAN.format(reset=reset, preset=preset, system=system)
    done = bakeoff("run", write_plan(folder, text), cwd=folder)
    assert done.code in (0, 1), done.err
    bundle = only_bundle(folder)
    assert all(check.ok for load in bundle.loads for check in load.checks)
    assert all(run.checks for run in bundle.runs)
    assert all("unknown" not in run.errors for run in bundle.runs), [run.errors for run in bundle.runs]
    return [all(check.ok for check in run.checks) for run in bundle.runs]


@pytest.mark.parametrize(("reset", "preset"), [("restore", "d"), ("reload", "d"), ("reuse", "c")])
def test_rows_are_there_after_every_reset(tmp_path: Path, reset: str, preset: str) -> None:
    assert ran(tmp_path, reset=reset, preset=preset) == [True, True]


def test_a_lost_write_is_found_after_the_run(tmp_path: Path) -> None:
    assert ran(tmp_path, reset="restore", system="lost_write_ratio = 0.5") == [False, False]


def test_errors_strike_the_run_and_not_the_load(tmp_path: Path) -> None:
    text = PLAN.format(reset="reload", preset="c", system="error_ratio = 0.5")
    done = bakeoff("run", write_plan(tmp_path, text), cwd=tmp_path)
    assert done.code == 1
    assert "operations failed" in done.out
    for run in only_bundle(tmp_path).runs:
        assert run.state == "done"
        assert 0.4 < run.error_ratio < 0.6


def test_a_latency_that_cannot_be_is_refused(tmp_path: Path) -> None:
    text = PLAN.format(reset="reload", preset="c", system=f"latency_ns = {2**63 - 1}")
    done = bakeoff("run", write_plan(tmp_path, text), "--dry-run", cwd=tmp_path)
    assert done.code == 2
    assert "latency_ns" in done.err
    assert "3600000000000" in done.err
