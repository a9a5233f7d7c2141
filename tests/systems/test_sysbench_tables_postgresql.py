"""Tables are interchangeable with sysbench's pgsql driver: the engine runs on what the real sysbench prepared, and the
real sysbench on what the engine loaded. Nothing here depends on how fast either is."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from bakeoff.systems.postgresql.system import PostgreSql
from commands import engine_phase

pytestmark = pytest.mark.servers

TABLES, ROWS, EVENTS = 2, 1000, 50
SIZES = {"tables": TABLES, "table_size": ROWS}
SCRIPTS = ("oltp_read_write", "oltp_point_select", "oltp_insert", "oltp_delete")


@pytest.fixture
def empty(postgresql: PostgreSql) -> Iterator[PostgreSql]:
    _drop(postgresql)
    yield postgresql
    _drop(postgresql)


def _drop(system: PostgreSql) -> None:
    for (name,) in system.control.rows("SELECT tablename FROM pg_tables WHERE tablename LIKE 'sbtest%'"):
        system.control.rows(f"DROP TABLE {name}")


def sysbench(peer: tuple[str, dict[str, str]], system: PostgreSql, script: str, command: str) -> str:
    """What the real one prints. `peer`: its program and environment."""
    program, own = peer
    login = system.server.bench_login("tcp")
    where = ["--pgsql-host=127.0.0.1", f"--pgsql-port={login.address.port}", f"--pgsql-user={login.user}"]
    how = [f"--tables={TABLES}", f"--table-size={ROWS}", f"--events={EVENTS}", "--time=3600"]
    argv = [program, "--db-driver=pgsql", *where, "--pgsql-db=bakeoff", *how, script, command]
    environment = {**os.environ, **own, "PGPASSWORD": login.password}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def definitions(system: PostgreSql) -> list[tuple[Any, ...]]:
    """Columns with types and defaults, indexes, and where the numbers of rows go on."""
    columns = system.control.rows(
        "SELECT attrelid::regclass::text, attname, format_type(atttypid, atttypmod), attnotnull,"
        " pg_get_expr(adbin, adrelid) FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum"
        " WHERE attrelid::regclass::text LIKE 'sbtest_' AND attnum > 0 ORDER BY 1, attnum"
    )
    indexes = system.control.rows("SELECT indexdef FROM pg_indexes WHERE tablename LIKE 'sbtest_' ORDER BY 1")
    sequences = system.control.rows("SELECT sequencename, last_value FROM pg_sequences ORDER BY 1")
    return [*columns, *indexes, *sequences]


def run(system: PostgreSql, script: str) -> dict[str, Any]:
    limit = {"kind": "operations", "operations": EVENTS, "max_s": 3600}
    workload = {"kind": "sysbench", "script": script, **SIZES}
    return engine_phase(system, "run", workload, threads=1, limit=limit)


def test_our_scripts_run_on_tables_that_sysbench_prepared(
    empty: PostgreSql, sysbench_program: tuple[str, dict[str, str]]
) -> None:
    sysbench(sysbench_program, empty, "oltp_read_write", "prepare")
    for script in SCRIPTS:
        result = run(empty, script)
        assert result["error_ratio"] == 0, (script, result["errors"])


def test_sysbenchs_scripts_run_on_tables_that_we_loaded(
    empty: PostgreSql, sysbench_program: tuple[str, dict[str, str]]
) -> None:
    sysbench(sysbench_program, empty, "oltp_read_write", "prepare")
    theirs = definitions(empty)
    loaded = engine_phase(empty, "load", {"kind": "sysbench", **SIZES}, threads=2, drop_existing=True)
    assert loaded["rows"] == TABLES * ROWS
    assert definitions(empty) == theirs
    for script in SCRIPTS:
        assert re.search(rf"transactions:\s+{EVENTS} ", sysbench(sysbench_program, empty, script, "run")), script
