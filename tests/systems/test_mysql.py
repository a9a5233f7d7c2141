"""Private MySQL servers by version: an old one and the newest, each fetched if this machine has none."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pymysql
import pytest
from bakeoff.errors import PlanError
from bakeoff.systems.mysql.mysql import SOURCES, MySql
from bakeoff.systems.server.existing import ExistingServer
from builders.systems import configured, fetched, node_of, running
from commands import bakeoff, only_bundle, write_plan

pytestmark = pytest.mark.servers

VERSIONS = ("5.5", "9")
WORKLOADS = {
    "ycsb": 'kind = "ycsb"\npreset = "a"\nrecords = 500\ndata_integrity = true',
    "sysbench": 'kind = "sysbench"\ntables = 1\ntable_size = 500',
}
PLAN = """
title = "MySQL, short"
seed = 3

[systems.mysql]
start = {{ version = "{version}", settings = {{ innodb_buffer_pool_size = "32M" }} }}
durability = "none"

[workload]
{workload}

[factors]
threads = 2

[measure]
warm_up = "200ms"
operations = 500
timeout = "10m"
repetitions = 1
"""


@pytest.fixture(scope="module", params=VERSIONS)
def mysql(request: pytest.FixtureRequest) -> Iterator[MySql]:
    """A running managed server of each version, for tests that leave it as they found it."""
    with running("mysql", {"start": {"version": fetched(SOURCES, request.param)}}, durability="full") as system:
        yield cast(MySql, system)


def login(system: MySql, **changes: Any) -> pymysql.Connection[Any]:
    server = system.server
    asked = {"unix_socket": str(server.socket), "user": "bench", "password": server.bench_password}
    return pymysql.connect(**{**asked, **changes})


def test_it_is_the_version_asked_for_with_as_much_memory_and_log_as_others(mysql: MySql) -> None:
    facts = node_of(mysql).facts()
    settings = facts.settings
    assert facts.product == "MySQL"
    assert facts.version.startswith(tuple(f"{version}." for version in VERSIONS))
    assert facts.portable["durability"] == "full"
    assert settings["innodb_buffer_pool_size"] == str(128 << 20)
    two_files = 2 * int(settings.get("innodb_log_file_size", 0))
    assert int(settings.get("innodb_redo_log_capacity", two_files)) == 96 << 20
    assert (settings["log_bin"], settings["innodb_flush_method"]) == ("OFF", "O_DIRECT")
    assert (settings["innodb_file_per_table"], settings["max_connections"]) == ("ON", "3000")


def test_only_root_and_the_bench_user_get_in_and_only_as_they_should(mysql: MySql) -> None:
    accounts = {(user, host) for user, host in mysql.control.rows("SELECT User, Host FROM mysql.user")}
    ours = {("root", "localhost"), ("bench", "127.0.0.1"), ("bench", "localhost")}
    assert {(user, host) for user, host in accounts if not user.startswith("mysql.")} == ours  # those are locked
    for refused in ({"password": ""}, {"user": "root", "password": ""}, {"user": "anybody"}):
        with pytest.raises(pymysql.err.OperationalError, match="Access denied"):
            login(mysql, **refused)
    with (
        login(mysql) as connection,
        connection.cursor() as cursor,
        pytest.raises(pymysql.err.OperationalError, match="denied"),
    ):
        cursor.execute("SELECT * FROM mysql.user")


def test_a_load_over_tcp_logs_in_by_the_servers_own_key_or_needs_none(mysql: MySql) -> None:
    driver, environment = mysql.engine_driver()
    assert list(environment.values()) == [mysql.server.bench_password]
    key = driver.get("server_public_key_file")
    assert (key is None) == node_of(mysql).facts().version.startswith("5.5")
    assert key is None or "BEGIN PUBLIC KEY" in Path(key).read_text()
    control = mysql.server.bench_login("tcp")
    assert control.server_key_file is None or control.server_key_file.read_bytes().startswith(b"-----BEGIN PUBLIC KEY")


def test_it_can_be_had_as_an_existing_one_too(mysql: MySql, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_PASSWORD", mysql.server.bench_password)
    options = {"address": str(mysql.server.socket), "user": "bench", "password": {"env": "TEST_PASSWORD"}}
    system = cast(ExistingServer, configured("mysql", Path("/"), options))
    system.start()
    assert node_of(system).facts().version == node_of(mysql).facts().version
    system.stop()
    assert mysql.alive()


def test_a_restore_brings_back_what_the_snapshot_had_and_debt_is_drained(mysql: MySql) -> None:
    folder = mysql.server.folder.path / "snapshot"
    with login(mysql, database="bakeoff", autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE t (id INT PRIMARY KEY) ENGINE=InnoDB")
        cursor.execute("INSERT INTO t VALUES (1)")
    before = mysql.control.rows("SHOW GLOBAL VARIABLES LIKE 'innodb_%'")
    assert mysql.drain_debt(600.0)
    assert mysql.control.rows("SHOW GLOBAL VARIABLES LIKE 'innodb_%'") == before
    mysql.snapshot(folder)
    mysql.control.rows("DELETE FROM bakeoff.t")
    mysql.restore(folder)
    assert mysql.control.rows("SELECT * FROM bakeoff.t") == [(1,)]
    mysql.control.rows("DROP TABLE bakeoff.t")


def test_an_unknown_setting_is_named_with_the_nearest_known_one(mysql: MySql) -> None:
    place = Path(tempfile.mkdtemp(prefix="bakeoff-test-"))
    os.chmod(place, 0o755)
    start = {"version": node_of(mysql).facts().version, "settings": {"innodb_bufer_pool_size": "64M"}}
    system = configured("mysql", place / "a", {"start": start})
    try:
        with pytest.raises(PlanError, match="does not know the setting 'innodb_bufer_pool_size'") as refused:
            system.start()
        assert "innodb_buffer_pool_size" in refused.value.hint
        assert not system.alive()
    finally:
        shutil.rmtree(place)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_it_is_measured_from_a_plan(tmp_path: Path, version: str, workload: str) -> None:
    plan = PLAN.format(version=fetched(SOURCES, version), workload=WORKLOADS[workload])
    done = bakeoff("run", write_plan(tmp_path, plan), cwd=tmp_path)
    assert done.code == 0, done.err
    bundle = only_bundle(tmp_path)
    (run,) = bundle.runs
    assert run.ok >= 500
    assert run.errors == {}
    (facts,) = bundle.facts.values()
    assert facts.version.startswith(f"{version}.")
