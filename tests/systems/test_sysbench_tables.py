"""Tables are interchangeable: the engine runs every script on what the real sysbench prepared, and the real sysbench on
what the engine loaded. Nothing here depends on how fast either is."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bakeoff.systems.mysql.mariadb import MariaDb
from commands import engine_phase

from benches.suite.client import Tables
from benches.suite.peers.sysbench import Sysbench
from benches.suite.server import SCHEMA, Server
from benches.suite.servers.mariadb import MariaDbServer

pytestmark = pytest.mark.servers

TABLES, ROWS, EVENTS = 3, 2000, 100
#: Statements of one event: read, write, other.
LEAVING_ALL_ROWS = {
    "oltp_read_only": (14, 0, 2),
    "oltp_point_select": (1, 0, 0),
    "oltp_read_write": (14, 4, 2),
    "oltp_write_only": (0, 4, 2),
    "oltp_update_index": (0, 1, 0),
    "oltp_update_non_index": (0, 1, 0),
    "select_random_points": (1, 0, 0),
    "select_random_ranges": (1, 0, 0),
}


@pytest.fixture
def server(mariadb: MariaDb) -> Iterator[Server]:
    server = MariaDbServer(mariadb)
    server.remove_tables()
    yield server
    server.remove_tables()


@pytest.fixture
def sysbench(server: Server, tmp_path: Path) -> Sysbench:
    return Sysbench(server, tmp_path, print)


def tables_of(script: str) -> int:
    return 1 if script.startswith("select_random") else TABLES


def engine(server: Server, phase: str, workload: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One phase of the engine; its result."""
    sizes = {"tables": tables_of(workload.get("script", "oltp_read_write")), "table_size": ROWS}
    return engine_phase(server.system, phase, {"kind": "sysbench", **sizes, **workload}, **more)


def run(server: Server, script: str, mode: str = "auto") -> dict[str, Any]:
    limit = {"kind": "operations", "operations": EVENTS, "max_s": 3600}
    retry = {"retries": 1000, "on_codes": ["1213", "1020", "1205"]}
    workload = {"script": script, "db_ps_mode": mode}
    return engine(server, "run", workload, threads=1, limit=limit, retry=retry)


def refused_checks(server: Server, script: str, *evidence: Any, after_run: bool) -> list[dict[str, Any]]:
    asked = {"evidence": evidence, "sample": 100, "after_run": after_run}
    checks = engine(server, "check", {"script": script}, check=asked)["checks"]
    assert len(checks) > 2
    return [check for check in checks if not check["ok"]]


def definitions(server: Server) -> list[str]:
    return [
        server.system.control.rows(f"SHOW CREATE TABLE {SCHEMA}.sbtest{table}")[0][1] for table in range(1, TABLES + 1)
    ]


@pytest.mark.parametrize("mode", ["auto", "disable"])
def test_every_script_of_ours_runs_on_tables_that_sysbench_prepared(
    server: Server, sysbench: Sysbench, mode: str
) -> None:
    sysbench.prepare(Tables(tables=TABLES, rows=ROWS))
    for script, statements in LEAVING_ALL_ROWS.items():
        result = run(server, script, mode)
        assert result["error_ratio"] == 0, (script, result["errors"])
        assert tuple(result["queries"].values()) == tuple(EVENTS * n for n in statements), script
        assert refused_checks(server, script, after_run=True) == []
    did = run(server, "oltp_insert", mode)["evidence"]
    assert did["inserts_acknowledged"] == EVENTS
    assert refused_checks(server, "oltp_insert", did, after_run=True) == []
    queries = run(server, "oltp_delete", mode)["queries"]
    assert queries["write"] > 0
    assert queries["write"] + queries["other"] == EVENTS


def test_every_script_of_sysbench_runs_on_tables_that_we_loaded(server: Server, sysbench: Sysbench) -> None:
    sysbench.prepare(Tables(tables=TABLES, rows=ROWS))
    theirs = definitions(server)
    result = engine(server, "load", {}, threads=2, drop_existing=True)
    assert result["rows"] == TABLES * ROWS
    assert definitions(server) == theirs
    assert refused_checks(server, "oltp_read_write", after_run=False) == []
    scripts = (*LEAVING_ALL_ROWS.items(), ("oltp_insert", (0, 1, 0)), ("oltp_delete", None))
    for seed, (script, statements) in enumerate(scripts, 1):
        tables = Tables(tables=tables_of(script), rows=ROWS)
        # Its usual seed is the time in seconds: a script in the same second may write a row's text once more, and an
        # update that changes nothing is an "other" to it.
        how = [f"--events={EVENTS}", "--time=3600", f"--rand-seed={seed}"]
        printed = sysbench.command(script, tables, "run", *how)
        assert re.search(rf"transactions:\s+{EVENTS} ", printed), printed
        found = [int(n) for n in re.findall(r"(?:read|write|other):\s+(\d+)", printed)]
        assert statements is None or found == [EVENTS * n for n in statements], script
