"""One's own SQL tried on an empty SQLite in memory: what it does not take would fail a run only while data are loaded.

The SQLite is Python's, of perhaps another version than the engine's, so what it says is a warning. Nothing outside of
memory is touched."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from ..resolved import ResolvedPlan

#: Of its virtual machine; a schema that does more is not tried to its end.
_INSTRUCTIONS_MAX = 10_000_000
_META = re.compile(r"^[ \t]*\\(?:.*\\\n)*.*$", re.MULTILINE)  # a line of pgbench's own, continued by a backslash
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_GSET = re.compile(r"\\[ga]set\b.*$", re.MULTILINE)


class _Nulls(dict[str, None]):
    """A value for every variable."""

    def __missing__(self, name: str) -> None:
        return None


def troubles(plan: ResolvedPlan) -> list[str]:
    """What SQLite says against the plan's own SQL, each once."""
    specs = [cell.workload.spec for cell in plan.cells if cell.record.kind == "sqlite" and cell.data == "load"]
    return list(dict.fromkeys(words for spec in specs if spec.get("schema") for words in _of(spec)))


def _of(spec: Mapping[str, Any]) -> Iterator[str]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as base:
        base.set_authorizer(lambda action, *_: _refused(action))
        base.set_progress_handler(lambda: 1, _INSTRUCTIONS_MAX)
        schema = _file(spec["schema"])
        try:
            base.executescript(schema["text"])
        except sqlite3.Error as error:
            yield f"SQLite does not take {schema['name']}: {error}"
            return
        yield from _columns(base, spec["load"])
        for script in spec["scripts"]:
            file = _file(script)
            yield from _statements(base, file["text"], file["name"])
        for check in spec["checks"]:
            for query in filter(None, [check["empty"], *(check["equal"] or [])]):
                yield from _statements(base, query, f'the check "{check["name"]}"')


def _refused(action: int) -> int:
    return sqlite3.SQLITE_DENY if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_PRAGMA) else sqlite3.SQLITE_OK


def _file(said: Mapping[str, Any]) -> Mapping[str, str]:
    """A script's or a schema's text for SQLite."""
    found: Mapping[str, str] = said.get("sqlite") or said["file"]
    return found


def _columns(base: sqlite3.Connection, load: Mapping[str, Any]) -> Iterator[str]:
    for table, rows in load.items():
        query = "SELECT name FROM pragma_table_info(?)"
        base.set_authorizer(None)  # this one is ours
        there = {name.lower() for (name,) in base.execute(query, (table,))}
        base.set_authorizer(lambda action, *_: _refused(action))
        for column in [*rows["columns"], *rows["header"]]:
            if there and column.lower() not in there:
                yield f"`load` gives {table} a column {column}, which its schema for SQLite has not"


def _statements(base: sqlite3.Connection, text: str, name: str) -> Iterator[str]:
    for statement in _split(text):
        try:
            base.execute(f"EXPLAIN {statement}", _Nulls())
        except sqlite3.Error as error:
            yield f"SQLite does not take a statement of {name}: {error}"


def _split(text: str) -> Iterator[str]:
    rest = ""
    for piece in re.split(r"(?<=;)", _GSET.sub(";", _META.sub("", text))):
        rest += piece
        if sqlite3.complete_statement(rest):
            yield rest.strip()
            rest = ""
    if _COMMENT.sub("", rest).strip():
        yield rest.strip()
