"""`bakeoff report`: the answer and report.html from a bundle alone."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ExitCode, PlanError
from .output import add_json, print_json, say

if TYPE_CHECKING:
    from ..bundle.read import Bundle
    from ..report.answer import Answer
    from ..report.html import ReportPaths


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    p = commands.add_parser(
        "report",
        help="make report.html and charts from a bundle",
        description="Makes report.html and chart files from a bundle, and prints the answer. Needs no database.",
        epilog="example:\n  bakeoff report bakeoff-results/my-plan-20261121-120000\n"
        "  bakeoff report --format sysbench bakeoff-results/my-plan-20261121-120000",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("bundle", type=Path, help="the folder that `bakeoff run` left")
    p.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: into the bundle)")
    p.add_argument(
        "--format",
        choices=("text", "sysbench"),
        default="text",
        help="sysbench: print each run in the layout of sysbench's own output, and write nothing (default: text)",
    )
    add_json(p)
    p.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from ..bundle.read import Bundle
    from ..report.answer import answer_of, render_text

    bundle = Bundle.open(options.bundle)
    if options.format == "sysbench":
        return _sysbench(bundle, options)
    answer = answer_of(bundle)
    paths = report_files(bundle, answer, options.out)
    for words in bundle.damage:
        say(f"warning: {words}")
    if options.json:
        print_json({"bundle": str(bundle.folder), "report": str(paths.html), "answer": answer.model_dump()})
    else:
        print(render_text(answer))
        print(f"\nreport  {paths.html}")
    return ExitCode.DONE


def _sysbench(bundle: Bundle, options: argparse.Namespace) -> int:
    from ..report.sysbench_layout import render

    if options.json or options.out is not None:
        raise PlanError("--format sysbench prints and writes nothing else", hint="leave out --json and --out")
    print(render(bundle), end="")
    for words in bundle.damage:
        say(f"warning: {words}")
    return ExitCode.DONE


def report_files(bundle: Bundle, answer: Answer, out: Path | None = None) -> ReportPaths:
    from ..report.html import write_report

    return write_report(bundle, out, answer)
