"""The Hat Shop from a plan to the report, on SQLite and on real servers: loaded, carried out, logged, and checked."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from bakeoff.systems import SYSTEMS
from builders.systems import fetched
from commands import bakeoff, on_systems, only_bundle, write_plan

WORKLOAD = """
[workload]
kind = "hatshop"
orders = 100
events = 3000
layout = "{layout}"
pipeline = {pipeline}

[factors]
threads = 6

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


def assert_hatshop(folder: Path, db: str, layout: str, sessions: int = 2, *, pipeline: bool = False) -> None:
    workload = WORKLOAD.format(layout=layout, sessions=sessions, pipeline=str(pipeline).lower())
    done = bakeoff("run", write_plan(folder, f"title = 'hats'\nseed = 1\n{db}{workload}"), cwd=folder)
    assert done.code == 0, done.out + done.err
    bundle = only_bundle(folder)
    (run,) = bundle.runs
    assert run.valid, run.validity
    assert run.ok == 3000
    assert {series.operation for series in run.series} == EVENTS
    assert len(run.checks) == (3 if layout == "documents" else 4)
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


@on_systems("sqlite")
def test_each_user_may_have_a_session(tmp_path: Path, db: str) -> None:
    assert_hatshop(tmp_path, db, "line_items_by_order", sessions=6)


@on_systems("sqlite", slow=["mariadb", "postgresql"])
def test_orders_may_be_documents(tmp_path: Path, db: str) -> None:
    assert_hatshop(tmp_path, db, "documents", sessions=6)


PEERS = {
    "mongo-java-server": ("1.47", "start = { heap_mib = 256 }"),
    "dynamodb-local": ("2.6", "start = { heap_mib = 256 }"),
    "pouchdb-server": ("4.2", ""),
}


@pytest.mark.servers
@pytest.mark.parametrize("kind", PEERS)
def test_where_there_are_no_tables_orders_are_documents(tmp_path: Path, kind: str) -> None:
    version, start = PEERS[kind]
    sources = SYSTEMS[kind].installed_from
    assert sources is not None
    fetched(sources, version)
    assert_hatshop(tmp_path, f'[systems.db]\nkind = "{kind}"\n{start}\n', "documents")


def test_tables_of_a_system_without_sql_are_refused(tmp_path: Path) -> None:
    plan = "title = 'hats'\n[systems.redb]\n[workload]\nkind = 'hatshop'\n{more}\n"
    for more, words, hint in [
        ("", "hatshop in tables needs SQL, which redb does not offer", 'layout = "documents", update = 0 and'),
        (
            "layout = 'documents'",
            "setting single paths of a document, which redb does not offer",
            "write update = 0 and",
        ),
    ]:
        done = bakeoff("run", write_plan(tmp_path, plan.format(more=more)), "--dry-run", cwd=tmp_path)
        assert done.code == 2
        assert words in done.err
        assert f"{hint} update_attribute = 0, or choose another system" in done.err
    only = "layout = 'documents'\nupdate = 0\nupdate_attribute = 0"
    done = bakeoff("run", write_plan(tmp_path, plan.format(more=only)), "--dry-run", cwd=tmp_path)
    assert done.code == 0, done.err


@on_systems(slow=["mariadb"])
def test_users_share_sessions(tmp_path: Path, db: str) -> None:
    assert_hatshop(tmp_path, db, "line_items_by_order")


@on_systems("postgresql", "mariadb")
@pytest.mark.parametrize("pipeline", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_transaction_may_be_one_pipeline(tmp_path: Path, db: str, pipeline: bool) -> None:
    assert_hatshop(tmp_path, db, "line_items", pipeline=pipeline)
