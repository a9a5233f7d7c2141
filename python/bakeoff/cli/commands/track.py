"""`bakeoff track`: a plan over many bundles, and where its figures changed."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import BundleError, ExitCode, PlanError
from ..arguments import Commands, add_command, add_json, add_results, named, results_folder
from ..output import print_json, say, show

if TYPE_CHECKING:
    from ...bundle.read import Bundle
    from ...findings.track import History


def add(commands: Commands) -> None:
    p = add_command(
        commands,
        "track",
        run,
        help="find where a figure changed over many bundles of a plan",
        description="Takes the bundles of one plan in the order they were made (nights, commits, versions), tells"
        " changes of the level from what nights differ by anyway, and says where each lies and what else changed.",
        epilog='example:\n  bakeoff run nightly.toml --label commit="$(git rev-parse --short HEAD)"\n'
        "  bakeoff track --title 'Nightly' --html track.html\n"
        "  bakeoff track --fail-on-worse 5 --markdown comment.md\n"
        "  bakeoff track --results s3://bench-results/nightly",
    )
    p.add_argument("bundles", type=Path, nargs="*", metavar="BUNDLE", help="the bundles (default: all of --results)")
    add_results(p)
    p.add_argument("--title", metavar="TITLE", help="the plan's title, where the folder has bundles of several plans")
    p.add_argument("--metric", metavar="NAME", help="what to judge by (default: the plan's objective)")
    p.add_argument(
        "--machines-by",
        choices=("hostname", "hardware"),
        default="hostname",
        help="what makes machines different, each being compared with itself: the host's name and its hardware, or the"
        " hardware alone, for hosts whose name is another at each start (default: hostname)",
    )
    p.add_argument("--html", type=Path, metavar="FILE.html", help="also write a page with a chart of each cell")
    p.add_argument("--markdown", type=Path, metavar="FILE.md", help="also write a comment for a pull request")
    p.add_argument(
        "--fail-on-worse",
        type=int,
        metavar="N",
        help="exit with 1 if a change for the worse was first seen at one of the last N bundles",
    )
    add_json(p)


def run(options: argparse.Namespace) -> int:
    from ...bundle.files import write_text
    from ...findings.track import history
    from ...report.track import answer_words, markdown, text, write_page

    _refuse_names(options)
    with nullcontext() if options.bundles else results_folder(options.results) as results:
        bundles = _bundles(options, results)
        objective = options.metric or bundles[-1].plan.objective
        (metric,) = named([objective], "--metric" if options.metric else "the plan's objective", bundles)
        found = history(bundles, metric, options.machines_by)
    html = options.html and write_page(options.html, found)
    if options.markdown:
        write_text(options.markdown.parent, options.markdown.name, "\n".join(markdown(found)) + "\n")
    failed = options.fail_on_worse is not None and _is_worse(found, options.fail_on_worse)
    if options.json:
        document = {"answer": answer_words(found), "failed": failed, "html": html and str(html), **_document(found)}
        print_json(document)
    else:
        for line in text(found):
            show(line)
        if html:
            show(f"\nreport  {html}")
    return ExitCode.CHECK_FAILED if failed else ExitCode.DONE


def _refuse_names(options: argparse.Namespace) -> None:
    for option, path, ending in (("--html", options.html, ".html"), ("--markdown", options.markdown, ".md")):
        if path is not None and path.suffix != ending:
            raise PlanError(f"the name must end in {ending}", where=f"{option} {path}")
    if options.fail_on_worse is not None and options.fail_on_worse < 1:
        raise PlanError(f"{options.fail_on_worse} is not a number of bundles", where="--fail-on-worse")


def _bundles(options: argparse.Namespace, results: Path | None) -> list[Bundle]:
    """Of one plan, complete, in their order; what cannot be used is named. results: where none are named. Raises
    BakeoffError."""
    from ...bundle.read import Bundle
    from ...findings.track import created, of_one_plan

    folders = options.bundles if results is None else _folders(results)
    opened = []
    for folder in folders:
        try:
            opened.append(Bundle.open(folder))
        except BundleError as error:
            if options.bundles:
                raise
            say(f"warning: {folder} is left out: {error.what}")
    found = []
    for bundle in of_one_plan(opened, options.title):
        if bundle.info.state == "complete":
            found.append(bundle)
        else:
            say(f"warning: {bundle.folder} is left out: its state is {bundle.info.state!r}")
    if len(found) < 2:
        hint = "each `bakeoff run` of a plan makes one; `bakeoff compare` is for two"
        raise BundleError(f"there are {len(found)} complete bundles of this plan, and a history needs two", hint=hint)
    return sorted(found, key=created)


def _folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise BundleError(f"there is no folder {folder}", hint="name another with --results")
    return sorted(path.parent for path in folder.glob("*/bundle.json"))


def _is_worse(found: History, last: int) -> bool:
    return any(
        shift.worse and shift.found >= len(track.points) - last for track in found.tracks for shift in track.shifts
    )


def _document(found: History) -> dict[str, Any]:
    tracks = []
    for track in found.tracks:
        points = [{**asdict(point), "created": point.created.isoformat(timespec="seconds")} for point in track.points]
        shifts = [asdict(shift) for shift in track.shifts]
        tracks.append(
            {"cell": track.cell, "detectable": track.detectable, "left_out": track.left_out, "points": points}
            | {"machines": [asdict(machine) for machine in track.machines], "shifts": shifts}
        )
    return {"title": found.title, "metric": found.metric.name, "gone": found.gone, "tracks": tracks}
