"""The first screen: the answer in one sentence, one row for each thing compared, and how far to trust it. Everything
else that a report says is a detail of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from ..analysis.compare import ComparisonAnswer
from ..analysis.metric import Metric
from ..analysis.registry import metric
from ..analysis.wording import are_times, counted, interval_words, signed_words, times_words
from ..findings.cells import CellAnswer
from ..findings.contestants import OTHER_WORK, Contest, who_words
from ..findings.faults import FaultAnswer
from ..findings.in_bundle import Findings
from ..findings.limits_and_searches.searches import Capacity, SearchAnswer, sought_level_words
from ..findings.promises import VIOLATED
from ..findings.run_values import Spread
from ..findings.runs import counted_words
from ..findings.shapes import ShapeAnswer
from ..model.boundary import Document
from ..model.records.run import by_place
from .words.answer_sentence import agrees, answer_sentence, certainty_words, is_answered_by_shapes
from .words.doubts import main_doubts
from .words.faults import NO_PAUSE

#: shown: everything that was asked has a verdict; part: some of it; undecided: none; measured: nothing was compared.
Certainty = Literal["shown", "partly shown", "undecided", "measured", "not trustworthy"]
#: More settings than these fill: the one in mid-sweep is shown.
ROWS_MAX = 12
#: What a fault is judged by on the first screen.
_PAUSE, _WAIT = "time_without_writes_s", "longest_wait_s"


class Row(Document):
    """One thing compared. value, low, high: in the unit of the column, the typical run's with its 95 % CI over the
    repetitions; None where there is none. change: against the baseline, "5.0x (3.6x to 7.0x)"; "" of the baseline
    itself. verdict: one word or two. stamp: what must be read with it: VIOLATED. series: the contestant's place, for
    its colour. work: rows with other work have a scale of their own for their bars."""

    name: str
    setting_words: str = ""
    series: int = 0
    value: float | None = None
    low: float | None = None
    high: float | None = None
    value_words: str = "-"
    change: str = ""
    verdict: str = ""
    stamp: str = ""
    work: str = ""


class FirstScreen(Document):
    """answer: one sentence. doubt: the worst that speaks against it, "" where nothing does. trust: how many runs
    count, and how many notes there are. value_head, change_head: of the rows' values
    and changes. more: what the rows leave out."""

    answer: str
    certainty: Certainty
    certainty_words: str
    doubt: str = ""
    trust: str
    value_head: str
    interval_head: str = "95 % CI"
    change_head: str = ""
    rows: list[Row] = Field(default_factory=list)
    more: str = ""

    @property
    def doubt_words(self) -> str:
        """Next to the certainty. What is shown has its doubts; else the doubt is why it is not."""
        if not self.doubt or self.certainty in ("undecided", "not trustworthy"):
            return self.doubt
        return f"but {self.doubt}"

    @property
    def certainty_line(self) -> str:
        """ "SHOWN, but the peak may lie beyond 32 threads"."""
        joint = ", " if self.doubt_words.startswith("but ") else ": "
        return joint.join(filter(None, (self.certainty_words.upper(), self.doubt_words)))

    def longest_bar(self, row: Row) -> float:
        """The value that a whole bar stands for, of rows with the same work."""
        alike = (one for one in self.rows if one.work == row.work)
        return max((one.high or one.value or 0.0 for one in alike), default=0.0)

    @property
    def interval_words(self) -> str:
        """What the drawn intervals are, under the rows."""
        several = len({row.work for row in self.rows}) > 1
        return f"{self.interval_head}{'; each workload has its own scale' if several else ''}"

    @property
    def shared_name(self) -> str:
        """What all rows' names begin with, if that is the name of what varies: "version " of versions. It heads their
        column, which leaves room for bars."""
        names = [row.name for row in self.rows]
        found = re.match(r"[^\d\s=][^=\s]*[= ]", names[0]) if names else None
        if found is None or len(set(names)) == 1:
            return ""
        return found[0] if all(name.startswith(found[0]) and name != found[0] for name in names) else ""


def first_screen(found: Findings) -> FirstScreen:
    head, rows, more = _rows(found)
    certainty = _certainty(found)
    return FirstScreen(
        answer=answer_sentence(found),
        certainty=certainty,
        certainty_words=certainty_words(found, certainty),
        doubt=main_doubts(found),
        trust=_trust(found),
        value_head=head,
        interval_head="interval" if found.held and found.search is None else "95 % CI",
        change_head=_change_head(found) if any(row.change for row in rows) else "",
        rows=[_stamped(row, found) for row in rows],
        more="; ".join(filter(None, (more, _why_undecided(rows)))),
    )


def _stamped(row: Row, found: Findings) -> Row:
    """No row of a contestant that violates a promise is without it."""
    own = [cell for cell in found.cells if cell.contestant == row.name]
    here = [cell for cell in own if cell.setting_words == row.setting_words] or own
    violated = any(cell.promise == VIOLATED for cell in here)
    return row.model_copy(update={"stamp": VIOLATED}) if violated else row


def _why_undecided(rows: Sequence[Row]) -> str:
    """For whoever sees bars that lie apart next to the word "undecided"; "" where there are none."""
    for row in rows:
        alike = [one for one in rows if one is not row and one.setting_words == row.setting_words and not one.change]
        if row.verdict == "undecided" and row.change and any(_apart(row, one) for one in alike):
            return 'bars show each value by itself; undecided: the interval at the right includes "equal"'
    return ""


def _apart(one: Row, other: Row) -> bool:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.low > other.high or other.low > one.high


def _change_head(found: Findings) -> str:
    if found.search is None and is_answered_by_shapes(found):
        return f"against the {_best(found.shapes[0])}" if len(found.shapes) == 1 else ""
    return f"against {found.contest.baseline}"


def _certainty(found: Findings) -> Certainty:
    runs = found.bundle.runs
    marked = any(run.is_marked for run in runs)
    if marked or not any(run.valid for run in runs) or found.too_busy:
        return "not trustworthy"
    decided = list(_decided(found))
    if not decided:
        return "measured"
    # Runs that cannot be read may be the ones that would have changed the answer.
    whole = all(decided) and not found.bundle.unreadable_runs
    return "shown" if whole else "partly shown" if any(decided) else "undecided"


def _decided(found: Findings) -> Iterator[bool]:
    """Of everything that was asked, whether it has a verdict."""
    if found.search is not None:
        yield from (_search_verdict(one, found.search) != "undecided" for one in found.search.found)
        return
    if found.held:
        yield from (level.verdict != "undecided" for one in found.held for level in one.levels)
    if found.comparisons:
        yield from (c.claims_difference or c.verdict == "equivalent" for c in found.comparisons)
    if found.held or found.comparisons:
        return
    for shape in found.shapes:
        others = (level.level for level in shape.levels if level.level != shape.top)
        yield from (shape.judged and level not in (*shape.best, *shape.left_out) for level in others)


def _trust(found: Findings) -> str:
    """ "60 of 60 runs valid; 2 earlier attempts were disturbed or lost, and repeated; 3 notes"."""
    runs = found.bundle.runs
    repeats = sum(len(of_place) - 1 for of_place in by_place(found.bundle.attempts).values())
    notes = len(found.doubts) + len(found.undeclared)
    return "; ".join(
        [
            f"{counted_words(runs)}{_missing(found)}",
            *([_repeated_words(repeats, left=any(run.leaves_its_place_open for run in runs))] if repeats else []),
            *([counted(notes, "note", "notes")] if notes else []),
        ]
    )


def _repeated_words(repeats: int, *, left: bool) -> str:
    """left: some runs are disturbed or lost all the same: then what was repeated is no further run that is lacking."""
    if left:
        return f"{counted(repeats, 'repeat was', 'repeats were')} made"
    were = counted(repeats, "earlier attempt was", "earlier attempts were")
    return f"{were} disturbed or lost, and repeated"


def _missing(found: Findings) -> str:
    """ ", of 60 planned", of a bundle that is not complete."""
    bundle = found.bundle
    planned = bundle.runs_planned
    return f", of {planned} planned" if found.search is None and len(bundle.runs) < planned else ""


def _rows(found: Findings) -> tuple[str, list[Row], str]:
    """The value's head, the rows, and what they leave out."""
    contest = found.contest
    if found.search is not None:
        return found.search.question, list(_searched(found)), ""
    if found.held:
        return _held(found)
    if found.faults and not found.comparisons:
        return _faulted(contest, found.faults)
    if is_answered_by_shapes(found):
        return _swept(found)
    return _compared(found)


def _searched(found: Findings) -> Iterator[Row]:
    search = found.search
    assert search is not None
    differences = {(one.other, one.setting_words): one for one in search.differences}
    base = found.contest.baseline if len(found.contest.contestants) > 1 else ""
    for one in search.found:
        verdict = _search_verdict(one, search)
        gap = differences.get((one.contestant, one.setting_words))
        yield Row(
            name=one.contestant,
            setting_words=one.setting_words,
            series=found.contest.contestants.index(one.contestant),
            value=one.estimate,
            low=one.low,
            high=one.high,
            value_words=_sought_words(search, one),
            change=_ratio_words(gap.ratio, gap.low, gap.high) if gap else "",
            verdict="baseline" if one.contestant == base and (verdict == "found" or differences) else verdict,
        )


def _sought_words(search: SearchAnswer, one: Capacity) -> str:
    """ "12,300/s"; "below 430/s" where the search ended at the lowest level tried."""
    if one.estimate is not None:
        low, high = (sought_level_words(search.factor, one.low or 0), sought_level_words(search.factor, one.high or 0))
        between = not one.is_found and one.low is not None and one.high is not None and low != high
        return f"{low.partition(' ')[0]} to {high}" if between else sought_level_words(search.factor, one.estimate)
    end, comma, _ = one.words.partition(", ")
    return end if comma and one.status in _ENDS else "-"


#: Of a search that ended at an end of its range.
_ENDS = ("always", "never")


def _search_verdict(one: Capacity, search: SearchAnswer) -> str:
    if one.is_found:
        return "found"
    if one.status not in _ENDS:
        return "undecided"
    return "above the range" if (one.status == "always") == search.highest else "below the range"


def _held(found: Findings) -> tuple[str, list[Row], str]:
    """Level by level of one limit and one contestant; of several the last level that holds."""
    words = {"yes": "holds", "no": "missed", "undecided": "undecided"}
    if len(found.held) == 1:
        (one,) = found.held
        rows = [
            Row(
                name=level.level_words or one.contestant,
                value=level.value,
                low=level.low,
                high=level.high,
                value_words=level.value_words.partition(", ")[0] or "-",
                verdict=words[level.verdict],
            )
            for level in one.levels
        ]
        return one.limit_words, rows, ""
    names = found.contest.contestants
    rows = []
    for one in found.held:
        holds = [level for level in one.levels if level.verdict == "yes"]
        verdict = "holds in part"
        if len(holds) == len(one.levels):
            verdict = "holds"
        elif not holds:
            verdict = "undecided" if any(level.verdict == "undecided" for level in one.levels) else "missed"
        elif holds == one.levels[: len(holds)]:
            verdict = "holds up to it"
        rows.append(
            Row(
                name=who_words(one) or one.limit_words,
                setting_words=one.limit_words if who_words(one) else "",
                series=names.index(one.contestant) if one.contestant in names else 0,
                value_words=f"{holds[-1].level_words}: {holds[-1].value_words.partition(', ')[0]}".removeprefix(": ")
                if holds
                else "none",
                verdict=verdict,
            )
        )
    return "last level that holds", rows[:ROWS_MAX], _more(len(rows), "limit", "limits")


def _faulted(contest: Contest, faults: Sequence[FaultAnswer]) -> tuple[str, list[Row], str]:
    name = _PAUSE if any(_PAUSE in one.figures for one in faults) else _WAIT
    rows = []
    for one in faults:
        spread = one.figures.get(name)
        words = metric(name).words(spread.value) if spread else "-"
        rows.append(
            Row(
                name=one.contestant,
                setting_words=", ".join(filter(None, (one.setting_words, one.label))),
                series=contest.contestants.index(one.contestant),
                **_spread(spread),
                value_words=NO_PAUSE if name == _PAUSE and spread and not spread.value else words,
                verdict=one.loss_verdict,
            )
        )
    head = "longest wait"
    if name == _PAUSE:
        head = "no writes for" if any(one.writes for one in faults) else "no reads for"
    return head, rows[:ROWS_MAX], _more(len(rows), "fault", "faults")


def _swept(found: Findings) -> tuple[str, list[Row], str]:
    """One line: level by level. Several: each one's best."""
    contest, objective = found.contest, found.contest.objective
    if len(found.shapes) == 1:
        return objective.label, [*_levels(found.shapes[0], objective)], ""
    rows = []
    for shape in found.shapes:
        top = next((level.value for level in shape.levels if level.level == shape.top), None)
        at = next(level.level_words for level in shape.levels if level.level == shape.top)
        rows.append(
            Row(
                name=shape.contestant,
                setting_words=shape.setting_words,
                series=contest.contestants.index(shape.contestant),
                **_spread(top),
                value_words=objective.words(top.value) if top else "-",
                change=at,
                verdict=_best(shape) if shape.judged and shape.best == [shape.top] else "undecided",
            )
        )
    return objective.label, rows[:ROWS_MAX], _more(len(rows), "line", "lines")


def _levels(shape: ShapeAnswer, objective: Metric) -> Iterator[Row]:
    way = {"higher": "lower", "lower": "higher"}[shape.direction]
    for level in shape.levels:
        against = level.against
        if level.level == shape.top:
            verdict = _best(shape) if shape.judged and shape.best == [shape.top] else f"{_best(shape)} measured"
        elif against is not None and against.claims_difference:
            verdict = way
        else:
            verdict = "undecided" if level.level in shape.best else "not compared"
        yield Row(
            name=level.level_words,
            **_spread(level.value),
            value_words=objective.words(level.value.value) if level.value else "-",
            change=_change(against),
            verdict=verdict,
        )


def _best(shape: ShapeAnswer) -> str:
    return "highest" if shape.direction == "higher" else "lowest"


def _compared(found: Findings) -> tuple[str, list[Row], str]:
    """All settings where they are few, else the one in mid-sweep."""
    contest, objective = found.contest, found.contest.objective
    cells = found.cells
    if len(cells) > ROWS_MAX:
        cells = [cell for cell in cells if cell.setting == dict(contest.middle)]
    by_place = {(c.other, tuple(c.setting.items())): c for c in found.comparisons}
    rows = []
    for cell in cells:
        c = by_place.get((cell.contestant, tuple(cell.setting.items())))
        spread = spread_of_cell(cell, objective) if cell.repetitions_valid else None
        is_least = objective.name.removeprefix("latency_") + "_ms" in cell.response.at_least
        if spread is not None and is_least:
            spread = spread.model_copy(update={"low": None, "high": None})
        rows.append(
            Row(
                name=cell.contestant,
                setting_words=cell.setting_words,
                series=contest.contestants.index(cell.contestant),
                **_spread(spread),
                value_words=f"{'at least ' if is_least else ''}{objective.words(spread.value)}" if spread else "-",
                change=_change(c),
                verdict=_verdict(c, cell, objective, contest.baseline) if found.comparisons or not cell.valid else "",
                work=", ".join(str(cell.setting[name]) for name in OTHER_WORK if name in cell.setting),
            )
        )
    left = len(found.cells) - len(cells)
    return objective.label, rows, f"{left} more rows are in the table of results" if left else ""


def spread_of_cell(cell: CellAnswer, objective: Metric) -> Spread | None:
    """The objective's value of one cell."""
    if objective.name == "rate":
        return cell.rate_ops_per_s
    return cell.response_spreads.get(objective.name.removeprefix("latency_") + "_ms") or cell.metrics.get(
        objective.name
    )


def _verdict(c: ComparisonAnswer | None, cell: CellAnswer, objective: Metric, baseline: str) -> str:
    if not cell.repetitions_finished:
        return "not run"
    if not cell.repetitions_valid:
        return "disturbed" if cell.repetitions_disturbed == cell.repetitions_finished else "not valid"
    if c is None:
        return ("baseline" if cell.contestant == baseline else "not compared") if cell.valid else "not valid"
    if c.claims_difference and not agrees(c):
        return "as shown before"
    if c.claims_difference and objective.name == "rate":
        return "faster" if c.verdict == "higher" else "slower"
    if c.claims_difference and c.better:
        return f"{c.verdict} ({'better' if c.better == c.other else 'worse'})"
    return {"no difference": "undecided", "too few": "too few runs"}.get(c.verdict, c.verdict)


def _change(c: ComparisonAnswer | None) -> str:
    if c is None or c.ratio is None or c.low is None or c.high is None:
        return ""
    return _ratio_words(c.ratio, c.low, c.high)


def _ratio_words(ratio: float, low: float, high: float) -> str:
    words = times_words if are_times(ratio, high) else signed_words
    return f"{words(ratio)} ({interval_words(low, high, words)})"


def _spread(spread: Spread | None) -> dict[str, float | None]:
    return {} if spread is None else {"value": spread.value, "low": spread.low, "high": spread.high}


def _more(rows: int, one: str, many: str) -> str:
    return f"{counted(rows - ROWS_MAX, f'more {one} is', f'more {many} are')} in the tables" if rows > ROWS_MAX else ""
