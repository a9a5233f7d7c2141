"""What bundles compared with bundles say, in sentences and as rows of tables."""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis.compare import ALPHA, ComparisonAnswer
from ...analysis.metric import Metric
from ...analysis.wording import by_words
from ...findings.between_bundles.both_sides import Joined
from ...findings.between_bundles.comparison import AFTER, BEFORE, BundleComparison
from ...findings.between_bundles.search_check import SearchCheck
from ...findings.comparisons import answered
from ...findings.contestants import Contest
from ...findings.limits_and_searches.evidence import VERDICT_WORDS
from .pairs import NAMED_MAX

_TWO_BUNDLES = "These are two bundles: how much two bundles of one and the same system differ is not known."


def answers_of(found: BundleComparison, joined: Joined) -> list[tuple[Metric, ComparisonAnswer]]:
    """What was found of each metric in each compared cell, by its setting; those of the leading metric first."""
    metrics = list({c.objective.name: c.objective for c in found.comparisons}.values())
    contest = Contest(joined.plan)
    settings = [contest.setting(cell) for cell in joined.plan.cells[: len(found.matches)]]
    return [
        (c.objective, answered(setting, c, []))
        for c, setting in zip(found.comparisons, settings * len(metrics), strict=False)
    ]


def headline_words(found: BundleComparison, answers: Sequence[tuple[Metric, ComparisonAnswer]]) -> list[str]:
    """Of the leading metric, over all cells, and of searches the cost, too; then how far bundles differ, where that is
    known."""
    two = found.comparisons[0].design == "two bundles"
    words = []
    metrics = {of.name: of for of, _ in answers if found.searches or of is answers[0][0]}
    for name, metric in metrics.items():
        of_metric = [answer for of, answer in answers if of.name == name]
        words += bundle_words(of_metric, metric, two_bundles=two, several=len(metrics) > 1)
    return [*dict.fromkeys(words), *(f"{_begun(str(spread))}." for spread in found.spreads)]


def analysis_words(found: BundleComparison) -> list[str]:
    """What it costs that these bundles were compared before."""
    if found.alpha is None:
        return ["this could not be recorded in any of the bundles, so nothing is claimed that was not claimed before"]
    if found.analysis == 1:
        return []
    return [
        f"bundles of these sides were compared before: a difference is now claimed at a chance of error of"
        f" {100 * found.alpha:.2g} %, so that all comparisons together stay within {100 * ALPHA:.2g} %; verdicts that"
        " were given stand"
    ]


def bundle_words(
    found: Sequence[ComparisonAnswer], metric: Metric, *, two_bundles: bool, several: bool = False
) -> list[str]:
    """What `after` is against `before`: "The rate of after against that of before: lower in 2 of 4 cells, by 5.1 % to
    9.4 %; no difference shown in 2." two_bundles: one bundle a side, of which less can be said. several:
    there are other metrics, so this one is named in any case."""
    if len(found) == 1:
        who = f"{metric.label}, {AFTER} against {BEFORE}" if several else f"{AFTER} against {BEFORE}"
        words = found[0].words if found[0].claims_difference else f"{who}: {found[0].words}"
        return [f"{_begun(words)}."]
    clauses = []
    for verdict in ("higher", "lower"):
        claimed = [c for c in found if c.verdict == verdict]
        if claimed:
            by = by_words(*(c.ratio for c in claimed if c.ratio is not None))
            named = f" ({'; '.join(c.setting_words for c in claimed)})" if len(claimed) <= NAMED_MAX else ""
            clauses.append(f"{verdict} in {len(claimed)} of {len(found)} cells{named}{by}")
    undecided = sum(c.is_undecided for c in found)
    alike = sum(c.verdict == "equivalent" for c in found)
    rest = len(found) - undecided - alike - sum(c.claims_difference for c in found)
    clauses += [f"equivalent in {alike}"] if alike else []
    clauses += [f"no difference shown in {undecided}"] if undecided else []
    clauses += [f"not compared in {rest}"] if rest else []
    first = f"The {metric.label} of {AFTER} against that of {BEFORE}: {'; '.join(clauses)}."
    return [first, _TWO_BUNDLES] if two_bundles else [first]


def _begun(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


HEADS = ("fixed runs", "search", "runs", "together", "the runs' verdict rests on")


def check_rows(found: SearchCheck) -> list[list[str]]:
    return [
        [one.label, VERDICT_WORDS[one.search], VERDICT_WORDS[one.fixed], one.agreement, one.words]
        for one in found.levels
    ]
