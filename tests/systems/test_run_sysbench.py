"""sysbench's scripts from a plan to the report, on SQLite and on a real MariaDB."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bakeoff.systems.mariadb_program import Program
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

[measure]
warm_up = "300ms"
window = "2s"
repetitions = 1
"""

SQLITE = 'kind = "sqlite"\ndurability = "none"'
MARIADB = 'kind = "mariadb"\nstart = { settings = { innodb_buffer_pool_size = "32M" } }\ndurability = "none"'
STATEMENTS = {"oltp_read_write": (14, 4, 2), "oltp_point_select": (1, 0, 0)}


def assert_measured(folder: Path, system: str) -> None:
    done = bakeoff("run", write_plan(folder, PLAN.format(system=system)), cwd=folder)
    assert done.code == 0, done.err
    assert "Statements per second:" in done.out
    bundle = only_bundle(folder)
    scripts = {cell.id: cell.levels["script"] for cell in bundle.plan.cells}
    assert len(bundle.runs) == 2
    for run in bundle.runs:
        assert run.valid, run.validity
        assert run.checks
        assert all(check.ok for check in run.checks), run.checks
        assert run.client
        queries, each = run.queries, STATEMENTS[str(scripts[run.cell])]
        # With what an event had sent before a deadlock ended it.
        aborted = sum(series.count + series.carried_in for series in run.series if series.outcome == "aborted")
        sent = (queries.read, queries.write, queries.other)
        assert all(run.ok * n <= m <= (run.ok + aborted) * n for n, m in zip(each, sent, strict=True)), (sent, run.ok)
        table = bundle.intervals(run.id)
        assert table is not None
        assert sum(table.column("reads").to_pylist()) >= queries.read > 0
    printed = bakeoff("report", "--format", "sysbench", bundle.folder, cwd=folder)
    assert printed.code == 0, printed.err
    assert [int(n) for n in re.findall(r"transactions:\s+(\d+)", printed.out)] == [run.ok for run in bundle.runs]
    assert re.findall(r"Number of threads: (\d+)", printed.out) == ["2", "2"]


def test_on_sqlite(tmp_path: Path) -> None:
    assert_measured(tmp_path, SQLITE)


@pytest.mark.servers
def test_on_a_private_mariadb(tmp_path: Path, mariadb_program: Program) -> None:
    assert_measured(tmp_path, MARIADB)
    (facts, *_) = only_bundle(tmp_path).facts.values()
    assert facts.product == "MariaDB"


@pytest.mark.servers
def test_either_client_is_named_in_the_report(tmp_path: Path, mariadb_program: Program) -> None:
    text = PLAN.format(system=MARIADB).replace('script = ["oltp_read_write", "oltp_point_select"]', "")
    text = text.replace("threads = 2", 'threads = 2\n"db.client" = ["wire", "mysql_async"]')
    done = bakeoff("run", write_plan(tmp_path, text), cwd=tmp_path)
    assert done.code == 0, done.err
    bundle = only_bundle(tmp_path)
    assert {(run.client, run.runner) for run in bundle.runs} == {("wire", "reactor"), ("mysql_async", "tokio")}
    assert all((run.io != "") == (run.runner == "reactor") for run in bundle.runs)
    page = (bundle.folder / "report.html").read_text()
    assert "mysql_async, tokio" in page
    assert "wire, reactor" in page
