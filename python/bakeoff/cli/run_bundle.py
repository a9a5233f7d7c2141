"""The bundle that `bakeoff run` writes into: a new one, or one that is continued."""

from __future__ import annotations

import argparse
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BakeoffError, BundleError, ExitCode, PlanError

if TYPE_CHECKING:
    from ..bundle.read import Bundle
    from ..bundle.write import BundleWriter
    from ..model.records import FactsRecord, PlanRecord, RunRecord
    from ..plan.resolved import ResolvedPlan

RESULTS = Path("bakeoff-results")
_REPETITIONS = re.compile(r"(\+?)([1-9][0-9]{0,5})")


def open_bundle(
    plan: ResolvedPlan, options: argparse.Namespace, held: ExitStack
) -> tuple[BundleWriter, dict[str, RunRecord], dict[str, FactsRecord]]:
    """The bundle to write into, held, with the runs and the facts of systems that it has already."""
    from .. import __version__
    from ..bundle.read import Bundle
    from ..bundle.results_folder import empty, has_no_run
    from ..bundle.resume import Present, hashes
    from ..bundle.write import BundleWriter, folder_at, hold, new_folder, utc_now
    from ..fleet.engine_program import engine_sha256
    from ..machine import machine_facts
    from ..model.records import BundleInfo
    from ..plan.dry_run.estimates import bundle_bytes, disk_bytes
    from ..plan.machines import check_disk
    from ..plan.search import with_levels_of
    from ..provision.instance import default_parent
    from ..report.words.doubts import BUNDLE

    work = options.work_dir or default_parent()
    check_disk(bundle_bytes(plan), place(options), "--out")
    check_disk(disk_bytes(plan), work, "--work-dir")
    machine = machine_facts(work)
    allowed = {"--allow-changes": options.allow_changes, "--allow-disturbed": options.allow_disturbed}
    info = BundleInfo(
        bakeoff_version=__version__,
        created=utc_now(),
        title=plan.record.title,
        state="running",
        command=shlex.join(
            [
                *("bakeoff", "run", *map(str, options.plans or [f"{BUNDLE}/plan.toml"])),
                *beside_plan(options),
                *(flag for flag, said in allowed.items() if said),
            ]
        ),
        demonstration=plan.record.demonstration,
        skipped=plan.skipped,
        engine_sha256=engine_sha256(),
        inputs=hashes(plan.inputs),
        allow_disturbed=options.allow_disturbed,
    )
    folder = _to_continue(plan, options) if options.resume else options.out
    again = folder is not None and has_no_run(folder)
    if options.resume and not again:
        plan = with_levels_of(plan, Bundle.open(folder).plan)
        writer = BundleWriter(folder)
        held.enter_context(hold(folder, plan.record.title))
        bundle = writer.resume(Present(plan.record, plan.skipped, machine, info), plan.text)
        done, facts = {r.id: r for r in bundle.attempts}, bundle.facts
    else:
        if not again:
            folder = folder_at(options.out) if options.out else new_folder(place(options), plan.record.title)
        writer = BundleWriter(folder)
        held.enter_context(_gone_if_refused(writer))
        held.enter_context(hold(writer.folder, plan.record.title))
        if again:  # whatever its plan was, nothing has been measured by it
            empty(folder)
        writer.begin(info, plan.record, plan.text, machine)
        done, facts = {}, {}
    several = options.plans if len(options.plans) > 1 else []
    writer.keep_files({path for cell in plan.cells for path in cell.workload.sources} | {*several})
    return writer, done, facts


def with_runs_there(plan: ResolvedPlan, options: argparse.Namespace) -> tuple[ResolvedPlan, Counter[str]]:
    """The plan as it would be continued, and by cell the runs that are there already and are not made again; none of a
    new bundle."""
    from ..bundle.read import Bundle
    from ..plan.search import with_levels_of

    bundle = Bundle.open(_to_continue(plan, options)) if options.resume else None
    if bundle is None or not bundle.runs:
        return plan, Counter()
    return with_levels_of(plan, bundle.plan), Counter(run.cell for run in bundle.runs if run.state == "done")


def place(options: argparse.Namespace) -> Path:
    """The bundle's folder where it is named, else the folder that it is made in."""
    found: Path = options.out or options.results or RESULTS
    return found


def is_whole(plan: ResolvedPlan, options: argparse.Namespace) -> bool:
    """Whether the bundle that is to be continued has every run already, so that none will be made. (What is left of a
    search its runs decide.)"""
    from ..bundle.read import Bundle

    if not options.resume or plan.record.search:
        return False
    return not _lacks_runs(plan.record, Bundle.open(_to_continue(plan, options)))


def _lacks_runs(record: PlanRecord, bundle: Bundle) -> bool:
    """Whether runs would be made in it, those that would be repeated included."""
    from ..schedule.run_order import Repeats, schedule

    slots = schedule([cell.id for cell in record.cells], record.repetitions, record.seed)
    repeats = Repeats(bundle.attempts, record.repeats_max)
    return any(repeats.is_missing(slot) for slot in slots) or bool(repeats.chosen(slots))


def say_repetitions(options: argparse.Namespace, read: Callable[[], ResolvedPlan]) -> None:
    """Puts --repetitions among what is said beside the plan. "+5" is five more than the bundle has that is continued,
    which is then named. read: reads the plan."""
    from ..bundle.read import Bundle

    match = _REPETITIONS.fullmatch(options.repetitions)
    if match is None:
        what = f'"{options.repetitions}" is no number of repetitions'
        raise PlanError(what, where="--repetitions", hint="10 for ten in all; with --resume +5 for five more")
    total = int(match[2])
    plan = read()
    if plan.record.search:
        what = "a search decides itself how often a level is run"
        hint = f"--set search.runs={max(total, 40)} lets it make more runs, with --resume in the same bundle"
        raise PlanError(what, where="--repetitions", hint=hint)
    if match[1]:
        if not options.resume:
            raise PlanError("+N adds to a bundle, and none is named", where="--repetitions", hint="say --resume, too")
        folder = _to_continue(plan, options, lacking=False)
        total += Bundle.open(folder).plan.repetitions
        options.resume = options.resume if options.out else str(folder)
    options.said = [*options.said, f"measure.repetitions={total}"]


def _to_continue(plan: ResolvedPlan, options: argparse.Namespace, *, lacking: bool = True) -> Path:
    """lacking: only a bundle that lacks runs of the plan, where none is named."""
    from ..bundle.read import Bundle

    if options.resume != "latest" and options.out:
        raise PlanError("--resume BUNDLE and --out name a bundle each", hint="leave one out: --resume --out BUNDLE")
    if options.resume == "latest" and not options.out:
        return _newest(place(options), plan, lacking=lacking)
    return Bundle.open(options.out or options.resume).folder


@contextmanager
def _gone_if_refused(writer: BundleWriter) -> Iterator[None]:
    """A new bundle of a plan that is refused before anything was done is removed."""
    from ..bundle.results_folder import discard

    try:
        yield
    except BakeoffError as error:
        if refused(error, writer):
            with suppress(OSError, BakeoffError):
                discard(writer.folder)
                RESULTS.rmdir()  # unless others are in it
        raise


def refused(error: BaseException, writer: BundleWriter) -> bool:
    """Whether this ends a plan that left nothing in its new bundle: it was wrong, or met what it cannot work with (a
    password, a table) before any data were made or a server of ours had said something."""
    if not isinstance(error, BakeoffError) or not writer.new or writer.measured:
        return False
    return error.exit_code == ExitCode.USAGE or not writer.tried


def _newest(parent: Path, plan: ResolvedPlan, *, lacking: bool) -> Path:
    """The newest bundle of this plan, which may have grown since. lacking: of those that lack runs of it."""
    from ..bundle.read import Bundle
    from ..bundle.results_folder import has_no_run
    from ..plan.search import with_levels_of

    for info in sorted(parent.glob("*/bundle.json"), key=lambda p: p.stat().st_mtime, reverse=True):
        try:
            bundle = Bundle.open(info.parent)
            text = bundle.plan_text()
        except BundleError:
            continue  # damaged, or of another version: not the one to continue
        here = with_levels_of(plan, bundle.plan).record
        then, now = ({cell.id for cell in record.cells} for record in (bundle.plan, here))
        grown = now > then or here.repetitions > bundle.plan.repetitions
        other_budget = here.error_budget_ratio != bundle.plan.error_budget_ratio
        of_plan = text == plan.text or (
            bundle.info.title == plan.record.title and (then <= now or has_no_run(info.parent))
        )
        unfinished = bundle.info.state != "complete" or (not here.search and _lacks_runs(here, bundle))
        if of_plan and (grown or other_budget or unfinished or not lacking):
            return info.parent
    raise BundleError(
        f"there is no {'unfinished ' if lacking else ''}bundle of this plan in {parent}",
        hint="give the bundle: --resume BUNDLE, or run without --resume",
    )


def beside_plan(options: argparse.Namespace) -> list[str]:
    """The words of --set, --only and --fail-if, as they were given."""
    said = {"--set": options.said, "--only": options.only, "--fail-if": options.fail_if}
    return [word for option, given in said.items() for words in given for word in (option, words)]


def finished_runs(writer: BundleWriter) -> int:
    return len(list((writer.folder / "runs").glob("*/result.json")))


def kept(writer: BundleWriter) -> str:
    """In words, the runs that a bundle has."""
    count = finished_runs(writer)
    runs = "1 finished run is" if count == 1 else f"{count} finished runs are"
    return f"{runs} kept in {writer.folder}"
