"""A real MariaDB that is frozen while pipelines of statements are in flight: the stall is in the tail, and what timed
out is unknown."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from bakeoff.model.records.run import RunRecord
from bakeoff.provision.installation import Installation
from commands import finish, only_bundle, wait_until
from test_run_mariadb import TIMEOUT_S, measuring, seconds_of_window, servers_of, unknown

pytestmark = pytest.mark.servers

SESSIONS = 4
PLAN = f"""
title = "pipelines"
seed = 3

[systems.mariadb]
start = {{ settings = {{ innodb_buffer_pool_size = "32M" }} }}

[workload]
kind = "sysbench"
script = "oltp_read_write"
pipeline = true
tables = 1
table_size = 1000

[factors]
threads = {SESSIONS}

[measure]
warm_up = "300ms"
window = "WINDOW"
repetitions = 1
timeout = "{TIMEOUT_S}s"
error_budget = "100%"
"""
#: Of the open loop.
RATE = 50
STALL_S = 2.0


@pytest.fixture(autouse=True)
def needs_a_server(mariadb_program: Installation) -> None:
    """Fetched once when this machine has none."""


def test_what_falls_due_while_it_is_frozen_waits_and_is_in_the_tail(tmp_path: Path) -> None:
    paced = PLAN.replace("[measure]", f'[measure]\npacing = {{ rate = {RATE}, arrival = "constant" }}')
    with measuring(tmp_path, paced.replace("WINDOW", "6s")) as process:
        (pid,) = servers_of(process.pid)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(STALL_S)
        os.kill(pid, signal.SIGCONT)
        done = finish(process)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert not run.errors
    # The first that falls due in the freeze may do so one interval after it began.
    assert run.response.max_ms is not None
    assert run.response.max_ms >= (STALL_S - 1 / RATE) * 1000
    # 2 of 6 s are late, half of those by more than a second.
    assert run.response.p95_ms is not None
    assert run.response.p95_ms >= 1000


def test_transactions_in_flight_that_time_out_are_unknown(tmp_path: Path) -> None:
    with measuring(tmp_path, PLAN.replace("WINDOW", "10s")) as process:
        (pid,) = servers_of(process.pid)
        os.kill(pid, signal.SIGSTOP)
        whose = "each session's transaction has timed out"
        wait_until(lambda: unknown(seconds_of_window(tmp_path)) >= SESSIONS, whose, of=process)
        os.kill(pid, signal.SIGCONT)
        done = finish(process)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert counted(run, "unknown") >= SESSIONS
    assert run.reconnects >= SESSIONS
    assert run.ok > 0
    words = [v.words for v in run.validity if v.ok is False]
    assert any("timed out" in w for w in words), words
    assert run.response.max_ms is not None
    assert run.response.max_ms >= TIMEOUT_S * 1000


def counted(run: RunRecord, outcome: str) -> int:
    return sum(series.count for series in run.series if series.outcome == outcome and series.part_of is None)
