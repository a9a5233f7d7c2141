"""The page of bundles against bundles: what was found, what changed, and both sides in every chart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..analysis.fail_if import Outcome
from ..analysis.metric import Metric
from ..analysis.wording import change_words
from ..bundle.files import write_text
from .answer import Answer, ComparisonAnswer
from .comparisons import answered
from .conclusion import answer_of
from .contest import Contest
from .html import render_html
from .joined import Joined, Sides
from .left_out import not_valid_words
from .occasions import AFTER, BEFORE, Occasions
from .pair_words import NAMED_MAX
from .source import Source


def write_comparison(
    path: Path,
    before: Sequence[Source],
    after: Sequence[Source],
    found: Occasions,
    *,
    held: Sequence[Outcome] = (),
    command: str,
) -> Path:
    """One file that needs nothing else. command: that makes it again."""
    from .figures import figures_of

    metrics = list({c.objective.name: c.objective for c in found.comparisons}.values())
    joined = Joined(before, after, found.matches, metrics[0].name, command)
    contest = Contest(joined.plan)
    settings = [contest.setting(cell) for cell in joined.plan.cells[: len(found.matches)]]
    matched = zip(found.comparisons, settings * len(metrics), strict=False)
    told = [(c.objective, answered(setting, c, [])) for c, setting in matched]
    leading = [answer for objective, answer in told if objective is metrics[0]]
    answer = answer_of(joined, metrics, leading)
    sides = Sides(
        before=[str(bundle.folder) for bundle in before],
        after=[str(bundle.folder) for bundle in after],
        changed=found.changed,
        further=told[len(leading) :],
        held=list(held),
    )
    page = render_html(joined, _told(answer, found, metrics[0]), figures_of(joined, answer), sides)
    return write_text(path.parent, path.name, page)


def _told(answer: Answer, found: Occasions, objective: Metric) -> Answer:
    """With what is said of occasions in place of what is said of contestants in common blocks."""
    two = found.comparisons[0].design == "two bundles"
    gone = [f"{label}: not compared: not every bundle has it" for label in found.gone]
    notes = list(dict.fromkeys(note for c in answer.comparisons for note in c.notes))
    changes = {
        "headline": [
            *occasion_words(answer.comparisons, objective, two_bundles=two),
            *(f"{words[:1].upper()}{words[1:]}." for words in map(str, found.spreads)),
            *not_valid_words(answer.cells),
        ],
        "validity": [answer.validity[0], *found.doubts, *gone, *found.left_out],
        "undeclared": [],
        "limits": [*(f"{note[:1].upper()}{note[1:]}." for note in notes), *answer.limits],
        "comparisons": [c.model_copy(update={"notes": []}) for c in answer.comparisons],
    }
    return answer.model_copy(update=changes)


def occasion_words(found: Sequence[ComparisonAnswer], objective: Metric, *, two_bundles: bool) -> list[str]:
    """What `after` is against `before`: "The rate of after against that of before: lower in 2 of 4 cells, by 5.1 % to
    9.4 %; no difference shown in 2." two_bundles: one occasion a side, of which less can be said."""
    if len(found) == 1:
        words = found[0].words if found[0].claims_difference else f"{AFTER} against {BEFORE}: {found[0].words}"
        return [f"{words[:1].upper()}{words[1:]}."]
    clauses = []
    for verdict in ("higher", "lower"):
        claimed = [c for c in found if c.verdict == verdict]
        if claimed:
            by = change_words(*(c.ratio for c in claimed if c.ratio is not None))
            named = f" ({'; '.join(c.setting_words for c in claimed)})" if len(claimed) <= NAMED_MAX else ""
            clauses.append(f"{verdict} in {len(claimed)} of {len(found)} cells{named}, by {by}")
    undecided = sum(c.is_undecided for c in found)
    rest = len(found) - undecided - sum(c.claims_difference for c in found)
    clauses += [f"no difference shown in {undecided}"] if undecided else []
    clauses += [f"not compared in {rest}"] if rest else []
    first = f"The {objective.label} of {AFTER} against that of {BEFORE}: {'; '.join(clauses)}."
    return [first, _TWO_BUNDLES] if two_bundles else [first]


_TWO_BUNDLES = "These are two bundles: how much two occasions of one and the same system differ is not known."
