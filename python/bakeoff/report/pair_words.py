"""The headline's sentences about contestants against the baseline."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.compare import size_words
from ..analysis.metric import Metric
from ..analysis.undecided import estimate_words
from ..analysis.wording import change_words, counted, points_words
from ..findings.contestants import Contest, Setting
from .answer import CellAnswer, ComparisonAnswer
from .failure_words import NONE_FAILED
from .operation_words import operation_words
from .undecided import decide_words, undecided_words

#: So many settings are named; more are only counted.
NAMED_MAX = 2
#: Of so many settings, none of which is compared, each is told with its values.
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
    """Of settings that no figures are told of, where operations failed; the comparisons have all."""
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
        where = f"in {len(claimed)}{_named(claimed, found)}, by {_change(claimed)}"
        if not clauses:
            where = f"in {len(claimed)} of {len(found)} settings{_named(claimed, found)}, by {_change(claimed)}"
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


def _change(claimed: Sequence[ComparisonAnswer]) -> str:
    ratios = [c.ratio for c in claimed if c.ratio is not None]
    differences = [c.difference for c in claimed if c.difference is not None]
    words = [change_words(*ratios)] if ratios else []
    return " or ".join([*words, points_words(*differences)] if differences else words)


def _sentence(found: ComparisonAnswer) -> str:
    """Verdicts without a direction do not name the two, so they are named here."""
    if found.claims_difference:
        return found.words
    words = "no difference shown" if found.is_undecided else found.words
    return f"{found.other} against {found.base}: {words}"


def _values(contest: Contest, found: ComparisonAnswer) -> str:
    """Of both sides or of none; beside a side that failed the other's has nothing to be held against."""
    if found.verdict in ("invalid runs", "too few operations") or (
        found.base_value is None and found.other_value is None
    ):
        return ""
    sides = ((found.other, found.other_value, found.other_why), (found.base, found.base_value, found.base_why))
    return ", ".join(f"{name} {value_words(value, contest.objective, why)}" for name, value, why in sides)


def _size(contest: Contest, found: ComparisonAnswer) -> str:
    """ "119 % faster (2.2 times; 96 % interval 20 % to 299 %)", of what is undecided the estimate."""
    if found.ratio is None or found.low is None or found.high is None or found.level is None:
        return ""
    if not found.claims_difference:
        return estimate_words(found.ratio, found.low, found.high)
    size, interval = size_words(found.ratio, found.low, found.high, found.level)
    ways = ("faster", "slower") if contest.objective.name == "rate" else ("higher", "lower")
    return f"{size} {ways[found.ratio < 1]} {interval}"


def _at(found: Sequence[ComparisonAnswer], setting: Setting) -> ComparisonAnswer | None:
    return next((c for c in found if c.setting == dict(setting)), None)
