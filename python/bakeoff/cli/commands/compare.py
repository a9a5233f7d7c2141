"""`bakeoff compare`: bundles against bundles, with thresholds for regression checks."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ExitCode, PlanError, code_of_checks
from ..arguments import Commands, add_command, add_json, named
from ..output import print_json, say, show, table

if TYPE_CHECKING:
    from ...analysis.compare import Comparison
    from ...analysis.metric import Metric
    from ...analysis.thresholds import Condition, Outcome
    from ...bundle.read import Bundle
    from ...findings.between_bundles.both_sides import Joined
    from ...findings.between_bundles.comparison import BundleComparison
    from ...findings.between_bundles.conditions import Change
    from ...findings.between_bundles.search_check import SearchCheck

#: Maximum number of differences in the text, and of letters per value; --json has all.
CHANGES_MAX = 20
VALUE_WIDTH = 44
SAME = "the same bundle: nothing to compare"
#: What --json has of a comparison, in its order.
_OF_COMPARISON = (
    *("cell", "objective", "base", "other", "design", "repetitions", "base_value", "other_value", "verdict", "words"),
    *("ratio", "low", "high", "level", "plain_low", "plain_high", "p_value", "p_adjusted", "detectable_ratio"),
    *("matters_ratio", "size", "more_repetitions", "difference", "difference_low", "difference_high", "notes"),
)


def add(commands: Commands) -> None:
    p = add_command(
        commands,
        "compare",
        run,
        help="compare bundles",
        description="Compares bundles measured after a change with bundles measured before it, cell by cell. With one"
        " bundle per side, the result applies to these two bundles only; with several per side, to the systems.",
        epilog='example:\n  bakeoff compare before after --fail-if "rate < -5%" --fail-if "latency_p99 > 10%"\n'
        "  bakeoff compare monday tuesday wednesday --against thursday friday saturday",
    )
    p.add_argument(
        "bundles", type=Path, nargs="+", metavar="BUNDLE", help="BEFORE and AFTER; with --against: BEFORE ..."
    )
    p.add_argument("--against", type=Path, nargs="+", default=[], metavar="AFTER", help="the bundles measured after")
    p.add_argument(
        "--objective",
        action="append",
        metavar="NAME",
        help="a metric: rate, latency_p99.read, ... (default: the plan's)",
    )
    p.add_argument(
        "--fail-if",
        action="append",
        default=[],
        metavar="CONDITION",
        help='exit with 1 when AFTER changed by more, with statistical confidence: "rate < -5%%", "latency_p99 > 10%%"',
    )
    p.add_argument(
        "--undecided",
        choices=("separate", "pass", "fail"),
        help="exit code where a condition's interval crosses it: 4, 0 or 1 (default: that of AFTER's plan, else 4)",
    )
    p.add_argument(
        "--on-estimate",
        action="store_true",
        help="--fail-if: compare the estimate with the threshold, not the whole interval",
    )
    p.add_argument(
        "--matters",
        metavar="SIZE",
        help='the smallest difference that matters, such as "5%%" (default: that of AFTER\'s plans)',
    )
    p.add_argument(
        "--allow-different",
        action="append",
        default=[],
        metavar="KEY",
        help="compare although this key differs (window, cache, durability, ...; the refusal names the key)",
    )
    p.add_argument("--html", type=Path, metavar="FILE.html", help="also write a page with both sides in every chart")
    add_json(p)


def run(options: argparse.Namespace) -> int:
    from ...analysis import thresholds
    from ...bundle.read import Bundle
    from ...findings.between_bundles.both_sides import Joined
    from ...findings.between_bundles.comparison import compared
    from ...findings.between_bundles.search_check import check_search, is_search_against_fixed
    from ...report.html.write import write_comparison

    if options.html is not None and options.html.suffix != ".html":
        hint = "choose a name that ends in .html"
        raise PlanError("the page's name must end in .html", where=f"--html {options.html}", hint=hint)
    before, after = ([Bundle.open(path) for path in side] for side in _sides(options.bundles, options.against))
    _refuse_peers([*before, *after])
    if is_search_against_fixed([*before, *after]) and (
        checked := check_search(before[0], after[0], options.allow_different)
    ):
        return _tell_check(options, before[0], after[0], *checked)
    conditions = _conditions(options.fail_if, [*before, *after])
    objectives = _objectives(options.objective, conditions, before, after)
    found = compared(before, after, objectives, options.allow_different, _matters(options.matters, after))
    if found.same:
        _warn([*before, *after], found.left_out, found.changed)
        return _tell_same(options, conditions, [*before, *after])
    if found.searches:
        _refuse_of_searches(options)
    outcomes = thresholds.evaluate(conditions, found.comparisons, on="estimate" if options.on_estimate else "interval")
    _warn([*before, *after], found.left_out, found.changed)
    joined = Joined(before, after, found.matches, objectives[0].name, _command(options))
    html = options.html and write_comparison(options.html, joined, found, outcomes)
    failed = any(o.fails for o in outcomes) or any(bundle.unreadable_runs for bundle in [*before, *after])
    undecided = any(o.status == "undecided" for o in outcomes)
    code = code_of_checks(failed=failed, undecided=undecided, means=options.undecided or after[-1].plan.undecided)
    if options.json:
        document = {
            **joined.folders,
            "same": False,
            "html": html and str(html),
            "failed": failed,
            "undecided": undecided,
        }
        print_json({**document, **_document(found, joined, outcomes)})
    else:
        show_found(found, joined, outcomes)
        if html:
            show(f"\nreport  {html}")
    return code


def _refuse_peers(bundles: list[Bundle]) -> None:
    from ...model.peers import refuse_meeting

    cells = [cell for bundle in bundles for cell in bundle.plan.cells]
    demonstration = all(bundle.plan.demonstration for bundle in bundles)
    refuse_meeting(cells, demonstration=demonstration, where=str(bundles[-1].folder))


def _tell_check(
    options: argparse.Namespace, before: Bundle, after: Bundle, check: SearchCheck, changed: list[Change]
) -> int:
    """A search compared with fixed levels of the same factor."""
    from ...report.answer import unreadable_in
    from ...report.words.bundles import HEADS, check_rows

    _refuse_of_searches(options)
    _warn([before, after], [], changed)
    unreadable = unreadable_in([before, after])
    check = check.model_copy(update={"headline": [*unreadable, *check.headline]})
    code = ExitCode.CHECK_FAILED if unreadable else ExitCode.DONE
    if options.json:
        sides = {"before": [str(before.folder)], "after": [str(after.folder)], "same": False, "html": None}
        rest = {"failed": bool(unreadable), "undecided": False, "comparisons": [], "conditions": []}
        print_json({**sides, **rest, "changed": [asdict(change) for change in changed], **check.model_dump()})
        return code
    for name, bundle in (("before", before), ("after", after)):
        show(f"{name:<6}  {bundle.folder}")
    _print_changes(changed)
    show("".join(f"\n* {words}" for words in check.headline) + "\n")
    show(table(check_rows(check), list(HEADS)))
    return code


def _warn(bundles: list[Bundle], left_out: list[str], changed: list[Change]) -> None:
    for bundle in bundles:
        if bundle.info.state != "complete":
            say(f"warning: {bundle.folder} is incomplete: its state is {bundle.info.state!r}")
        for words in bundle.damage:
            say(f"warning: {words}")
    for words in left_out:
        say(f"warning: {words}")
    for change in changed:
        if change.weight != "stated":
            say(f"warning: {change}")


def _command(options: argparse.Namespace) -> str:
    """The command that regenerates the page."""
    words = ["bakeoff", "compare", *map(str, options.bundles)]
    words += ["--against", *map(str, options.against)] if options.against else []
    said = {
        "--objective": options.objective or [],
        "--fail-if": options.fail_if,
        "--allow-different": options.allow_different,
        "--matters": [options.matters] if options.matters else [],
        "--undecided": [options.undecided] if options.undecided else [],
    }
    words += [word for option, values in said.items() for value in values for word in (option, value)]
    words += ["--on-estimate"] if options.on_estimate else []
    return shlex.join([*words, "--html", str(options.html)])


def _tell_same(options: argparse.Namespace, conditions: list[Condition], bundles: list[Bundle]) -> int:
    """A bundle equals itself. A check that compares it with itself tests nothing, so it must not pass."""
    from ...report.answer import unreadable_in

    outcomes = [{"condition": str(c), "status": "not judged", "words": f"{c}: not judged: {SAME}"} for c in conditions]
    unreadable = unreadable_in(bundles)
    failed = bool(conditions or unreadable)
    before, after = _sides(options.bundles, options.against)
    if options.json:
        sides = {"before": [str(path) for path in before], "after": [str(path) for path in after], "same": True}
        rest = {"headline": [*unreadable, SAME], "changed": [], "comparisons": [], "conditions": outcomes}
        print_json({**sides, "html": None, "failed": failed, **rest})
    else:
        for words in [*unreadable, SAME]:
            show(words)
        for outcome in outcomes:
            show(outcome["words"])
    return ExitCode.CHECK_FAILED if failed else ExitCode.DONE


def _refuse_of_searches(options: argparse.Namespace) -> None:
    """Searches are compared by their results, which have neither charts nor metrics of runs."""
    for option, said in (("--fail-if", options.fail_if), ("--objective", options.objective), ("--html", options.html)):
        if said:
            hint = "leave it out: searches are compared by their results, and by cost where they have prices"
            raise PlanError("these bundles are searches", where=option, hint=hint)


def _matters(said: str | None, after: list[Bundle]) -> float | None:
    """The option's value, else that of AFTER's plans where they agree."""
    from ...plan.document.tables import MATTERS_MAX, MATTERS_MIN
    from ...plan.document.units import UnitError, parse_ratio

    if said is None:
        sizes = {bundle.plan.matters_ratio for bundle in after}
        return sizes.pop() if len(sizes) == 1 else None
    try:
        size = parse_ratio(said)
    except UnitError as error:
        raise PlanError(str(error), where="--matters", hint=error.hint) from error
    if not MATTERS_MIN <= size <= MATTERS_MAX:
        raise PlanError(f"{said} is not a valid size of a difference", where="--matters", hint='for instance "5%"')
    return size


def _sides(bundles: list[Path], against: list[Path]) -> tuple[list[Path], list[Path]]:
    if against:
        return bundles, against
    if len(bundles) != 2:
        raise PlanError(
            "one bundle is given, and nothing to compare it with"
            if len(bundles) == 1
            else f"{len(bundles)} bundles are given, and it is not clear which to compare with which",
            where="bakeoff compare",
            hint="give BEFORE and AFTER, or several per side: bakeoff compare BEFORE ... --against AFTER ...",
        )
    return bundles[:1], bundles[1:]


def _objectives(
    said: list[str], conditions: list[Condition], before: list[Bundle], after: list[Bundle]
) -> list[Metric]:
    """The metrics that options name, else the plan's, and those of conditions; each once. Raises PlanError."""
    bundles = [*before, *after]
    if said:
        found = named(said, "--objective", bundles)
    else:
        found = named([after[0].plan.objective], f"the plan of {after[0].folder}: objective", bundles)
    found += named([condition.objective.name for condition in conditions], "--fail-if", bundles)
    return list({objective.name: objective for objective in found}.values())


def _conditions(texts: list[str], bundles: list[Bundle]) -> list[Condition]:
    from ...analysis import thresholds

    rates = [rate for bundle in bundles for rate in bundle.plan.rates]
    try:
        return [condition for text in texts for condition in thresholds.parse(text, rates)]
    except ValueError as error:
        raise PlanError(str(error), where="--fail-if", hint=getattr(error, "hint", "")) from error


def _document(found: BundleComparison, joined: Joined, outcomes: list[Outcome]) -> dict[str, object]:
    from ...findings.promises import promise_answers
    from ...report.answer import unreadable_in
    from ...report.words.bundles import answers_of, headline_words
    from ...report.words.promises import promise_sentences

    promises = promise_sentences(promise_answers(joined))
    return {
        "headline": [*unreadable_in(joined.bundles), *promises, *headline_words(found, answers_of(found, joined))],
        "analysis": {"number": found.analysis, "alpha": found.alpha},
        "changed": [asdict(change) for change in found.changed],
        "doubts": found.doubts,
        "spreads": [
            {"objective": spread.objective.name, "cell": cell, **asdict(parts), "words": str(spread)}
            for spread in found.spreads
            for cell, parts in spread.parts.items()
        ],
        "comparisons": [
            {name: getattr(c, name) for name in _OF_COMPARISON} | {"objective": c.objective.name}
            for c in found.comparisons
        ],
        "conditions": [{"condition": str(o.condition), "status": o.status, "words": o.words} for o in outcomes],
    }


def show_found(found: BundleComparison, joined: Joined, outcomes: list[Outcome]) -> None:
    from ...report.answer import unreadable_in
    from ...report.between_bundles import answer_between
    from ...report.text.first_screen import first_lines, wants_colour
    from ...report.words.bundles import analysis_words, answers_of, headline_words

    if found.searches:  # what is compared is no figure of a run, of which a first screen is made
        headline = [*unreadable_in(joined.bundles), *headline_words(found, answers_of(found, joined))]
    else:
        answer, _ = answer_between(joined, found)
        headline = answer.headline
        for line in first_lines(answer.first, colour=wants_colour()):
            show(line, escaped=True)
        show()
    for name, folders in joined.folders.items():
        for folder in folders:
            show(f"{name:<6}  {folder}")
    _print_changes(found.changed)
    show("".join(f"\n* {words}" for words in headline) + "\n")
    rows = [[c.cell, c.objective.name, *_values(c), c.words] for c in found.comparisons]
    show(table(rows, ["cell", "objective", "before", "after", "finding"]))
    notes = analysis_words(found)
    notes += list(dict.fromkeys(note for c in found.comparisons for note in c.notes))
    if any(c.objective.unit == "ms" for c in found.comparisons):
        notes.append("a time is that of the typical repetition: the geometric mean over the repetitions")
    show("".join(f"\nnote: {note}" for note in [*notes, *found.doubts]))
    for outcome in outcomes:
        show(outcome.words)


def _print_changes(changed: list[Change]) -> None:
    if not changed:
        show("\nchanged: nothing that the bundles record")
        return
    show("\nchanged, the worst first (!: this alone can explain any difference):")
    rows = [
        ["  " if change.weight == "stated" else "! ", *map(_cut, (change.name, change.before, change.after))]
        for change in changed[:CHANGES_MAX]
    ]
    show(table(rows, ["", "what", "before", "after"]))
    if len(changed) > CHANGES_MAX:
        show(f"    and {len(changed) - CHANGES_MAX} more: see --json")


def _cut(words: str) -> str:
    return words if len(words) <= VALUE_WIDTH else f"{words[: VALUE_WIDTH - 1]}…"


def _values(c: Comparison) -> list[str]:
    return ["-" if value is None else c.objective.words(value) for value in (c.base_value, c.other_value)]
