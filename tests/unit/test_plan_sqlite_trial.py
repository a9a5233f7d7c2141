"""One's own SQL for SQLite is tried before anything is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.plan.dry_run.estimates import troubles
from bakeoff.plan.read import read_plan

ROOT = Path(__file__).parents[2]
SCHEMA = "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT);\n-- the end; really\n"
SCRIPT = """\\set id random(1, \\
  10)
SELECT name AS n FROM t WHERE id = :id \\gset
\\if :id > 3
UPDATE t SET name = 'a;b' WHERE id = :id;
\\endif
/* the end;
*/
"""


def found(
    folder: Path, *, schema: str = SCHEMA, script: str = SCRIPT, load: str = "id = 'row'", check: str = "t"
) -> str:
    """Of SQL that nothing has checked before."""
    (folder / "schema.sql").write_text(schema)
    (folder / "script.sql").write_text(script)
    plan = folder / "plan.toml"
    plan.write_text(
        "[systems.sqlite]\n[workload]\nkind = 'sql'\nschema = 'schema.sql'\nscripts = ['script.sql']\n"
        "unchecked_sql = true\n"
        f"[workload.load.t]\nrows = 5\ncolumns = {{ {load} }}\n"
        f"[[workload.checks]]\nname = 'c'\nempty = 'SELECT id FROM {check} WHERE id < 0'\n"
    )
    return "; ".join(troubles(read_plan(plan)))


def test_what_sqlite_takes_is_no_trouble(tmp_path: Path) -> None:
    assert found(tmp_path) == ""
    assert troubles(read_plan(ROOT / "plans/examples/own-sql.toml", must_run=False)) == []


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"load": "id = 'row', nam = 'row'"}, "`load` gives t a column nam, which its schema for SQLite does not have"),
        ({"script": "SELEC 1;"}, 'SQLite does not take a statement of script.sql: near "SELEC": syntax error'),
        ({"script": "SELECT nam FROM t;"}, "SQLite does not take a statement of script.sql: no such column: nam"),
        ({"schema": "CREATE TABLE t (id INT,);"}, 'SQLite does not take schema.sql: near ")": syntax error'),
        ({"check": "u"}, 'SQLite does not take a statement of the check "c": no such table: u'),
    ],
)
def test_what_it_does_not_take_is_named(wrong: dict[str, str], words: str, tmp_path: Path) -> None:
    assert found(tmp_path, **wrong) == words


def test_nothing_outside_of_memory_is_touched(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    assert "not authorized" in found(tmp_path, schema=f"{SCHEMA}ATTACH DATABASE '{other}' AS other;")
    assert not other.exists()
