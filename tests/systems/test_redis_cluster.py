"""A cluster of three nodes, by the addresses of its nodes."""

from __future__ import annotations

import random
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from bakeoff.errors import PlanError
from bakeoff.provision.installation import Installation
from bakeoff.systems.redis.control import RedisControl
from bakeoff.systems.redis.system import SOURCES
from bakeoff.systems.server.control import Address, Login
from builders.systems import configured, fetched
from commands import bakeoff, only_bundle, write_plan
from rust_tests import needs_cargo, run_driver_tests

NODES = 3


def _control(address: str) -> RedisControl:
    return RedisControl(Login(Address.parse(address, "", default_port=6379), "", ""), where="tests")


def _started(installation: Installation, folder: Path) -> tuple[subprocess.Popen[bytes], str]:
    """A node on a free port; its own bus is 10,000 above."""
    for port in random.sample(range(17_000, 22_000), 100):
        with socket.socket() as one, socket.socket() as bus:
            try:
                one.bind(("127.0.0.1", port))
                bus.bind(("127.0.0.1", port + 10_000))
            except OSError:
                continue
        break
    folder.mkdir()
    options = f"--port {port} --bind 127.0.0.1 --cluster-enabled yes --save '' --cluster-node-timeout 5000"
    program = ["setpriv", "--pdeathsig", "KILL", str(installation.program)]
    argv = [*program, *(word.strip("'") for word in options.split())]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(argv, cwd=folder, env={**installation.environment}, stdout=log, stderr=log)
    return process, f"127.0.0.1:{port}"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    if not SOURCES.here():
        fetched(SOURCES, "7.0")
    installation = SOURCES.here()[0]
    with ExitStack() as ending:
        addresses = []
        for _ in range(NODES):
            process, address = _started(installation, tmp_path_factory.mktemp("node") / "data")
            ending.callback(process.wait)
            ending.callback(process.kill)
            addresses.append(address)
            control = _control(address)
            while not control.answers():
                assert process.poll() is None, "it did not start"
            control.close()
        cli = installation.program.parent / "redis-cli"
        made = subprocess.run(
            [cli, "--cluster", "create", *addresses, "--cluster-yes"],
            env={**installation.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert "All 16384 slots covered" in made.stdout, made.stdout + made.stderr
        for address in addresses:
            control = _control(address)
            while "cluster_state:ok" not in str(control.value("CLUSTER INFO")):
                pass
            control.close()
        yield addresses


def _plan(addresses: list[str], **workload: Any) -> str:
    nodes = ", ".join(f'{{ name = "n{number}", address = "{one}" }}' for number, one in enumerate(addresses, 1))
    said = "\n".join(f"{key} = {value}" for key, value in workload.items())
    return f"""
title = "A cluster"
[systems.theirs]
kind = "redis"
nodes = [{nodes}]
cluster = true
[workload]
kind = "ycsb"
records = 600
data_integrity = true
{said}
[measure]
data = "existing"
reset = "none"
warm_up = 0
operations = 1500
repetitions = 1
"""


MIXED = {"read_proportion": 0.5, "update_proportion": 0.3, "insert_proportion": 0.2}


def _keys(addresses: list[str]) -> list[set[str]]:
    found = []
    for address in addresses:
        control = _control(address)
        found.append({str(key) for (key,) in control.rows("KEYS *")})
        control.close()
    return found


def test_each_operation_goes_to_its_node_and_only_our_keys_are_removed(cluster: list[str], tmp_path: Path) -> None:
    theirs = _control(cluster[0])
    for number in range(40):
        theirs.rows("SET", f"usertable:{number}", "theirs")
        theirs.rows("HSET", f"usertable{{{number}}}:theirs", "FIELD0", "theirs")
    theirs.close()
    before = _keys(cluster)
    assert all(before), "each node has some of another's keys"
    plan = write_plan(tmp_path, _plan(cluster, **MIXED))
    loaded = bakeoff("load", plan, "--together", cwd=tmp_path)
    assert loaded.code == 0, loaded.err
    assert all(len(keys) > len(own) + 600 / NODES / 2 for keys, own in zip(_keys(cluster), before, strict=True))
    done = bakeoff("run", plan, "--together", "--allow-disturbed", cwd=tmp_path)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert run.valid
    assert all(check.ok for check in run.checks)
    by_node = [node.operations for node in run.nodes]
    assert [node.name for node in run.nodes] == ["n1", "n2", "n3"]
    assert sum(by_node) == 1500
    assert min(by_node) > 1500 / NODES / 2
    dropped = bakeoff("drop", plan, "--yes", cwd=tmp_path)
    assert dropped.code == 0, dropped.err
    assert _keys(cluster) == before


def test_what_a_cluster_lacks_is_refused_before_anything_starts(cluster: list[str], tmp_path: Path) -> None:
    before = _keys(cluster)
    scans = {"scan_proportion": 0.5, "read_proportion": 0.5, "update_proportion": 0.0}
    refused = bakeoff("run", write_plan(tmp_path, _plan(cluster, **scans)), "--dry-run", cwd=tmp_path)
    assert refused.code == 2
    assert "needs scans in the order of keys, which redis does not offer" in refused.err
    assert _keys(cluster) == before


def test_a_cluster_that_is_not_said_to_be_one_is_refused(cluster: list[str], tmp_path: Path) -> None:
    system = configured("redis", tmp_path, {"address": cluster[0]})
    with pytest.raises(PlanError, match="is a node of a cluster") as refused:
        system.start()
    assert "cluster = true" in refused.value.hint


def test_a_node_that_the_plan_does_not_name_is_named(cluster: list[str], tmp_path: Path) -> None:
    plan = write_plan(tmp_path, _plan(cluster[:2], **MIXED))
    refused = bakeoff("load", plan, "--together", cwd=tmp_path)
    assert refused.code != 0
    assert f"a node of the cluster is at {cluster[2]}, and not among `nodes`" in refused.err


@needs_cargo
def test_the_drivers_own_tests_pass(cluster: list[str]) -> None:
    assert run_driver_tests(("redis",), {"BAKEOFF_TEST_REDIS_CLUSTER": ",".join(cluster)}, of="redis-cluster") == []
