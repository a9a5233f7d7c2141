"""LinkBench from a plan to the report, on SQLite and on real servers: loaded, asked, and its counts checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.provision.installation import Installation
from commands import bakeoff, only_bundle, write_plan

SQLITE = '[systems.db]\nkind = "sqlite"\n'
MARIADB = '[systems.db]\nkind = "mariadb"\nstart = { settings = { innodb_buffer_pool_size = "32M" } }\n'
POSTGRESQL = '[systems.db]\nkind = "postgresql"\nstart = { settings = { shared_buffers = "16MB" } }\n'
WORKLOAD = """
[workload]
kind = "linkbench"
maxid1 = 1_001
range_limit = 5
getlinklist_history = 20
loader_chunk_size = 200

[factors]
threads = 4
durability = "none"

[measure]
warm_up = "100ms"
operations = 4000
timeout = "10m"
repetitions = 1
"""
REQUESTS = {
    *("addlink", "deletelink", "updatelink", "countlink", "getlink", "getlinklist", "getlinklist_history"),
    *("getnode", "addnode", "updatenode", "deletenode"),
}


def assert_linkbench(folder: Path, system: str) -> None:
    done = bakeoff("run", write_plan(folder, f"title = 'graph'\n{system}{WORKLOAD}"), cwd=folder)
    assert done.code == 0, done.out + done.err
    (run,) = only_bundle(folder).runs
    assert run.valid, run.validity
    assert run.ok == 4000
    assert {series.operation for series in run.series} == REQUESTS
    assert len(run.checks) == 5
    assert all(check.ok for check in run.checks), run.checks
    (evidence,) = run.evidence
    assert isinstance(evidence, dict)
    assert set(evidence) == {"links_added", "nodes_added", "nodes_deleted"}
    assert all(isinstance(rows, dict) and rows["rows"] for rows in evidence.values()), evidence


def test_linkbench_on_sqlite(tmp_path: Path) -> None:
    assert_linkbench(tmp_path, SQLITE)


@pytest.mark.servers
def test_linkbench_on_mariadb(tmp_path: Path, mariadb_program: Installation) -> None:
    assert_linkbench(tmp_path, MARIADB)


@pytest.mark.servers
def test_linkbench_on_postgresql(tmp_path: Path, postgresql_program: Installation) -> None:
    assert_linkbench(tmp_path, POSTGRESQL)
