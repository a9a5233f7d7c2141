"""The main job on a real PostgreSQL: managed, over TLS, and existing."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.provision.installation import Installation
from bakeoff.systems.postgresql.system import PostgreSql
from commands import bakeoff, descendants, end, finish, gone, only_bundle, started, wait_until, write_plan

pytestmark = pytest.mark.servers

PRIVATE = """
title = "PostgreSQL"
seed = 3

[systems.postgresql]
start = { settings = { shared_buffers = "32MB" } }
durability = "none"

[workload]
kind = "ycsb"
preset = "a"
records = 1000
data_integrity = true

[factors]
threads = [4]
isolation = ["read-committed"]

# By number: a window holds what the machine has time for, and it is to last longer than a second.
[measure]
warm_up = "300ms"
operations = 20_000
repetitions = 1
timeout = "10m"
"""


@pytest.fixture(autouse=True)
def needs_a_server(postgresql_program: Installation) -> None:
    """Fetched once when this machine has none."""


def test_a_managed_server_is_measured_inside_and_out_and_gone_afterwards(tmp_path: Path) -> None:
    process = started("run", write_plan(tmp_path, PRIVATE), "--json", cwd=tmp_path)
    try:
        servers = wait_until(lambda: descendants(process.pid, "postgres"), "the server runs", of=process)
        done = finish(process)
    finally:
        end(process)
    assert done.code == 0, done.err
    assert all(gone(pid) for pid in servers)
    bundle = only_bundle(tmp_path)
    (run,) = bundle.runs
    assert run.valid, run.validity
    assert all(check.ok for check in run.checks), run.checks
    assert run.server.cpu_s  # of connections that have ended, too
    assert run.server.memory_peak_bytes
    assert run.server.memory_peak_bytes < 1 << 30  # shared memory once
    assert run.server.size_on_disk_bytes
    table = bundle.server(run.id)
    assert table is not None
    assert {"db.wal_position_bytes_per_s", "db.database.xact_commit_per_s"} <= set(table.column_names)
    facts = bundle.facts[run.cell]
    assert facts.product == "PostgreSQL"
    assert facts.portable["isolation"] == "read-committed"
    assert facts.portable["durability"] == "none"
    assert facts.portable["lost_when_killed"] == "commits of the last 0.6 s"


def test_sysbench_runs_over_tls_and_a_lost_race_is_a_conflict(tmp_path: Path) -> None:
    text = PRIVATE.replace('kind = "ycsb"\npreset = "a"\nrecords = 1000\ndata_integrity = true', SYSBENCH)
    text = text.replace('durability = "none"', "tls = true").replace("read-committed", "repeatable-read")
    text = text.replace("operations = 20_000", 'operations = 200\nerror_budget = "100%"')
    done = bakeoff("run", write_plan(tmp_path, text), cwd=tmp_path)
    assert done.code == 0, done.err
    bundle = only_bundle(tmp_path)
    (run,) = bundle.runs
    assert bundle.facts[run.cell].portable["tls"].startswith("TLS_")
    assert {series.outcome for series in run.series} <= {"ok", "fail_conflict"}
    assert all(check.ok for check in run.checks), run.checks


SYSBENCH = 'kind = "sysbench"\nscript = "oltp_read_write"\ntables = 2\ntable_size = 1000'


def test_an_existing_server_keeps_its_tables_until_they_are_dropped(
    tmp_path: Path, postgresql: PostgreSql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_PASSWORD", postgresql.server.bench_password)
    here = f'address = "127.0.0.1:{postgresql.server.port}"'
    nodes = f'nodes = [{{ name = "a", {here} }}, {{ name = "b", role = "replica", {here} }}]'  # one server by two names
    address = f'{nodes}\nuser = "bench"\npassword = {{ env = "TEST_PASSWORD" }}'
    text = PRIVATE.replace('start = { settings = { shared_buffers = "32MB" } }', address)
    text = text.replace('durability = "none"', 'durability = "full"')
    text = text.replace("repetitions = 1", 'repetitions = 1\nreset = "reload"')
    text = text.replace("seed = 3", 'seed = 3\nrouting = "split"')  # by itself nothing would go to a replica
    plan = write_plan(tmp_path, text)
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
    for _ in range(2):  # what the first left is created again by the second, unasked
        done = bakeoff("run", plan, cwd=tmp_path)
        assert done.code == 0, done.err
        assert postgresql.control.value(tables) == 2  # with the ledger
    bundles = sorted((tmp_path / "bakeoff-results").iterdir())
    (run,) = Bundle.open(bundles[-1]).runs
    assert [(node.name, node.role) for node in run.nodes] == [("a", "primary"), ("b", "replica")]
    assert min(node.operations for node in run.nodes) > 0
    assert sum(node.response.count for node in run.nodes) == run.ok
    done = bakeoff("drop", plan, "--yes", cwd=tmp_path)
    assert done.code == 0, done.err
    assert postgresql.control.value(tables) == 0
