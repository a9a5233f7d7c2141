"""The Hat Shop from a plan to the report, on SQLite and on real servers: loaded, carried out, logged, and checked."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from bakeoff.provision.installation import Installation
from commands import bakeoff, only_bundle, write_plan

SQLITE = '[systems.db]\nkind = "sqlite"\n'
MARIADB = '[systems.db]\nkind = "mariadb"\nstart = { settings = { innodb_buffer_pool_size = "32M" } }\n'
POSTGRESQL = '[systems.db]\nkind = "postgresql"\nstart = { settings = { shared_buffers = "16MB" } }\n'
WORKLOAD = """
[workload]
kind = "hatshop"
orders = 100
events = 3000
layout = "{layout}"
pipeline = {pipeline}

[factors]
threads = 6
durability = "none"

[measure]
sessions = {sessions}
warm_up = 0
operations = 3000
timeout = "10m"
repetitions = 1
event_log = true
"""
EVENTS = {"create", "read", "update", "update_attribute", "delete"}
COLUMNS = ["Test ID", "Database Type", "Event Type", "Time Taken", "Success", "Error Message", "Time Stamp"]
#: Of the list of 3,000 events with seed 1, whatever the system, the layout and the number of users.
SHA256 = "6dcb5261c386ebf45e21ab531f05bf12131e054d058f2e72c84cef54c40286b0"


def assert_hatshop(folder: Path, system: str, layout: str, sessions: int = 2, *, pipeline: bool = False) -> None:
    workload = WORKLOAD.format(layout=layout, sessions=sessions, pipeline=str(pipeline).lower())
    done = bakeoff("run", write_plan(folder, f"title = 'hats'\nseed = 1\n{system}{workload}"), cwd=folder)
    assert done.code == 0, done.out + done.err
    bundle = only_bundle(folder)
    (run,) = bundle.runs
    assert run.valid, run.validity
    assert run.ok == 3000
    assert {series.operation for series in run.series} == EVENTS
    assert len(run.checks) == 4
    assert all(check.ok for check in run.checks), run.checks
    (evidence,) = run.evidence
    assert isinstance(evidence, dict)
    assert evidence["events_sha256"] == SHA256
    assert run.pool_wait.count == (3000 if sessions < 6 else 0)
    found = " ".join(one.words for one in run.validity)
    assert "were written to the event log one by one, all of them; it cost the client " in found
    (path,) = folder.glob("**/events.csv")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == COLUMNS
    assert {row["Event Type"] for row in rows} == EVENTS
    assert {row["Success"] for row in rows} == {"true"}
    assert {row["Database Type"] for row in rows} == {"db"}
    assert len(rows) == 3000


def test_hatshop_on_sqlite(tmp_path: Path) -> None:
    assert_hatshop(tmp_path, SQLITE, "line_items_by_order", sessions=6)


@pytest.mark.servers
def test_hatshop_on_mariadb(tmp_path: Path, mariadb_program: Installation) -> None:
    assert_hatshop(tmp_path, MARIADB, "line_items_by_order")


@pytest.mark.servers
@pytest.mark.parametrize("pipeline", [False, True])
def test_hatshop_on_postgresql(pipeline: bool, tmp_path: Path, postgresql_program: Installation) -> None:
    assert_hatshop(tmp_path, POSTGRESQL, "line_items", pipeline=pipeline)
