"""What disturbed a run, or could not be watched in it, is in its record and next to its figure."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from commands import bakeoff, engine_through, only_bundle, write_plan

PLAN = """
title = "Next to others"

[systems.null]
latency_ns = 1_000_000

[workload]
kind = "ycsb"
preset = "c"
records = 100

[measure]
warm_up = "200ms"
window = "2s"
repetitions = 1
"""


def test_processes_that_burn_the_cpu_are_a_finding(tmp_path: Path) -> None:
    """A core in four, and one more: far above the bound. Whatever else goes on here only adds to it."""
    burn = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(burn) for _ in range(len(os.sched_getaffinity(0)) // 4 + 1)]
    try:
        done = bakeoff("run", write_plan(tmp_path, PLAN), "--json", cwd=tmp_path)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert run.machine.other_cpu_ratio is not None
    assert run.machine.other_cpu_ratio > 0.1
    assert run.machine.other_process
    (cell,) = done.document["answer"]["cells"]
    (found,) = [doubt["words"] for doubt in cell["doubts"] if doubt["name"] == "other processes"]
    assert "of the CPU time went to other processes, most to " in found
    text = bakeoff("report", only_bundle(tmp_path).folder, cwd=tmp_path)
    assert "disturbed: other processes" in text.out


#: The measured run's engine has said something by the time it is ready.
WARNS = """
case "$1" in */runs/*/run.json) echo '{"event":"warning","what":"told by the test","at_s":0.0}' ;; esac
exec "$ENGINE" "$@"
"""


def test_what_the_engine_warned_of_is_kept_and_shown(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, PLAN.replace('"2s"', '"1s"'))
    done = bakeoff("run", plan, "--json", cwd=tmp_path, env=engine_through(tmp_path, WARNS))
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert run.engine_warnings == ["told by the test (second 0.0 of the run)"]
    assert any("the engine warned: told by the test" in words for words in done.document["answer"]["validity"])


def test_data_in_memory_are_refused_where_cold_ones_are_asked_for(tmp_path: Path) -> None:
    """Before they are loaded."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        plan = PLAN.replace("[systems.null]\nlatency_ns = 1_000_000", f'[systems.sqlite]\npath = "{memory}"')
        done = bakeoff("run", write_plan(tmp_path, plan + 'cache = "cold"\n'), cwd=tmp_path)
        assert done.code == 2
        assert "would be in memory (tmpfs at " in done.err
        assert not list(tmp_path.glob("bakeoff-results/*/loads/*/load.json"))
