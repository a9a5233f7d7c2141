"""`bakeoff report`: the answer and report.html from a bundle alone."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import BakeoffError, ExitCode, PlanError
from ...terminal import printable
from ..arguments import Commands, add_command, add_json, add_metric, named
from ..output import flush, print_json, say, show

if TYPE_CHECKING:
    from ...bundle.read import Bundle
    from ...report.answer import Answer


def add(commands: Commands) -> None:
    p = add_command(
        commands,
        "report",
        run,
        help="write report.html and charts from a bundle",
        description="Writes report.html and chart files from a bundle, and prints the answer. Needs no database.",
        epilog="example:\n  bakeoff report bakeoff-results/my-plan-20261121-120000\n"
        "  bakeoff report --format sysbench bakeoff-results/my-plan-20261121-120000",
    )
    p.add_argument("bundle", type=Path, help="the bundle's folder")
    p.add_argument("--out", type=Path, metavar="DIR", help="folder to write to (default: the bundle)")
    p.add_argument(
        "--format",
        choices=("text", "sysbench"),
        default="text",
        help="sysbench: print each run in the layout of sysbench's own output, and write nothing (default: text)",
    )
    p.add_argument(
        "--png", action="store_true", help="also write the charts as PNG (needs: pip install 'bakeoff[png]')"
    )
    add_metric(p, "also show this metric as a column and a chart: cpu_us_per_op, latency_p99.read, ...")
    add_json(p)


def run(options: argparse.Namespace) -> int:
    from ...bundle.read import Bundle
    from ...report.answer import analysed

    bundle = Bundle.open(options.bundle)
    if options.format == "sysbench":
        return _sysbench(bundle, options)
    if options.png and find_spec("vl_convert") is None:
        hint = "pip install 'bakeoff[png]', or leave --png out: charts are written as SVG"
        raise PlanError("the Python package vl-convert-python is missing; PNG files need it", where="--png", hint=hint)
    answer = analysed(bundle, named(options.metric, "--metric", [bundle]))
    tell(bundle, answer, out=options.out, as_json=options.json, png=options.png)
    return ExitCode.CHECK_FAILED if bundle.unreadable_runs else ExitCode.DONE


def tell(
    bundle: Bundle, answer: Answer, *, out: Path | None = None, as_json: bool, write: bool = True, png: bool = False
) -> None:
    """The answer, and report.html unless it is unwanted: each is made whatever becomes of the other."""
    from ...report.html.write import write_report
    from ...report.text.first_screen import wants_colour
    from ...report.text.terminal import render_text

    html: Path | None = None
    unprinted = (
        None
        if as_json
        else _unprinted(f"{render_text(answer, colour=wants_colour())}\n\nbundle  {printable(str(bundle.folder))}")
    )
    try:
        html = write_report(bundle, out, answer, png=png).html if write else None
    finally:
        for words in bundle.damage:
            say(f"warning: {words}")
        if as_json:
            document = {"bundle": str(bundle.folder), "report": html and str(html), "damage": bundle.damage}
            print_json({**document, "answer": answer.model_dump()})
    if unprinted:
        say(f"report  {html}" if html else "")
        raise unprinted
    if html is not None and not as_json:
        show(f"report  {html}")


def _unprinted(answer: str) -> BakeoffError | None:
    """Prints the answer; why it could not be, where the report is to be made all the same."""
    try:
        show(answer, escaped=True)
        flush()
    except BakeoffError as error:
        return error
    return None


def _sysbench(bundle: Bundle, options: argparse.Namespace) -> int:
    from ...report.text.sysbench import render

    if options.json or options.out is not None or options.metric or options.png:
        raise PlanError(
            "--format sysbench prints and writes nothing else", hint="leave out --json, --out, --metric and --png"
        )
    show(render(bundle).removesuffix("\n"))
    for words in bundle.damage:
        say(f"warning: {words}")
    return ExitCode.DONE
