"""Data that have a life apart from runs: made by `bakeoff load` or by the real sysbench, measured as they are, dropped
only if they are ours."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.systems.mysql.mariadb import MariaDb
from commands import Done, bakeoff, only_bundle, write_plan

from benches.suite.client import Tables
from benches.suite.peers.sysbench import Sysbench
from benches.suite.server import Server
from benches.suite.servers.mariadb import MariaDbServer

pytestmark = pytest.mark.servers

TABLES, ROWS = 2, 500
PLAN = """
title = "Existing data"

[systems.mine]
kind = "mariadb"
SYSTEM

[workload]
kind = "sysbench"
script = "oltp_read_write"
tables = 2
table_size = 500

[measure]
warm_up = 0
operations = 50
repetitions = 2
data = "existing"
reset = "none"
timeout = "10m"
"""
FILE = """
title = "A file that stays"

[systems.mine]
kind = "sqlite"
file = "mine.sqlite"

[workload]
kind = "ycsb"
preset = "d"
records = 300

[factors]
threads = [1, 2]

[measure]
warm_up = 0
operations = 400
repetitions = 2
data = "existing"
reset = "none"
timeout = "10m"
"""


@pytest.fixture
def server(mariadb: MariaDb) -> Iterator[Server]:
    server = MariaDbServer(mariadb)
    server.remove_tables()
    yield server
    server.remove_tables()
    mariadb.control.rows("DROP TABLE IF EXISTS bakeoff.bakeoff_tables")


def plan_on(mariadb: MariaDb, folder: Path) -> tuple[Path, dict[str, str]]:
    driver, env = mariadb.engine_driver()
    said: dict[str, Any] = {
        "address": f'"{driver["endpoints"][0]["address"]}"',
        "user": f'"{driver["user"]}"',
        "password": f'{{ env = "{driver["password"]["env"]}" }}',
        "schema": f'"{driver["schema"]}"',
    }
    return write_plan(folder, PLAN.replace("SYSTEM", "\n".join(f"{key} = {value}" for key, value in said.items()))), env


def tables_line(done: Done) -> dict[str, Any]:
    (line,) = done.document["tables"]
    return dict(line)


def test_tables_of_the_real_sysbench_are_measured_and_never_dropped(
    server: Server, mariadb: MariaDb, tmp_path: Path
) -> None:
    plan, env = plan_on(mariadb, tmp_path)
    Sysbench(server, tmp_path, print).prepare(Tables(tables=TABLES, rows=ROWS))
    made = mariadb.control.rows("SELECT CREATE_TIME FROM information_schema.TABLES WHERE TABLE_NAME LIKE 'sbtest%'")
    dry = bakeoff("run", plan, "--dry-run", "--json", cwd=tmp_path, env=env)
    assert "are not read before a run" in dry.document["reads"][0]
    line = tables_line(dry)
    assert line["tables"] == ["sbtest1", "sbtest2"]
    assert TABLES * ROWS * 190 < line["size_bytes"] < 10 << 20
    assert line["there"] == "not created by bakeoff"
    assert line["fate"] == "checked and used, changed by the runs: needs --allow-changes"
    refused = bakeoff("run", plan, "--together", cwd=tmp_path, env=env)
    assert refused.code == 2
    assert "this plan writes to tables that bakeoff did not create: sbtest1 on mine, sbtest2 on mine" in refused.err
    done = bakeoff("run", plan, "--together", "--allow-changes", cwd=tmp_path, env=env)
    assert done.code == 0, done.err
    bundle = only_bundle(tmp_path)
    assert [run.valid for run in bundle.runs] == [True, True]
    assert all(check.ok for run in bundle.runs for check in run.checks)
    assert all(cell.dataset.startswith("existing-") for cell in bundle.plan.cells)
    report = (bundle.folder / "report.html").read_text()
    assert all(run.shares_cores and run.server.cpu_s is not None for run in bundle.runs)
    assert "Client and server shared one machine" in report
    assert "each began where the last one ended" in report
    assert "before the first run: row count, " in report
    assert not list(bundle.folder.glob("runs/*/warm.json"))
    warm = bakeoff("run", plan, "--dry-run", "--json", "--set", 'measure.cache="warm"', cwd=tmp_path, env=env)
    assert "read completely before each of 2 runs" in warm.document["reads"][0]
    refused = bakeoff("drop", plan, "--yes", cwd=tmp_path, env=env)
    assert refused.code == 2
    assert "was not created by bakeoff" in refused.err
    again = "SELECT CREATE_TIME FROM information_schema.TABLES WHERE TABLE_NAME LIKE 'sbtest%'"
    assert mariadb.control.rows(again) == made
    assert mariadb.control.rows("SHOW TABLES IN bakeoff LIKE 'bakeoff%'") == []


def test_what_load_makes_is_measured_as_it_is_and_dropped_when_that_is_said(
    server: Server, mariadb: MariaDb, tmp_path: Path
) -> None:
    plan, env = plan_on(mariadb, tmp_path)
    done = bakeoff("run", plan, "--together", cwd=tmp_path, env=env)
    assert done.code == 2
    assert "there is no table `sbtest1` on mine" in done.err
    assert "`bakeoff load`" in done.err
    assert tables_line(bakeoff("run", plan, "--dry-run", "--json", cwd=tmp_path, env=env))["there"] == "not there"
    wrong = bakeoff("run", plan, "--dry-run", cwd=tmp_path, env=dict.fromkeys(env, "not this one"))
    assert wrong.code == 3
    assert "Access denied" in wrong.err
    loaded = bakeoff("load", plan, "--together", "--json", cwd=tmp_path, env=env)
    assert loaded.code == 0, loaded.err
    assert [(one["rows"], len(one["checks"])) for one in loaded.document["loads"]] == [(TABLES * ROWS, 4)]
    line = tables_line(bakeoff("run", plan, "--dry-run", "--json", cwd=tmp_path, env=env))
    assert line["there"] == "created by bakeoff"
    mariadb.control.rows("DELETE FROM bakeoff.sbtest2 WHERE id = 7")
    done = bakeoff("run", plan, "--together", cwd=tmp_path, env=env)
    assert done.code == 2
    assert "the data on mine differs from the plan: row count: expected at least 1000 rows" in done.err
    assert "sbtest2: 499 rows" in done.err
    asked = bakeoff("drop", plan, cwd=tmp_path, env=env)
    assert asked.code == 2
    assert "--yes" in asked.err
    assert len(mariadb.control.rows("SHOW TABLES IN bakeoff")) == 3
    assert bakeoff("drop", plan, "--yes", cwd=tmp_path, env=env).code == 0
    assert mariadb.control.rows("SHOW TABLES IN bakeoff") == []


def test_what_a_server_refuses_is_said_before_anything_is_made_or_dropped(
    server: Server, mariadb: MariaDb, tmp_path: Path
) -> None:
    plan, env = plan_on(mariadb, tmp_path)
    mariadb.control.rows("CREATE TABLE bakeoff.sbtest1 (theirs INT)")
    for more in (["--allow-drop", "--together"], ["--dry-run"]):
        said = ["--set", 'systems.mine.session={ nosuch = "1" }', "--set", 'measure.data="load"']
        done = bakeoff("run", plan, *more, *said, cwd=tmp_path, env=env)
        assert done.code == 2, done.err
        assert "does not take the session variable nosuch = '1'" in done.err
        assert mariadb.control.rows("SHOW TABLES IN bakeoff") == [("sbtest1",)]
    mariadb.control.rows("SET GLOBAL autocommit = 0")
    try:
        for said, refused in (("{}", True), ("{ AUTOCOMMIT = 0 }", True), ("{ autocommit = 1 }", False)):
            done = bakeoff("run", plan, "--dry-run", "--set", f"systems.mine.session={said}", cwd=tmp_path, env=env)
            assert ("with autocommit off, loads and runs" in done.err) == refused, done.err
    finally:
        mariadb.control.rows("SET GLOBAL autocommit = 1")
    typo = ["--set", 'systems.mine.schema="typo"']
    done = bakeoff("run", plan, "--dry-run", *typo, cwd=tmp_path, env=env)
    assert done.code == 2
    assert "there is no schema `typo` on mine" in done.err
    loaded = [*typo, "--set", 'measure.data="load"']
    line = tables_line(bakeoff("run", plan, "--dry-run", "--json", *loaded, cwd=tmp_path, env=env))
    assert line["there"] == "not there, nor the schema `typo`"
    assert mariadb.control.rows("SHOW DATABASES LIKE 'typo'") == []


def all_well(results: Path) -> bool:
    (folder,) = results.iterdir()
    runs = Bundle.open(folder).runs
    return all(run.valid and not run.errors and all(check.ok for check in run.checks) for run in runs)


def test_inserts_go_on_after_a_run_that_was_cut_short(tmp_path: Path) -> None:
    """What it stored is there, and nobody counted it."""
    plan = write_plan(tmp_path, FILE.replace("[1, 2]", "[1]"))
    assert bakeoff("load", plan, "--together", cwd=tmp_path).code == 0
    dry = bakeoff("run", plan, "--dry-run", "--set", "workload.records=400", cwd=tmp_path)
    assert dry.code == 2
    assert "row count: expected at least 400 rows, found 300 rows" in dry.err
    assert "2 runs: 1 cell x 2 repetitions" in dry.out, "the plan is printed all the same"
    assert bakeoff("run", plan, "--together", cwd=tmp_path).code == 0
    last = max(only_bundle(tmp_path).runs, key=lambda run: run.order)
    shutil.rmtree(only_bundle(tmp_path).folder / "runs" / last.id)
    done = bakeoff("run", plan, "--together", "--resume", only_bundle(tmp_path).folder, cwd=tmp_path)
    assert done.code == 0, done.err
    assert len(only_bundle(tmp_path).runs) == 2
    assert all_well(tmp_path / "bakeoff-results")
    assert "was changed before" in (only_bundle(tmp_path).folder / "report.html").read_text()


def test_a_plan_that_is_refused_before_anything_was_measured_leaves_nothing(tmp_path: Path) -> None:
    refused = bakeoff("run", write_plan(tmp_path, FILE), "--together", "--events", cwd=tmp_path)
    assert refused.code == 2
    assert "there is no table `usertable` on mine" in refused.err
    assert "kept" not in refused.err
    last = json.loads(refused.out.splitlines()[-1])
    assert (last["event"], last["exit_code"], last["bundle"]) == ("done", 2, "")
    assert not (tmp_path / "bakeoff-results").exists()


def test_data_that_exist_and_data_that_are_loaded_are_in_one_plan_and_are_not_compared(tmp_path: Path) -> None:
    """The data of one stay, with what its runs stored; the other's are put back."""
    own = "[systems.mine]\ndata = 'existing'\nreset = 'none'"
    text = FILE.replace("[systems.mine]", own).replace("[workload]", "[systems.fresh]\nkind = 'sqlite'\n[workload]")
    text = text.replace('data = "existing"\nreset = "none"\n', "").replace("[1, 2]", "[1]")
    plan = write_plan(tmp_path, text)
    assert bakeoff("load", plan, "--together", cwd=tmp_path).code == 0
    done = bakeoff("run", plan, "--together", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    bundle = only_bundle(tmp_path)
    assert all(check.ok for run in bundle.runs for check in run.checks)
    assert {cell.system: cell.reset for cell in bundle.plan.cells} == {"mine": "none", "fresh": "restore"}
    (found,) = done.document["answer"]["comparisons"]
    assert found["words"] == "not compared: their data sets differ"


def test_a_sqlite_file_is_loaded_inserted_into_run_after_run_and_removed_when_nothing_is_left(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, FILE)
    assert bakeoff("load", plan, "--together", cwd=tmp_path).code == 0
    done = bakeoff("run", plan, "--together", cwd=tmp_path)
    assert done.code == 0, done.err
    runs = sorted(only_bundle(tmp_path).runs, key=lambda run: run.order)
    assert [run.valid for run in runs] == [True] * 4
    rows = 300
    for run in runs:
        rows += cast(Any, run.evidence[0])["inserts_acknowledged"]
        (count,) = [check for check in run.checks if check.name == "row count"]
        assert (count.ok, count.actual) == (True, f"{rows} rows")
    assert rows > 300
    again = bakeoff("run", plan, "--together", "--results", "second", cwd=tmp_path)
    assert again.code == 0, again.err
    assert f"row count: expected 300 rows, found {rows} rows; the runs use it unchanged" in again.err
    assert all_well(tmp_path / "second")
    assert bakeoff("drop", plan, "--yes", cwd=tmp_path).code == 0
    assert not (tmp_path / "mine.sqlite").exists()
