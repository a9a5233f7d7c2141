"""`bakeoff claims`: an article's claims, each with its verdict; runs the plans whose runs are missing."""

from __future__ import annotations

import argparse
import os
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import BakeoffError, BundleError, BundleHeld, ExitCode, PlanError
from ..arguments import Commands, add_command, add_json, add_measuring
from ..output import print_json, say, show, table
from . import run as run_command

if TYPE_CHECKING:
    from ...bundle.read import Bundle
    from ...bundle.write import BundleWriter
    from ...claims.document import Article
    from ...claims.verdict import ArticleFound, PlanMeasured
    from ...plan.resolved import ResolvedPlan


def add(commands: Commands) -> None:
    p = add_command(
        commands,
        "claims",
        run,
        help="judge the claims of an article by runs of its plans",
        description="Judges the claims of a published article: reproduced, contradicted, inconclusive (and what would"
        " decide it) or not testable. Complete bundles of its plans are used again; what is missing is run as `bakeoff"
        " run` does. Without an article, lists those that come with bakeoff.",
        epilog="example:\n  bakeoff claims\n  bakeoff claims hatshop --dry-run\n"
        "  bakeoff claims hatshop --html hatshop.html\n  bakeoff claims my-article.toml --only A-3",
    )
    p.add_argument("article", nargs="?", metavar="ARTICLE", help="an article's name, or a file that ends in .toml")
    p.add_argument(
        "--scale",
        choices=("small", "full"),
        default="small",
        help="the plans to use: minutes on a small machine, or the article's own parameters (default: small)",
    )
    p.add_argument("--only", action="append", default=[], metavar="ID", help="a claim by its id; may be repeated")
    p.add_argument("--html", type=Path, metavar="FILE.html", help="also write a page with charts, in one file")
    p.add_argument(
        "--markdown", type=Path, metavar="FILE.md", help="also write a page, with charts in a folder next to it"
    )
    p.add_argument("--dry-run", action="store_true", help="check claims and plans, print what would run; start nothing")
    p.add_argument("--no-run", action="store_true", help="run nothing: judge by the bundles that exist")
    p.add_argument(
        "--results", type=Path, metavar="DIR", help="folder of the plans' bundles (default: bakeoff-results)"
    )
    add_measuring(p)
    add_json(p)


def run(options: argparse.Namespace) -> int:
    from ...claims.article import find
    from ...claims.document import read_article
    from ...claims.verdict import judge_article, plan_names

    if options.article is None:
        return _list(options)
    path = find(options.article)
    article = read_article(path)
    _refuse_unknown(options.only, article, path)
    for option, file, ending in (("--html", options.html, ".html"), ("--markdown", options.markdown, ".md")):
        if file is not None and file.suffix != ending:
            hint = f"choose a name that ends in {ending}"
            raise PlanError(f"the page's name must end in {ending}", where=f"{option} {file}", hint=hint)
        if file is not None:
            _refuse_place(file, option)
    names = plan_names(article, options.only)
    read = {name: _read(path, article, name, options.scale) for name in names}
    plans = {name: _of_bundle(plan, options) for name, plan in read.items()}

    def judged() -> ArticleFound:
        return judge_article(article, plans, str(path), options.scale, _command(options), options.only)

    judged()  # refuses claims that do not fit their plans, before anything runs
    if options.dry_run:
        return _dry_run(read, plans, options)
    code = ExitCode.DONE
    for name in [] if options.no_run else names:
        if plans[name].is_evidence:
            continue
        plans[name], ended = _run(read[name], plans[name], options)
        if ended == ExitCode.INTERRUPTED:
            say("or repeat this command: finished runs are kept")
            return ended
        code = code or ended
    _tell(judged(), plans, options)
    return code


def _refuse_place(file: Path, option: str) -> None:
    """Before hours of runs. A folder for the page is made where it is missing."""
    from ...bundle.files import is_of_a_bundle

    if is_of_a_bundle(file):
        what = "this is the name of one of a bundle's own files"
        raise PlanError(what, where=f"{option} {file}", hint="name another file")
    try:
        file.absolute().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"the page's folder cannot be made: {error.strerror}"
        raise PlanError(what, where=f"{option} {file}", hint="name a file in another folder") from error
    if file.is_dir() or not os.access(file.absolute().parent, os.W_OK):
        raise PlanError("the page cannot be written there", where=f"{option} {file}", hint="name another file")


def _list(options: argparse.Namespace) -> int:
    from ...claims.article import shipped

    found = [article for _, article in shipped()]
    if options.json:
        counts = [{"claims": len(one.claims), "tested": len(one.tested)} for one in found]
        about = ("article", "title", "published")
        print_json({"articles": [one.model_dump(include=set(about)) | n for one, n in zip(found, counts, strict=True)]})
    else:
        rows = [[one.article, one.published, f"{len(one.tested)} of {len(one.claims)}", one.title] for one in found]
        show(table(rows, ["article", "published", "testable claims", "title"]))
    return ExitCode.DONE


def _refuse_unknown(only: list[str], article: Article, path: Path) -> None:
    from ...suggestions import meant

    known = [claim.id for claim in article.claims]
    for name in only:
        if name not in known:
            raise PlanError(f"there is no claim `{name}`", where=str(path), hint=meant(name, known))


def _read(document: Path, article: Article, name: str, scale: str) -> ResolvedPlan:
    from ...claims.article import find_plan
    from ...plan.read import read_plan

    plan = read_plan(find_plan(document, article, name, scale), must_run=False)
    if plan.record.search:
        what = "claims are about levels that the plan names, and a search chooses its own"
        raise PlanError(what, where=str(plan.path), hint="name the levels as a factor, in place of [search]")
    return plan


def _of_bundle(plan: ResolvedPlan, options: argparse.Namespace) -> PlanMeasured:
    """With the newest complete bundle of the plan, one that disturbance left enough runs if there is any."""
    from ...claims.verdict import PlanMeasured
    from ...machine import machine_facts
    from ...schedule.target_bundle import Target

    assert plan.path is not None
    found = PlanMeasured(plan.path, plan.record, plan.skipped, why="its plan has not been run")
    machine = None if options.no_run else machine_facts(options.work_dir or Path())
    bundles = [found.with_bundle(bundle) for bundle in Target(results=options.results).whole(plan, machine)]
    return next((one for one in bundles if one.is_evidence), bundles[0] if bundles else found)


def _dry_run(read: dict[str, ResolvedPlan], plans: dict[str, PlanMeasured], options: argparse.Namespace) -> int:
    """What would run; every claim fits its plan by now."""
    from ...analysis.wording import seconds_words
    from ...claims.article import short
    from ...plan.dry_run.describe import describe
    from ...schedule.target_bundle import Target

    place = Target(results=options.results).place
    rows, total_s = [], 0.0
    for name, plan in read.items():
        dry = describe(plan, place)
        bundle = plans[name].bundle if plans[name].is_evidence else None
        total_s += 0.0 if bundle else dry.time_s
        uses = str(bundle.folder) if bundle else f"runs: {seconds_words(dry.time_s)}"
        rows.append(
            {"plan": name, "file": short(plans[name].path), "runs": dry.runs, "time_s": dry.time_s, "uses": uses}
        )
        for warning in plan.warnings:
            say(f"warning: {name}: {warning}")
    if options.json:
        print_json({"plans": rows, "time_s": total_s})
    else:
        head = ["plan", "runs", "uses", "file"]
        show(table([[row[name] for name in head] for row in rows], head))
        show(f"\nabout {seconds_words(total_s)} in all")
    return ExitCode.DONE


def _run(plan: ResolvedPlan, found: PlanMeasured, options: argparse.Namespace) -> tuple[PlanMeasured, ExitCode]:
    """As `bakeoff run` does, in the unfinished bundle of the plan where it can be continued. A plan that fails leaves
    the claims of the others to judge."""
    from dataclasses import replace

    again = " again: its bundle has too few undisturbed runs (--no-run judges by it)" if found.bundle else ""
    say(f"running {found.path}{again}")
    try:
        begun = _unfinished(plan, options)
        try:
            bundle, code = _when_free(found.path, begun, options)
        except BundleHeld:
            raise
        except BundleError as error:
            if begun is None:
                raise
            say(f"note: {error}; the plan starts over")
            bundle, code = _carry_out(found.path, None, options)
    except BakeoffError as error:
        say(f"error: {found.path}: {error}")
        return replace(found, why=f"its plan could not be run: {error}"), ExitCode(error.exit_code)
    return (found if bundle is None else found.with_bundle(bundle)), code


#: How often another command's bundle is looked at.
_HELD_EVERY_S = 2.0


def _when_free(path: Path, begun: Path | None, options: argparse.Namespace) -> tuple[Bundle | None, ExitCode]:
    """With --wait, once no other command writes into the bundle."""
    while True:
        try:
            return _carry_out(path, begun, options)
        except BundleHeld:
            if options.beside != "wait":
                raise
            time.sleep(_HELD_EVERY_S)


def _unfinished(plan: ResolvedPlan, options: argparse.Namespace) -> Path | None:
    from ...bundle.read import Bundle
    from ...schedule.target_bundle import Target

    try:
        found = Bundle.open(Target(results=options.results, resume="latest").to_continue(plan))
    except BundleError:
        return None
    # Cells that were added later would have no runs in the same blocks as the others.
    same = {cell.id for cell in found.plan.cells} == {cell.id for cell in plan.record.cells}
    return found.folder if same and not found.info.allow_disturbed else None  # or somebody's own, with other rules


def _carry_out(path: Path, begun: Path | None, options: argparse.Namespace) -> tuple[Bundle | None, ExitCode]:
    from ...bundle.read import Bundle
    from ...report.answer import analysed
    from ...report.html.write import write_report

    words = ["run", str(path), *(["--resume", str(begun)] if begun else [])]
    words += ["--results", str(options.results)] if options.results else []
    words += ["--work-dir", str(options.work_dir)] if options.work_dir else []
    words += {"refuse": [], "wait": ["--wait"], "together": ["--together"]}[options.beside]
    words += ["--allow-cost"] if options.allow_cost else []
    words += ["--quiet"] if options.quiet else []
    words += (
        ["--wait-until-quiet", *filter(None, [options.wait_until_quiet])]
        if options.wait_until_quiet is not None
        else []
    )
    said = options.definition.parse_args(words)
    made: list[Bundle] = []

    def report(writer: BundleWriter, _: argparse.Namespace) -> int:
        made.append(Bundle.open(writer.folder))
        write_report(made[-1], answer=analysed(made[-1]))
        return ExitCode.DONE

    code = run_command.carry_out(run_command.read(said), said, report)
    return (made[-1] if made else None), ExitCode(code)


def _command(options: argparse.Namespace) -> str:
    words = ["bakeoff", "claims", options.article]
    words += ["--scale", options.scale] if options.scale != "small" else []
    return shlex.join([*words, *(word for name in options.only for word in ("--only", name))])


def _tell(found: ArticleFound, plans: dict[str, PlanMeasured], options: argparse.Namespace) -> None:
    from ...claims.page import write_html, write_markdown
    from ...claims.text import render

    if not options.json:
        show(render(found))
    pages: dict[str, str] = {}
    try:
        if options.html is not None:
            pages["html"] = str(write_html(options.html, found, plans))
        if options.markdown is not None:
            pages["markdown"] = str(write_markdown(options.markdown, found, plans))
    finally:
        if options.json:
            print_json(found.model_dump() | {"pages": pages})
    if options.json:
        return
    for page in pages.values():
        show(f"page  {page}")
