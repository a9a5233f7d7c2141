"""The answer of a report in one sentence of at most 25 words, and its certainty in the words of the question. Of
several ways to say it the first that is short enough is taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...analysis.compare import ComparisonAnswer
from ...analysis.metric import Metric
from ...analysis.wording import by_words, counted, percent_words, rate_words, than_words
from ...findings.cells import CellAnswer
from ...findings.contestants import Contest, at_words, factor_words, setting_words
from ...findings.in_bundle import Findings
from ...findings.limits_and_searches.limits import LimitFinding
from ...findings.limits_and_searches.searches import SearchAnswer, sought_level_words
from ...findings.run_values import time_words
from ...findings.shapes import ShapeAnswer

WORDS_MAX = 25


def answer_sentence(found: Findings) -> str:
    names = (*found.contest.contestants, *(one.limit_words for one in found.held))  # are written as the plan has them
    candidates = [
        f"{one if one.startswith(names) else one[:1].upper() + one[1:]}." for one in _candidates(found) if one
    ]
    short = (one for one in candidates if len(one.split()) <= WORDS_MAX)
    return next(short, candidates[-1] if candidates else "No run was finished.")


def _candidates(found: Findings) -> Iterator[str]:
    """The most telling first."""
    contest = found.contest
    if any(cell.too_few_undisturbed for cell in found.cells):
        yield "nothing is claimed: this machine was too busy to measure"
    if found.search is not None:
        yield from _of_search(found.search, contest)
    elif found.held:
        yield from _of_limits(found.held)
    elif contest.is_sweep and found.shapes:
        yield from _of_shapes(contest, found.shapes)
    elif found.comparisons:
        yield from _of_pairs(contest, found.comparisons)
    elif found.faults:
        yield from _of_faults(found)
    yield from _of_cells(contest, found.cells)


@dataclass(frozen=True)
class _Terms:
    """How the objective is spoken of: a system is faster, a metric of a system is higher."""

    objective: Metric

    @property
    def by_rate(self) -> bool:
        return self.objective.name == "rate"

    @property
    def ways(self) -> tuple[str, str]:
        return ("faster", "slower") if self.by_rate else ("higher", "lower")

    @property
    def quality(self) -> str:
        return "fast" if self.by_rate else "high"

    def subject(self, name: str) -> str:
        return name if self.by_rate else f"{name}'s {self.objective.label}"

    def other(self, name: str) -> str:
        return name if self.by_rate or not name else f"{name}'s"


def _of_pairs(contest: Contest, comparisons: Sequence[ComparisonAnswer]) -> Iterator[str]:
    by_other = {name: [c for c in comparisons if c.other == name] for name in contest.contestants}
    others = [found for found in by_other.values() if found]
    terms, base = _Terms(contest.objective), contest.baseline
    for detailed in (True, False):
        # The baseline is named once.
        yield "; ".join(_one(found, "" if place else base, terms, detailed) for place, found in enumerate(others))
    yield _counts(comparisons, base, terms)


def _one(found: Sequence[ComparisonAnswer], base: str, terms: _Terms, detailed: bool) -> str:
    """What is said of one contestant, over its settings. base: "" where it was named before."""
    claimed = [c for c in found if c.claims_difference]
    if len(claimed) == 1:
        return f"{_pair(claimed[0], base, terms)}{at_words(claimed[0].setting_words) if len(found) > 1 else ''}"
    if claimed:
        return _several(found, base, terms, detailed)
    first, where = found[0], f" in any of {len(found)} settings" if len(found) > 1 else ""
    who, its = terms.subject(first.other), terms.other(base or first.base)
    if all(c.verdict == "equivalent" for c in found):
        return f"{who} equals {its} within {percent_words(first.matters_ratio or 0.0)}{where.replace('any of', 'all')}"
    if any(c.is_undecided for c in found):
        return f"{who} cannot be told apart from {its}{where}"
    why = f": {_WHY.get(first.verdict, first.verdict)}" if len({c.verdict for c in found}) == 1 else ""
    return f"{first.other} is not compared with {base or first.base}{why}"


_WHY = {"too few": "too few repetitions", "invalid runs": "some runs are not valid"}


def _pair(c: ComparisonAnswer, base: str, terms: _Terms) -> str:
    who = terms.subject(c.other)
    if c.ratio is None:  # of shares, one of which is zero
        return f"{who} is {c.verdict}{f' than {terms.other(base)}' if base else ''}"
    than = than_words(c.ratio, terms.ways, terms.quality)
    return (
        f"{who} is {than} {terms.other(base)}" if base else f"{who} is {than.removesuffix(' than').removesuffix(' as')}"
    )


def _several(found: Sequence[ComparisonAnswer], base: str, terms: _Terms, detailed: bool) -> str:
    """ "sqlite is faster than mariadb in 2 of 4 settings (5.0x to 5.1x as fast), slower in 1 (by 12 %)"."""
    groups = [
        (way, [c for c in found if c.verdict == verdict]) for verdict, way in zip(_UP_DOWN, terms.ways, strict=True)
    ]
    clauses: list[str] = []
    for way, claimed in sorted(groups, key=lambda group: -len(group[1])):
        if not claimed:
            continue
        of = f" of {len(found)} settings" if not clauses else ""
        where = f"in all {len(found)} settings" if len(claimed) == len(found) else f"in {len(claimed)}{of}"
        if len(claimed) == 1:
            where = at_words(claimed[0].setting_words).strip()
        than = f" than {terms.other(base)}" if base and not clauses else ""
        ratios = [c.ratio for c in claimed if c.ratio is not None]
        by = f" ({by_words(*ratios, quality=terms.quality).lstrip(':, ')})" if detailed and ratios else ""
        clauses.append(f"{way}{than} {where}{by}")
    return f"{terms.subject(found[0].other)} is {', '.join(clauses)}"


_UP_DOWN = ("higher", "lower")


def _counts(comparisons: Sequence[ComparisonAnswer], base: str, terms: _Terms) -> str:
    counted_ways = (
        (way, sum(c.verdict == one for c in comparisons)) for one, way in zip(_UP_DOWN, terms.ways, strict=True)
    )
    rest = sum(not c.claims_difference for c in comparisons)
    parts = [f"{count} are {way}" for way, count in counted_ways if count]
    parts += [f"{rest} cannot be told apart or are not compared"] if rest else []
    return f"of {counted(len(comparisons), 'comparison', 'comparisons')} with {base}, {', '.join(parts)}"


def _of_shapes(contest: Contest, shapes: Sequence[ShapeAnswer]) -> Iterator[str]:
    label = contest.objective.label
    most = "highest" if shapes[0].direction == "higher" else "lowest"
    if len(shapes) == 1:
        yield from (_shape(shapes[0], label, most, detailed) for detailed in (True, False))
        return
    for detailed in (True, False):
        clauses = (f"for {_line(shape)} {_at(shape, detailed)}" for shape in shapes)
        yield f"the {label} is {most} {'; '.join(clauses)}"
    yield f"each of {len(shapes)} lines has a {most} {label} of its own: see the rows"


def _line(shape: ShapeAnswer) -> str:
    return ", ".join(filter(None, (shape.contestant, shape.setting_words)))


def _shape(shape: ShapeAnswer, label: str, most: str, detailed: bool) -> str:
    levels = [level.level for level in shape.levels if level.level not in shape.left_out]
    if not shape.judged:
        at = factor_words(shape.axis, shape.top)
        return f"the {label} was measured {most} at {at}; there are too few repetitions to compare levels"
    if len(shape.best) == len(levels):
        return f"no level from {factor_words(shape.axis, levels[0], levels[-1])} can be told apart from another"
    return f"the {label} is {most} {_at(shape, detailed)}"


def _at(shape: ShapeAnswer, detailed: bool) -> str:
    """ "at 32 threads, which cannot be told apart from 64 threads"; "at 64 threads, the end of the range"."""
    top = factor_words(shape.axis, shape.top)
    others = [level for level in shape.best if level != shape.top]
    if not shape.judged:
        return f"at {top} (not compared)"
    if not others:
        return f"at {top}{', the end of the range' if shape.top == shape.levels[-1].level else ''}"
    ends = others[:1] if len(others) == 1 else (others[0], others[-1])
    return f"at {top}{f', which cannot be told apart from {factor_words(shape.axis, *ends)}' if detailed else ''}"


def _of_limits(held: Sequence[LimitFinding]) -> Iterator[str]:
    if len({one.limit_words for one in held}) == 1 and len(held) > 1:
        clauses = [f"for {', '.join(filter(None, (one.contestant, one.setting_words)))} {_limit(one)}" for one in held]
        yield f"{held[0].limit_words} holds {'; '.join(clauses)}"
    if len(held) == 1:
        (one,) = held
        undecided = next((level.level_words for level in one.levels if level.verdict == "undecided"), "")
        first = f"{one.limit_words} holds {_limit(one)}".rstrip()
        yield f"{first}; {undecided} is undecided" if undecided else first
        yield first
    else:
        yield "; ".join(f"{one.limit_words} holds {_limit(one)}".rstrip() for one in held)
    met = sum(all(level.verdict == "yes" for level in one.levels) for one in held)
    yield f"{met} of {counted(len(held), 'limit holds', 'limits hold')} everywhere"


def _limit(one: LimitFinding) -> str:
    """After "holds": "up to 8 threads", "at none of 4 levels"; "" where there is one level, at which it holds."""
    holds = [level for level in one.levels if level.verdict == "yes"]
    if not holds:
        undecided = any(level.verdict == "undecided" for level in one.levels)
        where = f"at none of {len(one.levels)} levels" if len(one.levels) > 1 else "not"
        return f"{where} for sure" if undecided else where
    last = holds[-1].level_words
    if not last:
        return ""
    if len(holds) == len(one.levels):
        return f"at all levels, up to {last}"
    return f"up to {last}" if holds[0] is one.levels[0] else f"at {last}"


def _of_search(search: SearchAnswer, contest: Contest) -> Iterator[str]:
    clauses = []
    for one in search.found:
        who = ", ".join(filter(None, (one.contestant if len(contest.contestants) > 1 else "", one.setting_words)))
        level = sought_level_words(search.factor, one.estimate) if one.estimate is not None else ""
        said = level if one.status == "found" else f"about {level}" if level else "not known"
        if one.status in ("always", "never"):
            said = "beyond the range" if one.status == "always" else "not in the range"
        clauses.append(f"{who} {said}" if who else said)
    yield f"{search.question} is {clauses[0]}" if len(clauses) == 1 else f"{search.question}: {'; '.join(clauses)}"
    yield "; ".join(clauses)


def _of_faults(found: Findings) -> Iterator[str]:
    contest = found.contest
    clauses: list[str] = []
    for one in found.faults:
        if one.setting != dict(contest.middle):
            continue
        pause = one.figures.get("time_without_writes_s")
        who = f"{one.contestant} " if len(contest.contestants) > 1 else ""
        said = f"no writes for {pause.value:.1f} s" if pause else f"longest wait {one.longest_wait_s:.1f} s"
        clauses.append(f"{who}after {one.label}: {said}")
    yield "; ".join(clauses)
    yield "; ".join(clauses[:1])


def _of_cells(contest: Contest, cells: Sequence[CellAnswer]) -> Iterator[str]:
    """Nothing to compare: the figures of the middle setting."""
    cell = next((c for c in cells if c.setting == dict(contest.middle) and c.rate_ops_per_s is not None), None)
    if cell is None or cell.rate_ops_per_s is None:
        return
    p99 = time_words(cell.response, "p99_ms")
    where = at_words(setting_words(contest.middle))
    valid = "" if cell.valid else ", but not in valid runs"
    time = f" with a p99 of {p99}" if p99 else ""
    yield f"{cell.contestant} did {rate_words(cell.rate_ops_per_s.value)}{time}{where}{valid}"


def certainty_words(found: Findings, certainty: str) -> str:
    """ "shown in 5 of 8 comparisons"."""
    if certainty != "partly shown":
        return {"measured": "measured; nothing is compared"}.get(certainty, certainty)
    if found.search is None and not found.held and found.comparisons:
        decided = sum(c.claims_difference or c.verdict == "equivalent" for c in found.comparisons)
        return f"shown in {decided} of {len(found.comparisons)} comparisons"
    return "shown in part"
