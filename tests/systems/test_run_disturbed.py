"""Runs that something outside disturbs, planted by the test: what becomes of them, from the command line to the answer.
Whatever else goes on on this machine only adds to it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.errors import ExitCode
from bakeoff.model.records.run import RunRecord
from bakeoff.schedule.machine_sharing import claim
from commands import bakeoff, only_bundle, write_plan
from going import Going

PLAN = """
title = "Disturbed"

[systems.null]
latency_ns = 1_000_000

[workload]
kind = "ycsb"
preset = "c"
records = 100

[measure]
warm_up = "0s"
window = "1500ms"
repetitions = 1
"""


def kinds(run: RunRecord) -> set[str]:
    return {found.name for found in run.disturbances}


@pytest.fixture
def compiler() -> Iterator[None]:
    """Something that keeps a core in four, and one more, busy."""
    burn = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(burn) for _ in range(len(os.sched_getaffinity(0)) // 4 + 1)]
    yield
    for process in busy:
        process.kill()
        process.wait()


@pytest.mark.usefixtures("compiler")
def test_a_run_next_to_a_compiler_is_repeated_and_nothing_is_claimed_of_it(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, f'{PLAN}\n[compare]\nfail_if = "latency_p99 > 1h"\n')
    done = bakeoff("run", plan, cwd=tmp_path, on_any_machine=False)
    assert done.code == ExitCode.UNDECIDED, done.err
    assert "warning: this machine is busy: " in done.err.split("b01-")[0], "before the first run"
    bundle = only_bundle(tmp_path)
    assert [(run.attempt, run.standing) for run in bundle.attempts] == [(1, "disturbed"), (2, "disturbed")]
    assert [run.attempt for run in bundle.runs] == [1]
    assert "other processes" in kinds(bundle.runs[0])
    words = " ".join(done.out.split())
    assert "* This machine was too busy to measure: 1 of 1 run was disturbed, even after 1 repeat (" in words
    assert "Undecided on p99" in words
    assert "--set measure.repeat_disturbed=2` repeats the disturbed runs when it is quiet." in words


SEARCH = """
[search]
highest = "threads"
while = "rate > 1/s"
to = 2
runs = 8
"""


@pytest.mark.usefixtures("compiler")
def test_a_search_counts_its_repeats_and_is_resumed_with_those_that_are_left(tmp_path: Path) -> None:
    settings = PLAN.replace("repetitions = 1", "repeat_disturbed = 1")
    plan = write_plan(tmp_path, settings.replace("1500ms", "1s") + SEARCH)
    done = bakeoff("run", plan, cwd=tmp_path, on_any_machine=False)
    told = [tuple(map(int, found)) for found in re.findall(r"\[(\d+), at most (\d+)\]", done.err)]
    assert told, done.err
    assert all(made <= at_most for made, at_most in told)
    bundle = only_bundle(tmp_path)
    assert len(bundle.attempts) == 9
    again = bakeoff("run", plan, "--resume", bundle.folder, "--no-report", cwd=tmp_path, on_any_machine=False)
    assert "8 of at most 8 runs are done already" in again.err
    assert len(only_bundle(tmp_path).attempts) == 9


@pytest.mark.usefixtures("compiler")
def test_allowed_disturbed_runs_count_once_and_carry_the_mark(tmp_path: Path) -> None:
    done = bakeoff("run", write_plan(tmp_path, PLAN), "--allow-disturbed", "--json", cwd=tmp_path, on_any_machine=False)
    assert done.code == ExitCode.DONE, done.err
    bundle = only_bundle(tmp_path)
    assert bundle.info.allow_disturbed
    (run,) = bundle.attempts
    assert (run.standing, run.valid, run.is_marked) == ("disturbed", True, True)
    answer = done.document["answer"]
    assert answer["disturbed"] == "DISTURBED: 1 of 1 run, and they count (--allow-disturbed)"
    assert answer["cells"][0]["validity"].startswith("DISTURBED")


def test_a_machine_that_stood_still_disturbed_the_run(tmp_path: Path) -> None:
    """Client, controller and all that they started are stopped at once, as when a virtual machine is frozen."""
    plan = write_plan(tmp_path, PLAN.replace("1500ms", "5s"))
    going = Going(plan)
    try:
        run = going.measured_run()
        controller = psutil.Process(going.process.pid)
        everything = [controller, *controller.children(recursive=True)]
        for process in everything:
            process.send_signal(signal.SIGSTOP)
        time.sleep(2.5)
        for process in reversed(everything):
            process.send_signal(signal.SIGCONT)
        going.ended(run)
    finally:
        going.end()
    (record,) = only_bundle(tmp_path).runs
    assert record.machine.stalled_s is not None
    assert 1.0 < record.machine.stalled_s < 60
    assert "stall" in kinds(record), record.validity
    assert record.standing == "disturbed"


def test_another_run_on_the_same_cores_disturbed_this_one(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, PLAN)
    with claim(os.sched_getaffinity(0), "the other one", "together", print):
        done = bakeoff("run", plan, "--together", cwd=tmp_path)
    assert done.code == ExitCode.DONE, done.err
    (run,) = only_bundle(tmp_path).runs
    assert "another run" in kinds(run)


def test_a_resume_repeats_what_was_disturbed(tmp_path: Path) -> None:
    """One whose machine was busy yesterday, and whose plan repeats none by itself."""
    plan = write_plan(tmp_path, f"{PLAN}repeat_disturbed = 0\n")
    with claim(os.sched_getaffinity(0), "the other one", "together", print):
        bakeoff("run", plan, "--together", "--out", "b", cwd=tmp_path, on_any_machine=False)
    assert [run.attempt for run in Bundle.open(tmp_path / "b").attempts] == [1]
    more = ("--resume", "b", "--set", "measure.repeat_disturbed=1")
    bakeoff("run", plan, *more, cwd=tmp_path, on_any_machine=False)
    first, second = Bundle.open(tmp_path / "b").attempts
    assert ("another run" in kinds(first), "another run" in kinds(second)) == (True, False)
    assert (tmp_path / "b/runs" / f"{first.id}.2" / "result.json").exists()
