"""`bakeoff drop`: remove what bakeoff made for a plan on systems that are there."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ...errors import ExitCode, PlanError
from ..arguments import add_json, add_plan
from ..output import print_json, say, show, table

if TYPE_CHECKING:
    from ...systems.base import Found


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    p = commands.add_parser(
        "drop",
        help="remove the tables that bakeoff made for a plan on existing systems",
        description="Drops those tables of a plan on existing systems that bakeoff made, as written down beside them in"
        " the table bakeoff_tables. Tables of others are never dropped. Without --yes it only says what it would drop.",
        epilog="example:\n  bakeoff drop my.toml\n  bakeoff drop my.toml --yes",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_plan(p)
    p.add_argument("--yes", action="store_true", help="drop them")
    add_json(p)
    p.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from ...plan.existing_tables import existing_loads, ledger_of, tables_of
    from ...plan.read import read_plan

    plan = read_plan(options.plan, said=options.said)
    found: dict[str, list[Found]] = {}
    for cell in existing_loads(plan):
        with ledger_of(plan, cell) as ledger:
            there = ledger.there(tables_of(plan, cell))
            if options.yes and any(one.ours for one in there):
                ledger.claim()
                ledger.drop([one.name for one in there if one.ours])
            found.setdefault(cell.record.system, []).extend(there)
    _tell(found, done=options.yes, as_json=options.json)
    ours = any(one.ours for tables in found.values() for one in tables)
    strangers = [(name, one.name) for name, tables in found.items() for one in tables if not one.ours]
    if strangers and not ours:
        system, name = strangers[0]
        hint = "bakeoff drops only what it made; drop it by hand if it is not needed"
        raise PlanError(f"the table `{name}` on {system} was not made by bakeoff", where=str(options.plan), hint=hint)
    if ours and not options.yes:
        raise PlanError("nothing has been dropped", where=str(options.plan), hint="--yes drops what bakeoff made")
    if not found:
        say("no system of the plan keeps its data: nothing to drop")
    return ExitCode.DONE


def _tell(found: dict[str, list[Found]], *, done: bool, as_json: bool) -> None:
    fates = {True: "dropped" if done else "would be dropped", False: "not made by bakeoff: left alone"}
    rows = [[system, one.name, fates[one.ours]] for system, tables in found.items() for one in tables]
    if as_json:
        names = ("system", "table", "ours", "dropped")
        lines = [[system, one.name, one.ours, one.ours and done] for system, t in found.items() for one in t]
        print_json({"tables": [dict(zip(names, line, strict=True)) for line in lines]})
    elif rows:
        show(table(rows, ["system", "table", ""]))
    else:
        say("none of the plan's tables is there")
