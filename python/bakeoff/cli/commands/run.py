"""`bakeoff run`: run a plan, print the answer, write a bundle."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Literal, TypeAlias

from ... import interrupts
from ...errors import ExitCode, PlanError, code_of_checks
from ..arguments import Commands, add_command, add_running, add_set, not_a_plan
from ..output import say
from .dry_run import dry_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...bundle.read import Bundle
    from ...bundle.write import BundleWriter
    from ...findings.cells import CellAnswer
    from ...model.records.bundle import FactsRecord
    from ...model.records.run import RunRecord
    from ...plan.resolved import ResolvedPlan
    from ...report.answer import Answer
    from ...schedule.machine_sharing import Claim, Quiet
    from ...schedule.target_bundle import Target
    from ...serve.otlp import Collector, Exporter

#: From the bundle of a plan that was carried out to an exit code.
Answering: TypeAlias = "Callable[[BundleWriter, argparse.Namespace], int]"
LABEL_MAX = 100
_REPETITIONS = re.compile(r"(\+?)([1-9][0-9]{0,5})")


def add(commands: Commands) -> None:
    p = add_command(
        commands,
        "run",
        run,
        help="run a plan and print the answer",
        description="Runs every cell and repetition of a plan, prints the answer, writes a bundle with report.html.",
        epilog="example:\n  bakeoff run my.toml --dry-run\n  bakeoff run my.toml\n  bakeoff run my.toml --resume\n"
        "  bakeoff run my.toml --resume --repetitions +5\n  bakeoff run before.toml after.toml --fail-if 'rate < -5%'\n"
        "  bakeoff run my.toml --out before && bakeoff run my.toml --out after && bakeoff compare before after",
    )
    p.add_argument(
        "plans",
        type=Path,
        nargs="+",
        metavar="PLAN",
        help="the plan, a TOML file; several plans run side by side in one bundle, each compared with the first",
    )
    add_set(p)
    p.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PART",
        help="run a part of the plan: a system (mariadb) or levels (threads=8,preset=a); may be repeated to add parts",
    )
    p.add_argument(
        "--fail-if",
        action="append",
        default=[],
        metavar="CONDITION",
        help='exit with 1 when this holds with statistical confidence: "rate < -5%%" compared with the baseline, or a'
        ' value, "latency_p99 > 2ms"; may be repeated; adds to the plan\'s fail_if',
    )
    p.add_argument(
        "--resume",
        nargs="?",
        const="latest",
        type=not_a_plan,
        metavar="BUNDLE",
        help="continue a bundle of this plan (default: the newest unfinished one); finished runs are kept",
    )
    p.add_argument(
        "--repetitions",
        metavar="N",
        help="override the plan's number of repetitions; with --resume, add the missing ones, or with +N add N more",
    )
    p.add_argument(
        "--allow-drop",
        action="store_true",
        help="drop existing tables with the plan's table names, even if bakeoff did not create them",
    )
    p.add_argument(
        "--allow-changes",
        action="store_true",
        help='let runs change tables that bakeoff did not create (data = "existing"); the changes are not undone',
    )
    add_running(p)
    p.add_argument(
        "--label",
        action="append",
        default=[],
        type=_label,
        metavar="NAME=VALUE",
        help="call the bundle something in `bakeoff track`: commit=3f2a1bc; may be repeated",
    )


def _label(words: str) -> tuple[str, str]:
    name, equals, value = words.partition("=")
    if not (equals and name and value.strip() and len(words) <= LABEL_MAX and words.isprintable()):
        raise argparse.ArgumentTypeError(f"{words!r} is not NAME=VALUE, of at most {LABEL_MAX} letters")
    return name, value


def run(options: argparse.Namespace) -> int:
    if options.repetitions is not None:
        _say_repetitions(options)
    return carry_out(read(options), options)


def target_of(options: argparse.Namespace) -> Target:
    from ...schedule.target_bundle import Target

    return Target(options.out, options.results, options.resume, options.allow_disturbed, dict(options.label))


def _say_repetitions(options: argparse.Namespace) -> None:
    """Adds --repetitions to the overrides of the plan. "+5" is five more than the continued bundle has,
    which is then named."""
    from ...bundle.read import Bundle

    match = _REPETITIONS.fullmatch(options.repetitions)
    if match is None:
        what = f'"{options.repetitions}" is not a number of repetitions'
        raise PlanError(
            what, where="--repetitions", hint="write 10 for a total of ten; with --resume, +5 for five more"
        )
    total = int(match[2])
    plan = read(options)
    if plan.record.search:
        what = "a search decides how often it runs a level"
        hint = f"--set search.runs={max(total, 40)} allows more runs, with --resume in the same bundle"
        raise PlanError(what, where="--repetitions", hint=hint)
    if match[1]:
        if not options.resume:
            raise PlanError("+N adds to a bundle, and none is named", where="--repetitions", hint="add --resume")
        folder = target_of(options).to_continue(plan, lacking=False)
        total += Bundle.open(folder).plan.repetitions
        options.resume = options.resume if options.out else str(folder)
    options.said = [*options.said, f"measure.repetitions={total}"]


def carry_out(plan: ResolvedPlan, options: argparse.Namespace, answer: Answering | None = None) -> int:
    """Runs the plan and prints its answer; with --dry-run, prints what would run. answer: instead of printing it."""
    from ...plan.costs import costs_of, refuse_cost
    from ...plan.existing_tables import refuse_changes
    from ...schedule.machine_sharing import claim, cores_of_all

    target = target_of(options)
    if options.otlp is not None:
        _collector(options)  # refused before anything starts
    if options.events and options.dry_run:
        raise PlanError("--events reports runs, and --dry-run makes none", hint="leave one out, or use --json")
    for warning in [] if options.dry_run else plan.warnings:
        say(f"warning: {warning}")
    if options.dry_run:
        plan, there = target.with_runs_there(plan)
        return dry_run(plan, target.place, there, as_json=options.json)
    for name, why in plan.skipped.items():
        say(f"note: {name} is skipped: {why}")
    for key, values in plan.record.differences.items():
        say(f"note: the plans differ in {key}: {'; '.join(f'{name}: {value}' for name, value in values.items())}")
    with ExitStack() as held:
        cores, quiet = None, _quiet(plan, options)
        if not target.is_whole(plan):
            costs = costs_of(plan)
            refuse_cost(costs, allowed=options.allow_cost)
            for cost in costs:
                say(f"note: {cost.words}")
            cores = held.enter_context(claim(cores_of_all(plan), plan.record.title, options.beside, say))
            if changes := refuse_changes(plan, allowed=options.allow_changes):
                say(f"warning: {changes}")
            if not options.allow_disturbed or quiet.wait:
                quiet.at_start()
        writer, done, facts = target.begin(
            plan,
            _command(options),
            options.plans if len(options.plans) > 1 else [],
            held,
            work=options.work_dir,
        )
        writer.resume_command(_resume_command(writer.folder, options))
        try:
            _make_runs(plan, writer, done, facts, cores, quiet, options)
            if cores is not None:
                cores.free()  # the report needs no quiet machine
            return (answer or _answer)(writer, options)
        except (KeyboardInterrupt, Exception) as error:
            if options.events:
                _tell_end(writer, error)
            if not interrupts.meant(error):
                if not writer.is_left_empty_by(error):
                    say(f"stopped; {_kept(writer)}")
                    _answer_so_far(writer, options, answer or _answer)
                raise
            say(f"interrupted; {_kept(writer)}")
            _answer_so_far(writer, options, answer or _answer)
            say(f"continue with: {_resume_command(writer.folder, options)}")
            return ExitCode.INTERRUPTED


def _quiet(plan: ResolvedPlan, options: argparse.Namespace) -> Quiet:
    from ...plan.document.units import UnitError, parse_duration_s
    from ...schedule.machine_sharing import Quiet, cores_of_all

    asked = options.wait_until_quiet
    try:
        at_most_s = parse_duration_s(asked) if asked else None
    except UnitError as error:
        raise PlanError(str(error), where="--wait-until-quiet", hint=error.hint) from error
    return Quiet(cores_of_all(plan), say, asked is not None, at_most_s)


def read(options: argparse.Namespace) -> ResolvedPlan:
    from ...plan.comparison import refuse_unjudged
    from ...plan.read import read_plan
    from ...plan.several_plans import side_by_side
    from ...provision.network_right import refuse_without_right

    plans = [
        read_plan(path, must_run=not options.dry_run, said=options.said, only=options.only, fail_if=options.fail_if)
        for path in options.plans
    ]
    plan = side_by_side(plans) if len(plans) > 1 else plans[0]
    refuse_unjudged(plan)
    refuse_without_right((fault.do for cell in plan.cells for fault in cell.record.faults), "faults")
    return plan


def _make_runs(
    plan: ResolvedPlan,
    writer: BundleWriter,
    done: dict[str, RunRecord],
    facts: dict[str, FactsRecord],
    cores: Claim | None,
    quiet_cores: Quiet,
    options: argparse.Namespace,
) -> None:
    from ...bundle.live import LiveLog
    from ...fleet.hosts import hosted
    from ...plan.dry_run.estimates import estimate_run_s
    from ...schedule.conductor import Conductor
    from ..progress import Events, emit

    quiet, others = options.quiet, cores.others if cores is not None else tuple
    estimated_run_s = fmean([estimate_run_s(plan, cell) for cell in plan.cells]) if plan.cells else None
    live, exporter = LiveLog(writer.folder), _exporter(writer, options)
    listeners = [live.write, *([emit] if options.events else []), *([exporter.write] if exporter else [])]
    view = Events(plan, writer.folder, listeners, quiet=quiet, estimated_run_s=estimated_run_s)
    try:
        with hosted(plan.fleet, view.message) as host:
            Conductor(
                plan,
                writer,
                view,
                options.allow_drop,
                options.work_dir,
                done,
                facts,
                others,
                host,
                before_repeating=replace(quiet_cores, say=view.note).await_quiet,
            ).carry_out()
    finally:
        live.close()
        view.close()
        if exporter:
            exporter.close()


def _exporter(writer: BundleWriter, options: argparse.Namespace) -> Exporter | None:
    to = _collector(options)
    if to is None:
        return None
    from ...serve.otlp import Exporter

    return Exporter(to, writer.folder.resolve().name, say)


def _collector(options: argparse.Namespace) -> Collector | None:
    """Of --otlp or the environment."""
    if options.otlp is None and not any(name.startswith("OTEL_") for name in os.environ):
        return None
    from ...serve.otlp import collector

    try:
        return collector(options.otlp, os.environ)
    except PlanError as error:
        if options.otlp is not None:
            raise
        say(f"warning: {error}: nothing is exported")  # the environment may be meant for other programs
        return None


def _answer(writer: BundleWriter, options: argparse.Namespace) -> int:
    from ...bundle.read import Bundle
    from ...report.answer import analysed
    from .report import tell

    bundle = Bundle.open(writer.folder)
    answer = analysed(bundle)
    code = code_of(bundle, answer)
    if options.events:
        _tell_answer(bundle, answer, code, write=not options.no_report)
    else:
        tell(bundle, answer, as_json=options.json, write=not options.no_report)
    return code


def _answer_so_far(writer: BundleWriter, options: argparse.Namespace, answer: Answering) -> None:
    """Of a stopped plan with finished runs. The reason for the stop is reported in any case, and a second Ctrl-C
    ends this, too."""
    if options.events or not writer.finished_runs:
        return
    try:
        answer(writer, options)
    except (KeyboardInterrupt, Exception) as error:
        if not interrupts.meant(error):
            say(f"warning: the answer of the finished runs could not be printed: {error}")


def _tell_answer(bundle: Bundle, answer: Answer, code: ExitCode, *, write: bool) -> None:
    from ...bundle.events import Compared, Done
    from ...report.html.write import write_report
    from ..progress import emit

    for found in answer.comparisons:
        emit(Compared(objective=answer.objective, comparison=found))
    report = os.path.abspath(write_report(bundle, answer=answer).html) if write else None
    for words in bundle.damage:
        say(f"warning: {words}")
    folder = os.path.abspath(bundle.folder)
    emit(Done(state="complete", exit_code=code, error="", headline=answer.headline, bundle=folder, report=report))


def _tell_end(writer: BundleWriter, error: BaseException) -> None:
    """Of a run that ended early, or whose report could not be written."""
    from ...bundle.events import Done
    from ..progress import emit

    interrupted = interrupts.meant(error)
    code = ExitCode.INTERRUPTED if interrupted else getattr(error, "exit_code", ExitCode.ENVIRONMENT)
    state: Literal["interrupted", "failed"] = "interrupted" if interrupted else "failed"
    folder = "" if writer.is_left_empty_by(error) else os.path.abspath(writer.folder)
    emit(Done(state=state, exit_code=code, error=str(error), headline=[], bundle=folder, report=None))


def code_of(bundle: Bundle, answer: Answer) -> ExitCode:
    undecided = any(threshold.status == "undecided" for threshold in answer.thresholds)
    failed = bool(bundle.unreadable_runs) or not all_held(bundle, answer)
    return code_of_checks(failed=failed, undecided=undecided, means=bundle.plan.undecided)


def all_held(bundle: Bundle, answer: Answer) -> bool:
    """A violated invariant or promise, a run that failed, a cell without a valid run, a comparison refused because a
    side failed in some of its runs, or a threshold of the plan is not "done": it is exit code 1. That levels of a
    search fail is what it looks for."""
    from ...findings.promises import NOT_CHECKED, VIOLATED

    searching = answer.search is not None
    return (
        (searching or all(cell.valid or _only_disturbed(cell) for cell in answer.cells))
        and all(searching or run.state == "done" for run in bundle.runs)
        and all(check.ok for run in bundle.runs for check in run.checks)
        and not any(found.verdict == "invalid runs" for found in answer.comparisons)
        and not any(threshold.fails for threshold in answer.thresholds)
        and not any(promise.verdict in (VIOLATED, NOT_CHECKED) for promise in answer.promises)
    )


def _only_disturbed(cell: CellAnswer) -> bool:
    """Only disturbance left the cell without a valid run, which is no failure of its system."""
    return cell.too_few_undisturbed and not cell.invalid_runs


def _resume_command(folder: Path, options: argparse.Namespace) -> str:
    """The command that continues this run with the same options, from any folder."""
    plans = options.plans or [folder / "plan.toml"]
    words = [*_program(), "run", *map(os.path.abspath, plans), "--resume", os.path.abspath(folder)]
    words += beside_plan(options)
    if options.otlp is not None:
        words += ["--otlp", options.otlp]
    if options.work_dir:
        words += ["--work-dir", os.path.abspath(options.work_dir)]
    if options.wait_until_quiet is not None:
        words += ["--wait-until-quiet", *filter(None, [options.wait_until_quiet])]
    said = {
        "--allow-drop": options.allow_drop,
        "--allow-changes": options.allow_changes,
        "--allow-cost": options.allow_cost,
        "--wait": options.beside == "wait",
        "--together": options.beside == "together",
        "--allow-disturbed": options.allow_disturbed,
        "--no-report": options.no_report,
        "--quiet": options.quiet,
        "--json": options.json,
        "--events": options.events,
    }
    return shlex.join([*words, *(flag for flag, yes in said.items() if yes)])


def _command(options: argparse.Namespace) -> str:
    """The command that the bundle records as its origin."""
    from ...report.words.doubts import BUNDLE

    allowed = {"--allow-changes": options.allow_changes, "--allow-disturbed": options.allow_disturbed}
    words = ["bakeoff", "run", *map(str, options.plans or [f"{BUNDLE}/plan.toml"]), *beside_plan(options)]
    return shlex.join([*words, *(flag for flag, said in allowed.items() if said)])


def beside_plan(options: argparse.Namespace) -> list[str]:
    """The words of --set, --only and --fail-if, as they were given."""
    said = {"--set": options.said, "--only": options.only, "--fail-if": options.fail_if}
    return [word for option, given in said.items() for words in given for word in (option, words)]


def _kept(writer: BundleWriter) -> str:
    count = writer.finished_runs
    runs = "1 finished run is" if count == 1 else f"{count} finished runs are"
    return f"{runs} kept in {writer.folder}"


def _program() -> list[str]:
    """How this program was called: it may not be on the PATH."""
    called = Path(sys.argv[0])
    if called.name != "bakeoff":
        return [sys.executable, "-m", "bakeoff"]
    found = shutil.which("bakeoff")
    return ["bakeoff"] if found and os.path.samefile(found, called) else [str(called.absolute())]
