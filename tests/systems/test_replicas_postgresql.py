"""A PostgreSQL primary with a streaming replica: what it holds, how far it is behind, and what ends it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from bakeoff.errors import ServerError
from bakeoff.provision.installation import Installation
from bakeoff.provision.instance import remove_stale
from bakeoff.schedule.nodes import by_node, facts_of
from bakeoff.systems.postgresql.control import Control
from bakeoff.systems.postgresql.system import PostgreSql
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.replication import WITHOUT_PRIMARY, Comparison
from builders.systems import running
from commands import descendants, gone, started, wait_until, write_plan

pytestmark = pytest.mark.servers

#: For what is bound to happen: only ends a test that has failed.
TIMEOUT_S = 120.0


@pytest.fixture(scope="module")
def pair(postgresql_program: Installation) -> Iterator[PostgreSql]:
    """A primary whose commits wait for its replica. Tests leave both with the same rows."""
    with running("postgresql", {"replicas": 1, "synchronous": True}) as system:
        system = cast(PostgreSql, system)
        system.control.rows("CREATE TABLE t (id INT PRIMARY KEY, v TEXT)")
        yield system


@pytest.fixture
def replica(pair: PostgreSql) -> Iterator[DatabaseServer]:
    """The replica, which applies what comes from now on."""
    assert pair.caught_up(TIMEOUT_S)
    yield pair.replicas()["replica1"]
    assert pair.caught_up(TIMEOUT_S)
    assert [check for check in pair.agreement(["t"]) if not check.ok] == []


def insert(pair: PostgreSql) -> int:
    """One more row; its number."""
    return int(pair.control.value("INSERT INTO t SELECT count(*) + 1, 'row' FROM t RETURNING id"))


def behind(pair: PostgreSql) -> dict[str, float]:
    gauges = by_node(pair.nodes(), lambda node: node.gauges())
    return {name: value for name, value in gauges.items() if ".lag_" in name}


def state(pid: int) -> str:
    """As the kernel writes it: T of one that is frozen."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_the_nodes_have_names_and_roles_and_say_how_they_replicate(pair: PostgreSql, replica: DatabaseServer) -> None:
    assert [(node.name, node.role) for node in pair.nodes()] == [("primary", "primary"), ("replica1", "replica")]
    found = facts_of(pair.nodes())
    assert found.portable["replication"] == "synchronous to 1: a commit waits until one of 1 has it on disk"
    assert found.portable["lost_with_primary"] == "nothing"
    assert found.portable["replica1.replication"] == "streams the primary's log from the slot replica1"
    assert found.settings["synchronous_standby_names"] == "ANY 1 (replica1)"
    assert not [name for name in found.settings if "conninfo" in name]


def test_the_load_may_read_from_the_replica_and_not_write_there(pair: PostgreSql, replica: DatabaseServer) -> None:
    insert(pair)
    assert pair.caught_up(TIMEOUT_S)
    pair.control.rows("GRANT ALL ON t TO bench")
    assert pair.caught_up(TIMEOUT_S)
    bench = Control(replica.bench_login("tcp"), "bakeoff", where="")
    assert bench.value("SELECT v FROM t LIMIT 1") == "row"
    with pytest.raises(ServerError, match="read-only transaction"):
        bench.rows("INSERT INTO t VALUES (0, 'x')")
    bench.close()


def test_the_lag_is_counted_from_positions_and_grows_while_nothing_is_replayed(
    pair: PostgreSql, replica: DatabaseServer
) -> None:
    assert set(behind(pair)) == {"replica1.lag_s", "replica1.lag_bytes"}
    replica.control.rows("SELECT pg_wal_replay_pause()")
    for _ in range(25):
        insert(pair)
    assert behind(pair)["replica1.lag_bytes"] >= 25 * 50  # a row and a commit each
    ages = [behind(pair)["replica1.lag_s"] for _ in range(3)]
    assert ages == sorted(set(ages))
    assert by_node(pair.nodes(), lambda node: node.debt())["replica1.lag_bytes"] > 0
    assert not pair.caught_up(TIMEOUT_S)  # and is not waited for
    (check, _) = pair.agreement(["t"])
    assert (check.name, check.ok) == ("replica1 has the same rows as primary", False)
    assert check.actual == "it has stopped applying: its replay is paused"
    replica.control.rows("SELECT pg_wal_replay_resume()")
    assert pair.caught_up(TIMEOUT_S)


def test_commits_that_nobody_waits_for_are_held_by_the_replica_all_the_same(
    pair: PostgreSql, replica: DatabaseServer
) -> None:
    pair.control.rows("SET synchronous_commit = off")
    number = insert(pair)
    pair.control.rows("SET synchronous_commit = on")
    assert pair.caught_up(TIMEOUT_S)
    assert replica.control.value("SELECT max(id) FROM t") == number


def test_of_a_table_too_large_to_be_read_whole_the_ends_are_compared(
    pair: PostgreSql, replica: DatabaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Comparison, "whole_bytes_max", 0)
    monkeypatch.setattr(Comparison, "ends_rows", 2)
    for _ in range(9):
        insert(pair)
    pair.control.rows("CREATE TABLE p (a INT, b TEXT, PRIMARY KEY (b, a)) PARTITION BY RANGE (a)")
    pair.control.rows("CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)")
    pair.control.rows("INSERT INTO p VALUES (1, 'x'), (2, 'x'), (3, 'y')")
    pair.control.rows("CREATE TABLE h (a INT)")
    pair.control.rows("INSERT INTO h VALUES (1)")
    assert pair.caught_up(TIMEOUT_S)
    (check, _) = pair.agreement(["t", "p", "h"])
    assert check.ok
    ends = "of t, p (large) only the first and last 2 rows by primary key were compared"
    assert check.actual == f"all applied; {ends}; not compared: h (large, without a primary key)"
    contents = pair.replication.contents
    assert all(contents.size_bytes(pair.server, table) >= 8 << 10 for table in ("t", "p", "h")), "a page"
    before = contents.ends(pair.server, "p", 2)
    assert before.startswith("4 rows, checksum ")
    assert contents.ends(replica, "p", 2) == before
    pair.control.rows("UPDATE p SET a = 9 WHERE a = 3")
    assert contents.ends(pair.server, "p", 2) != before
    pair.control.rows("DROP TABLE p, h")


def test_a_primary_that_was_told_to_wait_for_others_is_found(pair: PostgreSql, replica: DatabaseServer) -> None:
    pair.server.control.rows("SET synchronous_commit = local")
    pair.server.control.rows("ALTER SYSTEM SET synchronous_standby_names = 'another'")
    pair.server.control.rows("SELECT pg_reload_conf()")
    states = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'async'"
    wait_until(lambda: pair.server.control.rows(states), "the replica is not waited for")
    (_, check) = pair.agreement([])
    assert (check.ok, check.actual) == (False, "commits do not wait for a replica")
    assert facts_of(pair.nodes()).portable["lost_with_primary"] == "commits that no replica had received"
    pair.server.control.rows("ALTER SYSTEM RESET synchronous_standby_names")
    pair.server.control.rows("SELECT pg_reload_conf()")
    wait_until(lambda: not pair.server.control.rows(states), "it is again")
    pair.server.control.rows("SET synchronous_commit = on")


def test_passwords_are_in_no_log_or_fact_and_one_file_that_only_the_server_reads(
    pair: PostgreSql, replica: DatabaseServer
) -> None:
    passwords = [getattr(replica.spec.passwords, name) for name in ("bench", "root", "replication")]
    told = [str(facts_of(pair.nodes())), pair.log_tail(10_000)]
    files = [path for server in pair.servers().values() for path in server.folder.path.rglob("*") if path.is_file()]
    told += [path.read_text(errors="replace") for path in files if path.name != "passwords"]
    told += [Path(f"/proc/{pid}/cmdline").read_text() for pid in pair.pids()]
    assert not [password for password in passwords for text in told if password in text]
    assert (replica.folder.path / "passwords").stat().st_mode & 0o777 == 0o600


def test_what_was_loaded_is_put_back_to_all(pair: PostgreSql, replica: DatabaseServer) -> None:
    folder = pair.server.folder.path.parent / "copy"
    number = insert(pair)
    pair.snapshot(folder)
    insert(pair)
    pair.restore(folder)
    assert insert(pair) == number + 1
    assert pair.caught_up(TIMEOUT_S)
    assert replica.control.value("SELECT max(id) FROM t") == number + 1
    shutil.rmtree(folder)


def test_members_that_were_killed_come_back_and_hold_all_that_was_acknowledged(
    pair: PostgreSql, replica: DatabaseServer
) -> None:
    for server in (replica, pair.server):
        number = insert(pair)
        server.kill()
        assert pair.alive()
        assert not pair.whole()
        pair.start()
        assert pair.whole()
        assert pair.control.value("SELECT max(id) FROM t") == number
        assert pair.caught_up(TIMEOUT_S)
        assert all(check.ok for check in pair.agreement(["t"]))


def test_a_replica_comes_back_before_its_primary_and_follows_once_that_exists(
    pair: PostgreSql, replica: DatabaseServer
) -> None:
    number = insert(pair)
    pair.server.kill()
    replica.kill()
    assert pair.rejoin("replica1") == WITHOUT_PRIMARY
    assert replica.control.value("SELECT max(id) FROM t") == number
    assert pair.rejoin("primary") == ""
    insert(pair)


def test_a_replica_comes_back_while_its_primary_is_frozen_and_follows_once_that_is_thawed(
    pair: PostgreSql, replica: DatabaseServer
) -> None:
    pair.server.freeze()
    try:
        replica.kill()
        assert pair.rejoin("replica1") == WITHOUT_PRIMARY
    finally:
        pair.server.thaw()
    number = insert(pair)
    assert pair.caught_up(TIMEOUT_S)
    assert replica.control.value("SELECT max(id) FROM t") == number


def test_a_frozen_replica_is_thawed_and_follows(pair: PostgreSql, replica: DatabaseServer) -> None:
    replica.freeze()
    wait_until(lambda: {state(pid) for pid in replica.pids()} == {"T"}, "all of its processes are frozen")
    replica.thaw()
    insert(pair)
    assert pair.caught_up(TIMEOUT_S)


PLAN = """
title = "A pair that is killed while it starts"

[systems.postgresql]
replicas = 1

[workload]
kind = "ycsb"
records = 500

[measure]
window = "2s"
"""


def test_a_bakeoff_that_is_killed_while_its_pair_starts_leaves_nothing(
    tmp_path: Path, place: Path, postgresql_program: Installation
) -> None:
    """The primary has ended once more, to be copied, or runs again; the replica is about to."""
    process = started("run", write_plan(tmp_path, PLAN), "--work-dir", place, cwd=tmp_path)
    try:
        copied = "*/replica1/data/PG_VERSION"
        wait_until(lambda: list(place.glob(copied)), "the primary is copied", of=process)
        servers = descendants(process.pid, "postgres")
    finally:
        process.kill()
        process.communicate()
    wait_until(lambda: all(gone(server) for server in servers), "the servers have ended")
    assert remove_stale(place)
    assert not list(place.glob("*postgresql*"))
