"""`bakeoff load`: create a plan's data on existing systems, and leave them. `bakeoff drop`: remove the tables that
bakeoff made there."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from ...analysis.wording import seconds_words, size_words
from ...errors import ExitCode, PlanError
from ..arguments import Commands, add_allow_cost, add_beside, add_command, add_fleet, add_json, add_plan
from ..output import print_json, say, show, table

if TYPE_CHECKING:
    from ...model.records.bundle import LoadRecord
    from ...plan.resolved import Cell, ResolvedPlan
    from ...systems.ledger import Found


def add_load(commands: Commands) -> None:
    p = add_command(
        commands,
        "load",
        run_load,
        help="load a plan's data on existing systems and keep them",
        description="Creates, loads and checks the tables of a plan on every existing system (by `address`, or"
        " SQLite's `file`) and keeps them. Recreates tables that bakeoff created before; other tables stay unchanged.",
        epilog='example:\n  bakeoff load my.toml\n  bakeoff run my.toml      with data = "existing" in [measure]',
    )
    add_plan(p)
    p.add_argument(
        "--allow-drop",
        action="store_true",
        help="drop tables with the plan's table names, even if bakeoff did not create them",
    )
    add_allow_cost(p)
    add_fleet(p)
    add_beside(p)
    p.add_argument("--quiet", action="store_true", help="show no progress")
    add_json(p)


def run_load(options: argparse.Namespace) -> int:
    from ...plan.costs import costs_of_load, refuse_cost
    from ...plan.data import refuse_shared_tables
    from ...plan.document.source import Source
    from ...plan.existing_tables import existing_loads
    from ...plan.read import read_plan
    from ...schedule.machine_sharing import claim, cores_of_all

    plan = read_plan(options.plan, said=options.said)
    cells = existing_loads(plan)
    if not cells:
        raise PlanError(
            "the plan has no existing system to load",
            where=str(options.plan),
            hint="name one by `address`, or SQLite's by `file`; managed servers are loaded when the plan runs",
        )
    costs = costs_of_load(cells)
    refuse_cost(costs, allowed=options.allow_cost)
    for cost in costs:
        say(f"note: {cost.words}")
    refuse_shared_tables(cells, Source(plan.path, plan.text, plan.base_dir))
    for name in sorted({cell.record.system for cell in plan.cells if cell.place is None}):
        say(f"note: {name} is a managed server: it is loaded when the plan runs")
    with claim(cores_of_all(plan), plan.record.title, options.beside, say):
        records = _load_all(plan, cells, options)
    _tell_loads(records, as_json=options.json)
    if any(cell.data != "existing" for cell in cells):
        say('to measure these tables unchanged, write data = "existing" in [measure]')
    return ExitCode.DONE if all(check.ok for one in records for check in one.checks) else ExitCode.CHECK_FAILED


def _load_all(plan: ResolvedPlan, cells: list[Cell], options: argparse.Namespace) -> list[LoadRecord]:
    from ...fleet.hosts import hosted
    from ...provision.instance import new_instance
    from ...schedule.instance import Instance
    from ..progress import Line

    view, records = Line(quiet=options.quiet), []
    # The next load that creates such a folder removes what a killed one left.
    folder = new_instance("load")
    try:
        with hosted(plan.fleet, view.message) as host:
            for cell in cells:
                instance = Instance(plan, cell, folder.path, host, allow_drop=options.allow_drop, work=None)
                try:
                    records.append(instance.load(partial(view.loading, cell)))
                finally:
                    view.close()
                    instance.stop()
    finally:
        folder.remove()
    return records


def _tell_loads(records: list[LoadRecord], *, as_json: bool) -> None:
    if as_json:
        print_json({"loads": [record.model_dump() for record in records]})
        return
    rows = [
        [
            r.system,
            f"{r.rows:,}",
            seconds_words(r.elapsed_s),
            f"{r.rows_per_s:,.0f}",
            "–" if r.size_on_disk_bytes is None else size_words(r.size_on_disk_bytes, r.file_size_bytes),
            _checks(r),
        ]
        for r in records
    ]
    show(table(rows, ["system", "rows", "took", "rows/s", "on disk", "checks"]))


def _checks(record: LoadRecord) -> str:
    broken = [f"{c.name}: expected {c.expected}, found {c.actual}" for c in record.checks if not c.ok]
    return "; ".join(broken) or f"all {len(record.checks)} passed"


def add_drop(commands: Commands) -> None:
    p = add_command(
        commands,
        "drop",
        run_drop,
        help="drop the tables that bakeoff created for a plan on existing systems",
        description="Drops the tables of a plan on existing systems that bakeoff created, as recorded next to them in"
        " the table bakeoff_tables. Never drops other tables. Without --yes it only shows what it would drop.",
        epilog="example:\n  bakeoff drop my.toml\n  bakeoff drop my.toml --yes",
    )
    add_plan(p)
    p.add_argument("--yes", action="store_true", help="drop them")
    add_json(p)


def run_drop(options: argparse.Namespace) -> int:
    from ...plan.existing_tables import existing_loads, ledger_of, tables_of
    from ...plan.read import read_plan
    from ...schedule.verification import TABLES

    plan = read_plan(options.plan, said=options.said)
    found: dict[str, list[Found]] = {}
    for cell in existing_loads(plan):
        with ledger_of(plan, cell) as ledger:
            there = ledger.there(tables_of(plan, cell))
            there += [one for one in ledger.there(TABLES) if one.ours]  # of a `verify` that was killed
            if options.yes and any(one.ours for one in there):
                ledger.claim()
                ledger.drop([one.name for one in there if one.ours])
            found.setdefault(cell.record.system, []).extend(there)
    _tell_tables(found, done=options.yes, as_json=options.json)
    ours = any(one.ours for tables in found.values() for one in tables)
    strangers = [(name, one.name) for name, tables in found.items() for one in tables if not one.ours]
    if strangers and not ours:
        system, name = strangers[0]
        hint = "bakeoff drops only tables that it created; drop it by hand if it is not needed"
        raise PlanError(
            f"the table `{name}` on {system} was not created by bakeoff", where=str(options.plan), hint=hint
        )
    if ours and not options.yes:
        raise PlanError(
            "nothing has been dropped", where=str(options.plan), hint="--yes drops the tables that bakeoff created"
        )
    if not found:
        say("no system of the plan keeps its data: nothing to drop")
    return ExitCode.DONE


def _tell_tables(found: dict[str, list[Found]], *, done: bool, as_json: bool) -> None:
    fates = {True: "dropped" if done else "would be dropped", False: "not created by bakeoff: kept"}
    rows = [[system, one.name, fates[one.ours]] for system, tables in found.items() for one in tables]
    if as_json:
        names = ("system", "table", "ours", "dropped")
        lines = [[system, one.name, one.ours, one.ours and done] for system, t in found.items() for one in t]
        print_json({"tables": [dict(zip(names, line, strict=True)) for line in lines]})
    elif rows:
        show(table(rows, ["system", "table", ""]))
    else:
        say("none of the plan's tables exists")
