"""`bakeoff export`: runs x metrics as one table, for other programs."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import ExitCode, PlanError
from .metrics import add_metric, named
from .output import add_json, print_json, say, show

FORMATS = ("csv", "markdown", "parquet")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    p = commands.add_parser(
        "export",
        help="print a bundle's runs and their metrics as a table",
        description="Prints one row for each run of a bundle: what it is, then its value of every metric, in the units"
        " of docs/reference/metrics.md.",
        epilog="example:\n  bakeoff export my-bundle > runs.csv\n"
        "  bakeoff export my-bundle --format markdown --metric rate --metric latency_p99.read",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("bundle", type=Path, help="the folder that `bakeoff run` left")
    p.add_argument("--format", choices=FORMATS, default="csv", help="default: csv; parquet goes to a file, --out")
    add_metric(p, "a column: rate, latency_p99.read, ... (default: all that some run has)")
    p.add_argument("--out", type=Path, metavar="FILE", help="where to write (default: standard output)")
    p.add_argument("--force", action="store_true", help="write over the file that --out names")
    add_json(p)
    p.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from ..analysis.registry import all_metrics
    from ..bundle.files import is_of_a_bundle
    from ..bundle.read import Bundle
    from ..bundle.write import parquet
    from ..report.table import as_csv, as_markdown, runs_table, without_empty

    if options.format == "parquet" and (options.out is None or options.json):
        raise PlanError("a parquet file is not for a terminal", where="--format parquet", hint="say where: --out FILE")
    if options.out is not None and is_of_a_bundle(options.out):
        raise PlanError("this is a place of a bundle's own files", where=str(options.out), hint="name another file")
    if options.out is not None and options.out.is_file() and not options.force:
        hint = "--force writes over it, or name another file"
        raise PlanError("the file is there already", where=str(options.out), hint=hint)
    bundle = Bundle.open(options.bundle)
    metrics = named(options.metric, "--metric", [bundle]) or all_metrics(bundle.plan.rates)
    rows = runs_table(bundle, metrics)
    if not options.metric:
        rows = without_empty(rows, metrics)
    for words in bundle.damage:
        say(f"warning: {words}")
    if not rows:
        raise PlanError("no run of this bundle was finished", where=str(bundle.folder))
    if options.json:
        told = [{"name": m.name, "unit": m.unit, "better": m.better} for m in metrics if m.name in rows[0]]
        print_json({"bundle": str(bundle.folder), "metrics": told, "runs": rows})
        return ExitCode.DONE
    text = as_markdown(rows) if options.format == "markdown" else as_csv(rows)
    if options.out is None:
        show(text.removesuffix("\n"))
    elif options.format == "parquet":
        options.out.write_bytes(parquet(rows))
    else:
        options.out.write_text(text)
    return ExitCode.DONE
