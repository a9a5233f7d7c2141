"""A MariaDB primary with replicas: what they hold, how far they are behind, and what ends them."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pymysql
import pytest
from bakeoff.errors import ServerError
from bakeoff.provision.installation import Installation
from bakeoff.provision.instance import remove_stale
from bakeoff.provision.process import start_ticks
from bakeoff.schedule.nodes import by_node, facts_of
from bakeoff.systems.mysql.mariadb import MariaDb
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.replication import WITHOUT_PRIMARY, Comparison
from builders.systems import running
from commands import bakeoff, only_bundle, wait_until, write_plan

pytestmark = pytest.mark.servers

#: For what is bound to happen: only ends a test that has failed.
TIMEOUT_S = 120.0


@pytest.fixture(scope="module")
def pair(mariadb_program: Installation) -> Iterator[MariaDb]:
    """A primary that waits for its replica. Tests leave both with the same rows."""
    with running("mariadb", {"replicas": 1, "semi_sync": True}) as system:
        system = cast(MariaDb, system)
        system.control.rows("CREATE TABLE bakeoff.t (id INT PRIMARY KEY, v VARCHAR(20))")
        yield system


@pytest.fixture
def replica(pair: MariaDb) -> Iterator[DatabaseServer]:
    """The replica, which applies what comes from now on."""
    assert pair.caught_up(TIMEOUT_S)
    yield pair.replicas()["replica1"]
    assert pair.caught_up(TIMEOUT_S)
    assert [check for check in pair.agreement(["t"]) if not check.ok] == []


def insert(pair: MariaDb, *ids: int) -> None:
    for number in ids:
        pair.control.rows("INSERT INTO bakeoff.t VALUES (%s, 'row')", number)


def next_id(pair: MariaDb) -> int:
    return int(pair.control.value("SELECT COALESCE(MAX(id), 0) + 1 FROM bakeoff.t"))


def behind(pair: MariaDb) -> dict[str, float]:
    gauges = by_node(pair.nodes(), lambda node: node.gauges())
    return {name: value for name, value in gauges.items() if ".lag_" in name}


def only_on_replica(replica: DatabaseServer, statement: str) -> None:
    """Something that replication knows nothing of."""
    replica.control.rows("SET sql_log_bin = 0")
    replica.control.rows(statement)
    replica.control.rows("SET sql_log_bin = 1")


def test_the_nodes_have_names_and_roles_and_say_how_they_replicate(pair: MariaDb, replica: DatabaseServer) -> None:
    assert [(node.name, node.role) for node in pair.nodes()] == [("primary", "primary"), ("replica1", "replica")]
    found = facts_of(pair.nodes())
    assert found.portable["replication"] == "semi-synchronous to 1: a commit waits until one of 1 has received it"
    assert found.portable["lost_with_primary"] == "nothing"
    assert found.portable["replica1.replication"] == "applies by GTID with one thread"
    assert found.settings["rpl_semi_sync_master_timeout"] == "3600000"
    assert found.settings["replica1.read_only"] == "ON"


def test_the_load_may_read_from_a_replica_and_not_write_there(pair: MariaDb, replica: DatabaseServer) -> None:
    insert(pair, number := next_id(pair))
    assert pair.caught_up(TIMEOUT_S)
    driver, environment = pair.engine_driver()
    assert [one["name"] for one in driver["endpoints"]] == ["primary", "replica1"]
    (password,) = environment.values()
    login = {"host": "127.0.0.1", "port": replica.port, "user": "bench", "password": password, "database": "bakeoff"}
    with pymysql.connect(**login) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT v FROM t WHERE id = %s", (number,))
        assert cursor.fetchall() == (("row",),)
        with pytest.raises(pymysql.err.OperationalError, match="read-only"):
            cursor.execute("INSERT INTO t VALUES (0, 'x')")


def test_the_lag_is_counted_from_positions_and_grows_while_nothing_is_applied(
    pair: MariaDb, replica: DatabaseServer
) -> None:
    assert behind(pair) == {"replica1.lag_s": 0.0, "replica1.lag_transactions": 0.0}
    begin = time.monotonic()
    replica.control.rows("STOP SLAVE SQL_THREAD")
    first = next_id(pair)
    insert(pair, *range(first, first + 25))
    written = time.monotonic()
    assert behind(pair)["replica1.lag_transactions"] == 25
    ages = [behind(pair)["replica1.lag_s"] for _ in range(3)]
    assert ages == sorted(set(ages))
    lag_s = behind(pair)["replica1.lag_s"]
    assert 0 <= lag_s <= time.monotonic() - begin + 0.01  # the two clocks tick apart
    debt = by_node(pair.nodes(), lambda node: node.debt())
    assert debt["replica1.lag_transactions"] == 25
    assert debt["replica1.lag_s"] >= lag_s
    assert not pair.caught_up(TIMEOUT_S)  # and is not waited for
    (check, _) = pair.agreement(["t"])
    assert (check.name, check.ok) == ("replica1 has the same rows as primary", False)
    assert check.actual == "it has stopped applying: its applier has been stopped"
    replica.control.rows("START SLAVE SQL_THREAD")
    assert pair.caught_up(TIMEOUT_S)
    assert behind(pair) == {"replica1.lag_s": 0.0, "replica1.lag_transactions": 0.0}
    assert time.monotonic() > written


def test_an_applier_that_has_stopped_with_an_error_is_reported_in_its_words(
    pair: MariaDb, replica: DatabaseServer
) -> None:
    number = next_id(pair)
    only_on_replica(replica, f"INSERT INTO bakeoff.t VALUES ({number}, 'other')")
    insert(pair, number)
    assert not pair.caught_up(TIMEOUT_S)
    (check, _) = pair.agreement(["t"])
    assert check.expected == "all commits of the primary"
    assert check.actual.startswith("it has stopped applying: Could not execute Write_rows")
    assert f"Duplicate entry '{number}' for key 'PRIMARY'" in check.actual
    only_on_replica(replica, f"DELETE FROM bakeoff.t WHERE id = {number}")
    replica.control.rows("START SLAVE")


def test_rows_that_differ_are_found_though_all_was_applied(pair: MariaDb, replica: DatabaseServer) -> None:
    insert(pair, number := next_id(pair))
    assert pair.caught_up(TIMEOUT_S)
    only_on_replica(replica, f"UPDATE bakeoff.t SET v = 'other' WHERE id = {number}")
    (check, asked_for) = pair.agreement(["t"])
    assert not check.ok
    rows = pair.control.value("SELECT COUNT(*) FROM bakeoff.t")
    assert check.expected.startswith(f"t: {rows} rows, checksum ")
    assert check.actual.startswith(f"t: {rows} rows, checksum ")
    assert check.actual != check.expected
    assert asked_for.ok
    only_on_replica(replica, f"UPDATE bakeoff.t SET v = 'row' WHERE id = {number}")


def test_of_a_table_too_large_to_be_read_whole_the_ends_are_compared(
    pair: MariaDb, replica: DatabaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Comparison, "whole_bytes_max", 0)
    monkeypatch.setattr(Comparison, "ends_rows", 2)
    first = next_id(pair)
    insert(pair, *range(first, first + 9))
    assert pair.caught_up(TIMEOUT_S)
    (check, _) = pair.agreement(["t"])
    assert check.ok
    assert check.actual.endswith("; of t (large) only the first and last 2 rows by primary key were compared")
    assert pair.replication.contents.size_bytes(pair.server, "t") >= 16 << 10, "its file's first pages"
    only_on_replica(replica, f"UPDATE bakeoff.t SET v = 'other' WHERE id = {first + 4}")
    assert pair.agreement(["t"])[0].ok, "the row is in the middle"
    only_on_replica(replica, f"UPDATE bakeoff.t SET v = 'row' WHERE id = {first + 4}")
    only_on_replica(replica, f"UPDATE bakeoff.t SET v = NULL WHERE id = {first + 8}")
    (check, _) = pair.agreement(["t"])
    assert (check.ok, check.expected.startswith("t: 4 rows, checksum ")) == (False, True)
    only_on_replica(replica, f"UPDATE bakeoff.t SET v = 'row' WHERE id = {first + 8}")


def test_commits_that_did_not_wait_for_a_replica_are_found(pair: MariaDb, replica: DatabaseServer) -> None:
    replica.control.rows("STOP SLAVE")
    pair.control.rows("SET GLOBAL rpl_semi_sync_master_timeout = 1")
    insert(pair, next_id(pair))
    (_, check) = pair.agreement([])
    assert (check.name, check.ok) == ("replication was as configured", False)
    assert check.actual == "commits no longer wait for a replica"
    pair.control.rows("SET GLOBAL rpl_semi_sync_master_timeout = 3600000")
    replica.control.rows("START SLAVE")
    assert pair.caught_up(TIMEOUT_S)
    wait_until(lambda: "did not wait" in pair.agreement([])[-1].actual, "the primary waits again")
    assert pair.agreement([])[-1].actual.startswith("1 of ")
    pair.control.rows("FLUSH STATUS")


def test_passwords_are_in_no_log_file_or_fact(pair: MariaDb, replica: DatabaseServer) -> None:
    passwords = [getattr(replica.spec.passwords, name) for name in ("bench", "root", "replication")]
    told = [str(facts_of(pair.nodes())), pair.log_tail(10_000)]
    for server in pair.servers().values():
        assert server.spec.passwords == replica.spec.passwords
        files = [path for path in server.folder.path.rglob("*") if path.is_file() and "data" not in path.parts]
        told += [path.read_text(errors="replace") for path in files]
        told += [Path(f"/proc/{pid}/cmdline").read_text() for pid in server.pids()]
    assert not [password for password in passwords for text in told if password in text]


def test_what_was_loaded_is_put_back_to_all_and_its_log_is_not_copied(pair: MariaDb, replica: DatabaseServer) -> None:
    folder = pair.server.folder.path.parent / "copy"
    insert(pair, number := next_id(pair))
    pair.snapshot(folder)
    logs = [path for pattern in ("binlog.0*", "relay.0*") for path in folder.glob(f"*/{pattern}")]
    assert sum(path.stat().st_size for path in logs) < 2_000  # their heads
    insert(pair, number + 1)
    pair.restore(folder)
    assert next_id(pair) == number + 1
    insert(pair, number + 1)
    assert pair.caught_up(TIMEOUT_S)
    assert replica.control.value("SELECT MAX(id) FROM bakeoff.t") == number + 1
    shutil.rmtree(folder)


def test_members_that_were_killed_come_back_and_hold_all_that_was_acknowledged(
    pair: MariaDb, replica: DatabaseServer
) -> None:
    for server in (replica, pair.server):
        insert(pair, number := next_id(pair))
        server.kill()
        assert pair.alive()
        assert not pair.whole()
        pair.start()
        assert pair.whole()
        assert next_id(pair) == number + 1
        assert pair.caught_up(TIMEOUT_S)
        assert all(check.ok for check in pair.agreement(["t"]))


def test_a_replica_comes_back_before_its_primary_and_follows_once_that_exists(
    pair: MariaDb, replica: DatabaseServer
) -> None:
    insert(pair, number := next_id(pair))
    pair.server.kill()
    replica.kill()
    assert pair.rejoin("replica1") == WITHOUT_PRIMARY
    assert replica.control.value("SELECT MAX(id) FROM bakeoff.t") == number
    assert pair.rejoin("primary") == ""
    insert(pair, next_id(pair))


def test_a_replica_comes_back_while_its_primary_is_frozen_and_follows_once_that_is_thawed(
    pair: MariaDb, replica: DatabaseServer
) -> None:
    pair.server.freeze()
    try:
        replica.kill()
        assert pair.rejoin("replica1") == WITHOUT_PRIMARY
    finally:
        pair.server.thaw()
    insert(pair, next_id(pair))
    assert pair.caught_up(TIMEOUT_S)
    assert replica.control.value("SELECT MAX(id) FROM bakeoff.t") == next_id(pair) - 1


def test_a_replica_that_its_primary_refuses_says_why(pair: MariaDb, replica: DatabaseServer) -> None:
    replica.control.rows("STOP SLAVE")
    replica.control.rows("CHANGE MASTER TO master_password = 'another'")
    replica.control.rows("START SLAVE")
    with pytest.raises(ServerError, match=r"the replica does not follow its primary: .*Access denied"):
        pair.replication.wait_until_connected(replica, pair.server)
    pair.replication.follow(replica, pair.server)


READS_FROM_REPLICAS = """
title = "Reads from replicas"
seed = 3
threads = 4
routing = "any"

[systems.mariadb]
replicas = 1

[workload]
kind = "ycsb"
preset = "c"
records = 500

[[faults]]
at = "500ms"
node = "replica1"
do = "kill"

[measure]
window = "2s"
warm_up = "100ms"
repetitions = 2
"""


def test_a_run_goes_on_when_a_replica_is_killed_and_the_next_has_it_again(tmp_path: Path) -> None:
    done = bakeoff("run", write_plan(tmp_path, READS_FROM_REPLICAS), "--together", cwd=tmp_path)
    bundle = only_bundle(tmp_path)
    assert [run.state for run in bundle.runs] == ["done", "done"], done.err
    for run in bundle.runs:
        assert [node.name for node in run.nodes] == ["primary", "replica1"]
        assert all(node.operations > 0 for node in run.nodes)  # the second begins with both
        assert run.errors.keys() <= {"unknown", "fail_lost"}
        assert sum(run.errors.values()) <= 2  # what each of the replica's sessions was waiting for
        assert {check.name: check.ok for check in run.checks}["replica1 has the same rows as primary"]


STARTED_AND_KILLED = """
import os, signal, sys
from bakeoff.systems.server.replication import Comparison
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.mysql.mariadb import MariaDbProcess
from bakeoff.systems import SYSTEMS
from bakeoff.systems.base import Configuration
from pathlib import Path
make_data = MariaDbProcess.make_data
def killed(self):
    if self.folder.path.name == "replica1":
        os.kill(os.getpid(), signal.SIGKILL)
    make_data(self)
MariaDbProcess.make_data = killed
SYSTEMS["mariadb"].configure(Configuration("m", {"replicas": 1}, durability=None, isolation=None,
    workdir=Path(sys.argv[1]) / "m", timeout_s=10.0, base_dir=Path("/"))).start()
"""


def test_killed_in_the_middle_of_the_start_we_leave_nothing_behind(place: Path, mariadb_program: Installation) -> None:
    done = subprocess.run([sys.executable, "-c", STARTED_AND_KILLED, str(place)], check=False)
    assert done.returncode == -signal.SIGKILL
    ((pid, ticks),) = json.loads((place / "m" / "owner.json").read_text())["servers"]
    wait_until(lambda: start_ticks(pid) != ticks, "the primary is gone")
    assert remove_stale(place) == [place / "m"]
    assert list(place.iterdir()) == []
