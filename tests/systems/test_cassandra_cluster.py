"""Three nodes of Cassandra: what one that is killed or frozen does to the others, and how it comes back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest
from bakeoff.systems.cassandra.control import QUORUM
from bakeoff.systems.cassandra.options import SOURCES
from bakeoff.systems.cassandra.process import SUPERUSER, CassandraProcess
from bakeoff.systems.cassandra.system import Cassandra
from builders.systems import running
from commands import bakeoff, descendants, end, gone, only_bundle, started, wait_until, write_plan

pytestmark = [pytest.mark.servers, pytest.mark.slow]


@pytest.fixture(scope="module", params=["4.1", "5.0"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cassandra]:
    install(request.param)
    start = {"version": request.param, "nodes": 3, "heap": "256MiB"}
    with running("cassandra", {"start": start}, durability="relaxed") as system:
        yield cast(Cassandra, system)


def install(version: str) -> None:
    if not [one for one in SOURCES.here() if one.version.startswith(version)]:
        SOURCES.install(version, None, lambda _: None)


def test_a_killed_node_is_missed_by_no_one_and_comes_back_with_what_it_missed(cluster: Cassandra) -> None:
    control = cluster.control
    control.rows("CREATE TABLE bakeoff.t (k text PRIMARY KEY, v text)")
    for number in range(200):
        control.rows("INSERT INTO bakeoff.t (k, v) VALUES (?, ?)", str(number), "before")
    cluster.servers()["n3"].kill()
    assert (cluster.alive(), cluster.answers(), cluster.whole()) == (True, True, False)
    for number in range(200, 400):
        control.rows("INSERT INTO bakeoff.t (k, v) VALUES (?, ?)", str(number), "while it was away")
    cluster.start()
    assert cluster.whole()
    assert cluster.caught_up(120.0)
    assert {node.name: node.facts().portable["durability"] for node in cluster.nodes()} == dict.fromkeys(
        ("n1", "n2", "n3"), "relaxed"
    )
    back = cast(CassandraProcess, cluster.servers()["n3"])
    with closing(back.control_as(SUPERUSER, back.root_password, QUORUM)) as asked:  # alone it lacks the last 0.1 s
        assert asked.value("SELECT count(*) FROM bakeoff.t") == 400
    control.rows("DROP TABLE bakeoff.t")


def test_a_frozen_node_is_started_again(cluster: Cassandra) -> None:
    frozen = cluster.servers()["n2"]
    (before,) = frozen.pids()
    frozen.freeze()
    assert not cluster.whole()
    cluster.start()
    assert cluster.whole()
    assert gone(before)


def test_a_copy_of_three_nodes_is_put_back(cluster: Cassandra) -> None:
    control = cluster.control
    control.rows("CREATE TABLE bakeoff.u (k text PRIMARY KEY)")
    for number in range(100):
        control.rows("INSERT INTO bakeoff.u (k) VALUES (?)", str(number))
    snapshot = cluster.server.folder.path.parent / "snapshot"
    cluster.snapshot(snapshot)
    cluster.control.rows("TRUNCATE bakeoff.u")
    cluster.restore(snapshot)
    assert cluster.control.value("SELECT count(*) FROM bakeoff.u") == 100
    cluster.control.rows("DROP TABLE bakeoff.u")


PLAN = """
title = "Three nodes"
seed = 3

[systems.cassandra]
start = { version = "5.0", nodes = 3, heap = "256MiB" }

[workload]
kind = "ycsb"
preset = "a"
records = 500

[factors]
threads = [4]

[measure]
warm_up = "300ms"
operations = 2000
repetitions = 1
reset = "none"
timeout = "1m"
"""


def test_a_plan_runs_on_three_nodes_and_tells_them_apart(tmp_path: Path) -> None:
    install("5.0")
    done = bakeoff("run", write_plan(tmp_path, PLAN), cwd=tmp_path)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert [(node.name, node.role) for node in run.nodes] == [("n1", "node"), ("n2", "node"), ("n3", "node")]
    assert min(node.operations for node in run.nodes) > 0


def test_nothing_is_left_of_a_start_that_was_killed(tmp_path: Path) -> None:
    """In its middle: the first node runs, and the second does or is about to."""
    install("5.0")
    process = started("run", write_plan(tmp_path, PLAN), cwd=tmp_path)
    try:
        servers = wait_until(
            lambda: found if len(found := descendants(process.pid, "java")) > 1 else [], "two nodes run", of=process
        )
        process.kill()
        process.communicate()
        wait_until(lambda: all(gone(pid) for pid in servers), "the nodes end")
    finally:
        end(process)
