"""`bakeoff init`: a first plan for the systems that this machine can run, explained line by line. `bakeoff quick`: a
comparison without a plan at hand: makes one out of a few words, prints it and runs it."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...errors import ExitCode, PlanError
from ..arguments import Commands, add_command, add_json, add_running
from ..output import print_json, say
from .run import carry_out


def add_init(commands: Commands) -> None:
    p = add_command(
        commands,
        "init",
        run_init,
        help="write a first plan for the systems installed here",
        description="Writes a plan that runs unchanged, with every line explained, for the systems that this machine"
        " can run, and next to it plan.schema.json, with which editors complete and check plans. Overwrites no plan.",
        epilog="example:\n  bakeoff init my.toml\n  bakeoff run my.toml --dry-run",
    )
    p.add_argument("file", type=Path, nargs="?", default=Path("bakeoff.toml"), help="default: bakeoff.toml")
    add_json(p)


def run_init(options: argparse.Namespace) -> int:
    from ...plan.new_plan import starter

    save(starter(str(options.file)), options.file)
    schema = _save_schema(options.file.parent)
    if options.json:
        print_json({"plan": str(options.file), "schema": str(schema)})
    say(f"wrote {options.file}; `bakeoff run {options.file} --dry-run` shows its cells, time and disk")
    return ExitCode.DONE


def _save_schema(folder: Path) -> Path:
    """The schema that a first plan names; it replaces an older one, and nothing else."""
    from ...plan.new_plan import SCHEMA

    path = folder / SCHEMA.name
    try:
        if path.exists() and b'"title": "bakeoff plan"' not in path.read_bytes():
            hint = "the plan is written; for editors, move this file and run `bakeoff init` for another plan"
            raise PlanError("a file of the schema's name exists, and is another", where=str(path), hint=hint)
        path.write_bytes(SCHEMA.read_bytes())
    except OSError as error:
        hint = "the plan is written; only editors need the schema"
        raise PlanError(f"cannot write the schema of plans: {error.strerror}", where=str(path), hint=hint) from None
    return path


def add_quick(commands: Commands) -> None:
    p = add_command(
        commands,
        "quick",
        run_quick,
        help="compare systems without writing a plan",
        description="Makes a plan out of a few words, prints it and runs it. Short runs are a demonstration: an answer"
        " needs windows of 30 s and 5 repetitions at least.",
        epilog="example:\n  bakeoff quick mariadb sqlite --workload ycsb-b --threads 8\n"
        "  bakeoff quick mariadb@10.11 mariadb@11.4 --workload tpcc --threads 1 8 64 --window 60s --save my.toml",
    )
    p.add_argument("systems", nargs="+", metavar="SYSTEM", help="kind, or kind@version: sqlite, mariadb@10.11")
    p.add_argument(
        "--workload",
        default="ycsb-a",
        metavar="NAME",
        help="ycsb-a to ycsb-f, tpcc, linkbench, hatshop, documents, pgbench, sysbench-SCRIPT, ...: `bakeoff workloads`"
        " (default: ycsb-a)",
    )
    p.add_argument(
        "--threads",
        type=int,
        nargs="+",
        default=[8],
        metavar="N",
        help="users; several values are compared (default: 8)",
    )
    p.add_argument(
        "--size",
        metavar="N",
        help="size of the data in the workload's unit: records (ycsb), rows of a table (sysbench), warehouses (tpcc),"
        " scale (pgbench), 0.1x (linkbench), orders (hatshop); default: a size that loads in seconds",
    )
    p.add_argument(
        "--window", default="2s", metavar="DURATION", help="measured time of each run, after the warm-up (default: 2s)"
    )
    p.add_argument("--repetitions", type=int, default=5, metavar="N", help="runs of each cell (default: 5)")
    p.add_argument("--save", type=Path, metavar="FILE", help="also write the plan to this new file")
    add_running(p)
    p.set_defaults(resume=None, allow_drop=False, allow_changes=False, said=[], only=[], fail_if=[], label=[])


def run_quick(options: argparse.Namespace) -> int:
    from ...plan.new_plan import Quick, plan_text
    from ...plan.read import resolve

    text = plan_text(
        Quick(
            options.systems,
            options.workload,
            options.threads,
            size=options.size,
            window=options.window,
            repetitions=options.repetitions,
            fleet=[said.removeprefix("fleet.").replace("=", " = ", 1) for said in options.said],
        )
    )
    options.said = []  # the plan has it
    plan = resolve(text, Path.cwd(), path=options.save, must_run=not options.dry_run)
    if options.save:
        save(text, options.save)
    options.plans = [options.save] if options.save else []  # else the bundle's own copy
    say(f"the plan{f', in {options.save}' if options.save else ''}:\n\n{text}")
    return carry_out(plan, options)


def save(text: str, path: Path) -> None:
    """Writes a plan; PlanError where the file exists."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise PlanError("the file exists already", where=str(path), hint="name another file") from None
    except OSError as error:
        raise PlanError(f"cannot write the plan: {error.strerror}", where=str(path)) from None
