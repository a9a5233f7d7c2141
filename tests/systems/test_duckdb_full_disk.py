"""DuckDB whose files cannot grow for a while, as on a full disk: it is opened again, and the run goes on."""

from __future__ import annotations

import resource
import time
from pathlib import Path

import pytest
from bakeoff.systems.duckdb.system import SOURCES
from builders.systems import fetched
from commands import descendants, end, engine_through, finish, only_bundle, started, wait_until, write_plan
from test_run_mariadb import OVERHEARD, seconds_of_window

pytestmark = pytest.mark.servers

PLAN = """
title = "DuckDB"
[systems.duckdb]
settings = { threads = 1, checkpoint_threshold = "32KB" }
[workload]
kind = "ycsb"
records = 500
read_proportion = 0.5
update_proportion = 0.5
[factors]
threads = 2
[measure]
warm_up = 0
window = "8s"
repetitions = 1
error_budget = "100%"
"""
#: A write beyond the limit then fails, and does not end the process.
NO_SIGNAL = "trap '' XFSZ\n"
#: The log has room, up to its merge into the file with the rows, which has none.
ROOM_BYTES = 100_000


def done_in(folder: Path) -> list[int]:
    """Operations of each second of the window."""
    return [
        sum(one["response"]["count"] for one in second["series"] if one["outcome"] == "ok" and not one["part"])
        for second in seconds_of_window(folder)
    ]


def test_a_disk_that_has_space_again_is_written_again(tmp_path: Path) -> None:
    if not SOURCES.here():
        fetched(SOURCES, "1.5")
    env = engine_through(tmp_path, NO_SIGNAL + OVERHEARD)
    process = started("run", write_plan(tmp_path, PLAN), "--together", cwd=tmp_path, env=env)
    try:
        wait_until(lambda: done_in(tmp_path), "a second of the window is over", of=process)
        (engine,) = descendants(process.pid, "bakeoff-engine")
        _, most = resource.prlimit(engine, resource.RLIMIT_FSIZE)
        resource.prlimit(engine, resource.RLIMIT_FSIZE, (ROOM_BYTES, most))
        time.sleep(1.5)
        resource.prlimit(engine, resource.RLIMIT_FSIZE, (most, most))
        full = len(done_in(tmp_path))
        wait_until(lambda: len(done_in(tmp_path)) > full + 3, "two whole seconds have passed", of=process)
        assert done_in(tmp_path)[-1] > 0
        done = finish(process)
    finally:
        end(process)
    (run,) = only_bundle(tmp_path).runs
    assert run.errors, done.err
    assert run.reconnects > 0
    assert all(check.ok for check in run.checks), run.checks
