"""sysbench's scripts from a plan to the report, on SQLite and on a real MariaDB."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.model.records import RunRecord
from bakeoff.provision.installation import Installation
from commands import bakeoff, only_bundle, write_plan

PLAN = """
title = "sysbench, short"
seed = 3

[systems.db]
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

SQLITE = 'kind = "sqlite"\ndurability = "none"'
MARIADB = 'kind = "mariadb"\nstart = { settings = { innodb_buffer_pool_size = "32M" } }\ndurability = "none"'
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


def assert_measured(folder: Path, system: str) -> None:
    done = bakeoff("run", write_plan(folder, PLAN.format(system=system)), cwd=folder)
    assert done.code == 0, done.err
    assert "Statements per second:" in done.out
    bundle = only_bundle(folder)
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
    printed = bakeoff("report", "--format", "sysbench", bundle.folder, cwd=folder)
    assert printed.code == 0, printed.err
    assert [int(n) for n in re.findall(r"transactions:\s+(\d+)", printed.out)] == [run.ok for run in bundle.runs]
    assert re.findall(r"Number of threads: (\d+)", printed.out) == ["2", "2"]


def test_on_sqlite(tmp_path: Path) -> None:
    assert_measured(tmp_path, SQLITE)


@pytest.mark.servers
def test_on_a_private_mariadb(tmp_path: Path, mariadb_program: Installation) -> None:
    assert_measured(tmp_path, MARIADB)
    (facts, *_) = only_bundle(tmp_path).facts.values()
    assert facts.product == "MariaDB"


@pytest.mark.servers
def test_what_a_deadlock_ended_is_tried_again_and_counted(tmp_path: Path, mariadb_program: Installation) -> None:
    text = (
        PLAN.format(system=MARIADB).replace("tables = 2", "tables = 1").replace("table_size = 1000", "table_size = 20")
    )
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


@pytest.mark.servers
def test_either_client_is_named_in_the_report(tmp_path: Path, mariadb_program: Installation) -> None:
    text = PLAN.format(system=MARIADB).replace('script = ["oltp_read_write", "oltp_point_select"]', "")
    text = text.replace("threads = 2", 'threads = 2\n"db.client" = ["wire", "mysql_async"]')
    done = bakeoff("run", write_plan(tmp_path, text), cwd=tmp_path)
    assert done.code == 0, done.err
    bundle = only_bundle(tmp_path)
    assert {(run.client, run.runner) for run in bundle.runs} == {("wire", "reactor"), ("mysql_async", "tokio")}
    # Two sessions are too few for io_uring.
    assert all(run.io == ("epoll" if run.runner == "reactor" else "") for run in bundle.runs)
    page = (bundle.folder / "report.html").read_text()
    assert "mysql_async, tokio" in page
    assert "wire, reactor" in page
