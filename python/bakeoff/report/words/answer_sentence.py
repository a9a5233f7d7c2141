"""The answer of a report in one sentence of at most 25 words, and its certainty in the words of the question. Of
several ways to say it the first that is short enough is taken."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ...analysis.compare import ComparisonAnswer
from ...analysis.estimate import REPETITIONS_MIN
from ...analysis.metric import Metric
from ...analysis.wording import by_words, counted, percent_words, rate_words, than_words
from ...findings.cells import CellAnswer
from ...findings.contestants import Contest, at_words, factor_words, who_words
from ...findings.in_bundle import Findings
from ...findings.limits_and_searches.limits import LimitFinding
from ...findings.limits_and_searches.searches import Capacity, SearchAnswer, sought_level_words
from ...findings.run_values import time_words
from ...findings.shapes import ShapeAnswer
from .stages import broke_words

WORDS_MAX = 25


def answer_sentence(found: Findings) -> str:
    candidates = [f"{_begun(one, found)}." for one in _candidates(found) if one]
    short = (one for one in candidates if len(one.split()) <= WORDS_MAX)
    return next(short, candidates[-1] if candidates else "No run was finished.")


def _begun(words: str, found: Findings) -> str:
    """Names are written as the plan has them."""
    names = (*found.contest.contestants, *(one.limit_words for one in found.held))
    is_name = any(re.match(rf"{re.escape(name)}(?!\w)", words) for name in names)
    return words if is_name else words[:1].upper() + words[1:]


def is_answered_by_shapes(found: Findings) -> bool:
    return bool(found.shapes) and (found.contest.is_sweep or not found.comparisons)


def _candidates(found: Findings) -> Iterator[str]:
    """The most telling first."""
    contest = found.contest
    if busy := len(found.too_busy):
        of = "" if busy == len(found.cells) else f" {busy} of {len(found.cells)} cells"
        yield "nothing is claimed: this machine was too busy to measure" + of
    if found.search is not None:
        yield from _of_search(found.search, contest)
        return
    compared = list(_of_pairs(contest, found.comparisons)) if found.comparisons else []
    if found.held:
        limits = list(_of_limits(found.held))
        yield from (f"{limit}; {pair}" for limit in limits[:-1] for pair in compared)
        yield from limits
    elif is_answered_by_shapes(found):
        yield from _of_shapes(contest, found.shapes)
    elif compared:
        yield from compared
    elif found.faults:
        yield from _of_faults(found)
    elif found.stages:
        yield from _of_stages(found)
    elif contest.plan.baseline is not None and len(found.cells) > 1 and not contest.is_sweep:
        yield f"nothing is compared: no two cells differ in {contest.plan.compare_factor} alone"
    else:
        yield from _of_cells(contest, found.cells)


@dataclass(frozen=True)
class _Terms:
    """The words for the objective: a system is faster, a metric of a system is higher."""

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


def agrees(c: ComparisonAnswer) -> bool:
    """Whether the estimate of all runs still says what was claimed; a claim stands, also where it no longer does."""
    if c.ratio is None or c.low is None or c.high is None:
        return True
    return c.low > 1 if c.verdict == "higher" else c.high < 1


def _one(found: Sequence[ComparisonAnswer], base: str, terms: _Terms, detailed: bool) -> str:
    """What is said of one contestant, over its settings. base: "" where it was named before."""
    claimed = [c for c in found if c.claims_difference]
    if len(claimed) == 1:
        return f"{_pair(claimed[0], base, terms)}{at_words(claimed[0].setting_words) if len(found) > 1 else ''}"
    if claimed:
        return _several(found, base, terms, detailed)
    first = found[0]
    who, its = terms.subject(first.other), terms.other(base or first.base)
    within = percent_words(next((c.matters_ratio for c in found if c.matters_ratio), 0.0) or 0.0)
    equal, undecided = (sum(c.verdict == verdict for c in found) for verdict in ("equivalent", "no difference"))
    where = f" in all {len(found)} settings" if len(found) > 1 else ""
    if equal == len(found):
        return f"{who} equals {its} within {within}{where}"
    if undecided == len(found):
        return f"{who} cannot be distinguished from {its}{where.replace('all', 'any of')}"
    rest = len(found) - equal - undecided
    if rest == len(found):
        why = f": {_WHY.get(first.verdict, first.verdict)}" if len({c.verdict for c in found}) == 1 else ""
        reason = re.sub(r"^.*?not compared: ", "", first.words)
        if first.verdict == "not comparable" and len({c.words for c in found}) == 1 and reason:
            why = f": {reason if detailed else re.split(r' [(]|: ', reason)[0]}"
        return f"{first.other} is not compared with {base or first.base}{why}"
    parts = [
        *([f"equals {its} within {within} in {equal} of {len(found)} settings"] if equal else []),
        *([f"cannot be distinguished from {its} in {undecided}"] if undecided else []),
        *([f"is not compared in {rest}"] if rest else []),
    ]
    return f"{who} {', '.join(parts)}"


_WHY = {"too few": "too few repetitions", "invalid runs": "some runs are not valid"}


def _pair(c: ComparisonAnswer, base: str, terms: _Terms) -> str:
    who = terms.subject(c.other)
    if c.ratio is None or not agrees(c):  # of shares, one of which is zero; or shown before
        way = dict(zip(_UP_DOWN, terms.ways, strict=True))[c.verdict]
        return f"{who} is {way}{f' than {terms.other(base)}' if base else ''}{'' if agrees(c) else ', as shown before'}"
    than = than_words(c.ratio, terms.ways, terms.quality)
    return (
        f"{who} is {than} {terms.other(base)}" if base else f"{who} is {than.removesuffix(' than').removesuffix(' as')}"
    )


def _several(found: Sequence[ComparisonAnswer], base: str, terms: _Terms, detailed: bool) -> str:
    """ "sqlite is faster than mariadb in 2 of 4 settings (5.0x to 5.1x as fast), slower at 8 threads (by 12 %)"."""
    ways = zip(_UP_DOWN, terms.ways, strict=True)
    groups = [(way, [c for c in found if c.verdict == verdict]) for verdict, way in ways]
    clauses: list[str] = []
    for way, claimed in sorted(groups, key=lambda group: -len(group[1])):
        if not claimed:
            continue
        of = f" of {len(found)} settings" if not clauses else ""
        where = f"in all {len(found)} settings" if len(claimed) == len(found) else f"in {len(claimed)}{of}"
        if len(claimed) == 1:
            where = at_words(claimed[0].setting_words).strip()
        than = f" than {terms.other(base)}" if base and not clauses else ""
        ratios = [c.ratio for c in claimed if c.ratio is not None and agrees(c)]
        by = f" ({by_words(*ratios, quality=terms.quality).lstrip(':, ')})" if detailed and ratios else ""
        clauses.append(f"{way}{than} {where}{by}")
    return f"{terms.subject(found[0].other)} is {', '.join(clauses)}"


_UP_DOWN = ("higher", "lower")


def _counts(comparisons: Sequence[ComparisonAnswer], base: str, terms: _Terms) -> str:
    counted_ways = (
        (way, sum(c.verdict == one for c in comparisons)) for one, way in zip(_UP_DOWN, terms.ways, strict=True)
    )
    equal = sum(c.verdict == "equivalent" for c in comparisons)
    undecided = sum(c.is_undecided for c in comparisons)
    rest = len(comparisons) - equal - undecided - sum(c.claims_difference for c in comparisons)
    parts = [f"{count} are {way}" for way, count in counted_ways if count]
    parts += [f"{equal} are equal within the size that matters"] if equal else []
    parts += [f"{undecided} cannot be distinguished"] if undecided else []
    parts += [f"{rest} are not compared"] if rest else []
    return f"of {counted(len(comparisons), 'comparison', 'comparisons')} with {base}, {', '.join(parts)}"


def _of_shapes(contest: Contest, shapes: Sequence[ShapeAnswer]) -> Iterator[str]:
    label = contest.objective.label
    most = "highest" if shapes[0].direction == "higher" else "lowest"
    if len(shapes) == 1:
        named = f"{label} of {shapes[0].contestant}"
        yield from (
            _shape(shapes[0], words, most, detailed)
            for words, detailed in ((named, True), (label, True), (named, False), (label, False))
        )
        return
    for detailed in (True, False):
        clauses = (f"for {_line(shape)} {_at(shape, detailed)}" for shape in shapes)
        yield f"the {label} is {most} {'; '.join(clauses)}"
    yield f"each of {len(shapes)} lines has its own {most} {label}: see the rows"


def _line(shape: ShapeAnswer) -> str:
    return ", ".join(filter(None, (shape.contestant, shape.setting_words)))


def _shape(shape: ShapeAnswer, label: str, most: str, detailed: bool) -> str:
    levels = [level.level for level in shape.levels if level.level not in shape.left_out]
    left = f"; {len(shape.left_out)} of {len(shape.levels)} levels are not compared" if shape.left_out else ""
    top = factor_words(shape.axis, shape.top)
    if not shape.judged:
        few = shape.repetitions < REPETITIONS_MIN
        why = "there are too few repetitions to compare levels" if few else "levels are not compared"
        return f"the {label} was measured {most} at {top}; {why}"
    if len(shape.best) == len(levels):
        return (
            f"no level from {factor_words(shape.axis, levels[0], levels[-1])} can be distinguished from another{left}"
        )
    if len(shape.best) > 1:
        alike = f"; {_others(shape)} cannot be distinguished from it" if detailed else ""
        return f"the {most} {label} was measured at {top}{alike}{left}"
    return f"the {label} is {most} {_at(shape, detailed)}{left}"


def _others(shape: ShapeAnswer) -> str:
    """ "8 to 32 threads", of adjacent levels; else "8, 16 and 64 threads"."""
    others = [level for level in shape.best if level != shape.top]
    places = [place for place, level in enumerate(shape.levels) if level.level in others]
    if len(others) > 1 and places[-1] - places[0] == len(places) - 1:
        return factor_words(shape.axis, others[0], others[-1])
    return " and ".join(factor_words(shape.axis, *others, between=", ").rsplit(", ", 1))


def _at(shape: ShapeAnswer, detailed: bool) -> str:
    """ "at 32 threads, which cannot be distinguished from 64 threads"; "at 64 threads, the end of the range"."""
    top = factor_words(shape.axis, shape.top)
    if not shape.judged:
        return f"at {top} (not compared)"
    if len(shape.best) == 1:
        is_end = shape.top == shape.levels[-1].level and not shape.left_out
        return f"at {top}{', the end of the range' if is_end else ''}"
    return f"at {top}, which cannot be distinguished from {_others(shape)}" if detailed else f"at about {top}"


def _of_limits(held: Sequence[LimitFinding]) -> Iterator[str]:
    groups: dict[str, list[LimitFinding]] = {}
    for one in held:
        groups.setdefault(one.limit_words, []).append(one)
    for detailed in (True, False):
        yield "; ".join(_limit_words(words, found, detailed) for words, found in groups.items())
    met = sum(all(level.verdict == "yes" for level in one.levels) for one in held)
    if len(groups) == 1:
        of = f"all {met}" if met == len(held) else f"{met} of the {len(held)}"
        yield f"{held[0].limit_words} holds at every level for {of} compared"
    else:
        yield f"{met} of {counted(len(held), 'limit holds', 'limits hold')} at every level"


def _limit_words(limit: str, found: Sequence[LimitFinding], detailed: bool) -> str:
    if len({who_words(one) for one in found}) == 1:
        return f"{limit} {_limit(found[0], detailed)}"
    return f"{limit} {', '.join(f'{_limit(one, detailed)} for {who_words(one)}' for one in found)}"


def _limit(one: LimitFinding, detailed: bool) -> str:
    """ "holds up to 8 threads", "does not hold at any of 4 levels", "is undecided"."""
    holds = [level for level in one.levels if level.verdict == "yes"]
    undecided = [level for level in one.levels if level.verdict == "undecided"]
    if len(one.levels) == 1:
        return {"yes": "holds", "no": "does not hold"}.get(one.levels[0].verdict, "is undecided")
    if not holds:
        return f"{'is not shown to hold' if undecided else 'does not hold'} at any of {len(one.levels)} levels"
    last = holds[-1].level_words
    if len(holds) == len(one.levels):
        where = f"at all levels, up to {last}"
    elif holds == one.levels[: len(holds)]:
        where = f"up to {last}"
    else:
        where = f"at {' and '.join(level.level_words for level in holds)}"
    return f"holds {where}{f', with {undecided[0].level_words} undecided' if detailed and undecided else ''}"


def _of_search(search: SearchAnswer, contest: Contest) -> Iterator[str]:
    clauses = []
    for one in search.found:
        who = ", ".join(filter(None, (one.contestant if len(contest.contestants) > 1 else "", one.setting_words)))
        said = _capacity(search, one)
        clauses.append(f"{who} {said}" if who else said)
    if not clauses:
        yield f"{search.question} is not known: no run counts"
        return
    yield f"{search.question} is {clauses[0]}" if len(clauses) == 1 else f"{search.question}: {'; '.join(clauses)}"
    yield "; ".join(clauses)
    ended = sum(one.is_found for one in search.found)
    yield f"{search.question} was found in {ended} of {counted(len(clauses), 'search', 'searches')}"


def _capacity(search: SearchAnswer, one: Capacity) -> str:
    if one.status in ("always", "never"):
        return one.words.partition(" (")[0]
    if one.estimate is None or one.low is None or one.high is None:
        return "not known"
    level, low, high = (sought_level_words(search.factor, end) for end in (one.estimate, one.low, one.high))
    if low == high:
        return level
    if not one.is_found:
        if search.factor != "rate" and one.high - one.low == 1:
            return f"{low.partition(' ')[0]} or {high}"
        return f"between {low} and {high}"
    return f"{'' if one.status == 'found' else 'about '}{level} ({low.partition(' ')[0]} to {high})"


_DONE = {
    "kill": "killed",
    "stop": "stopped",
    "freeze": "frozen",
    "restart": "restarted",
    "partition": "cut off",
    "delay": "delayed",
    "skew": "skewed",
}


def _done_words(label: str) -> str:
    """label: of the faults of an event. "n3 was killed and n2 was frozen"."""
    return re.sub(rf"\b({'|'.join(_DONE)}) (\S+)", _was_done, label)


def _was_done(fault: re.Match[str]) -> str:
    node = "the server" if fault[2] == "server" else fault[2]
    return f"{node} was {_DONE[fault[1]]}"


def _of_faults(found: Findings) -> Iterator[str]:
    contest = found.contest
    seen = [one for one in found.faults if one.figures]
    middle = [one for one in seen if one.setting == dict(contest.middle)] or seen
    clauses: list[str] = []
    for one in middle:
        pause = one.figures.get("time_without_writes_s")
        who = f"{one.contestant} " if len(contest.contestants) > 1 else ""
        what = "writes" if one.writes else "reads"
        said = f"no {what} for {pause.value:.1f} s" if pause else f"longest wait {one.longest_wait_s:.1f} s"
        if pause and not pause.value:
            said = f"no pause in {what}"
        clauses.append(f"{who}after {_done_words(one.label)}: {said}")
    yield "; ".join(clauses)
    yield "; ".join(clauses[:1])
    if not clauses:
        yield from _of_cells(contest, found.cells)


def _of_stages(found: Findings) -> Iterator[str]:
    """At which stage each contestant broke, in the middle setting."""
    there = [one for one in found.stages if one.setting == dict(found.contest.middle) and one.length_s]
    by_cell = groupby(there, key=lambda one: one.cell)
    clauses = [f"{(stages := list(of_cell))[0].contestant} {broke_words(stages)}" for _, of_cell in by_cell]
    yield "; ".join(clauses)
    if len(clauses) > 1:
        yield clauses[0]
    if not clauses:
        yield from _of_cells(found.contest, found.cells)


def _of_cells(contest: Contest, cells: Sequence[CellAnswer]) -> Iterator[str]:
    """Nothing to compare: the figures of the middle setting, or of the first that was run."""
    run = [cell for cell in cells if cell.rate_ops_per_s is not None]
    cell = next((c for c in run if c.setting == dict(contest.middle)), run[0] if run else None)
    if cell is None or cell.rate_ops_per_s is None:
        return
    p99 = time_words(cell.response, "p99_ms")
    valid = "" if cell.valid else ", but not in valid runs"
    time = f" with a p99 of {p99}" if p99 else ""
    yield f"{cell.contestant} did {rate_words(cell.rate_ops_per_s.value)}{time}{at_words(cell.setting_words)}{valid}"


def certainty_words(found: Findings, certainty: str) -> str:
    """ "shown in 5 of 8 comparisons"."""
    if certainty != "partly shown":
        return {"measured": "measured; nothing is compared"}.get(certainty, certainty)
    decided = sum(c.claims_difference or c.verdict == "equivalent" for c in found.comparisons)
    if found.search is None and not found.held and decided < len(found.comparisons):
        return f"shown in {decided} of {len(found.comparisons)} comparisons"
    return "shown in part"
