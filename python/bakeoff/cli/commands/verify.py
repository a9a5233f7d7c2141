"""`bakeoff verify`: whether the systems of a plan keep what their levels of isolation promise."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ExitCode, PlanError
from ..arguments import Commands, add_beside, add_command, add_json, add_plan
from ..output import hanging, print_json, say, show

if TYPE_CHECKING:
    from ...model.records.verification import VerificationRecord


def add(commands: Commands) -> None:
    p = add_command(
        commands,
        "verify",
        run,
        help="check whether the systems of a plan keep what they promise",
        description="Checks what each SQL system of a plan promises, in three ways. Two or three sessions carry out"
        " schedules that provoke the anomalies by which levels of isolation are defined. Six sessions carry out random"
        " transactions, and what they saw is judged. Versions are written and read on each node, which shows how old"
        " reads are. All are compared with what the vendor says. No load runs, and the plan's own tables are not"
        " touched.",
        epilog="example:\n  bakeoff verify my.toml\n  bakeoff verify my.toml --every-level\n"
        "  bakeoff verify my.toml --only mariadb --show P4",
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
    p.add_argument("--tries", type=_tries, default=3, metavar="N", help="run each schedule N times (default: 3)")
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
    from ...plan.verify import subjects
    from ...schedule.machine_sharing import claim, cores_of_all
    from ...schedule.verification import Asked, verify
    from ...verify.verdicts import verdict_of
    from ..progress import Line

    plan = read_plan(options.plan, said=options.said, only=options.only)
    every = subjects(plan, every_level=options.every_level)
    chosen = [subject for subject in every if not subject.why_not]
    refused = {subject.label: subject.why_not for subject in every if subject.why_not}
    if not chosen:
        name, why = next(iter(refused.items()))
        raise PlanError(why, where=f"systems.{name}", hint="name a system with SQL: `bakeoff systems`")
    for warning in plan.warnings:
        say(f"warning: {warning}")
    for name, why in {**plan.skipped, **refused}.items():
        say(f"note: {name} is left out: {why}")
    for name in (*options.schedule, *options.show):
        _refuse_unknown(name)
    schedules = list(dict.fromkeys([*options.schedule, *options.show])) if options.schedule else []
    asked = Asked(schedules, options.tries, options.seconds, options.histories)
    view, found = Line(quiet=options.quiet), []
    with claim(cores_of_all(plan), plan.record.title, options.beside, say):
        try:
            with hosted(plan.fleet, view.message) as host:
                for one in verify(plan, chosen, host, asked, view.doing, work=options.work_dir):
                    found.append(one)
                    if not options.json:
                        view.close()
                        _tell(one, options.show)
        finally:
            view.close()
    violated = any(verdict_of(one) == "VIOLATED" for one in found)
    if options.json:
        print_json({"verified": [_document(one) for one in found]})
    else:
        _tell_end(found)
    return ExitCode.CHECK_FAILED if violated else ExitCode.DONE


def _refuse_unknown(name: str) -> None:
    from ...suggestions import meant
    from ...verify.isolation import SCHEDULES

    if name not in SCHEDULES:
        raise PlanError(f"there is no schedule {name}", where="bakeoff verify", hint=meant(name, list(SCHEDULES)))


def _tell(one: VerificationRecord, asked: list[str]) -> None:
    """One system at one level, and what each session did in schedules that were asked for or violate a promise."""
    from ...verify.histories import NAMES, proof_words
    from ...verify.isolation import columns, example, violations
    from ...verify.verdicts import behaves_like_of, level_words, outcomes, verdict_of

    shown = outcomes(one)
    happened = ", ".join(outcome.words for outcome in shown if outcome.seen) or "none"
    show(f"{one.label} ({one.product} {one.version}) at {level_words(one)}: {verdict_of(one)}")
    rows = [["  schedules", happened]]
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


def _tell_end(found: list[VerificationRecord]) -> None:
    from ...verify.isolation import MEANINGS
    from ...verify.verdicts import verdict_of

    seen = [word for word in MEANINGS if word in {verdict_of(one) for one in found}]
    show(hanging([[word, MEANINGS[word]] for word in seen]))
    show("Schedules and levels: docs/method/isolation.md")


def _document(one: VerificationRecord) -> dict[str, Any]:
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
