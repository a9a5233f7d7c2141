"""Redis as a managed server: started without a container or root, measured and copied as others are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from bakeoff.cli import main
from bakeoff.errors import PlanError, ServerError
from bakeoff.plan.read import resolve
from bakeoff.systems import SYSTEMS
from bakeoff.systems.redis import SOURCES, Redis, RedisControl, survival, version_of
from bakeoff.systems.server.control import Address, Login
from builders.systems import configured, fetched, node_of, running
from commands import bakeoff, only_bundle, write_plan
from rust_tests import needs_cargo, run_driver_tests


@pytest.fixture(scope="module")
def version() -> str:
    """Skips where a Redis can neither be found nor fetched."""
    here = SOURCES.here()
    return here[0].version if here else fetched(SOURCES, "7.0")


@pytest.fixture(scope="module")
def redis(version: str) -> Iterator[Redis]:
    settings = {"maxmemory": "64mb", "activedefrag": False}
    with running("redis", {"start": {"version": version, "settings": settings}}, durability="full") as system:
        yield cast(Redis, system)


def test_it_says_what_it_is_and_how_durable(redis: Redis, version: str) -> None:
    facts = node_of(redis).facts()
    assert (facts.product, facts.version) == ("Redis", version)
    assert facts.settings["maxmemory"] == str(64 << 20)
    assert (facts.settings["appendonly"], facts.settings["appendfsync"]) == ("yes", "always")
    assert facts.portable["durability"] == "full"
    assert facts.portable["memory_bytes"] == str(64 << 20)
    assert facts.portable["transport"] == "tcp"


def test_it_counts_what_it_does(redis: Redis) -> None:
    node = node_of(redis)
    before = node.access.control().value("INFO") and redis.control.rows("GET x") and node.counters()
    assert before["total_commands_processed"] == before["transactions"] > 0
    assert node.gauges()["used_memory"] > 0
    assert node.debt().keys() == {"aof_buffer_bytes", "unsaved_writes"}


def test_only_accounts_of_ours_are_let_in_and_it_runs_without_rights(redis: Redis) -> None:
    server = redis.server
    (pid,) = redis.pids()
    assert os.stat(f"/proc/{pid}").st_uid != 0
    assert not (server.folder.path / "users.acl").exists()
    for user, password in (("default", ""), ("bench", "wrong")):
        login = Login(Address("127.0.0.1", server.port), user, password)
        with pytest.raises(ServerError, match="refused user"):
            RedisControl(login, where="systems.r").rows("PING")
    over_tcp = RedisControl(server.bench_login("tcp"), where="systems.r")
    assert over_tcp.rows("PING") == [("PONG",)]
    with pytest.raises(ServerError, match="unknown command"):
        over_tcp.rows("NONSENSE")
    over_tcp.close()


@pytest.mark.parametrize("durability", ["full", "none"])
def test_a_copy_of_its_data_is_put_back(version: str, tmp_path: Path, durability: str) -> None:
    with running("redis", {}, durability=durability) as system:
        redis = cast(Redis, system)
        redis.control.rows("SET", "kept", "a value\r\nof two lines")
        redis.snapshot(tmp_path / "copy")
        redis.control.rows("SET", "kept", "another")
        redis.control.rows("SET", "later", "x")
        redis.restore(tmp_path / "copy")
        assert redis.control.value("GET", "kept") == "a value\r\nof two lines"
        assert redis.control.value("EXISTS", "later") == 0
        redis.make_cold()
        assert redis.control.value("DBSIZE") == 1
        assert (redis.size_on_disk_bytes() or 0) > 0


def test_one_that_is_frozen_does_not_answer_and_one_that_was_killed_keeps_its_log(version: str) -> None:
    with running("redis", {}, durability="full") as system:
        redis = cast(Redis, system)
        redis.control.rows("SET", "kept", "x")
        redis.server.control._timeout_s = 0.2
        redis.server.freeze()
        assert redis.alive()
        redis.server.kill()
        assert not redis.alive()
        redis.start()
        assert redis.answers()
        assert redis.control.value("GET", "kept") == "x"


def test_a_setting_that_it_does_not_take_is_named(version: str, place: Path) -> None:
    system = configured("redis", place / "r", {"start": {"settings": {"maxmemory": "plenty"}}})
    with pytest.raises(PlanError, match="'maxmemory plenty': argument must be a memory value"):
        system.start()
    with pytest.raises(PlanError, match="unixsocket of a managed server is set by bakeoff"):
        configured("redis", place / "s", {"start": {"settings": {"unixsocket": "/tmp/x"}}})


def test_a_workload_in_sql_is_refused() -> None:
    plan = 'title = "Redis"\n[systems.redis]\n[workload]\nkind = "sysbench"\n[measure]\nwindow = "1s"\n'
    with pytest.raises(PlanError, match="redis"):
        resolve(plan, Path("/"), must_run=False)


@needs_cargo
def test_the_drivers_own_tests_pass(redis: Redis) -> None:
    address = {
        "BAKEOFF_TEST_REDIS": f"redis://bench@{redis.server.bench_address('tcp')}/",
        "BAKEOFF_TEST_REDIS_PASSWORD": redis.server.bench_password,
    }
    assert run_driver_tests(("redis", "conformance", "documents", "session_allocation"), address, of="redis") == []
    assert redis.alive()


PLAN = """
title = "Redis"

[systems.redis]

[workload]
kind = "ycsb"
records = 1000
data_integrity = true
read_proportion = 0.4
update_proportion = 0.3
insert_proportion = 0.2
scan_proportion = 0.1

[factors]
threads = 4
durability = ["full", "none"]

[measure]
warm_up = "300ms"
operations = 2000
repetitions = 2
"""


@pytest.mark.usefixtures("version")
def test_every_kind_of_operation_is_measured_and_the_data_are_right_after_each_restore(tmp_path: Path) -> None:
    done = bakeoff("run", write_plan(tmp_path, PLAN), "--together", "--allow-disturbed", cwd=tmp_path)
    assert done.code == 0, done.err
    runs = only_bundle(tmp_path).runs
    assert [run.valid for run in runs] == [True] * 4
    assert all(check.ok for run in runs for check in run.checks)
    assert {s.operation for run in runs for s in run.series} >= {"READ", "UPDATE", "INSERT", "SCAN"}
    assert all(run.server.cpu_s for run in runs)


def test_it_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert not SYSTEMS["redis"].capabilities().existing
    assert main(["systems"]) == 0
    assert "Redis server: managed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("appendonly", "appendfsync", "level"),
    [("no", "always", "none"), ("yes", "everysec", "none"), ("yes", "no", "relaxed"), ("yes", "always", "full")],
)
def test_what_survives_follows_from_two_settings(appendonly: str, appendfsync: str, level: str) -> None:
    assert survival({"appendonly": appendonly, "appendfsync": appendfsync}).level == level


def test_the_version_is_told_from_what_the_program_says() -> None:
    assert version_of("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1") == "7.0.15"
    assert version_of("Server v=8.1.1 sha=00000000:0") is None
