"""The headline's sentences about contestants against the baseline: what was found, what would decide the rest, which
operations go the other way, and what else differs."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence

from ...analysis.compare import ComparisonAnswer, FigureDiffers
from ...analysis.metric import Metric
from ...analysis.undecided import detectable_words, estimate_words, more_words, rounded
from ...analysis.wording import (
    are_times,
    by_words,
    change_words,
    ci_words,
    counted,
    interval_of_ratio,
    percent_words,
    points_words,
    signed_words,
)
from ...findings.cells import CellAnswer
from ...findings.comparisons import lean_alike
from ...findings.contestants import Contest, Setting, at_words
from ...findings.differing_figures import CellsDiffer
from ...findings.run_values import time_words
from .cells import ABORTS
from .failures_and_isolation import NONE_FAILED, no_benefit_words

_HEADLINE_MAX = 3


def differs_words(
    contest: Contest,
    comparisons: Sequence[ComparisonAnswer],
    between_levels: Sequence[CellsDiffer],
    *,
    said: Collection[str] = (),
) -> list[str]:
    """One line: of the comparison that leads, where it shows a difference; in a sweep of the step that moved most.
    said: metrics that another sentence is about."""
    claimed = [c for c in comparisons if c.claims_difference and _but(c.differs, said)]
    if claimed:
        leading = next((c for c in claimed if c.setting == dict(contest.middle)), claimed[0])
        where = at_words(leading.setting_words)
        return [
            _hints_sentence(
                f"What else differs most between {leading.other} and {leading.base}{where}", _but(leading.differs, said)
            )
        ]
    changed = {abs(math.log(step.objective_ratio)): step for step in between_levels if step.objective_ratio}
    if comparisons or not changed:
        return []
    most = changed[max(changed)]
    if not most.figures or most.objective_ratio is None:
        return []
    where = ", ".join(filter(None, [most.setting_words, f"from {most.base} to {most.other}"]))
    change = f"where the {contest.objective.label} changed most, {signed_words(most.objective_ratio)}"
    return [_hints_sentence(f"What {most.contestant} counts and moved most {where}, {change}", most.figures)]


def _but(figures: Sequence[FigureDiffers], said: Collection[str]) -> list[FigureDiffers]:
    return [figure for figure in figures if figure.name not in said]


def _hints_sentence(what: str, figures: Sequence[FigureDiffers]) -> str:
    return f"{what} (a hint at why, not tested): {'; '.join(one.words for one in figures[:_HEADLINE_MAX])}."


#: Settings that are named; more are only counted.
NAMED_MAX = 2
#: Up to this many settings, none of which is compared, are listed with their values.
NONE_COMPARED_MAX = 4
_UNDECIDED = {
    "equivalent": ("equivalent",),
    "no difference shown": ("no difference",),
    "not compared": ("too few", "invalid runs", "too few operations", "not comparable"),
}


def pair_words(
    contest: Contest,
    comparisons: Sequence[ComparisonAnswer],
    over_all: Sequence[ComparisonAnswer] = (),
    cells: Sequence[CellAnswer] = (),
) -> list[str]:
    """One sentence for each contestant against the baseline, then the figures of a setting in mid-sweep, and which
    operations go the other way there."""
    found = [(name, [c for c in comparisons if c.other == name]) for name in contest.contestants]
    whole = {one.other: one for one in over_all}
    return [_pair_words(contest, name, theirs, whole.get(name), cells) for name, theirs in found if theirs]


def value_words(value: float | None, objective: Metric, why: str = "") -> str:
    """why: there is none."""
    return why or "not stated" if value is None else objective.words(value)


def _pair_words(
    contest: Contest,
    other: str,
    found: Sequence[ComparisonAnswer],
    whole: ComparisonAnswer | None,
    cells: Sequence[CellAnswer],
) -> str:
    """One setting: the comparison itself. Several: in how many, by how much, and the figures in mid-sweep."""
    if len(found) == 1:
        where = f" ({found[0].setting_words})" if found[0].setting_words else ""
        values = _values(contest, found[0])
        sentence = f"{_sentence(found[0])}{where}{f': {values}' if values else ''}."
        undecided = undecided_words(found[0], by_rate=contest.objective.name == "rate")
        return " ".join([sentence, *undecided, *_failures(found[0]), *operation_words(found[0], cells)])
    if len(found) <= NONE_COMPARED_MAX and all(c.verdict in _UNDECIDED["not compared"] for c in found):
        return _none_compared(contest, other, found)
    clauses = _claims(contest, other, found)
    for words, verdicts in _UNDECIDED.items():
        count = sum(c.verdict in verdicts for c in found)
        if count:
            clauses.append(f"{words} in {count}")
    if not any(c.claims_difference for c in found):
        clauses[0] = f"{other} against {contest.baseline} in {len(found)} settings: {clauses[0]}"
    summary = "; ".join(clauses) + "."
    middle = _at(found, contest.middle)
    if middle is None or middle.base_value is None or middle.other_value is None:
        return " ".join([summary, *_failures_of(found), *decide_words(found, whole)])
    doubt = next((f" ({words})" for words, verdicts in _UNDECIDED.items() if middle.verdict in verdicts), "")
    size = _size(contest, middle)
    figures = f"At {middle.setting_words}{doubt}: {_values(contest, middle)}{f': {size}' if size else ''}."
    told = [*_failures(middle), *operation_words(middle, cells), *_failures_of([c for c in found if c is not middle])]
    return " ".join([summary, figures, *told, *decide_words(found, whole)])


def _failures(found: ComparisonAnswer) -> list[str]:
    return [found.failures] if found.failures else []


def _failures_of(found: Sequence[ComparisonAnswer]) -> list[str]:
    """Of settings without figures, where operations failed; the comparisons have all."""
    others = [c for c in found if c.failures and not c.failures.startswith(NONE_FAILED)]
    told = [f"At {c.setting_words}: {c.failures}" for c in others[:NAMED_MAX]]
    more = len(others) - len(told)
    return [*told, f"Operations failed in {counted(more, 'more setting', 'more settings')}."] if more else told


def _none_compared(contest: Contest, other: str, found: Sequence[ComparisonAnswer]) -> str:
    """No setting stands for the others: each with its values, or why it has none."""
    few = " (too few repetitions)" if all(c.verdict == "too few" for c in found) else ""
    told = [f"At {c.setting_words}: {_values(contest, c) or c.words}." for c in found]
    return " ".join([f"{other} against {contest.baseline} in {len(found)} settings: none is compared{few}.", *told])


def _claims(contest: Contest, other: str, found: Sequence[ComparisonAnswer]) -> list[str]:
    """ "A is faster than B in 6 of 8 settings, by 22 % to 60 %" and "slower in 2 (...), by 5 %": the commoner first."""
    label = contest.objective
    by_rate = label.name == "rate"
    words = {"higher": "faster" if by_rate else "higher", "lower": "slower" if by_rate else "lower"}
    groups = [(verdict, [c for c in found if c.verdict == verdict]) for verdict in words]
    clauses: list[str] = []
    for verdict, claimed in sorted(groups, key=lambda group: -len(group[1])):
        if not claimed:
            continue
        where = f"in {len(claimed)}{_named(claimed, found)}{_by(claimed, by_rate)}"
        if not clauses:
            where = f"in {len(claimed)} of {len(found)} settings{_named(claimed, found)}{_by(claimed, by_rate)}"
            subject, base = other, contest.baseline
            if not by_rate:
                subject, base = f"{other}'s {label.label}", f"{contest.baseline}'s"
            clauses.append(f"{subject} is {words[verdict]} than {base} {where}")
        else:
            clauses.append(f"{words[verdict]} {where}")
    return clauses


def _named(claimed: Sequence[ComparisonAnswer], found: Sequence[ComparisonAnswer]) -> str:
    if len(claimed) > NAMED_MAX or len(claimed) == len(found):
        return ""
    return f" ({'; '.join(c.setting_words for c in claimed)})"


def _by(claimed: Sequence[ComparisonAnswer], by_rate: bool) -> str:
    """ ", by 22 % to 60 %", ": 5.0x to 5.1x as fast"."""
    ratios = [c.ratio for c in claimed if c.ratio is not None]
    differences = [c.difference for c in claimed if c.difference is not None]
    words = [by_words(*ratios, quality="fast" if by_rate else "high")] if ratios else []
    return "".join([*words, f"{' or' if words else ','} by {points_words(*differences)}"] if differences else words)


def _sentence(found: ComparisonAnswer) -> str:
    """Verdicts without a direction do not name the two, so they are named here."""
    if found.claims_difference:
        return found.words
    words = "no difference shown" if found.is_undecided else found.words
    return f"{found.other} against {found.base}: {words}"


def _values(contest: Contest, found: ComparisonAnswer) -> str:
    """Of both sides or of none: if one side failed, the other's value cannot be compared."""
    if found.verdict in ("invalid runs", "too few operations") or (
        found.base_value is None and found.other_value is None
    ):
        return ""
    sides = ((found.other, found.other_value, found.other_why), (found.base, found.base_value, found.base_why))
    return ", ".join(f"{name} {value_words(value, contest.objective, why)}" for name, value, why in sides)


def _size(contest: Contest, found: ComparisonAnswer) -> str:
    """ "2.2x (95 % CI 1.2x to 4.0x)", "12 % faster (95 % CI 9.0 % to 17 %)", of what is undecided the estimate."""
    if found.ratio is None or found.low is None or found.high is None or found.level is None:
        return ""
    if not found.claims_difference:
        return estimate_words(found.ratio, found.low, found.high)
    ways = ("faster", "slower") if contest.objective.name == "rate" else ("higher", "lower")
    way = "" if are_times(found.ratio) else f" {ways[found.ratio < 1]}"
    interval = interval_of_ratio(found.ratio, found.low, found.high)
    return f"{change_words(found.ratio)}{way} ({ci_words(found.level)} {interval})"


def _at(found: Sequence[ComparisonAnswer], setting: Setting) -> ComparisonAnswer | None:
    return next((c for c in found if c.setting == dict(setting)), None)


_SAY = 'Say what size matters ([compare] matters = "5%") to learn how many repetitions would decide it'


def undecided_words(found: ComparisonAnswer, *, by_rate: bool) -> list[str]:
    """Of one comparison; none where it is decided, or nothing could be judged."""
    ratio, low, high, level = found.ratio, found.low, found.high, found.level
    seen = found.detectable_ratio
    if ratio is None or low is None or high is None or level is None or seen is None:
        return []
    ways = ("faster", "slower") if by_rate else ("higher", "lower")
    estimate, *edges = (
        f"{change_words(value)} as {'fast' if by_rate else 'high'}"
        if are_times(value)
        else f"{change_words(value)} {ways[value < 1]}"
        for value in (ratio, low, high)
    )
    return [
        f"The estimate is {estimate} ({ci_words(level)} {' to '.join(edges)}); {detectable_words(seen)}.",
        f"{_decided_by([found], 'it')}.",
    ]


def decide_words(found: Sequence[ComparisonAnswer], whole: ComparisonAnswer | None = None) -> list[str]:
    """Of several settings: how many more repetitions would decide those that repetitions can; where they can none of
    them, whether they can `whole`, which is over all settings."""
    undecided = [c for c in found if c.is_undecided]
    if not undecided:
        return []
    more = [c.more_repetitions for c in undecided if c.more_repetitions is not None]
    if not more and whole is not None and whole.is_undecided and whole.more_repetitions is not None:
        return [f"{_decided_by([whole], f'it {whole.setting_words}')}."]
    those = "all" if len(more) in (0, len(undecided)) else f"{len(more)} of the"
    return [f"{_decided_by(undecided, 'it' if len(undecided) == 1 else f'{those} {len(undecided)} undecided')}."]


def _decided_by(undecided: Sequence[ComparisonAnswer], what: str) -> str:
    """Planned for the size that matters, with the noise found; never for the difference that was seen."""
    matters = undecided[0].matters_ratio
    if matters is None:
        return _SAY
    more = max((c.more_repetitions for c in undecided if c.more_repetitions is not None), default=None)
    within = f"whether there is a difference of {percent_words(matters)}"
    words = more_words(more, within if what == "it" else f"{what}: {within}")
    return f"{words[:1].upper()}{words[1:]}{_resumed(more)}"


def _resumed(more: int | None) -> str:
    """How to add them."""
    return "" if more is None else f" (--resume --repetitions +{rounded(more)})"


def over_all_words(wholes: Sequence[ComparisonAnswer], by_setting: Sequence[ComparisonAnswer]) -> list[str]:
    """Where the settings alone do not say it already."""
    undecided = {c.other for c in by_setting if not c.claims_difference}
    claimed = [whole for whole in wholes if whole.claims_difference and whole.other in undecided]
    return [f"O{whole.setting_words[1:]}{_lean_words(whole, by_setting)}: {whole.words}." for whole in claimed]


def _lean_words(whole: ComparisonAnswer, by_setting: Sequence[ComparisonAnswer]) -> str:
    return (
        ", which all lean in the same direction"
        if lean_alike(whole, by_setting)
        else ", which no longer all lean in the same direction"
    )


#: Times as long or as short; less is within what a verdict over all operations says anyway.
TIMES_MIN = 2.0
#: Operations that are named.
OPERATIONS_MAX = 2
_PERCENTILES = {"p50_ms": "p50", "p99_ms": "p99"}


def operation_words(found: ComparisonAnswer, cells: Sequence[CellAnswer]) -> list[str]:
    """ "But its READ takes longer: p50 375 µs against 10.5 µs (not tested)."; none where nothing goes the other way."""
    if found.better is None:
        return []
    sides = {cell.contestant: cell for cell in cells if cell.setting == found.setting}
    other, base = sides.get(found.other), sides.get(found.base)
    if other is None or base is None:
        return []
    longer = found.better == found.other
    against = list(_against(other, base, longer=longer))[:OPERATIONS_MAX]
    if not against:
        return []
    shorter = base if longer else other
    aborts = shorter.metrics.get(ABORTS)
    why = no_benefit_words(shorter, aborts.value if aborts else None)
    no_benefit = f"; no advantage of {shorter.contestant} by itself, because {why}" if why else ""
    return [f"But its {'; its '.join(against)} (not tested{no_benefit})."]


def _against(other: CellAnswer, base: CellAnswer, *, longer: bool) -> Iterator[str]:
    """Of each operation the first percentile that goes the other way. longer: which way that is."""
    theirs = {found.operation: found.response for found in base.by_operation if found.part_of is None}
    for found in other.by_operation:
        if found.part_of is not None or found.operation not in theirs:
            continue
        response, before = found.response, theirs[found.operation]
        for name, label in _PERCENTILES.items():
            mine, its = getattr(response, name), getattr(before, name)
            if not mine or not its or (mine / its if longer else its / mine) < TIMES_MIN:
                continue
            times = f"{label} {time_words(response, name)} against {time_words(before, name)}"
            yield f"{found.operation} takes {'longer' if longer else 'less time'}: {times}"
            break
