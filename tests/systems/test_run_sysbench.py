"""sysbench's scripts from a plan to the report, on SQLite and on a real MariaDB."""

from __future__ import annotations

import re
from pathlib import Path

from bakeoff.bundle.read import Bundle
from bakeoff.model.records.run import RunRecord
from commands import bakeoff, on_systems, only_bundle, write_plan

PLAN = """
title = "sysbench, short"
seed = 3

{system}
[workload]
kind = "sysbench"
tables = 2
table_size = 1000

[factors]
script = ["oltp_read_write", "oltp_point_select"]
threads = 2

# By number: a window holds what the machine has time for.
[measure]
warm_up = "300ms"
operations = 2000
timeout = "10m"
repetitions = 1
"""

STATEMENTS = {"oltp_read_write": (14, 4, 2), "oltp_point_select": (1, 0, 0)}


def assert_counted(bundle: Bundle, run: RunRecord, reads: int, writes: int, others: int) -> None:
    """Every event's statements are there, and at most one more event's for each attempt that a deadlock ended, in the
    warm-up too: an event that ended in the window brings all its statements. A write that found no row is an other."""
    seconds = bundle.intervals(run.id)
    assert seconds is not None
    sent, attempts_max = run.queries, run.ok + sum(seconds["retries"].to_pylist())
    assert run.ok * reads <= sent.read <= attempts_max * reads, (sent, run.ok, run.retries)
    assert sent.write <= attempts_max * writes, (sent, run.ok, run.retries)
    changing = writes + others
    assert run.ok * changing <= sent.write + sent.other <= attempts_max * changing, (sent, run.ok, run.retries)


@on_systems("sqlite", "mariadb")
def test_its_statements_are_counted_and_reported_as_it_does(tmp_path: Path, db: str) -> None:
    done = bakeoff("run", write_plan(tmp_path, PLAN.format(system=db)), cwd=tmp_path)
    assert done.code == 0, done.err
    assert "Statements per second:" in done.out
    bundle = only_bundle(tmp_path)
    scripts = {cell.id: cell.levels["script"] for cell in bundle.plan.cells}
    assert len(bundle.runs) == 2
    for run in bundle.runs:
        assert run.valid, run.validity
        assert run.ok == 2000
        assert run.checks
        assert all(check.ok for check in run.checks), run.checks
        assert run.client
        assert_counted(bundle, run, *STATEMENTS[str(scripts[run.cell])])
        table = bundle.intervals(run.id)
        assert table is not None
        assert sum(table.column("reads").to_pylist()) >= run.queries.read > 0
    printed = bakeoff("report", "--format", "sysbench", bundle.folder, cwd=tmp_path)
    assert printed.code == 0, printed.err
    assert [int(n) for n in re.findall(r"transactions:\s+(\d+)", printed.out)] == [run.ok for run in bundle.runs]
    assert re.findall(r"Number of threads: (\d+)", printed.out) == ["2", "2"]


@on_systems("mariadb")
def test_what_a_deadlock_ended_is_tried_again_and_counted(tmp_path: Path, db: str) -> None:
    text = PLAN.format(system=db).replace("tables = 2", "tables = 1").replace("table_size = 1000", "table_size = 20")
    text = text.replace('["oltp_read_write", "oltp_point_select"]', '"oltp_read_write"').replace(
        "threads = 2", "threads = 8"
    )
    text = text.replace("operations = 2000", "operations = 500")
    done = bakeoff("run", write_plan(tmp_path, text), cwd=tmp_path)
    assert done.code == 0, done.err
    bundle = only_bundle(tmp_path)
    (run,) = bundle.runs
    assert run.retries > 0
    assert_counted(bundle, run, *STATEMENTS["oltp_read_write"])
    assert all(check.ok for check in run.checks), run.checks
    printed = bakeoff("report", "--format", "sysbench", bundle.folder, cwd=tmp_path)
    assert f"ignored errors:                      {run.retries} " in printed.out, printed.out


@on_systems("mariadb")
def test_the_client_is_named_in_the_report(tmp_path: Path, db: str) -> None:
    text = PLAN.format(system=db).replace('script = ["oltp_read_write", "oltp_point_select"]', "")
    done = bakeoff("run", write_plan(tmp_path, text), cwd=tmp_path)
    assert done.code == 0, done.err
    bundle = only_bundle(tmp_path)
    # Two sessions are too few for io_uring.
    assert {(run.client, run.runner, run.io) for run in bundle.runs} == {("wire", "reactor", "epoll")}
    assert "wire, reactor" in (bundle.folder / "report.html").read_text()
