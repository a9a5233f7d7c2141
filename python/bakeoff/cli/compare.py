"""`bakeoff compare`: two bundles against each other, with thresholds for regression checks."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ExitCode, PlanError
from .output import add_json, print_json, say, table

if TYPE_CHECKING:
    from ..analysis.compare import Comparison
    from ..analysis.fail_if import Condition, Outcome
    from ..analysis.objective import Objective


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    p = commands.add_parser(
        "compare",
        help="compare two bundles",
        description="Compares bundle B with bundle A, cell by cell. The repetition is the unit of evidence.",
        epilog='example:\n  bakeoff compare before after --fail-if "rate < -5%" --fail-if "latency_p99 > 10%"',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("a", type=Path, metavar="BUNDLE_A", help="the base: before, or the old version")
    p.add_argument("b", type=Path, metavar="BUNDLE_B", help="what is held against it")
    p.add_argument("--objective", action="append", metavar="NAME", help="rate, latency_p99, ... (default: the plan's)")
    p.add_argument(
        "--fail-if",
        action="append",
        default=[],
        metavar="CONDITION",
        help='exit with 1 when B changed by more, with confidence: "rate < -5%%", "latency_p99 > 10%%"',
    )
    p.add_argument("--on-estimate", action="store_true", help="--fail-if: judge the estimate, not the whole interval")
    add_json(p)
    p.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from ..analysis import fail_if
    from ..bundle.read import Bundle
    from ..report.two_bundles import compare

    conditions = _conditions(options.fail_if)
    old, new = Bundle.open(options.a), Bundle.open(options.b)
    names = options.objective or [new.plan.objective]
    names += [c.objective.name for c in conditions if c.objective.name not in names]
    comparisons, left_out = compare(old, new, [_objective(name) for name in names])
    outcomes = fail_if.evaluate(conditions, comparisons, on="estimate" if options.on_estimate else "interval")
    for words in [*left_out, *old.damage, *new.damage]:
        say(f"warning: {words}")
    failed = any(o.fails for o in outcomes)
    if options.json:
        print_json(
            {
                "a": str(old.folder),
                "b": str(new.folder),
                "comparisons": [_document(c) for c in comparisons],
                "conditions": [{"condition": str(o.condition), "status": o.status, "words": o.words} for o in outcomes],
                "failed": failed,
            }
        )
    else:
        _print(comparisons, outcomes, old.folder, new.folder)
    return ExitCode.CHECK_FAILED if failed else ExitCode.DONE


def _conditions(texts: list[str]) -> list[Condition]:
    from ..analysis import fail_if

    try:
        return [condition for text in texts for condition in fail_if.parse(text)]
    except ValueError as error:
        raise PlanError(str(error), where="--fail-if") from error


def _objective(name: str) -> Objective:
    from ..analysis.objective import Objective

    try:
        return Objective.parse(name)
    except ValueError as error:
        raise PlanError(str(error), where="--objective") from error


def _document(comparison: Comparison) -> dict[str, object]:
    return {**asdict(comparison), "objective": comparison.objective.name}


def _print(comparisons: list[Comparison], outcomes: list[Outcome], a: Path, b: Path) -> None:
    print(f"A  {a}\nB  {b}\n")
    rows = [[c.cell, c.objective.name, _number(c.base_value), _number(c.other_value), c.words] for c in comparisons]
    print(table(rows, ["cell", "objective", "A", "B", "finding"]))
    if comparisons:
        print(f"\nnote: {'; '.join(comparisons[0].notes)}")
    for outcome in outcomes:
        print(outcome.words)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
