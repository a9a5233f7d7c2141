"""Which tables of a SQLite file are ours."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from bakeoff.systems.sqlite import SqliteLedger

MADE = ("CREATE TABLE mine (id TEXT PRIMARY KEY, x)", "CREATE TABLE mine (id TEXT PRIMARY KEY) WITHOUT ROWID -- a note")


def run(file: Path, *statements: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        return [row for statement in statements for row in connection.execute(statement).fetchall()]


@pytest.mark.parametrize("made", MADE)
def test_a_table_that_somebody_makes_again_with_the_same_words_is_not_ours(tmp_path: Path, made: str) -> None:
    file = tmp_path / "x.sqlite"
    ledger = SqliteLedger(file, "systems.x")
    ledger.begin(["mine"], "data", "bundle")
    run(file, made)
    assert [found.ours for found in ledger.there(["mine"])] == [True], "a load that was cut short"
    ledger.loaded(["mine"])
    assert [(found.ours, found.whole) for found in ledger.there(["mine"])] == [(True, True)]
    assert run(file, "PRAGMA integrity_check", "INSERT INTO mine (id) VALUES ('a')") == [("ok",)]
    run(file, "DROP TABLE mine", made, "INSERT INTO mine (id) VALUES ('precious')")
    assert ledger.strangers(["mine"]) == ["mine"]
    ledger.drop(["mine"])
    assert run(file, "SELECT id FROM mine") == [("precious",)]


def test_a_table_next_to_ours_keeps_its_definition(tmp_path: Path) -> None:
    file = tmp_path / "x.sqlite"
    run(file, "CREATE TABLE theirs (x)", "CREATE VIEW seen AS SELECT x FROM theirs")
    before = run(file, "SELECT * FROM sqlite_master")
    ledger = SqliteLedger(file, "systems.x")
    ledger.begin(["mine"], "data", "bundle")
    run(file, MADE[0])
    ledger.loaded(["mine"])
    ledger.drop(["mine"])
    assert run(file, "SELECT * FROM sqlite_master") == before
