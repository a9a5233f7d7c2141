"""`bakeoff verify`: whether the systems of a plan keep what their levels of isolation promise."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ExitCode, PlanError
from ..arguments import Commands, add_beside, add_command, add_json, add_plan
from ..output import hanging, print_json, say, show
from .verify_crashes import CRASHES_MAX, asked_crashes, crash_systems

if TYPE_CHECKING:
    from ...model.faults import FaultKind
    from ...model.records.verification import VerificationRecord
    from ...verify.faults import WantedFaults

_TRIES = 3


def add(commands: Commands) -> None:
    p = add_command(
        commands,
        "verify",
        run,
        help="check whether the systems of a plan keep what they promise",
        description="Checks what each system of a plan promises, in four ways. Two or three sessions carry out"
        " schedules that provoke the anomalies by which levels of isolation are defined. Six sessions carry"
        " out random transactions, and what they saw is judged. Versions are written and read on each node,"
        " which shows how old reads are; of a system without SQL that is all. Several sessions write the same"
        " rows, and then all nodes must hold the same. All are compared with what the vendor says. No load"
        " runs, and the plan's own tables are not touched.",
        epilog="example:\n  bakeoff verify my.toml\n  bakeoff verify my.toml --every-level\n"
        "  bakeoff verify my.toml --only mariadb --show P4\n"
        "  bakeoff verify my.toml --fault kill --seed 7\n  bakeoff verify my.toml --cuts 50 --kills 50",
    )
    add_plan(p)
    p.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PART",
        help="verify a part of the plan: a system (mariadb) or levels (isolation=serializable); may be repeated",
    )
    p.add_argument(
        "--every-level", action="store_true", help="verify every level that each system has, not only the plan's"
    )
    p.add_argument(
        "--schedule",
        action="append",
        default=[],
        metavar="NAME",
        help="run only this schedule, such as P4 or G2-item; may be repeated",
    )
    p.add_argument(
        "--show",
        action="append",
        default=[],
        metavar="NAME",
        help="print what each session did in this schedule; may be repeated (violations are always printed)",
    )
    p.add_argument(
        "--seconds",
        type=_seconds,
        default=6.0,
        metavar="S",
        help="run each kind of random transaction, and old reads, for S seconds (default: 6; 0: schedules only)",
    )
    p.add_argument(
        "--histories",
        type=Path,
        metavar="DIR",
        help="also write what each session of the random transactions sent and was answered, as JSON lines",
    )
    p.add_argument(
        "--cuts",
        type=_crashes,
        default=0,
        metavar="N",
        help="instead of all this, kill each managed system N times in the middle of inserts, take away what it had not"
        " synced as a power loss does, and look for the acknowledged ones",
    )
    p.add_argument(
        "--kills", type=_crashes, default=0, metavar="N", help="the same without a power loss: the process alone ends"
    )
    p.add_argument(
        "--node-kills",
        type=_crashes,
        default=0,
        metavar="N",
        help="the same with one node of each cluster, drawn from the seed, while the others go on",
    )
    p.add_argument(
        "--fault",
        action="append",
        default=[],
        type=_fault,
        metavar="KIND",
        help="kill, stop, freeze or restart a server of each system, cut it off from the others (partition), delay what"
        " they send each other, or skew its clock, once during each kind of random transaction (without SQL: of reads),"
        " at a moment drawn from the seed (managed systems only); may be repeated",
    )
    p.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="draw the moments of faults and crashes from this seed (default: the plan's)",
    )
    p.add_argument(
        "--search",
        type=_tries,
        metavar="N",
        help="run only the random transactions, with the faults of N seeds from --seed on, until a promise is broken;"
        " then find the fewest faults that still break it",
    )
    p.add_argument("--tries", type=_tries, metavar="N", help=f"run each schedule N times (default: {_TRIES})")
    p.add_argument(
        "--work-dir", type=Path, metavar="DIR", help="folder for managed servers and their data while they run"
    )
    add_beside(p)
    p.add_argument("--quiet", action="store_true", help="show no progress")
    add_json(p)


def _tries(text: str) -> int:
    from ...plan.document.tables import VERIFY_TRIES_MAX

    if not text.isdecimal() or not 1 <= int(text) <= VERIFY_TRIES_MAX:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to {VERIFY_TRIES_MAX}")
    return int(text)


def _crashes(text: str) -> int:
    if not text.isdecimal() or int(text) > CRASHES_MAX:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 to {CRASHES_MAX:,}")
    return int(text)


def _fault(text: str) -> FaultKind:
    from ...suggestions import meant
    from ...verify.faults import KINDS

    found = next((kind for kind in KINDS if kind == text), None)
    if found is None:
        raise argparse.ArgumentTypeError(f"there is no fault {text}; {meant(text, KINDS)}")
    return found


def _seconds(text: str) -> float:
    from ...plan.document.tables import VERIFY_SECONDS_MAX

    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= VERIFY_SECONDS_MAX:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds from 0 to {VERIFY_SECONDS_MAX:g}")
    return seconds


def run(options: argparse.Namespace) -> int:
    from ...fleet.hosts import hosted
    from ...plan.read import read_plan
    from ...plan.verify import Span, subjects
    from ...schedule.faults_meanwhile import refuse_faults
    from ...schedule.machine_sharing import claim, cores_of_all
    from ...schedule.verification import Asked, verify
    from ...verify.faults import WantedFaults, search
    from ...verify.verdicts import verdict_of
    from ..progress import Line

    plan = read_plan(options.plan, said=options.said, only=options.only)
    _refuse_ignored(options)
    if asked_crashes(options):
        return crash_systems(plan, options)
    with_reads = options.seconds > 0
    every = subjects(plan, every_level=options.every_level, with_reads=with_reads)
    chosen = [subject for subject in every if not subject.why_not]
    refused = {subject.label: subject.why_not for subject in every if subject.why_not}
    if not chosen:
        name, why = next(iter(refused.items()))
        raise PlanError(why, where=f"systems.{name}", hint="name a database: `bakeoff systems`")
    for warning in plan.warnings:
        say(f"warning: {warning}")
    for name, why in {**plan.skipped, **refused}.items():
        say(f"note: {name} is left out: {why}")
    for name in (*options.schedule, *options.show):
        _refuse_unknown(name)
    schedules = list(dict.fromkeys([*options.schedule, *options.show])) if options.schedule else []
    wanted = WantedFaults(tuple(options.fault), plan.record.seed if options.seed is None else options.seed)
    if options.search and not wanted.kinds:
        raise PlanError(
            "--search names no fault", where="bakeoff verify", hint="name what it does, such as --fault kill"
        )
    refuse_faults(plan, [subject.cell for subject in chosen], wanted, options.seconds)
    tries = options.tries or _TRIES
    only = options.search is not None
    asked = Asked(Span(options.seconds), schedules, tries, options.histories, only_transactions=only)
    view = Line(quiet=options.quiet)
    found: list[VerificationRecord] = []
    smallest = None
    with claim(cores_of_all(plan), plan.record.title, options.beside, say):
        try:
            with hosted(plan.fleet, view.message) as host:

                def violates(faults: WantedFaults) -> bool:
                    before = len(found)
                    now = replace(asked, faults=faults)
                    if options.search and options.histories:  # those of the try that breaks a promise must stay
                        now = replace(now, histories=options.histories / _name(faults))
                    for one in verify(plan, chosen, host, now, view.doing, work=options.work_dir):
                        found.append(one)
                        if not options.json:
                            view.close()
                            _tell(one, options.show)
                    return any(verdict_of(one) == "VIOLATED" for one in found[before:])

                if options.search:
                    smallest = search(violates, wanted, options.search)
                else:
                    violates(wanted)
        finally:
            view.close()
    violated = any(verdict_of(one) == "VIOLATED" for one in found)
    if options.json:
        print_json({"verified": [_document(one) for one in found]})
    else:
        _tell_end(found)
        if smallest:
            show(f"The fewest faults that broke a promise: {_command(options, smallest)}")
    return ExitCode.CHECK_FAILED if violated else ExitCode.DONE


def _refuse_ignored(options: argparse.Namespace) -> None:
    if options.seed is not None and not (options.fault or asked_crashes(options)):
        raise PlanError(
            "--seed draws the moments of faults and crashes, and none is asked for",
            where="bakeoff verify",
            hint="name one, such as --fault kill or --cuts 50, or leave --seed out",
        )
    for name in ("schedule", "show", "tries") if options.search else ():
        if getattr(options, name):
            raise PlanError(
                f"--search runs no schedules, and --{name} is about those", where="bakeoff verify", hint="leave it out"
            )


def _name(faults: WantedFaults) -> str:
    """Of the folder for one try of a search: "seed-7-kill-freeze"."""
    return "-".join(["seed", str(faults.seed), *faults.kinds])


def _refuse_unknown(name: str) -> None:
    from ...suggestions import meant
    from ...verify.isolation import SCHEDULES

    if name not in SCHEDULES:
        raise PlanError(f"there is no schedule {name}", where="bakeoff verify", hint=meant(name, list(SCHEDULES)))


def _tell(one: VerificationRecord, asked: list[str]) -> None:
    """One system at one level, and what each session did in schedules that were asked for or violate a promise."""
    from ...verify.faults import fault_words
    from ...verify.histories import NAMES, proof_words
    from ...verify.isolation import columns, example, violations
    from ...verify.verdicts import behaves_like_of, level_words, outcomes, verdict_of

    shown = outcomes(one)
    happened = ", ".join(outcome.words for outcome in shown if outcome.seen) or "none"
    show(f"{one.label} ({one.product} {one.version}) at {level_words(one)}: {verdict_of(one)}")
    rows = [["  schedules", happened]] if shown else []
    if words := fault_words(one.faults):
        rows.append(["  faults", f"{words}; seed {one.seed}"])
    if nothing := ", ".join(outcome.name for outcome in shown if outcome.is_open):
        rows.append(["  show nothing", f"{nothing}: no transaction committed, or a statement had no answer"])
    if like := behaves_like_of(one):
        rows.insert(0, ["  behaves like", like])
    show(hanging([*rows, *([f"  {NAMES[each.name]}", f"{each.words}; {each.verdict}"] for each in one.judged)]))
    broken = {outcome.name for outcome in violations(shown, one.allowed)}
    for evidence in one.schedules:
        if evidence.name in broken or evidence.name in asked:
            chosen = example(evidence)
            show(f"\n{evidence.name}, {'the anomaly happened' if chosen.anomaly else 'no anomaly'}:")
            show(columns(chosen))
    for proof in (proof for each in one.judged for proof in each.proofs):
        show(f"\n{proof_words(proof)}")
    show()


def _command(options: argparse.Namespace, faults: WantedFaults) -> str:
    words = ["bakeoff", "verify", str(options.plan)]
    words += [word for said in options.said for word in ("--set", said)]
    words += [word for part in options.only for word in ("--only", part)]
    words += ["--every-level"] if options.every_level else []
    words += [word for kind in faults.kinds for word in ("--fault", kind)]
    return shlex.join([*words, "--seed", str(faults.seed), "--seconds", f"{options.seconds:g}"])


def _tell_end(found: list[VerificationRecord]) -> None:
    from ...verify.isolation import MEANINGS
    from ...verify.verdicts import verdict_of

    seen = [word for word in MEANINGS if word in {verdict_of(one) for one in found}]
    show(hanging([[word, MEANINGS[word]] for word in seen]))
    show("Schedules and levels: docs/method/isolation.md")


def _document(one: VerificationRecord) -> dict[str, Any]:
    from ...verify.faults import document
    from ...verify.verdicts import behaves_like_of, outcomes, verdict_of

    return {
        "system": one.system,
        "label": one.label,
        "product": one.product,
        "version": one.version,
        "level": one.level,
        "verdict": verdict_of(one),
        "behaves_like": behaves_like_of(one),
        "histories": [each.model_dump() for each in one.judged],
        "faults": document(one.faults),
        "seed": one.seed,
        "allowed": one.allowed,
        "schedules": [
            {
                "name": outcome.name,
                "anomaly_tries": outcome.seen,
                "tries": outcome.tries,
                "prevented_by": outcome.prevented_by,
                "progress": outcome.progress,
                "evidence": evidence.model_dump(),
            }
            for outcome, evidence in zip(outcomes(one), one.schedules, strict=True)
        ],
    }
