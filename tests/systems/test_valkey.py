"""Valkey as a managed server, by the driver and the code of Redis."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from bakeoff.systems.redis.valkey import SOURCES, Valkey, version_of
from builders.systems import fetched, node_of, running
from commands import bakeoff, only_bundle, write_plan
from rust_tests import needs_cargo, run_driver_tests


@pytest.fixture(scope="module")
def version() -> str:
    here = SOURCES.here()
    return here[0].version if here else fetched(SOURCES, "8.1")


@pytest.fixture(scope="module")
def valkey(version: str) -> Iterator[Valkey]:
    with running("valkey", {"start": {"version": version}}, durability="relaxed") as system:
        yield cast(Valkey, system)


def test_it_says_what_it_is_and_how_durable(valkey: Valkey, version: str) -> None:
    facts = node_of(valkey).facts()
    assert facts.product == "Valkey"
    assert f"{facts.version}.".startswith(f"{version}.")
    assert (facts.settings["appendonly"], facts.settings["appendfsync"]) == ("yes", "no")
    assert facts.portable["durability"] == "relaxed"
    assert node_of(valkey).counters()["transactions"] > 0


def test_a_copy_of_its_data_is_put_back(valkey: Valkey, tmp_path: Path) -> None:
    valkey.control.rows("SET kept x")
    valkey.snapshot(tmp_path / "copy")
    valkey.control.rows("SET later x")
    valkey.restore(tmp_path / "copy")
    assert [valkey.control.value("EXISTS", key) for key in ("kept", "later")] == [1, 0]


@needs_cargo
def test_the_drivers_own_tests_pass(valkey: Valkey) -> None:
    address = {
        "BAKEOFF_TEST_REDIS": f"redis://bench@{valkey.server.bench_address('tcp')}/",
        "BAKEOFF_TEST_REDIS_PASSWORD": valkey.server.bench_password,
    }
    assert run_driver_tests(("redis", "conformance"), address, of="redis") == []
    assert valkey.alive()


@pytest.mark.usefixtures("version")
def test_it_is_measured(tmp_path: Path) -> None:
    plan = """
title = "Valkey"
[systems.valkey]
[workload]
kind = "ycsb"
preset = "e"
records = 500
[measure]
warm_up = 0
operations = 500
repetitions = 1
"""
    done = bakeoff("run", write_plan(tmp_path, plan), "--together", "--allow-disturbed", cwd=tmp_path)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert run.valid
    assert all(check.ok for check in run.checks)


def test_the_version_is_read_from_what_the_program_says() -> None:
    assert version_of("Valkey server v=8.1.1 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1") == "8.1.1"
    assert version_of("Server v=7.2.5 sha=00000000:0") == "7.2.5"
    assert version_of("Redis server v=7.0.15 sha=00000000:0") is None
