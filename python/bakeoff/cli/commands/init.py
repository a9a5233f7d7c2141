"""`bakeoff init`: a first plan for the systems that this machine can run, explained line by line."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...errors import ExitCode
from ..arguments import add_json
from ..output import print_json, say
from .quick import save


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    p = commands.add_parser(
        "init",
        help="write a first plan for the systems that are here",
        description="Writes a plan that runs as it is, with every line explained, for the systems that this machine can"
        " run. Nothing is overwritten.",
        epilog="example:\n  bakeoff init my.toml\n  bakeoff run my.toml --dry-run",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("file", type=Path, nargs="?", default=Path("bakeoff.toml"), help="default: bakeoff.toml")
    add_json(p)
    p.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from ...plan.new_plan import starter

    save(starter(str(options.file)), options.file)
    if options.json:
        print_json({"plan": str(options.file)})
    say(f"{options.file} is written; `bakeoff run {options.file} --dry-run` shows what it amounts to")
    return ExitCode.DONE
