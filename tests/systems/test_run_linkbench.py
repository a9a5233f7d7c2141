"""LinkBench from a plan to the report, on SQLite and on real servers: loaded, asked, and its counts checked."""

from __future__ import annotations

from pathlib import Path

from commands import bakeoff, on_systems, only_bundle, write_plan

WORKLOAD = """
[workload]
kind = "linkbench"
maxid1 = 1_001
range_limit = 5
getlinklist_history = 20
loader_chunk_size = 200

[factors]
threads = 4

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


@on_systems("sqlite", "postgresql", slow=["mariadb"])
def test_it_is_loaded_asked_and_counted(tmp_path: Path, db: str) -> None:
    done = bakeoff("run", write_plan(tmp_path, f"title = 'graph'\n{db}{WORKLOAD}"), cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    (run,) = only_bundle(tmp_path).runs
    assert run.valid, run.validity
    assert run.ok == 4000
    assert {series.operation for series in run.series} == REQUESTS
    assert len(run.checks) == 5
    assert all(check.ok for check in run.checks), run.checks
    (evidence,) = run.evidence
    assert isinstance(evidence, dict)
    assert set(evidence) == {"links_added", "nodes_added", "nodes_deleted"}
    assert all(isinstance(rows, dict) and rows["rows"] for rows in evidence.values()), evidence
