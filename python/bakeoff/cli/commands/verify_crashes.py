"""`bakeoff verify --cuts`, `--kills` and `--node-kills`: whether acknowledged writes survive crashes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ...errors import ExitCode, PlanError
from ..output import hanging, print_json, say, show

if TYPE_CHECKING:
    from ...plan.resolved import ResolvedPlan
    from ...verify.ledger import Kind

CRASHES_MAX = 10_000


def asked_crashes(options: argparse.Namespace) -> dict[Kind, int]:
    """How often in each way; empty: in none."""
    asked: dict[Kind, int] = {
        "kill": options.kills,
        "kill of one node": options.node_kills,
        "power cut": options.cuts,
    }
    return asked if any(asked.values()) else {}


def crash_systems(plan: ResolvedPlan, options: argparse.Namespace) -> int:
    from dataclasses import asdict

    from ...schedule.crashes import crash
    from ...schedule.machine_sharing import claim, cores_of_all
    from ...verify.ledger import KINDS, MEANINGS
    from ..progress import Line

    _refuse_other_checks(options)
    seed = plan.record.seed if options.seed is None else options.seed
    for warning in plan.warnings:
        say(f"warning: {warning}")
    for name, why in plan.skipped.items():
        say(f"note: {name} is left out: {why}")
    view, found = Line(quiet=options.quiet), []
    with claim(cores_of_all(plan), plan.record.title, options.beside, say):
        try:
            for one in crash(plan, view.doing, asked_crashes(options), seed=seed, work=options.work_dir):
                found.append(one)
                if not options.json:
                    view.close()
                    product = f" ({one.product} {one.version})" if one.product else ""
                    level = f" at durability {one.durability}" if one.durability else ""
                    show(f"{one.label}{product}{level}: {one.verdict}")
                    show(hanging([[f"  {KINDS[each.kind]}", f"{each.words}; {each.verdict}"] for each in one.crashes]))
                    show()
        finally:
            view.close()
    if options.json:
        verdicts = [[each.verdict for each in one.crashes] for one in found]
        documents = [{**asdict(one), "verdict": one.verdict} for one in found]
        for document, words in zip(documents, verdicts, strict=True):
            for each, word in zip(document["crashes"], words, strict=True):
                each["verdict"] = word
        print_json({"survived": documents})
    else:
        seen = dict.fromkeys(each.verdict for one in found for each in one.crashes)
        show(hanging([[word, MEANINGS[word]] for word in seen]))
        show("How power is cut: docs/method/power-loss.md")
    return ExitCode.CHECK_FAILED if any(one.verdict == "VIOLATED" for one in found) else ExitCode.DONE


def _refuse_other_checks(options: argparse.Namespace) -> None:
    from ...plan.document.tables import VERIFY_SECONDS
    from ...schedule.verification import Asked

    usual = {"seconds": VERIFY_SECONDS, "tries": Asked.tries}
    for name in ("schedule", "show", "histories", "fault", "search", "every_level", *usual):
        given = getattr(options, name)
        if given is not False and given not in (None, [], usual.get(name)):
            raise PlanError(
                "--cuts, --kills and --node-kills replace the other checks, and"
                f" --{name.replace('_', '-')} is of those",
                where="bakeoff verify",
                hint="run them one after the other",
            )
