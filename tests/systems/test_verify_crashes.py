"""Power cuts and kills by `bakeoff verify`, and storage that bakeoff slows, on real systems."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, cast

import pytest
from bakeoff.systems.mysql.mysql import SOURCES, MySql
from builders.systems import fetched, node_of, running
from commands import bakeoff, write_plan
from test_galera import need_galera

PLAN = """
title = "What a crash takes"

[systems.{system}]
durability = "{level}"

[systems.null]

[workload]
kind = "ycsb"
records = 100
"""


def survived(folder: Path, system: str, level: str, *arguments: str) -> tuple[dict[str, Any], int]:
    """Of the system, by "kill" and "power cut"."""
    plan = write_plan(folder, PLAN.format(system=system, level=level))
    done = bakeoff("verify", plan, "--json", "--together", "--quiet", *arguments, cwd=folder)
    assert done.code in (0, 1), done.err
    of_null = [one for one in json.loads(done.out)["survived"] if one["label"].startswith("null")]
    assert [one["verdict"] for one in of_null] == ["N/A"]
    (found,) = (one for one in json.loads(done.out)["survived"] if one["label"].startswith(system))
    return {one["kind"]: one for one in found["crashes"]}, done.code


def losing(one: dict[str, Any]) -> int:
    return sum(crash["lost"] > 0 for crash in one["crashes"])


def test_sqlite_loses_nothing_at_full_durability(tmp_path: Path) -> None:
    found, code = survived(tmp_path, "sqlite", "full", "--cuts", "3", "--kills", "1")
    assert code == 0
    assert [losing(found[kind]) for kind in ("power cut", "kill")] == [0, 0]
    assert all(crash["acknowledged"] for crash in found["power cut"]["crashes"])


def test_sqlite_loses_at_a_power_cut_what_relaxed_durability_allows(tmp_path: Path) -> None:
    found, code = survived(tmp_path, "sqlite", "relaxed", "--cuts", "3", "--kills", "3")
    assert code == 0
    assert losing(found["power cut"]) >= 1, "a cut right after a checkpoint loses nothing"
    assert losing(found["kill"]) == 0
    assert (found["power cut"]["verdict"], found["kill"]["verdict"]) == ("OBSERVED", "HELD")


@pytest.mark.servers
@pytest.mark.usefixtures("mariadb_program")
def test_mariadb_keeps_all_at_full_durability_and_loses_the_last_second_at_relaxed(tmp_path: Path) -> None:
    full, _ = survived(tmp_path, "mariadb", "full", "--cuts", "2")
    assert [crash["lost"] for crash in full["power cut"]["crashes"]] == [0, 0]
    relaxed, code = survived(tmp_path, "mariadb", "relaxed", "--cuts", "3")
    assert code == 0
    assert losing(relaxed["power cut"]) >= 2
    assert relaxed["power cut"]["verdict"] == "HELD"


@pytest.mark.slow
@pytest.mark.servers
def test_a_cluster_that_syncs_nothing_loses_nothing_with_one_node(tmp_path: Path) -> None:
    need_galera()
    found, code = survived(tmp_path, "galera", "none", "--node-kills", "2")
    assert code == 0
    assert [crash["lost"] for crash in found["kill of one node"]["crashes"]] == [0, 0]
    assert all(crash["acknowledged"] for crash in found["kill of one node"]["crashes"])


@pytest.mark.servers
@pytest.mark.usefixtures("mariadb_program")
@pytest.mark.parametrize(("kind", "version"), [("mariadb", None), ("mysql", "5.5")])
def test_a_commit_on_slowed_storage_takes_at_least_its_sync(kind: str, version: str | None) -> None:
    options: dict[str, Any] = {"start": {"storage": {"sync_latency": "20ms", "jitter": "1ms"}}}
    if version:
        options["start"]["version"] = fetched(SOURCES, version)
    with running(kind, options, durability="full") as system:
        control = cast(MySql, system).control
        control.rows("CREATE TABLE bakeoff.t (id INT PRIMARY KEY)")
        began = time.monotonic()
        control.rows("INSERT INTO bakeoff.t VALUES (1)")
        assert time.monotonic() - began >= 0.019
        facts = node_of(system).facts()
    assert facts.portable["storage"] == "slowed by bakeoff: a sync takes 20ms ± 1ms or more"
    assert facts.settings["innodb_use_native_aio"] == "OFF"
