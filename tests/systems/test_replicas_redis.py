"""A Redis primary with replicas: what they hold, how far they are behind, what ends them, what verify sees of it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from bakeoff.analysis.registry import metric
from bakeoff.errors import ServerError
from bakeoff.findings.run_values import observed
from bakeoff.provision.partition import Partition
from bakeoff.schedule.nodes import by_node, facts_of
from bakeoff.systems.redis.control import RedisControl
from bakeoff.systems.redis.system import SOURCES, Redis
from bakeoff.systems.redis.valkey import SOURCES as VALKEY
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.replication import WITHOUT_PRIMARY, Comparison
from builders.systems import fetched, running
from commands import bakeoff, only_bundle, write_plan

pytestmark = pytest.mark.servers

#: For what is bound to happen: only ends a test that has failed.
TIMEOUT_S = 60.0
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="the kernel lets only root filter TCP")


@pytest.fixture(scope="module")
def version() -> str:
    here = SOURCES.here()
    return here[0].version if here else fetched(SOURCES, "7.0")


@pytest.fixture(scope="module")
def trio(version: str) -> Iterator[Redis]:
    """A primary with two replicas, encrypted, in a database of its own. Tests leave all with the same records."""
    options = {"start": {"version": version, "replicas": 2}, "tls": True, "database": 3}
    with running("redis", options, durability="full") as system:
        yield cast(Redis, system)


@pytest.fixture
def replica(trio: Redis) -> Iterator[DatabaseServer]:
    """The first, which has applied all and applies what comes."""
    assert trio.caught_up(TIMEOUT_S)
    yield trio.replicas()["replica1"]
    assert trio.caught_up(TIMEOUT_S)
    assert [check for check in trio.agreement(["t"]) if not check.ok] == []


def insert(server: DatabaseServer, key: str = "", table: str = "t") -> str:
    """One more record, stored as the driver stores them; its key."""
    with_database = RedisControl(server.bench_login("tcp"), 3, where="")
    key = key or f"k{with_database.value('ZCARD', f'{table}/keys'):06}"
    with_database.rows("HSET", f"{table}:{key}", "b", "two", "a", "one")
    with_database.rows("ZADD", f"{table}/keys", 0, key)
    with_database.close()
    return key


def holds(server: DatabaseServer, key: str) -> bool:
    control = RedisControl(server.bench_login("tcp"), 3, where="")
    found = control.value("HGET", f"t:{key}", "a")
    control.close()
    return bool(found == "one")


def behind(trio: Redis) -> dict[str, float]:
    gauges = by_node(trio.nodes(), lambda node: node.gauges())
    return {name: value for name, value in gauges.items() if name.startswith("replica1.lag_")}


def test_the_nodes_say_how_they_replicate(trio: Redis, replica: DatabaseServer) -> None:
    assert [(node.name, node.role) for node in trio.nodes()] == [
        ("primary", "primary"),
        ("replica1", "replica"),
        ("replica2", "replica"),
    ]
    found = facts_of(trio.nodes())
    assert found.portable["replication"] == "asynchronous to 2: no write waits"
    assert found.portable["lost_with_primary"] == "commits that no replica had received"
    assert found.portable["replica1.replication"] == "receives the primary's commands"
    assert found.portable["durability"] == "full"
    assert found.settings["replica-serve-stale-data"] == "yes"


def test_what_is_written_to_the_primary_is_read_on_replicas_and_they_take_no_writes(
    trio: Redis, replica: DatabaseServer
) -> None:
    key = insert(trio.server)
    assert trio.caught_up(TIMEOUT_S)
    assert [holds(server, key) for server in trio.servers().values()] == [True, True, True]
    with pytest.raises(ServerError, match="READONLY"):
        insert(replica)


def test_passwords_are_in_no_file_log_fact_or_command_line_and_the_replicas_account_reads_nothing(
    trio: Redis, replica: DatabaseServer
) -> None:
    passwords = [getattr(replica.spec.passwords, name) for name in ("bench", "root", "replication")]
    told = [str(facts_of(trio.nodes())), trio.log_tail(10_000)]
    files = [path for server in trio.servers().values() for path in server.folder.path.rglob("*") if path.is_file()]
    told += [path.read_text(errors="replace") for path in files]
    told += [Path(f"/proc/{pid}/cmdline").read_text() for pid in trio.pids()]
    assert not [password for password in passwords for text in told if password in text]
    login = trio.server.bench_login("tcp")
    follower = RedisControl(
        type(login)(login.address, "replication", replica.spec.passwords.replication, login.tls), where=""
    )
    assert follower.answers()
    with pytest.raises(ServerError, match="lacks a privilege"):
        follower.rows("GET x")
    follower.close()


def test_they_listen_on_loopback_alone(trio: Redis, replica: DatabaseServer) -> None:
    for server in trio.servers().values():
        assert server.control.rows("CONFIG GET bind")[1] == ("127.0.0.1",)


def test_a_frozen_replica_is_behind_and_catches_up(trio: Redis, replica: DatabaseServer) -> None:
    assert set(behind(trio)) == {"replica1.lag_s", "replica1.lag_bytes"}
    assert behind(trio)["replica1.lag_bytes"] == 0
    replica.freeze()
    try:
        for _ in range(20):
            key = insert(trio.server)
    finally:
        replica.thaw()
    assert trio.caught_up(TIMEOUT_S)
    assert holds(replica, key)


@needs_root
def test_a_replica_that_is_cut_off_has_old_values_and_its_lag_grows(trio: Redis, replica: DatabaseServer) -> None:
    others = [server for server in trio.servers().values() if server is not replica]
    partition = Partition(replica, others)
    partition.begin()
    try:
        keys = [insert(trio.server) for _ in range(20)]
        assert not holds(replica, keys[0])
        assert behind(trio)["replica1.lag_bytes"] > 20 * 50
        ages = [behind(trio)["replica1.lag_s"] for _ in range(3)]
        assert ages == sorted(set(ages))
        assert not trio.caught_up(0.2)
        (first, second, _) = trio.agreement(["t"])
        assert (first.ok, second.ok) == (False, True)
        assert first.actual.endswith("bytes are not applied")
    finally:
        partition.end()
    assert trio.caught_up(TIMEOUT_S)
    assert all(holds(replica, key) for key in keys)


def test_a_replica_that_holds_something_else_is_found(
    trio: Redis, replica: DatabaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(9):
        insert(trio.server)
    assert trio.caught_up(TIMEOUT_S)
    contents, database = trio.replication.contents, RedisControl(replica.control.login, 3, where="")
    assert contents.size_bytes(trio.server, "t") > 9 * 50
    database.rows("CONFIG SET replica-read-only no")
    database.rows("HSET t:k000004 a other")
    (check, other, _) = trio.agreement(["t"])
    assert (check.ok, other.ok) == (False, True)
    assert "rows, checksum" in check.actual
    monkeypatch.setattr(Comparison, "whole_bytes_max", 0)
    monkeypatch.setattr(Comparison, "ends_rows", 2)
    (check, *_) = trio.agreement(["t"])
    assert check.ok, "it is not at an end"
    assert check.actual == "all applied; of t (large) only the first and last 2 rows by primary key were compared"
    database.rows("HDEL t:k000001 b")
    (check, *_) = trio.agreement(["t"])
    assert not check.ok
    monkeypatch.undo()
    database.rows("HSET t:k000004 a one")
    database.rows("HSET t:k000001 b two")
    database.rows("CONFIG SET replica-read-only yes")
    database.close()


def test_one_that_follows_nobody_any_more_is_not_waited_for(trio: Redis, replica: DatabaseServer) -> None:
    replica.control.rows("REPLICAOF NO ONE")
    insert(trio.server)
    assert not trio.caught_up(TIMEOUT_S)
    (check, *_) = trio.agreement(["t"])
    assert check.actual == "it has stopped applying: it follows nobody: its role is master"
    trio.rejoin("replica1")


def test_members_that_were_killed_come_back_and_hold_all_that_was_acknowledged(
    trio: Redis, replica: DatabaseServer
) -> None:
    for server in (replica, trio.server):
        key = insert(trio.server)
        server.kill()
        assert trio.alive()
        assert not trio.whole()
        trio.start()
        assert trio.whole()
        assert trio.caught_up(TIMEOUT_S)
        assert all(holds(one, key) for one in trio.servers().values())
        assert all(check.ok for check in trio.agreement(["t"]))


def test_a_replica_serves_what_it_has_before_its_primary_is_back(trio: Redis, replica: DatabaseServer) -> None:
    key = insert(trio.server)
    assert trio.caught_up(TIMEOUT_S)
    trio.server.kill()
    replica.kill()
    assert trio.rejoin("replica1") == WITHOUT_PRIMARY
    assert holds(replica, key)
    with pytest.raises(ServerError, match="READONLY"):
        insert(replica)
    assert trio.rejoin("primary") == ""
    insert(trio.server)


def test_what_was_loaded_is_put_back_to_all(trio: Redis, replica: DatabaseServer) -> None:
    folder = trio.server.folder.path.parent / "copy"
    kept = insert(trio.server)
    trio.snapshot(folder)
    gone = insert(trio.server)
    trio.restore(folder)
    assert trio.caught_up(TIMEOUT_S)
    assert [(holds(one, kept), holds(one, gone)) for one in trio.servers().values()] == [(True, False)] * 3
    shutil.rmtree(folder)


# -- as systems of plans -----------------------------------------------------------------------------------------------

PLAN = """
title = "Reads from replicas"
threads = 4

[systems.{kind}]
start = {{ version = "{version}", replicas = 2 }}
durability = "relaxed"

[workload]
kind = "ycsb"
preset = "a"
records = 500

[measure]
routing = "split"
warm_up = "500ms"
window = "{window}"
repetitions = 1
error_budget = "100%"
"""
FAULTS = """
[verify]
probe = true
seconds = 0

[[faults]]
at = "1s"
node = "replica1"
do = "kill"
for = "500ms"

[[faults]]
at = "2500ms"
node = "replica2"
do = "partition"
for = "3s"
"""


@needs_root
def test_a_run_reads_from_replicas_and_its_probe_sees_one_that_is_cut_off(version: str, tmp_path: Path) -> None:
    plan = PLAN.format(kind="redis", version=version, window="7s") + FAULTS
    done = bakeoff("run", write_plan(tmp_path, plan), "--together", "--allow-disturbed", cwd=tmp_path)
    assert done.code == 0, done.err
    bundle = only_bundle(tmp_path)
    (run,) = bundle.runs
    assert run.valid, run.validity
    assert all(check.ok for check in run.checks), run.checks
    told = [check.name for check in run.checks]
    assert {"replica1 has the same rows as primary", "replica2 has the same rows as primary"} < set(told)
    assert [fault.failure for fault in run.faults] == ["", ""]
    nodes = {node.name: node for node in run.nodes}
    assert all(nodes[name].outcomes["ok"] > 0 for name in ("primary", "replica1", "replica2"))
    assert run.staleness_probe is not None
    assert run.staleness_probe.sessions == 3
    oldest_ms = metric("stale_age_p99").of(observed(bundle, run))
    assert oldest_ms is not None
    assert oldest_ms > 300, "what was cut off for 3 s"


WAITING = """
title = "Writes that wait, and writes that do not"

[systems.redis]
replicas = 2

[systems.waiting]
kind = "redis"
replicas = 2
wait_replicas = 2

[workload]
kind = "ycsb"
records = 100

[measure]
threads = 4
window = "1s"
"""


@pytest.mark.usefixtures("version")
def test_verify_finds_no_old_read_where_each_write_waits_for_all_replicas(tmp_path: Path) -> None:
    done = bakeoff("verify", write_plan(tmp_path, WAITING), "--seconds", "2", "--json", "--together", cwd=tmp_path)
    assert done.code == 0, done.err
    verified = json.loads(done.out)["verified"]
    found = {one["system"]: {judged["name"]: judged for judged in one["histories"]} for one in verified}
    stale = {label: judged["staleness"]["report"]["staleness"] for label, judged in found.items()}
    assert stale["waiting"]["stale"] == 0
    assert all(one["reads"] > 100 for one in stale.values())
    assert all(judged["convergence"]["verdict"] in ("HELD", "INCONCLUSIVE") for judged in found.values())


def test_a_write_that_nobody_applies_is_not_acknowledged(tmp_path: Path) -> None:
    """Of Valkey. Its only replica is frozen: the time limit of operations ends the writes."""
    here = VALKEY.here()
    plan = PLAN.format(kind="valkey", version=here[0].version if here else fetched(VALKEY, "8.1"), window="3s")
    for old, new in (
        ("replicas = 2", "replicas = 1"),
        ("durability", "wait_replicas = 1\ndurability"),
        ('routing = "split"', 'timeout = "500ms"'),
    ):
        plan = plan.replace(old, new)
    plan += '[[faults]]\nat = "1s"\nnode = "replica1"\ndo = "freeze"\nfor = "1500ms"\n'
    done = bakeoff("run", write_plan(tmp_path, plan), "--together", "--allow-disturbed", cwd=tmp_path)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert [node.name for node in run.nodes] == ["primary", "replica1"]
    assert "replica1 has the same rows as primary" in [check.name for check in run.checks]
    assert all(check.ok for check in run.checks), run.checks
    (fault,) = run.faults
    assert fault.effect is not None
    assert fault.effect.unknown > 0
    assert (fault.effect.without_writes_s or 0) > 1
