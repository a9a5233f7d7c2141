"""One managed node of Cassandra, and the same as an existing cluster, against the real thing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, cast

import pytest
from bakeoff.errors import ExitCode, PlanError, ServerError
from bakeoff.provision.process import server_account
from bakeoff.systems.cassandra import node as facts
from bakeoff.systems.cassandra.control import Control
from bakeoff.systems.cassandra.options import SOURCES
from bakeoff.systems.cassandra.system import Cassandra, ExistingCassandra
from bakeoff.systems.server.control import Login
from builders.systems import configured, node_of
from commands import bakeoff, only_bundle, write_plan

ROWS = 300

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def node() -> Iterator[Cassandra]:
    """Running, for tests that leave it as they found it."""
    if not SOURCES.here():
        SOURCES.install("5.0", None, lambda _: None)
    folder = Path(tempfile.mkdtemp(prefix="bakeoff-test-"))
    os.chmod(folder, 0o755)
    start = {"heap": "256MiB", "settings": {"concurrent_writes": 16}}
    system = cast(Cassandra, configured("cassandra", folder / "a", {"start": start}, durability="full"))
    try:
        system.start()
        yield system
    finally:
        system.stop()
        shutil.rmtree(folder)


def change(node: Cassandra, statement: str) -> None:
    """Makes, empties or drops a table: next to other work this takes longer than the 5 s that `node.control` waits."""
    with closing(node.server.make_control(timeout_s=120.0)) as patient:
        patient.rows(statement)


@pytest.fixture
def table(node: Cassandra) -> Iterator[str]:
    """With rows that compress badly."""
    change(node, "CREATE TABLE bakeoff.t (k text PRIMARY KEY, v text)")
    for number in range(ROWS):
        node.control.rows("INSERT INTO bakeoff.t (k, v) VALUES (?, ?)", str(number), os.urandom(500).hex())
    yield "t"
    change(node, "DROP TABLE bakeoff.t")


def existing(node: Cassandra, monkeypatch: pytest.MonkeyPatch, **options: Any) -> ExistingCassandra:
    """The same cluster again, by its address."""
    monkeypatch.setenv("TEST_PASSWORD", node.server.bench_password)
    address = str(node.server.bench_address("tcp"))
    given = {"address": address, "user": "bench", "password": {"env": "TEST_PASSWORD"}, **options}
    levels = {"durability": given.pop("durability")} if "durability" in given else {}
    return cast(ExistingCassandra, configured("cassandra", Path("/"), given, **levels))


def test_the_account_that_everybody_knows_is_gone(node: Cassandra) -> None:
    login = node.server.bench_login("tcp")
    known = Login(login.address, "cassandra", "cassandra")
    with closing(Control(known, "bakeoff", where="")) as control, pytest.raises(ServerError, match="refused user"):
        control.rows(control.probe)
    with closing(Control(login, "bakeoff", where="")) as control:
        assert control.answers()
        assert sorted(name for (name,) in control.rows("SELECT role FROM system_auth.roles")) == ["bakeoff", "bench"]


def test_it_listens_on_loopback_alone_and_runs_as_nobody_special(node: Cassandra) -> None:
    (pid,) = node.pids()
    listening = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    inodes = set()
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # one that has been closed since
            inodes.add(os.readlink(path))
    own = {words[1].partition(":")[0] for words in listening if words[3] == "0A" and f"socket:[{words[9]}]" in inodes}
    assert own == {"0100007F"}
    if account := server_account():
        assert os.stat(f"/proc/{pid}").st_uid == account.uid


def test_it_says_what_it_is_and_what_it_keeps(node: Cassandra) -> None:
    found = node_of(node).facts()
    assert (found.product, found.version.split(".")[0]) == ("Cassandra", "5")
    assert found.settings["concurrent_writes"] == "16"
    assert found.settings["commitlog_sync"] == "batch"
    told = {name: found.portable[name] for name in ("durability", "consistency", "memory_bytes", "replication")}
    assert told == {
        "durability": "full",
        "consistency": "local_quorum",
        "memory_bytes": str(256 << 20),
        "replication": "NetworkTopologyStrategy, datacenter1 1",
    }


def test_what_it_does_and_has_still_to_do_is_counted(node: Cassandra, table: str) -> None:
    counters, gauges, debt = (read() for read in (node_of(node).counters, node_of(node).gauges, node_of(node).debt))
    assert counters["coordinator_write_count"] >= ROWS
    assert {"ReadStage.pending_tasks", "MutationStage.active_tasks", "clients"} <= set(gauges)
    assert debt["commitlog_bytes"] > 0
    assert debt["hint_files"] == 0
    assert node.caught_up(0.0)


def test_what_is_in_memory_counts_as_on_disk(node: Cassandra, table: str) -> None:
    """It is flushed first, and the table afterwards is as it was."""
    size = node.size_on_disk_bytes()
    assert size is not None
    assert size > ROWS * 500
    assert node.drain_debt(60.0)
    periods = "SELECT memtable_flush_period_in_ms FROM system_schema.tables WHERE keyspace_name = 'bakeoff'"
    assert node.control.rows(periods) == [(0,)]


@pytest.mark.slow
def test_a_copy_is_put_back_as_it_was(node: Cassandra, table: str, tmp_path: Path) -> None:
    place = node.server.folder.path.parent / "snapshot"
    node.snapshot(place)
    change(node, "TRUNCATE bakeoff.t")
    node.restore(place)
    assert node.whole()
    assert node.control.value("SELECT count(*) FROM bakeoff.t") == ROWS


@pytest.mark.slow
def test_no_acknowledged_write_is_lost_at_full_durability_when_it_is_killed(node: Cassandra, table: str) -> None:
    node.server.kill()
    assert not node.alive()
    node.start()
    assert node.control.value("SELECT count(*) FROM bakeoff.t") == ROWS


def test_an_existing_cluster_is_only_asked(node: Cassandra, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    system = existing(node, monkeypatch)
    ledger = system.ledger()
    system.start()
    try:
        assert ledger.strangers(["t"]) == ["t"]
        assert node_of(system).facts().portable["durability"] == "full"
        assert system.size_on_disk_bytes() is not None
        assert system.pids() == node.pids() or os.geteuid() != 0
    finally:
        system.stop()
    other = existing(node, monkeypatch, durability="none")
    try:
        with pytest.raises(PlanError, match=r"asks for durability 'none'.*runs with 'full'"):
            other.start()
    finally:
        other.stop()


def test_what_is_ours_is_written_down_and_known_again(node: Cassandra, monkeypatch: pytest.MonkeyPatch) -> None:
    system = existing(node, monkeypatch)
    ledger = system.ledger()
    system.start()
    try:
        ledger.begin(["usertable"], "data", "bundle")
        change(node, "CREATE TABLE bakeoff.usertable (k text PRIMARY KEY)")
        assert [(one.ours, one.whole) for one in ledger.there(["usertable"])] == [(True, False)]
        ledger.loaded(["usertable"])
        assert [(one.ours, one.whole) for one in ledger.there(["usertable"])] == [(True, True)]
        change(node, "DROP TABLE bakeoff.usertable")
        change(node, "CREATE TABLE bakeoff.usertable (k text PRIMARY KEY)")
        assert [one.ours for one in ledger.there(["usertable"])] == [False]
        change(node, "DROP TABLE bakeoff.usertable")
        ledger.drop(["usertable"])
    finally:
        system.stop()
    assert facts.read_tables(node.control, "bakeoff") == []


def test_one_bakeoff_at_a_time_works_in_a_keyspace(node: Cassandra, monkeypatch: pytest.MonkeyPatch) -> None:
    system = existing(node, monkeypatch)
    system.start()
    node.control.rows("UPDATE bakeoff.bakeoff_claim SET holder = 'pid 7 on elsewhere' WHERE id = 'claim' IF EXISTS")
    system.stop()  # which leaves what is not its own any more
    second = existing(node, monkeypatch)
    try:
        with pytest.raises(ServerError, match=r"another bakeoff run \(pid 7 on elsewhere\) is using the keyspace"):
            second.start()
    finally:
        second.stop()
        change(node, "DROP TABLE bakeoff.bakeoff_claim")


def test_a_keyspace_that_is_not_there_is_made_only_with_a_number_of_copies(
    node: Cassandra, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = existing(node, monkeypatch, keyspace="other").ledger()
    assert absent.absent_place() == "keyspace `other`"
    with pytest.raises(PlanError, match="there is no keyspace `other`") as caught:
        absent.make_place()
    assert "replication_factor" in caught.value.hint
    made = existing(node, monkeypatch, keyspace="other", replication_factor=1).ledger()
    made.make_place()
    assert made.absent_place() == ""
    absent.release()
    made.release()
    change(node, "DROP KEYSPACE other")


PLAN = """
title = "Cassandra"
seed = 3

[systems.cassandra]
start = { version = "5.0", heap = "256MiB" }
durability = "none"

[workload]
kind = "ycsb"
preset = "a"
records = 500
data_integrity = true

[factors]
threads = [4]

# By number: a window holds what the machine has time for.
[measure]
warm_up = "300ms"
operations = 1000
repetitions = 1
reset = "none"
timeout = "10m"
"""


def test_a_plan_is_carried_out_from_its_start_to_its_report(tmp_path: Path) -> None:
    done = bakeoff("run", write_plan(tmp_path, PLAN), cwd=tmp_path)
    assert done.code == 0, done.err
    bundle = only_bundle(tmp_path)
    (run,) = bundle.runs
    assert run.valid, run.validity
    assert all(check.ok for check in run.checks), run.checks
    assert run.server.cpu_s
    assert run.server.size_on_disk_bytes
    table = bundle.server(run.id)
    assert table is not None
    assert {"db.coordinator_write_count_per_s", "db.ReadStage.completed_tasks_per_s"} <= set(table.column_names)
    found = bundle.facts[run.cell]
    assert found.portable["lost_when_killed"] == "commits of about the last 0.1 s"


@pytest.mark.slow
def test_scans_need_the_layout_that_has_an_order(tmp_path: Path) -> None:
    scans = PLAN.replace('preset = "a"', 'preset = "e"')
    assert scans != PLAN
    refused = bakeoff("run", write_plan(tmp_path, scans), "--dry-run", cwd=tmp_path)
    assert refused.code == ExitCode.USAGE
    assert "scans in the order of keys" in refused.err
    clustered = scans.replace('durability = "none"', 'durability = "none"\nlayout = "clustered"')
    done = bakeoff("run", write_plan(tmp_path, clustered), cwd=tmp_path)
    assert done.code == 0, done.err
    bundle = only_bundle(tmp_path)
    (run,) = bundle.runs
    assert run.valid, run.validity
    assert all(check.ok for check in run.checks), run.checks
    assert bundle.facts[run.cell].portable["layout"] == "clustered"


HATS = """
title = "hats"
seed = 1

[systems.db]
kind = "cassandra"
address = "{address}"
user = "bench"
password = {{ env = "TEST_PASSWORD" }}

[workload]
kind = "hatshop"
orders = 50
events = 1000

[factors]
layout = ["line_items", "line_items_by_order"]
threads = 6

[measure]
sessions = 3
warm_up = 0
operations = 1000
timeout = "10m"
repetitions = 1
reset = "reload"
"""


@pytest.mark.slow
def test_the_hat_shop_is_the_same_in_both_layouts(
    node: Cassandra, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TEST_PASSWORD", node.server.bench_password)
    plan = HATS.format(address=node.server.bench_address("tcp"))
    done = bakeoff("run", write_plan(tmp_path, plan), cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    runs = only_bundle(tmp_path).runs
    assert len(runs) == 2
    for run in runs:
        assert run.valid, run.validity
        assert (run.ok, len(run.checks)) == (1000, 4)
        assert all(check.ok for check in run.checks), run.checks
    (one, other) = (run.evidence for run in runs)
    assert one == other
