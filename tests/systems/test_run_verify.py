"""A plan that has its systems checked after the runs, on real systems."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.provision.installation import Installation
from bakeoff.systems.mysql.mariadb import MariaDb
from commands import bakeoff, only_bundle, write_plan
from test_run_mariadb import existing, tables_of

PLAN = """
title = "Verified"
durability = "none"

[systems.sqlite]

[systems.redb]

[systems.mariadb]
start = { settings = { innodb_buffer_pool_size = "32M" } }

[workload]
kind = "ycsb"
preset = "a"
records = 200

[measure]
warm_up = "100ms"
window = "1s"
repetitions = 1
error_budget = "100%"

[verify]
seconds = 1
tries = 1
schedules = ["P4", "G0"]
"""
VERIFY = PLAN[PLAN.index("[verify]") :]


def verdicts(bundle: Bundle) -> dict[str, str]:
    from bakeoff.verify.verdicts import verdict_of

    return {one.system: verdict_of(one) for one in bundle.verifications}


@pytest.mark.servers
def test_every_system_of_a_plan_gets_a_verdict_after_its_runs_and_only_once(
    tmp_path: Path, mariadb_program: Installation
) -> None:
    plan = write_plan(tmp_path, PLAN)
    dry = bakeoff("run", plan, "--dry-run", cwd=tmp_path)
    assert "checked after the runs: mariadb at its own level: about" in dry.out
    done = bakeoff("run", plan, "--events", "--together", cwd=tmp_path)
    assert done.code == 0, done.err
    events = [json.loads(line) for line in done.out.splitlines()]
    kinds = [event["event"] for event in events]
    assert kinds.index("verified") > max(n for n, kind in enumerate(kinds) if kind == "run_ends")
    bundle = only_bundle(tmp_path)
    found = verdicts(bundle)
    assert set(found) == {"sqlite", "redb", "mariadb"}
    assert set(found.values()) <= {"HELD", "INCONCLUSIVE"}
    redb, mariadb = (next(one for one in bundle.verifications if one.system == name) for name in ("redb", "mariadb"))
    assert (redb.schedules, [one.name for one in redb.judged]) == ([], ["staleness", "sessions", "one copy"])
    assert (mariadb.level, mariadb.product) == ("repeatable-read", "MariaDB")
    assert [one.name for one in mariadb.schedules if one.tries[0].anomaly] == ["P4"]
    assert len(mariadb.judged) == 6
    page = Path(events[-1]["report"]).read_text()
    assert 'id="promises"' in page
    before = {path: path.stat().st_mtime_ns for path in (bundle.folder / "verify").iterdir()}
    again = bakeoff("run", plan, "--resume", bundle.folder, "--repetitions", "+1", "--together", cwd=tmp_path)
    assert again.code == 0, again.err
    assert " at repeatable-read: " not in again.err, "existing verdicts are kept"
    after = Bundle.open(bundle.folder)
    assert len(after.runs) == 6
    assert after.verifications == bundle.verifications
    (next(iter(before))).unlink()
    (lost,) = [one for one in bundle.verifications if one not in Bundle.open(bundle.folder).verifications]
    assert bakeoff("report", bundle.folder, cwd=tmp_path).code == 0
    third = bakeoff("run", plan, "--resume", "--repetitions", "2", "--together", cwd=tmp_path)
    assert third.code == 0, third.err
    assert lost.system in verdicts(Bundle.open(bundle.folder))
    assert len(Bundle.open(bundle.folder).runs) == 6, "only the check was made up for"


@pytest.mark.servers
def test_a_server_whose_tables_have_no_transactions_violates_what_the_level_promises(
    tmp_path: Path, mariadb_program: Installation
) -> None:
    """A planted fault: the server makes other tables than it is asked for."""
    unasked = 'enforce_storage_engine = "MyISAM", sql_mode = "STRICT_TRANS_TABLES", '
    text = PLAN.replace("[systems.redb]\n", "").replace(
        "start = { settings = { ", f"start = {{ settings = {{ {unasked}"
    )
    text = text.replace('durability = "none"', 'durability = "none"\nisolation = "serializable"')
    done = bakeoff("run", write_plan(tmp_path, text), "--together", cwd=tmp_path)
    assert done.code == 1, done.err
    assert "mariadb violates what serializable promises: lost update (P4)" in " ".join(done.out.split())
    page = (only_bundle(tmp_path).folder / "report.html").read_text()
    assert 'id="violation-1"' in page
    assert "<div>COMMIT</div>" in page


@pytest.mark.servers
def test_a_session_variable_that_sets_the_level_is_refused_before_the_first_run(
    tmp_path: Path, mariadb_program: Installation
) -> None:
    session = 'session = { tx_isolation = "READ-UNCOMMITTED" }\nisolation = "serializable"'
    text = PLAN.replace("[systems.redb]\n", "").replace("[systems.mariadb]", f"[systems.mariadb]\n{session}")
    done = bakeoff("run", write_plan(tmp_path, text), "--together", cwd=tmp_path)
    assert done.code == 2, done.err
    assert "`tx_isolation` sets the level of every session" in done.err
    assert not (tmp_path / "bakeoff-results").exists()


@pytest.mark.servers
def test_an_existing_server_is_checked_in_tables_of_its_own_and_others_are_refused_before_any_run(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    text, env = existing(mariadb)
    plan = write_plan(tmp_path, text + VERIFY)
    mariadb.control.rows("CREATE TABLE bakeoff.bakeoff_bank (precious INT)")
    try:
        done = bakeoff("run", plan, "--allow-drop", "--together", cwd=tmp_path, env=env)
        assert done.code == 2, done.err
        assert "there is a table `bakeoff_bank` on mariadb that bakeoff did not create" in done.err
        assert "bakeoff_bank" in tables_of(mariadb)
    finally:
        mariadb.control.rows("DROP TABLE bakeoff.bakeoff_bank")
    done = bakeoff("run", plan, "--together", cwd=tmp_path, env=env)
    assert done.code == 0, done.err
    assert tables_of(mariadb) == {"usertable", "bakeoff_tables"}
    bundles = map(Bundle.open, (tmp_path / "bakeoff-results").iterdir())
    (bundle,) = (one for one in bundles if one.info.state == "complete")
    assert list(verdicts(bundle)) == ["mariadb"]
    mariadb.control.rows("DROP TABLE bakeoff.usertable, bakeoff.bakeoff_tables")
