"""Levels of isolation of real systems, as their vendors and Hermitage (github.com/ept/hermitage) describe them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from bakeoff.model.isolation import WRITE_SKEW
from bakeoff.provision.installation import Installation
from bakeoff.systems.cassandra import system as cassandra
from bakeoff.systems.duckdb import system as duckdb
from bakeoff.systems.mysql import mysql
from bakeoff.systems.postgresql import system as postgresql
from bakeoff.verify.histories import NAMES
from bakeoff.verify.isolation import SCHEDULES
from builders.systems import fetched
from commands import bakeoff, write_plan
from test_galera import need_galera

#: Without what a probe next to a load sees.
OF_VERIFY = [name for name in NAMES if name != "under load"]
PLAN = """
title = "What levels promise"

[systems.{system}]
{options}

[workload]
kind = "ycsb"
records = 100
"""

OF_WRITES = {"PMP-write", "P4", "G-single-write", *WRITE_SKEW}
STATEMENTS = OF_WRITES | {"PMP", "G-single", "G-single-predicate"}
#: By system and level: the anomalies that happen.
MATRIX = {
    "sqlite": {"serializable": set()},
    "mariadb": {
        "read-uncommitted": STATEMENTS - {"PMP-write"} | {"G1a", "G1b", "G1c", "OTV"},
        "read-committed": STATEMENTS,
        "repeatable-read": OF_WRITES,
        "serializable": set(),
    },
    "duckdb": {"snapshot": set(WRITE_SKEW)},
    "postgresql": {
        "read-committed": STATEMENTS,
        "repeatable-read": set(WRITE_SKEW),
        "snapshot": set(WRITE_SKEW),
        "serializable": set(),
    },
}


def verified(folder: Path, system: str, *arguments: str, options: str = "") -> dict[str, Any]:
    """Documents by level."""
    plan = write_plan(folder, PLAN.format(system=system, options=options))
    once = ("--json", "--tries", "1", "--together", "--quiet")
    done = bakeoff("verify", plan, *once, *arguments, cwd=folder)
    assert done.code in (0, 1), done.err
    return {one["level"]: one for one in json.loads(done.out)["verified"]}


def refuse_differences(system: str, found: dict[str, Any], levels: Sequence[str] = ()) -> None:
    """Every schedule ran, and exactly the expected anomalies happened. levels: by default all."""
    for level in levels or MATRIX[system]:
        expected = MATRIX[system][level]
        schedules = found[level]["schedules"]
        assert [one["name"] for one in schedules] == list(SCHEDULES)
        assert {one["name"] for one in schedules if one["anomaly_tries"]} == expected, (system, level)
        assert found[level]["verdict"] == "HELD"


def test_sqlite(tmp_path: Path) -> None:
    refuse_differences("sqlite", verified(tmp_path, "sqlite", "--seconds", "0"))


@pytest.mark.servers
def test_mariadb(tmp_path: Path, mariadb_program: Installation) -> None:
    refuse_differences("mariadb", verified(tmp_path, "mariadb", "--seconds", "0", "--every-level"))


@pytest.mark.servers
@pytest.mark.parametrize("levels", [["read-uncommitted", "read-committed"], ["repeatable-read", "serializable"]])
def test_mysql(tmp_path: Path, levels: list[str]) -> None:
    """Its levels are those of MariaDB before 11.6.2."""
    options = f'start = {{ version = "{fetched(mysql.SOURCES, "9")}" }}\n[factors]\nisolation = {levels}'
    found = verified(tmp_path, "mysql", "--seconds", "0", options=options)
    refuse_differences("mariadb", found, levels)


@pytest.mark.servers
def test_postgresql(tmp_path: Path, postgresql_program: Installation) -> None:
    refuse_differences("postgresql", verified(tmp_path, "postgresql", "--seconds", "0", "--every-level"))


@pytest.mark.slow
@pytest.mark.servers
def test_postgresql_17(tmp_path: Path) -> None:
    options = f'start = {{ version = "{fetched(postgresql.SOURCES, "17")}" }}'
    found = verified(tmp_path, "postgresql", "--seconds", "0", "--every-level", options=options)
    refuse_differences("postgresql", found)


@pytest.mark.servers
def test_duckdb(tmp_path: Path) -> None:
    if not duckdb.SOURCES.here():
        fetched(duckdb.SOURCES, "1.5")
    refuse_differences("duckdb", verified(tmp_path, "duckdb", "--seconds", "0"))


def test_the_reference_store_keeps_its_promises(tmp_path: Path) -> None:
    """On three nodes: nothing is found, with enough exposure in every check."""
    found = verified(tmp_path, "reference", "--seconds", "4")["serializable"]
    assert (found["verdict"], found["behaves_like"]) == ("HELD", "serializable")
    assert not any(one["anomaly_tries"] for one in found["schedules"])
    assert {one["name"]: one["verdict"] for one in found["histories"]} == dict.fromkeys(OF_VERIFY, "HELD")


@pytest.mark.parametrize(
    ("bug", "broken"),
    [
        ("drop_write", {"list_append", "bank_relative", "staleness"}),
        ("ignore_conflict", {"list_append", "bank_read_modify_write"}),
        ("stale_node", {"staleness", "sessions", "one copy"}),
    ],
)
def test_a_bug_of_the_reference_store_violates_what_it_is_about(tmp_path: Path, bug: str, broken: set[str]) -> None:
    """All bugs: crates/experiments/tests/reference.rs."""
    found = verified(tmp_path, "reference", "--seconds", "1", options=f'bug = "{bug}"')["serializable"]
    assert found["verdict"] == "VIOLATED"
    assert broken <= {one["name"] for one in found["histories"] if one["verdict"] == "VIOLATED"}
    lost_update = next(one for one in found["schedules"] if one["name"] == "P4")
    assert bool(lost_update["anomaly_tries"]) == (bug == "ignore_conflict")


def test_no_workload_runs_on_the_reference_store(tmp_path: Path) -> None:
    done = bakeoff("run", write_plan(tmp_path, PLAN.format(system="reference", options="")), "--together", cwd=tmp_path)
    assert done.code == 2
    assert "ycsb needs a database, which reference does not offer" in done.err


def test_more_nodes_in_a_write_than_there_are_is_refused(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, PLAN.format(system="reference", options="nodes = 1"))
    done = bakeoff("verify", plan, "--together", cwd=tmp_path)
    assert done.code == 2
    assert "`write_nodes` says 2, and `nodes` is 1" in done.err


@pytest.mark.servers
@pytest.mark.parametrize("level", ["read-committed", "serializable"])
def test_random_transactions_show_what_a_level_lets_happen(
    tmp_path: Path, mariadb_program: Installation, level: str
) -> None:
    levels = ("--set", f"isolation={level}", "--schedule", "G0", "--seconds", "2", "--histories", str(tmp_path / "h"))
    found = verified(tmp_path, "mariadb", *levels)[level]
    lists, relative, computed, old, sessions, copy = found["histories"]
    assert all(one["verdict"] in ("HELD", "INCONCLUSIVE") for one in found["histories"])
    assert ("G-single" in lists["words"]) == (level == "read-committed"), lists["words"]
    assert ("a drift of 0" in computed["words"]) == (level == "serializable"), computed["words"]
    assert "a drift of 0" in relative["words"]
    assert old["words"].startswith("0 of ")
    assert sessions["words"].startswith("kept in all ")
    assert copy["words"].startswith("0 pairs ")
    histories = tmp_path / "h" / f"mariadb-{level}"
    kinds = ("list_append", "bank_relative", "bank_read_modify_write", "staleness")
    assert {path.name for path in histories.iterdir()} == {f"{kind}.jsonl" for kind in kinds}


@pytest.mark.servers
def test_between_nodes_of_a_cluster_old_values_are_read(tmp_path: Path) -> None:
    """And on one node alone none of the anomalies happens that its level excludes."""
    need_galera()
    short = ("--schedule", "P4", "--schedule", "G2-item", "--seconds", "1.5", "--set", "isolation=serializable")
    found = verified(tmp_path, "galera", *short)["serializable"]
    assert [one["anomaly_tries"] for one in found["schedules"]] == [0, 0]
    lists, _, _, old, sessions, _, agree = found["histories"]
    assert lists["verdict"] != "VIOLATED"
    assert not old["words"].startswith("0 of "), old["words"]
    assert "read your writes broken" in sessions["words"]
    assert agree["verdict"] in ("HELD", "INCONCLUSIVE"), agree
    assert agree["report"]["conflicts"] > 20
    assert agree["report"]["writes_ok"] > agree["report"]["rounds"]
    assert "the same on all nodes" in agree["words"]


def test_nothing_old_is_read_of_one_copy_without_sql(tmp_path: Path) -> None:
    found = verified(tmp_path, "redb", "--seconds", "2")[""]
    assert found["schedules"] == []
    assert [one["name"] for one in found["histories"]] == ["staleness", "sessions", "one copy"]
    old, sessions, copy = found["histories"]
    assert old["words"].startswith("0 of "), old["words"]
    assert old["report"]["staleness"]["exposed"] > 100
    assert sessions["words"].startswith("kept in all ")
    assert copy["words"].startswith("0 pairs ")
    assert found["verdict"] in ("HELD", "INCONCLUSIVE")


@pytest.mark.slow
@pytest.mark.servers
def test_quorums_of_a_cluster_without_sql_overlap(tmp_path: Path) -> None:
    """Nothing old is read, although sessions read on three nodes, and all of them end with the same rows."""
    version = fetched(cassandra.SOURCES, "5.0")
    levels = 'consistency = "quorum"\nread_consistency = "quorum"'
    options = f'start = {{ version = "{version}", nodes = 3, heap = "256MiB" }}\n{levels}'
    found = verified(tmp_path, "cassandra", "--seconds", "2", options=options)["consistency quorum"]
    old, sessions, _, agree = found["histories"]
    assert old["words"].startswith("0 of "), old["words"]
    assert "on 3 nodes" in old["words"]
    assert agree["verdict"] in ("HELD", "INCONCLUSIVE"), agree
    assert "the same through each node" in agree["words"]
    assert agree["report"]["conflicts"] > 20
    assert old["verdict"] in ("HELD", "INCONCLUSIVE")
    assert "read your writes broken" not in sessions["words"]


@pytest.mark.parametrize(
    ("arguments", "system", "why"),
    [
        ((), "null", "it is no database, so it promises nothing"),
        (("--seconds", "0"), "redb", "it has no transactions in SQL, and nothing else is asked for"),
        (("--fault", "kill"), "redb", "no fault is possible on redb: it is not a managed server"),
    ],
)
def test_what_cannot_be_verified_is_refused(tmp_path: Path, arguments: Sequence[str], system: str, why: str) -> None:
    plan = write_plan(tmp_path, PLAN.format(system=system, options=""))
    done = bakeoff("verify", plan, *arguments, cwd=tmp_path)
    assert done.code == 2
    assert why in done.err
