"""An existing Redis: its tables, one bakeoff at a time, TLS. That nothing else is touched: test_promises.py."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from bakeoff.errors import PlanError, ServerError
from bakeoff.systems.redis.control import RedisControl
from bakeoff.systems.redis.ledger import RedisLedger
from bakeoff.systems.redis.system import SOURCES, Redis
from bakeoff.systems.server.existing import ExistingServer
from builders.systems import configured, fetched, node_of, running
from commands import bakeoff, only_bundle, write_plan
from rust_tests import needs_cargo, run_driver_tests


@pytest.fixture(scope="module")
def version() -> str:
    here = SOURCES.here()
    return here[0].version if here else fetched(SOURCES, "7.0")


@pytest.fixture(scope="module")
def redis(version: str) -> Iterator[Redis]:
    with running("redis", {"start": {"version": version}}) as system:
        yield cast(Redis, system)


@pytest.fixture(scope="module")
def encrypted(version: str) -> Iterator[Redis]:
    with running("redis", {"start": {"version": version}, "tls": True}) as system:
        yield cast(Redis, system)


def existing(
    redis: Redis, monkeypatch: pytest.MonkeyPatch, password: str | None = None, **options: Any
) -> ExistingServer:
    """The same server again, as an existing one at its address."""
    monkeypatch.setenv("TEST_PASSWORD", password or redis.server.bench_password)
    address = {"address": f"127.0.0.1:{redis.server.port}", "user": "bench", "password": {"env": "TEST_PASSWORD"}}
    levels = {"durability": options.pop("durability")} if "durability" in options else {}
    return cast(ExistingServer, configured("redis", Path("/"), {**address, **options}, **levels))


@contextlib.contextmanager
def claimed(redis: Redis, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Iterator[RedisLedger]:
    system = existing(redis, monkeypatch, **options)
    system.start()
    try:
        yield cast(RedisLedger, system.ledger())
    finally:
        system.stop()


def test_it_is_read_and_left_as_it_is(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    before = redis.control.rows("CONFIG GET *"), redis.control.rows("KEYS *")
    system = existing(redis, monkeypatch)
    system.start()
    facts = node_of(system).facts()
    assert (facts.product, facts.portable["tls"], facts.portable["durability"]) == ("Redis", "off", "none")
    assert node_of(system).counters()["transactions"] > 0
    assert system.pids() == redis.pids()
    driver, environment = system.engine_driver()
    assert (driver["password"], environment) == ({"env": "TEST_PASSWORD"}, {})
    system.stop()
    assert (redis.control.rows("CONFIG GET *"), redis.control.rows("KEYS *")) == before
    for wrong, error, said in (
        ({"durability": "full"}, PlanError, r"asks for durability 'full', and .* runs with 'none'"),
        ({"password": "not-the-one"}, ServerError, "refused user 'bench'"),
    ):
        refusing = existing(redis, monkeypatch, **wrong)
        with pytest.raises(error, match=said) as refused:
            refusing.start()
        refusing.stop()
        assert "not-the-one" not in str(refused.value)


def test_a_server_that_hides_its_settings_is_read_as_far_as_that_goes(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis.control.rows("ACL SETUSER bench -config")
    try:
        system = existing(redis, monkeypatch)
        system.start()
        facts = node_of(system).facts()
        system.stop()
    finally:
        redis.control.rows("ACL SETUSER bench +@all")
    assert (facts.settings["appendonly"], facts.settings["appendfsync"]) == ("no", "not readable")
    assert facts.portable["durability"] == "none"


def test_one_bakeoff_at_a_time_works_in_a_database(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    with claimed(redis, monkeypatch) as ledger:
        other = RedisLedger(ledger._login, 0, "systems.other", cluster=False)
        monkeypatch.setattr(RedisLedger, "_claims", {})  # another process
        with pytest.raises(ServerError, match="another bakeoff run is using the database 0"):
            other.claim()
        elsewhere = RedisLedger(ledger._login, 1, "systems.other", cluster=False)
        elsewhere.claim()
        elsewhere.release()
        monkeypatch.undo()
        monkeypatch.setenv("TEST_PASSWORD", redis.server.bench_password)
        again = RedisLedger(ledger._login, 0, "systems.again", cluster=False)
        again.claim()  # the same process shares it
        again.release()
    other.claim()  # it ended with its connection
    number = next(line.split()[0] for line in clients(redis) if "name=bakeoff.database.0 " in line)
    redis.control.rows("CLIENT KILL ID", number.removeprefix("id="))
    assert not [line for line in clients(redis) if "name=bakeoff.database.0 " in line]
    assert other.there(["usertable"]) == []
    assert [line for line in clients(redis) if "name=bakeoff.database.0 " in line], "taken again"
    other.release()


def clients(redis: Redis) -> list[str]:
    return str(redis.control.value("CLIENT LIST")).splitlines()


def test_a_table_is_ours_while_it_is_the_one_that_was_loaded(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(name: str, **more: str) -> None:
        seconds, micros = (int(word) for (word,) in redis.control.rows("TIME"))
        redis.control.rows("HSET", name, "made", str(seconds * 1_000_000 + micros))

    with claimed(redis, monkeypatch) as ledger:
        redis.control.rows("HSET theirs made today")
        redis.control.rows("SET text x")
        redis.control.rows("ZADD half/keys 0 x")
        assert ledger.strangers(["theirs", "text", "half", "absent"]) == ["theirs", "text", "half"]
        made("old")
        ledger.begin(["ours"], "data", "bundle")
        assert ledger.there(["ours"]) == []
        made("ours")
        (found,) = ledger.there(["ours"])
        assert (found.ours, found.whole, found.dataset) == (True, False, "data")
        ledger.loaded(["ours"])
        (found,) = ledger.there(["ours"])
        assert (found.ours, found.whole) == (True, True)
        redis.control.rows("DEL ours")
        made("ours")
        assert ledger.strangers(["ours", "old"]) == ["ours", "old"], "another of the same name, and one from before"
        with pytest.raises(PlanError, match="`text` exists and is not a table"):
            ledger.begin(["text"], "data", "bundle", all_there=True)
        ledger.drop(["ours", "old", "theirs", "text"])
        for name in ("ours", "old", "theirs", "text", "half/keys"):
            assert redis.control.value("EXISTS", name) == 1, name
        assert redis.control.value("EXISTS bakeoff_tables") == 0
        redis.control.rows("DEL ours old theirs text half/keys")


def test_it_is_loaded_measured_and_dropped_by_its_address(
    redis: Redis, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TEST_PASSWORD", redis.server.bench_password)
    plan = f"""
title = "There"
[systems.mine]
kind = "redis"
address = "127.0.0.1:{redis.server.port}"
user = "bench"
password = {{ env = "TEST_PASSWORD" }}
database = 3
[workload]
kind = "ycsb"
preset = "e"
records = 300
[measure]
data = "existing"
reset = "none"
warm_up = 0
operations = 200
repetitions = 1
"""
    path = write_plan(tmp_path, plan)
    refused = bakeoff("run", path, "--together", cwd=tmp_path)
    assert refused.code == 2
    assert "there is no table `usertable` on mine" in refused.err
    assert bakeoff("load", path, "--together", cwd=tmp_path).code == 0
    done = bakeoff("run", path, "--together", "--allow-disturbed", cwd=tmp_path)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert run.valid
    assert all(check.ok for check in run.checks)
    there = RedisControl(redis.server.bench_login("tcp"), 3, where="systems.mine")
    assert there.value("DBSIZE") >= 300
    dropped = bakeoff("drop", path, "--yes", cwd=tmp_path)
    assert dropped.code == 0, dropped.err
    assert there.value("DBSIZE") == 0
    there.close()


# -- encryption --------------------------------------------------------------------------------------------------------


def test_its_certificate_is_verified(encrypted: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    assert node_of(encrypted).facts().portable["tls"].startswith("TLS_")
    trusting = existing(encrypted, monkeypatch, tls={"ca_file": str(encrypted.server.authority)})
    trusting.start()
    assert node_of(trusting).facts().portable["tls"].startswith("TLS_")
    trusting.stop()
    with pytest.raises(ServerError, match="certificate") as untrusted:
        existing(encrypted, monkeypatch, tls=True).start()
    assert "`tls.ca_file`" in untrusted.value.hint
    unverified = existing(encrypted, monkeypatch, tls={"verify": False})
    unverified.start()
    unverified.stop()


def test_a_server_without_tls_is_not_spoken_to_in_the_clear(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ServerError, match="no encrypted connection to"):
        existing(redis, monkeypatch, tls=True).start()
    with pytest.raises(PlanError, match="a unix socket cannot be encrypted"):
        configured("redis", Path("/"), {"address": "/run/redis.sock", "tls": True})


@needs_cargo
def test_the_drivers_own_tests_pass_encrypted(encrypted: Redis) -> None:
    address = {
        "BAKEOFF_TEST_REDIS": f"redis://bench@{encrypted.server.bench_address('tcp')}/",
        "BAKEOFF_TEST_REDIS_PASSWORD": encrypted.server.bench_password,
        "BAKEOFF_TEST_REDIS_CA": str(encrypted.server.authority),
    }
    run_driver_tests(("redis", "conformance"), address, of="redis")


def test_what_cannot_be_is_refused(redis: Redis, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="a managed server is no cluster"):
        configured("redis", tmp_path, {"start": {}, "cluster": True})
    with pytest.raises(PlanError, match="a cluster has the database 0 alone"):
        configured("redis", tmp_path, {"address": "a:1", "cluster": True, "database": 1})
    with pytest.raises(PlanError, match="is not a node of a cluster"):
        existing(redis, monkeypatch, cluster=True).start()
