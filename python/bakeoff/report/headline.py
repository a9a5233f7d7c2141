"""The first sentences of a report: what a reader who stops here should take away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..analysis.wording import percent_words
from ..charts.numbers import milliseconds_words, rate_words
from .contest import Contest, Setting, setting_words

if TYPE_CHECKING:
    from .answer import CellAnswer, ComparisonAnswer


def headline_words(contest: Contest, comparisons: Sequence[ComparisonAnswer], cells: Sequence[CellAnswer]) -> list[str]:
    """One sentence for each contestant against the baseline, then the figures of a setting in mid-sweep."""
    others = [name for name in contest.contestants if name != contest.baseline]
    sentences = []
    for other in others:
        found = [c for c in comparisons if c.other == other]
        if found:
            sentences.append(_pair_words(contest, other, found))
    if not others:
        sentences += _alone(contest, cells)
    return sentences


def value_words(value: float | None, objective: str) -> str:
    if value is None:
        return "not defined"
    return rate_words(value) if objective == "rate" else milliseconds_words(value)


def _pair_words(contest: Contest, other: str, found: Sequence[ComparisonAnswer]) -> str:
    """One setting: the comparison itself. Several: in how many, by how much, and the one in the middle."""
    middle = _at(found, contest.middle) or found[0]
    if len(found) == 1:
        where = f" ({found[0].setting_words})" if found[0].setting_words else ""
        return f"{_sentence(found[0])}{where}: {_values(contest, found[0])}."
    objective = contest.plan.objective
    claimed = [c for c in found if c.better is not None]
    parts = [
        _count_words(name, [c for c in claimed if c.verdict == verdict], len(found))
        for verdict, name in (("higher", _word(objective, True)), ("lower", _word(objective, False)))
    ]
    none_shown = sum(c.verdict == "no difference" for c in found)
    parts.append(f"no difference shown in {none_shown}" if none_shown else "")
    unjudged = sum(c.verdict in ("too few", "not comparable") for c in found)
    parts.append(f"not compared in {unjudged}" if unjudged else "")
    listed = "; ".join(part for part in parts if part)
    example = f"At {middle.setting_words}: {_values(contest, middle)}" if middle.base_value is not None else ""
    summary = f"{other} against {contest.baseline}, {len(found)} settings: {listed}."
    return f"{summary} {example}.".strip() if example else summary


def _count_words(name: str, claimed: Sequence[ComparisonAnswer], settings: int) -> str:
    sizes = sorted(abs(c.ratio - 1) for c in claimed if c.ratio is not None)
    if not sizes:
        return ""
    size = percent_words(sizes[0])
    if len(sizes) > 1 and percent_words(sizes[-1]) != size:
        size += f" to {percent_words(sizes[-1])}"
    return f"{name} in {len(claimed) if len(claimed) < settings else 'all'} (by {size})"


def _word(objective: str, up: bool) -> str:
    if objective == "rate":
        return "faster" if up else "slower"
    return f"{objective.removeprefix('latency_')} {'higher' if up else 'lower'}"


def _sentence(found: ComparisonAnswer) -> str:
    """Verdicts without a direction do not name the two, so they are named here."""
    if found.better is not None:
        return found.words
    return f"{found.other} against {found.base}: {found.words}"


def _values(contest: Contest, found: ComparisonAnswer) -> str:
    objective = contest.plan.objective
    theirs, base = value_words(found.other_value, objective), value_words(found.base_value, objective)
    return f"{found.other} {theirs}, {found.base} {base}"


def _at(found: Sequence[ComparisonAnswer], setting: Setting) -> ComparisonAnswer | None:
    return next((c for c in found if c.setting == dict(setting)), None)


def _alone(contest: Contest, cells: Sequence[CellAnswer]) -> list[str]:
    """Nothing to compare: the figures of the middle setting."""
    cell = next((c for c in cells if c.setting == dict(contest.middle)), None)
    if cell is None or cell.rate_ops_per_s is None:
        return ["No run was finished, so there is nothing to say."]
    where = setting_words(contest.middle)
    p99 = cell.response.p99_ms
    times = f", p99 {milliseconds_words(p99)}" if p99 is not None else ""
    return [f"{cell.contestant}{f' at {where}' if where else ''}: {rate_words(cell.rate_ops_per_s.value)}{times}."]
