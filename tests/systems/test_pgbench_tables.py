"""Tables are interchangeable with pgbench: the engine runs on what `pgbench -i` made, and pgbench on what the engine
loaded. Nothing here depends on how fast either is."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from bakeoff.systems.postgresql.system import PostgreSql
from commands import engine_phase

from benches.suite.peers.pgbench import find

pytestmark = pytest.mark.servers

TRANSACTIONS = 50
SCRIPTS = ("tpcb-like", "simple-update", "select-only")


@pytest.fixture
def empty(postgresql: PostgreSql) -> Iterator[PostgreSql]:
    _drop(postgresql)
    yield postgresql
    _drop(postgresql)


def _drop(system: PostgreSql) -> None:
    for (name,) in system.control.rows("SELECT tablename FROM pg_tables WHERE tablename LIKE 'pgbench_%'"):
        system.control.rows(f"DROP TABLE {name}")


def pgbench(system: PostgreSql, *arguments: str) -> str:
    """What the real one prints."""
    program, own = find(system.server.spec.installation, print)
    login = system.server.bench_login("tcp")
    where = ["--host=127.0.0.1", f"--port={login.address.port}", f"--username={login.user}"]
    done = subprocess.run(
        [program, *where, *arguments, "bakeoff"],
        env={**os.environ, **own, "PGPASSWORD": login.password},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def definitions(system: PostgreSql) -> list[tuple[Any, ...]]:
    """Columns with types, how full pages are made, and indexes."""
    columns = system.control.rows(
        "SELECT attrelid::regclass::text, attname, format_type(atttypid, atttypmod), attnotnull"
        " FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid"
        " WHERE relname LIKE 'pgbench_%' AND relkind = 'r' AND attnum > 0 ORDER BY 1, attnum"
    )
    options = system.control.rows("SELECT relname, reloptions FROM pg_class WHERE relname LIKE 'pgbench_%' ORDER BY 1")
    indexes = system.control.rows("SELECT indexdef FROM pg_indexes WHERE tablename LIKE 'pgbench_%' ORDER BY 1")
    return [*columns, *options, *indexes]


def contents(system: PostgreSql) -> list[tuple[Any, ...]]:
    """Of all tables before any transaction; a filler of nothing and none are the same to pgbench."""
    sums = [
        "count(*), min(aid), max(aid), sum(aid::bigint * bid), sum(abalance) FROM pgbench_accounts",
        "count(*), min(tid), max(tid), sum(tid * bid), sum(tbalance) FROM pgbench_tellers",
        "count(*), min(bid), max(bid), sum(bid), sum(bbalance) FROM pgbench_branches",
    ]
    fillers = "count(*) FROM pgbench_accounts WHERE coalesce(filler, '') = ''"
    return [row for sql in (*sums, fillers) for row in system.control.rows(f"SELECT {sql}")]


def workload(script: str) -> dict[str, Any]:
    return {"kind": "sql", "script": script, "scale": 1}


def test_our_transactions_run_on_tables_that_pgbench_made(empty: PostgreSql) -> None:
    pgbench(empty, "--initialize", "--quiet")
    limit = {"kind": "operations", "operations": TRANSACTIONS, "max_s": 3600}
    for script in SCRIPTS:
        result = engine_phase(empty, "run", workload(script), threads=1, limit=limit)
        assert result["error_ratio"] == 0, (script, result["errors"])
    # Two of the three write a line of history; and what it says was added to the accounts.
    done = empty.control.rows("SELECT count(*), sum(delta) FROM pgbench_history")
    assert done == [(2 * TRANSACTIONS, *empty.control.rows("SELECT sum(abalance) FROM pgbench_accounts")[0])]


def test_pgbenchs_transactions_run_on_tables_that_we_loaded(empty: PostgreSql) -> None:
    pgbench(empty, "--initialize", "--quiet")
    theirs, holding = definitions(empty), contents(empty)
    loaded = engine_phase(empty, "load", workload("tpcb-like"), threads=2, drop_existing=True)
    assert loaded["rows"] == 100_000 + 10 + 1
    assert (definitions(empty), contents(empty)) == (theirs, holding)
    for script in SCRIPTS:
        # Else it would empty the history, and leave the balances that it tells of.
        how = ["--no-vacuum", "--protocol=prepared", f"--transactions={TRANSACTIONS}"]
        said = pgbench(empty, f"--builtin={script}", *how)
        assert re.search(rf"actually processed: {TRANSACTIONS}/", said), said
    checked = engine_phase(empty, "check", workload("tpcb-like"), check={"after_run": True})
    assert all(check["ok"] for check in checked["checks"]), checked
