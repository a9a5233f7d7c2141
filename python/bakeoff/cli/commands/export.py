"""`bakeoff export`: a bundle as tables, for other programs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ExitCode, PlanError
from ..arguments import Commands, add_command, add_json, add_metric, named
from ..output import print_json, say, show

if TYPE_CHECKING:
    import pyarrow as pa

    from ...bundle.read import Bundle

TABLES = ("runs", "cells", "clients", "stages", "seconds", "samples")
#: By the ending of a file.
FORMATS = {".csv": "csv", ".md": "markdown", ".parquet": "parquet"}


def add(commands: Commands) -> None:
    p = add_command(
        commands,
        "export",
        run,
        help="a bundle's runs, cells, clients, stages or seconds as a table: CSV, Markdown, Parquet",
        description="Writes a table of a bundle. runs: one row per run, with its value of every metric. cells: one row"
        " per cell, with the typical repetition and its interval. clients: one row per client of every run with"
        " several."
        " stages: one row per stage of an offered rate that changes."
        " seconds: one row per second of every run, as its clients measured it. samples: one row per"
        " sample of server and machine metrics. Units are those of docs/reference/metrics.md.",
        epilog="example:\n  bakeoff export my-bundle > runs.csv\n  bakeoff export my-bundle --table cells -o cells.md\n"
        "  bakeoff export my-bundle --all-metrics --long -o figures.parquet\n"
        "  bakeoff export my-bundle --table seconds --metric rate_ops_per_s --metric p99_ms -o seconds.csv",
    )
    p.add_argument("bundle", type=Path, help="the bundle's folder")
    p.add_argument("--table", choices=TABLES, default="runs", help="default: runs")
    add_metric(p, "a column: rate, latency_p99.read, db.Threads_running, ... (default: all that have a value)")
    p.add_argument(
        "--all-metrics",
        action="store_true",
        help="also the metrics of every operation, and the means of all server and machine metrics",
    )
    p.add_argument("--long", action="store_true", help="one row for each value, with its metric and unit")
    p.add_argument(
        "--units", action="store_true", help="write units into the CSV's header, as in Markdown: rate (ops/s)"
    )
    p.add_argument("--format", choices=FORMATS.values(), help="default: by the file's extension, else csv")
    p.add_argument("-o", "--out", type=Path, metavar="FILE", help="the file to write (default: standard output)")
    p.add_argument("--force", action="store_true", help="overwrite the file that --out names")
    add_json(p)


def run(options: argparse.Namespace) -> int:
    from ...bundle.read import Bundle
    from ...report.tables import long, told_of

    file_format = _format(options)
    bundle = Bundle.open(options.bundle)
    table = _table(bundle, options)
    for words in bundle.damage:
        say(f"warning: {words}")
    if not table.num_rows:
        raise PlanError(f"this bundle has no {options.table}", where=str(bundle.folder))
    if options.long:
        table = long(table)
    if options.json:
        told = [{"name": name, **told_of(table, name)} for name in table.column_names if told_of(table, name)]
        print_json({"bundle": str(bundle.folder), "metrics": told, options.table: table.to_pylist()})
    elif options.out is None:
        show(_bytes(table, file_format, units=options.units).decode().removesuffix("\n"))
    else:
        options.out.write_bytes(_bytes(table, file_format, units=options.units))
    return ExitCode.DONE


def _format(options: argparse.Namespace) -> str:
    """What the table is written as. PlanError where it cannot be."""
    from ...bundle.files import is_of_a_bundle

    out: Path | None = options.out
    if out is None:
        if options.format == "parquet":
            hint = "name a file: --out FILE"
            raise PlanError("a Parquet file cannot be printed to a terminal", where="--format parquet", hint=hint)
        return str(options.format or "csv")
    if options.json:
        raise PlanError("--json prints to standard output", where=f"--out {out}", hint="leave one out")
    if is_of_a_bundle(out):
        raise PlanError("this is the name of one of the bundle's own files", where=str(out), hint="name another file")
    if out.is_file() and not options.force:
        hint = "--force overwrites it, or name another file"
        raise PlanError("the file exists already", where=str(out), hint=hint)
    if options.format is None and out.suffix and out.suffix.lower() not in FORMATS:
        hint = f"end its name in {', '.join(FORMATS)}, or add --format"
        raise PlanError(f"no format is known for a {out.suffix} file", where=str(out), hint=hint)
    return str(options.format or FORMATS.get(out.suffix.lower(), "csv"))


def _table(bundle: Bundle, options: argparse.Namespace) -> pa.Table:
    from ...analysis.registry import UnknownMetric, all_metrics
    from ...report.tables import (
        cells_table,
        clients_table,
        every_metric,
        runs_table,
        samples_table,
        seconds_table,
        stages_table,
        without_empty,
    )

    of_each = {
        "clients": clients_table,
        "stages": stages_table,
        "seconds": seconds_table,
        "samples": samples_table,
    }
    if make := of_each.get(options.table):
        if options.all_metrics:
            raise PlanError(
                f"--table {options.table} always has all columns", where="--all-metrics", hint="leave it out"
            )
        try:
            return make(bundle, options.metric)
        except UnknownMetric as error:
            raise PlanError(str(error), where="--metric", hint=error.hint) from error
    of = runs_table if options.table == "runs" else cells_table
    if options.metric:
        return of(bundle, named(options.metric, "--metric", [bundle]))
    return without_empty(of(bundle, every_metric(bundle) if options.all_metrics else all_metrics(bundle.plan.rates)))


def _bytes(table: pa.Table, file_format: str, *, units: bool) -> bytes:
    from ...bundle.write import packed
    from ...report.tables import as_csv, as_markdown

    if file_format == "parquet":
        return packed(table)
    return (as_markdown(table) if file_format == "markdown" else as_csv(table, units=units)).encode()
