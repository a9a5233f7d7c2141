"""Managed MariaDB servers by version, each fetched if this machine has none: made, loaded, run and put back alike.

Two are enough to see that each is treated as its age wants; all of them are `slow`, for what they weigh (370 MB).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pymysql
import pytest
from bakeoff.errors import PlanError
from bakeoff.systems.mysql.mariadb import SOURCES, MariaDb
from builders.systems import configured, fetched, node_of, running
from commands import bakeoff, only_bundle, write_plan
from mariadb_servers import bench_login

pytestmark = pytest.mark.servers

USUAL = ("10.1", "10.11")
REST = ("10.2", "11.4", "11.8")
VERSIONS = (*USUAL, *(pytest.param(version, marks=pytest.mark.slow) for version in REST))
PLAN = """
title = "MariaDB, by version"
seed = 3

[systems.mariadb]
settings = {{ innodb_buffer_pool_size = "32M" }}
durability = "none"

[workload]
kind = "ycsb"
preset = "a"
records = 500
data_integrity = true

[factors]
version = {versions}
threads = 2

[measure]
warm_up = "200ms"
operations = 500
timeout = "10m"
repetitions = 1
"""


@pytest.fixture(scope="module", params=VERSIONS)
def server(request: pytest.FixtureRequest) -> Iterator[MariaDb]:
    """A running managed server of each version, for tests that leave it as they found it."""
    with running("mariadb", {"start": {"version": fetched(SOURCES, request.param)}}, durability="full") as system:
        yield cast(MariaDb, system)


def test_it_says_its_version_and_has_as_much_memory_and_log_as_others(server: MariaDb) -> None:
    facts = node_of(server).facts()
    settings = facts.settings
    assert facts.product == "MariaDB"
    assert facts.version.startswith(tuple(f"{version}." for version in (*USUAL, *REST)))
    assert facts.portable["durability"] == "full"
    assert settings["innodb_buffer_pool_size"] == str(128 << 20)
    files = int(server.server.variables(["innodb_log_files_in_group"]).get("innodb_log_files_in_group", 1))
    assert files * int(settings["innodb_log_file_size"]) == 96 << 20
    assert (settings["log_bin"], settings["innodb_flush_method"]) == ("OFF", "O_DIRECT")
    assert "STRICT_TRANS_TABLES" in settings["sql_mode"]


def test_only_root_and_the_bench_user_get_in_and_only_as_they_should(server: MariaDb) -> None:
    accounts = set(server.control.rows("SELECT User, Host FROM mysql.user"))
    ours = {("root", "localhost"), ("bench", "127.0.0.1"), ("bench", "localhost")}
    assert accounts - {("mariadb.sys", "localhost")} == ours  # that one is locked
    for refused in ({"password": ""}, {"user": "root", "password": ""}, {"user": "anybody"}):
        with pytest.raises(pymysql.err.OperationalError, match="Access denied"):
            bench_login(server, **refused)


def test_it_keeps_statistics_of_tables_and_says_what_it_has_to_write_back(server: MariaDb) -> None:
    with bench_login(server, database="bakeoff", autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE s (id INT PRIMARY KEY) ENGINE=InnoDB")
        cursor.execute("INSERT INTO s VALUES (1), (2), (3)")
        cursor.execute("ANALYZE TABLE s")
    named = "database_name = 'bakeoff' AND table_name = 's'"
    assert server.control.value(f"SELECT n_rows FROM mysql.innodb_table_stats WHERE {named}") == 3
    assert {"dirty_bytes", "history_length"} <= node_of(server).debt().keys()
    assert {"transactions", "Innodb_data_fsyncs"} <= node_of(server).counters().keys()
    assert server.drain_debt(600.0)
    server.control.rows("DROP TABLE bakeoff.s")


def test_a_restore_brings_back_what_the_snapshot_had(server: MariaDb) -> None:
    with bench_login(server, database="bakeoff", autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE t (id INT PRIMARY KEY) ENGINE=InnoDB")
        cursor.execute("INSERT INTO t VALUES (1)")
    folder = server.server.folder.path / "snapshot"
    server.snapshot(folder)
    server.control.rows("DELETE FROM bakeoff.t")
    server.restore(folder)
    assert server.control.rows("SELECT * FROM bakeoff.t") == [(1,)]
    server.control.rows("DROP TABLE bakeoff.t")


def test_a_setting_that_the_version_does_not_know_is_named_before_anything_is_loaded(place: Path) -> None:
    """It came with 10.6."""
    options = {"start": {"version": fetched(SOURCES, "10.1"), "settings": {"innodb_deadlock_report": "full"}}}
    system = configured("mariadb", place / "a", options)
    with pytest.raises(PlanError, match="does not know the setting 'innodb_deadlock_report'"):
        system.start()
    assert not system.alive()


def test_tls_of_a_server_that_knows_none_of_today_is_refused(place: Path) -> None:
    system = configured("mariadb", place / "a", {"start": {"version": fetched(SOURCES, "10.1")}, "tls": True})
    with pytest.raises(PlanError, match=r"MariaDB 10\.1\.23 has no TLS"):
        system.start()


@pytest.mark.parametrize("versions", [USUAL, pytest.param(REST, marks=pytest.mark.slow)])
def test_versions_of_one_system_are_a_factor_and_each_has_data_of_its_own(
    tmp_path: Path, versions: tuple[str, ...]
) -> None:
    plan = PLAN.format(versions=[fetched(SOURCES, version) for version in versions])
    done = bakeoff("run", write_plan(tmp_path, plan), cwd=tmp_path)
    assert done.code == 0, done.err
    bundle = only_bundle(tmp_path)
    assert [run.errors for run in bundle.runs] == [{}] * len(versions)
    for cell in bundle.plan.cells:
        assert bundle.facts[cell.id].version.startswith(f"{cell.levels['version']}.")
        assert f"version {cell.levels['version']}" in done.out
    assert len(bundle.loads) == len(versions)


@pytest.mark.slow
def test_an_old_one_has_replicas_that_hold_the_same_and_come_back() -> None:
    with running("mariadb", {"start": {"version": fetched(SOURCES, "10.2"), "replicas": 1}}) as system:
        pair = cast(MariaDb, system)
        pair.control.rows("CREATE TABLE bakeoff.t (id INT PRIMARY KEY)")
        for number, name in enumerate(["replica1", "primary"]):
            pair.control.rows("INSERT INTO bakeoff.t VALUES (%s)", number)
            pair.servers()[name].kill()
            assert pair.rejoin(name) == ""
            assert pair.caught_up(120.0)
            assert [check.actual for check in pair.agreement(["t"]) if not check.ok] == []
