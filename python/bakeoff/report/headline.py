"""The first sentences of a report: what a reader who stops here should take away."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.metric import Metric
from ..analysis.wording import percent_words, rate_words
from .answer import CellAnswer, ComparisonAnswer, time_words
from .contest import Contest, Setting, setting_words

#: So many settings are named in a headline; more are only counted.
NAMED_MAX = 2
#: A share of the attempts that ended in a conflict; from here on it is said first.
ABORTS_MANY = 0.01
#: A percentile has two honest values in a cell, and they differ a little; each is named where it is shown.
TYPICAL_WORDS = (
    "a typical time is the geometric mean of the repetitions' own, which are compared; the table's are of all"
    " repetitions' operations together"
)
_UNDECIDED = {"no difference shown": ("no difference",), "not compared": ("too few", "invalid runs", "not comparable")}


def headline_words(contest: Contest, comparisons: Sequence[ComparisonAnswer], cells: Sequence[CellAnswer]) -> list[str]:
    """One sentence for each contestant against the baseline, then the figures of a setting in mid-sweep; last the cells
    that have no figure because none of their runs is valid, and those that are not compared because some are not."""
    others = [name for name in contest.contestants if name != contest.baseline]
    sentences = []
    for other in others:
        found = [c for c in comparisons if c.other == other]
        if found:
            sentences.append(_pair_words(contest, other, found))
    if not others:
        sentences += _alone(contest, cells)
    return sentences + _aborts(contest, cells) + _not_valid(cells) + _invalid(comparisons, cells)


def value_words(value: float | None, objective: Metric) -> str:
    return "not stated" if value is None else objective.words(value)


def _pair_words(contest: Contest, other: str, found: Sequence[ComparisonAnswer]) -> str:
    """One setting: the comparison itself. Several: in how many, by how much, and the figures in mid-sweep."""
    if len(found) == 1:
        where = f" ({found[0].setting_words})" if found[0].setting_words else ""
        values = _values(contest, found[0])
        return f"{_sentence(found[0])}{where}{f': {values}' if values else ''}."
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
        return summary
    doubt = next((f" ({words})" for words, verdicts in _UNDECIDED.items() if middle.verdict in verdicts), "")
    return f"{summary} At {middle.setting_words}{doubt}: {_values(contest, middle)}."


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
        where = f"in {len(claimed)}{_named(claimed, found)}, by {_sizes(claimed)}"
        if not clauses:
            where = f"in {len(claimed)} of {len(found)} settings{_named(claimed, found)}, by {_sizes(claimed)}"
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


def _sizes(claimed: Sequence[ComparisonAnswer]) -> str:
    sizes = sorted(abs(c.ratio - 1) for c in claimed if c.ratio is not None)
    low, high = percent_words(sizes[0]), percent_words(sizes[-1])
    return low if low == high else f"{low} to {high}"


def _sentence(found: ComparisonAnswer) -> str:
    """Verdicts without a direction do not name the two, so they are named here."""
    if found.claims_difference:
        return found.words
    return f"{found.other} against {found.base}: {found.words}"


def _values(contest: Contest, found: ComparisonAnswer) -> str:
    """What is not defined is left out; beside a side that failed the other's has nothing to be held against."""
    if found.verdict == "invalid runs":
        return ""
    values = {found.other: found.other_value, found.base: found.base_value}
    objective = contest.objective
    said = ", ".join(f"{name} {value_words(value, objective)}" for name, value in values.items() if value is not None)
    return f"typically {said}" if said and objective.name != "rate" else said


def _at(found: Sequence[ComparisonAnswer], setting: Setting) -> ComparisonAnswer | None:
    return next((c for c in found if c.setting == dict(setting)), None)


def _alone(contest: Contest, cells: Sequence[CellAnswer]) -> list[str]:
    """Nothing to compare: the figures of the middle setting."""
    cell = next((c for c in cells if c.setting == dict(contest.middle)), None)
    if cell is None or cell.rate_ops_per_s is None:
        return ["No run was finished, so there is nothing to say."]
    if not cell.valid:
        return []
    where = setting_words(contest.middle)
    p99 = time_words(cell.response, "p99_ms")
    times = f", p99 {p99}" if p99 else ""
    judged = cell.metrics.get(contest.objective.name)
    first = f"{contest.objective.label} {contest.objective.words(judged.value)}, " if judged else ""
    figures = f"{first}{rate_words(cell.rate_ops_per_s.value)}{times}"
    return [f"{cell.contestant}{f' at {where}' if where else ''}: {figures}."]


def _aborts(contest: Contest, cells: Sequence[CellAnswer]) -> list[str]:
    """At the middle setting, where they are many."""
    ratios = {
        cell.contestant: spread.value
        for cell in cells
        if cell.setting == dict(contest.middle) and cell.valid and (spread := cell.metrics.get("abort_ratio"))
    }
    if not any(ratio >= ABORTS_MANY for ratio in ratios.values()):
        return []
    where = setting_words(contest.middle)
    shares = ", ".join(f"{percent_words(ratio)} of {name}'s" for name, ratio in ratios.items())
    return [f"Of the attempts{f' at {where}' if where else ''} {shares} ended in a conflict with others."]


def _not_valid(cells: Sequence[CellAnswer]) -> list[str]:
    """A cell whose runs all failed is said here, or a reader would take the others for the whole answer."""
    found = [cell for cell in cells if cell.no_valid_run]
    sentences = [f"{_cell_words(cell)}: no valid run: {cell.no_valid_run}." for cell in found[:NAMED_MAX]]
    if len(found) > NAMED_MAX:
        sentences.append(f"No valid run either in {len(found) - NAMED_MAX} more of {len(cells)} cells.")
    return sentences


def _invalid(comparisons: Sequence[ComparisonAnswer], cells: Sequence[CellAnswer]) -> list[str]:
    """Whoever failed in some of its runs is named first, not ranked by the others."""
    refused = [c for c in comparisons if c.verdict == "invalid runs"]
    found = [
        cell
        for cell in cells
        if cell.valid
        and cell.invalid_runs
        and any(c.setting == cell.setting and cell.contestant in (c.base, c.other) for c in refused)
    ]
    sentences = [f"{_cell_words(cell)}: {cell.invalid_runs}; not compared." for cell in found[:NAMED_MAX]]
    if len(found) > NAMED_MAX:
        sentences.append(f"Some runs were invalid in {len(found) - NAMED_MAX} more of {len(cells)} cells.")
    return sentences


def _cell_words(cell: CellAnswer) -> str:
    return f"{cell.contestant}{f' at {cell.setting_words}' if cell.setting_words else ''}"
