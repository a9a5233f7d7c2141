"""One's own SQL from a plan to the report, on SQLite and on real servers: the shop of the examples, rows from a file,
answers that are not what the plan expects, and checks that do not hold."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from bakeoff.model.records.run import RunRecord
from commands import bakeoff, on_systems, only_bundle, write_plan

EXAMPLES = Path(__file__).parents[2] / "plans/examples"
SQLITE = '[systems.db]\nkind = "sqlite"\ndurability = "none"\n'
SHORT = """
[factors]
threads = 4

[measure]
warm_up = "100ms"
operations = 1000
timeout = "10m"
repetitions = 1
"""


def shop() -> str:
    """The example's workload; its files lie where they lie."""
    text = (EXAMPLES / "own-sql.toml").read_text()
    text = text[text.index("[workload]") : text.index("[factors]")]
    return text.replace('"shop/', f'"{EXAMPLES}/shop/')


def only_run(folder: Path) -> RunRecord:
    (run,) = only_bundle(folder).runs
    return run


@on_systems("sqlite", "mariadb", slow=["postgresql"])
def test_the_shop_of_the_examples(tmp_path: Path, db: str) -> None:
    done = bakeoff("run", write_plan(tmp_path, f"title = 'shop'\n{db}{shop()}{SHORT}"), cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    run = only_run(tmp_path)
    assert run.valid, run.validity
    assert run.ok == 1000
    assert {check.name for check in run.checks} == {"every order has its customer", "what left the stock was ordered"}
    assert all(check.ok for check in run.checks), run.checks
    (evidence,) = run.evidence
    assert isinstance(evidence, dict)
    acknowledged = evidence["acknowledged"]
    assert isinstance(acknowledged, dict)
    assert set(acknowledged) == {"browse", "order"}
    assert run.queries.write > 0


ITEMS = """
title = "items"
{system}
[workload]
kind = "sql"
schema = "items.sql"
scripts = [{{ file = "look.sql", expect = [{expect}] }}]
load = {{ items = {{ file = "items.csv" }} }}
checks = [
    {{ name = "nulls", equal = ["SELECT COUNT(*) FROM items WHERE note IS NULL", "SELECT {nulls}"] }},
    {{ name = "no empty text is NULL", empty = "SELECT id FROM items WHERE id = 3 AND note <> ''" }},
    {{ name = "quotes", empty = "SELECT id, note FROM items WHERE id = 2 AND note <> 'a, \\"b\\"\\nc'" }},
    {{ name = "sum", equal = ["SELECT SUM(price), MAX(made) FROM items", "SELECT 7.0, MAX(made) FROM items"] }},
]
"""
FILES = {
    "items.sql": "CREATE TABLE items (id INT NOT NULL PRIMARY KEY, price DECIMAL(6, 2), made DATE, note VARCHAR(20));",
    "look.sql": "\\set id random(1, 4)\nSELECT id, note FROM items WHERE id = :id;",
    "items.csv": 'id,price,made,note\n1,1.25,2020-02-29,\n2,2.75,,"a, ""b""\nc"\n3,3.00,2021-01-01,""\n4,,,é\n',
}


def run_items(folder: Path, system: str, *, expect: str = "{ statement = 1, rows = 1 }", nulls: int = 1) -> int:
    for name, text in FILES.items():
        if not (folder / name).exists():
            (folder / name).write_text(text)
    plan = ITEMS.format(system=system, expect=expect, nulls=nulls) + SHORT
    done = bakeoff("run", write_plan(folder, plan), cwd=folder)
    assert "Traceback" not in done.err
    return done.code


@on_systems("sqlite", "postgresql", slow=["mariadb"])
def test_rows_of_a_file_are_stored_as_they_are(tmp_path: Path, db: str) -> None:
    assert run_items(tmp_path, db) == 0
    assert only_run(tmp_path).ok == 1000


def test_an_answer_that_is_not_what_the_plan_expects_is_wrong(tmp_path: Path) -> None:
    run_items(tmp_path, SQLITE, expect="{ statement = 1, value = 2 }")
    run = only_run(tmp_path)
    assert 0 < run.ok < 1000
    assert run.errors["wrong"] + run.ok == 1000
    assert "look.sql, statement 1: the value is not 2" in {sample.message for sample in run.error_samples}


def test_a_check_that_does_not_hold_is_reported(tmp_path: Path) -> None:
    assert run_items(tmp_path, SQLITE, nulls=2) != 0


FROM_FILE = 'load = { items = { file = "items.csv" } }\n'


def refusal(folder: Path, *, files: dict[str, str] | None = None, load: str = FROM_FILE) -> str:
    """What a dry run of the items says, with other texts in their files or with other rows."""
    for name, text in (FILES | (files or {})).items():
        (folder / name).write_text(text)
    plan = ITEMS.format(system=SQLITE, expect="", nulls=1)
    if load != FROM_FILE:
        plan = plan.replace(FROM_FILE, "") + load
    done = bakeoff("run", write_plan(folder, plan + SHORT), "--dry-run", cwd=folder)
    assert done.code == 2, done.out + done.err
    assert "Traceback" not in done.err
    return " ".join(done.err.split())


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"look.sql": "SELECT 1;\n\\set x 1 +"}, r"look.sql, line 2, column 11"),
        ({"look.sql": "SELECT :nme;"}, "nothing sets the variable `nme`"),
        ({"look.sql": "\\shell ls"}, "a plan runs no commands"),
        ({"items.sql": "CREATE TABLE items (id INT, note TEXT DEFAULT 'x);"}, "items.sql, line 1"),
        ({"items.sql": "CREATE TABLE other (id INT);"}, "rows are loaded into `items`, which is not one of the tables"),
        ({"items.sql": "CREATE TABLE items (id INT);\nDROP TABLE stock;"}, "items.sql, line 2: it changes `stock`"),
        ({"look.sql": "SELECT 1;\nPRAGMA synchronous = OFF;"}, "look.sql, line 2: `PRAGMA` cannot be read as one"),
        ({"look.sql": "SELECT 1;\nUPDATE others SET n = 1;"}, "look.sql, line 2: it changes `others`"),
        ({"items.csv": "id,price\n1,2\n3\n"}, "items.csv, line 3: it has 1 of 2 values"),
        ({"items.csv": 'id,price\n1,"2\n'}, "items.csv, line 2: a quote is not closed"),
    ],
)
def test_what_is_wrong_in_a_file_is_reported_with_its_line(tmp_path: Path, changed: dict[str, str], words: str) -> None:
    assert words in refusal(tmp_path, files=changed)


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        ('[workload.load.items]\nrows = 1\ncolumns = { id = "rwo" }', "nothing sets the variable `rwo`"),
        ('[workload.load.items]\nrowz = 1\ncolumns = { id = "row" }', "`items` has no part `rowz`"),
        ("[workload.load.items]\nrows = 1\ncolumns = { id = \"weighted('x')\" }", "there is no list `x`"),
    ],
)
def test_what_is_wrong_with_rows_is_reported(tmp_path: Path, workload: str, words: str) -> None:
    assert words in refusal(tmp_path, load=workload)


def test_a_row_that_the_system_refuses_is_reported_with_its_file_and_line(tmp_path: Path) -> None:
    for name, text in (FILES | {"items.csv": FILES["items.csv"] + "4,1,,again\n"}).items():
        (tmp_path / name).write_text(text)
    plan = ITEMS.format(system=SQLITE, expect="", nulls=1) + SHORT
    done = bakeoff("run", write_plan(tmp_path, plan), cwd=tmp_path)
    assert done.code == 3, done.out + done.err
    assert "UNIQUE constraint failed: items.id" in done.err
    assert "of items.csv up to line 7" in done.err
    assert "Traceback" not in done.err


def test_a_setting_that_a_script_changes_makes_the_run_invalid(tmp_path: Path) -> None:
    for name, text in (FILES | {"look.sql": "PRAGMA synchronous = OFF;\nSELECT id FROM items WHERE id = 1;"}).items():
        (tmp_path / name).write_text(text)
    system = SQLITE.replace('"none"', '"full"')
    plan = ITEMS.format(system=system, expect="", nulls=1).replace("checks = [", "unchecked_sql = true\nchecks = [")
    done = bakeoff("run", write_plan(tmp_path, plan + SHORT), cwd=tmp_path)
    run = only_run(tmp_path)
    assert not run.valid
    (failed,) = [check for check in run.checks if not check.ok]
    assert (failed.name, failed.actual) == ("settings of the load's sessions", "synchronous = 0")
    (report,) = (tmp_path / "bakeoff-results").glob("*/report.html")
    assert "unchecked SQL" in report.read_text()
    assert done.code == 1, done.err


EXISTING = """
title = "existing tables"
[systems.sqlite]
file = "mine.sqlite"
data = "existing"

[workload]
kind = "sql"
tables = ["things"]
scripts = [{ file = "count.sql", expect = [{ statement = 1, rows = 1 }] }]
checks = [{ name = "three things", equal = ["SELECT COUNT(*) FROM things", "SELECT 3"] }]

[measure]
reset = "none"
warm_up = "0s"
operations = 20
timeout = "10m"
repetitions = 2
"""


def test_tables_that_exist_are_used_as_they_are(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "mine.sqlite") as mine:
        mine.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, n INT)")
        mine.execute("INSERT INTO things VALUES (1, 0), (2, 0), (3, 0)")
    (tmp_path / "count.sql").write_text("\\set id random(1, 3)\nUPDATE things SET n = n + 1 WHERE id = :id;")
    done = bakeoff("run", write_plan(tmp_path, EXISTING), "--allow-changes", cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    assert "warning: this plan writes to tables that bakeoff did not create: things on sqlite" in done.err
    runs = only_bundle(tmp_path).runs
    assert [run.ok for run in runs] == [20, 20]
    assert all(check.ok for run in runs for check in run.checks)
    assert runs[0].stream_hashes != runs[1].stream_hashes  # a run on data that another has changed draws again
    with sqlite3.connect(tmp_path / "mine.sqlite") as mine:
        assert mine.execute("SELECT SUM(n) FROM things").fetchone() == (40,)


def test_rows_that_bakeoff_did_not_load_are_changed_only_where_the_user_allows_it(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "mine.sqlite") as mine:
        mine.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, n INT)")
        mine.execute("INSERT INTO things VALUES (1, 0), (2, 0), (3, 0)")
    (tmp_path / "count.sql").write_text("\\set id random(1, 3)\nDELETE FROM things WHERE id = :id;")
    plan = write_plan(tmp_path, EXISTING)
    dry = bakeoff("run", plan, "--dry-run", cwd=tmp_path)
    assert dry.code == 0, dry.err
    assert "warning: this plan writes to tables that bakeoff did not create: things on sqlite" in dry.err
    assert "changed by the runs: needs --allow-changes" in dry.out
    done = bakeoff("run", plan, cwd=tmp_path)
    assert done.code == 2, done.err
    assert "error: this plan writes to tables that bakeoff did not create: things on sqlite" in done.err
    assert not (tmp_path / "bakeoff-results").exists()
    with sqlite3.connect(tmp_path / "mine.sqlite") as mine:
        assert mine.execute("SELECT COUNT(*) FROM things").fetchone() == (3,)
    (tmp_path / "count.sql").write_text("\\set id random(1, 3)\nSELECT n FROM things WHERE id = :id;")
    reads = bakeoff("run", plan, cwd=tmp_path)
    assert reads.code == 0, reads.err
    assert "writes to tables" not in reads.err


def test_each_workload_of_a_plan_is_asked_for_the_tables_that_it_changes(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "mine.sqlite") as mine:
        for table in ("seen", "changed"):
            mine.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, n INT)")
    (tmp_path / "read.sql").write_text("SELECT n FROM seen WHERE id = 1;")
    (tmp_path / "write.sql").write_text("DELETE FROM changed WHERE id = 1;")
    own = '[workloads.{0}]\nkind = "sql"\ntables = ["{1}"]\nscripts = ["{0}.sql"]\n'
    several = own.format("read", "seen") + own.format("write", "changed") + '[compare]\nfactor = "workload"\n'
    plan = write_plan(
        tmp_path, EXISTING[: EXISTING.index("[workload]")] + several + EXISTING[EXISTING.index("[measure]") :]
    )
    done = bakeoff("run", plan, cwd=tmp_path)
    assert done.code == 2, done.err
    assert "error: this plan writes to tables that bakeoff did not create: changed on sqlite (" in done.err
