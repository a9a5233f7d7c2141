"""What a plan takes: its data on disk while it runs, the bundle that stays, and the time of its runs. Estimates, from
what was measured of each system (systems/base.py) and of bundles (`benches/sizes.py`, docs/method/sizes.md).

And what SQL of the user's own would fail with: it is tried on an empty SQLite in memory, for else it would fail a run
only while data are loaded. The SQLite is Python's, of perhaps another version than the engine's, so what it says is a
warning. Nothing outside of memory is touched.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from ...systems import SYSTEMS
from ...systems.base import SizeOnDisk
from ..document.tables import VerifyTable
from ..resolved import Cell, ResolvedPlan
from ..verify import Subject, parts, schedules_s, span

_BUNDLE_BYTES = 400_000  # plan, machine and report
_SERVERS_CHART_BYTES = 110_000  # of what the servers said, second by second
_BUNDLE_BYTES_PER_CELL = 100_000  # facts, and its part of the report and of the charts
_BUNDLE_BYTES_PER_OPERATION = 18_000  # of a cell's workload, beyond the first
_RUN_BYTES = 50_000
_RUN_BYTES_OF_A_SERVER = 38_000  # its counters, and what its log said
_BYTES_PER_S = 650
_BYTES_PER_S_OF_A_SERVER = 850


def disk_bytes(plan: ResolvedPlan) -> int:
    """The most there is at one time: data as loaded and as kept, a copy that is being put back, and the bundle."""
    folders = [(cells, folder_bytes(cells[0])) for cells in loads(plan.cells) if cells[0].place is None]
    put_back = [size for cells, size in folders if _keeps_a_copy(cells)]
    data = sum(size * (_systems(cells) + _keeps_a_copy(cells)) for cells, size in folders)
    return data + max(put_back, default=0) + bundle_bytes(plan)


def bundle_bytes(plan: ResolvedPlan) -> int:
    runs = sum(_run_bytes(plan, cell) for cell in plan.cells) * plan.record.repetitions
    chart = 0 if all(map(_embedded, plan.cells)) else _SERVERS_CHART_BYTES
    operations = sum(len(cell.workload.operations) - 1 for cell in plan.cells)
    parts = _BUNDLE_BYTES_PER_CELL * len(plan.cells) + _BUNDLE_BYTES_PER_OPERATION * operations
    return round(_BUNDLE_BYTES + chart + parts + runs)


def tables_bytes(cell: Cell) -> int:
    """Of the loaded tables."""
    workload = cell.workload
    kind = workload.spec["kind"]
    name = "pgbench" if kind == "sql" and workload.spec["script"] else kind
    rows, value_bytes, tables = workload.loaded_rows, workload.size_estimate_bytes, len(workload.tables)
    return _storage(cell).tables_bytes(name, rows, value_bytes, tables, workload.spec.get("partitions", 1))


def folder_bytes(cell: Cell) -> int:
    """Of a managed system with its tables."""
    return _storage(cell).folder_bytes(tables_bytes(cell))


def loads(cells: list[Cell]) -> list[list[Cell]]:
    """The cells of each data set."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.load_key, []).append(cell)
    return list(groups.values())


def _storage(cell: Cell) -> SizeOnDisk:
    return SYSTEMS[cell.record.kind].storage


def _embedded(cell: Cell) -> bool:
    return SYSTEMS[cell.record.kind].capabilities().embedded


def _systems(cells: list[Cell]) -> int:
    return len({cell.instance_key for cell in cells})


def _keeps_a_copy(cells: list[Cell]) -> bool:
    """To be put back, or to be shared by several systems."""
    reset = cells[0].reset
    return reset == "restore" or (reset != "reload" and _systems(cells) > 1)


def _run_bytes(plan: ResolvedPlan, cell: Cell) -> float:
    watched_s = plan.warm_up_s + cell.expected_window_s
    of_server = 0 if _embedded(cell) else _RUN_BYTES_OF_A_SERVER + _BYTES_PER_S_OF_A_SERVER * watched_s
    return _RUN_BYTES + _BYTES_PER_S * watched_s + of_server


# Times, from runs of plans/quickstart.toml on a two-core machine (2026-11).
_LOAD_ROWS_PER_S = 15_000


_SCAN_ROWS_PER_S = 250_000


_COPY_BYTES_PER_S = 200e6


_DRAIN_S = 2.0  # after work that writes, until a server has written back what it owes


_ENGINE_START_S = 0.1  # start, connect and end, for each engine process in turn


_CHECK_S = 0.1


def estimate_run_s(plan: ResolvedPlan, cell: Cell) -> float:
    """One run: the data put back, warmed, warm-up, window, checks."""
    rows = cell.workload.loaded_rows
    total_s = _ENGINE_START_S * cell.clients + _CHECK_S + plan.warm_up_s + cell.expected_window_s
    if cell.workload.writes and _has_server(cell):
        total_s += _DRAIN_S
    if cell.reset == "restore":
        total_s += _restore_s(cell)
    elif cell.reset == "reload":
        total_s += _load_s(cell)
    elif _by_turns(plan, cell):
        total_s += _restart_s(cell)
    if plan.record.cache == "cold":
        total_s += _restart_s(cell)
    elif plan.record.cache == "warm":
        total_s += _ENGINE_START_S + rows / _SCAN_ROWS_PER_S
    return total_s


#: Of a part: its tables are made and dropped.
_PART_S = 0.2
#: Until a verdict is possible.
_ENOUGH_S = 1.5


def verify_s(plan: ResolvedPlan, subject: Subject, said: VerifyTable) -> tuple[float, float]:
    """The checks of one system at one level, its start included: as expected, and at most."""
    if subject.why_not:
        return 0.0, 0.0
    each = span(plan, subject, said)
    expected_s = each.seconds if each.enough_after_s is None else max(_ENOUGH_S, each.enough_after_s)
    timed = parts(subject) if each.seconds else 0
    around_s = schedules_s(subject, said) + (_restart_s(subject.cell) if subject.first else 0.0)
    return around_s + timed * (expected_s + _PART_S), around_s + timed * (each.seconds + _PART_S)


def _load_s(cell: Cell) -> float:
    return _ENGINE_START_S + cell.workload.loaded_rows / _LOAD_ROWS_PER_S + _restart_s(cell)


def _restore_s(cell: Cell) -> float:
    return _restart_s(cell) + folder_bytes(cell) / _COPY_BYTES_PER_S


def _restart_s(cell: Cell) -> float:
    """Its servers, which wait for each other."""
    return SYSTEMS[cell.record.kind].restart_s * max(1, len(cell.record.nodes)) if _has_server(cell) else 0.0


def _by_turns(plan: ResolvedPlan, cell: Cell) -> bool:
    """One managed system runs at a time: where there are others, this one is stopped for them."""
    return _has_server(cell) and any(_has_server(c) and c.instance_key != cell.instance_key for c in plan.cells)


def _has_server(cell: Cell) -> bool:
    return "start" in cell.system_options


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
                yield f"`load` gives {table} a column {column}, which its schema for SQLite does not have"


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
