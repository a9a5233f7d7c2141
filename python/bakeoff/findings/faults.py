"""What the planned faults did, over the repetitions of each cell, and whether anything that was acknowledged is gone
afterwards, as far as the checks of the workload can see it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from pydantic import Field

from ..analysis.faults import FAULT_FIGURES
from ..analysis.percentiles import decode
from ..analysis.wording import count_words
from ..model.boundary import Check, Document
from ..model.faults import FaultEffect, FaultRecord, events
from ..model.records.plan import Scalar
from ..model.records.run import RunRecord
from .contestants import Contest, setting_words
from .run_values import Spread, spread_of
from .runs import used_runs


class FaultAnswer(Document):
    """One planned fault in one cell, or several that are one event, over the runs that are shown. fault: in words;
    label: "kill n3"; nodes: that it is done to. figures: by the metric's name, without those that not every run has.
    gap_before_s: the longest before the first fault. not_back: runs in which the rate was not seen to come back;
    not_noticed: in which no operation failed."""

    cell: str
    contestant: str
    setting: dict[str, Scalar]
    setting_words: str
    fault: str
    label: str
    nodes: list[str] = Field(default_factory=list)
    runs: int
    figures: dict[str, Spread] = Field(default_factory=dict)
    gap_before_s: float = 0.0
    not_back: int = 0
    not_noticed: int = 0
    #: The work writes, at least at times.
    writes: bool = True
    #: Of what is unknown in those runs, something may have been written.
    unknown_writes: bool = True
    #: Over all of those runs.
    failed: int = 0
    unknown: int = 0
    #: Runs in which the rate fell again after it had come back; when, from the fault (least and most); and to which
    #: share of the rate before.
    second_drop: int = 0
    second_drop_at_s: tuple[float, float] = (0.0, 0.0)
    second_drop_to_ratio: float = 0.0
    #: The load was a closed loop, in which a user who waits asks nothing.
    closed: bool = False
    #: In whole windows: operations that took longer than a second, over all of those runs, and the longest of all.
    waited_long: int = 0
    longest_wait_s: float = 0.0
    #: How the server came back, each way once: "incremental state transfer".
    rejoined: list[str] = Field(default_factory=list)
    after_load: bool = False
    #: Of a cell's last fault: what the checks after its runs say of acknowledged writes, as a clause; and in two words.
    loss: str = ""
    loss_verdict: str = ""


_FIRST_COUNT = re.compile(r"\d+")


#: A user who waits for longer than this has noticed.
LONG_NS = 1_000_000_000


def fault_answers(contest: Contest, runs: Mapping[str, Sequence[RunRecord]]) -> list[FaultAnswer]:
    """Setting by setting, in the order of time."""
    found = []
    for cell in contest.cells:
        used = used_runs(runs[cell.id])
        waited = [decode(run.headline) for run in used] if cell.faults else []
        for event in events(cell.faults):
            planned = [cell.faults[number] for number in event]
            done = [[run.faults[number] for number in event] for run in used if len(run.faults) > event[-1]]
            setting = contest.setting(cell)
            answer = FaultAnswer(
                cell=cell.id,
                contestant=contest.contestant(cell),
                setting=dict(setting),
                setting_words=setting_words(setting),
                fault=" and ".join(fault.words for fault in planned),
                label=" and ".join(fault.label for fault in planned),
                nodes=list(dict.fromkeys(fault.node for fault in planned)),
                runs=len(done),
                closed=cell.rate_ops_per_s is None,
                waited_long=sum(one.count_from(LONG_NS) for one in waited),
                longest_wait_s=max((one.max_ns or 0 for one in waited), default=0) / 1e9,
                unknown_writes=unknown_may_have_written(used),
            )
            if event[-1] == len(cell.faults) - 1:
                answer.loss_verdict, answer.loss = loss_of(runs[cell.id])
            found.append(_with_figures(answer, [faults for faults in done if _effects(faults)]))
    return found


def _effects(faults: Sequence[FaultRecord]) -> list[FaultEffect]:
    return [fault.effect for fault in faults if fault.effect is not None]


def _with_figures(answer: FaultAnswer, done: Sequence[Sequence[FaultRecord]]) -> FaultAnswer:
    """done: the faults of the event, of each run."""
    faults = [fault for of_run in done for fault in of_run]
    effects = _effects(faults)
    fell = [one for one in effects if one.second_drop_s is not None]
    fell_at_s = [one.second_drop_s or 0.0 for one in fell]
    figures = {}
    for figure in FAULT_FIGURES:
        values = [value for of_run in done if (value := figure.of_faults(of_run)) is not None]
        if len(values) == len(done) and (spread := spread_of(values)):
            figures[figure.name] = spread
    return answer.model_copy(
        update={
            "figures": figures,
            "gap_before_s": max((effect.gap_before_s for effect in effects), default=0.0),
            "writes": any(effect.without_writes_s is not None for effect in effects),
            "not_back": sum(any(effect.not_back for effect in _effects(of_run)) for of_run in done),
            "not_noticed": sum(all(effect.detect_s is None for effect in _effects(of_run)) for of_run in done),
            "failed": sum(effect.failed for effect in effects),
            "unknown": sum(effect.unknown for effect in effects),
            "second_drop": len(fell),
            "second_drop_at_s": (min(fell_at_s, default=0.0), max(fell_at_s, default=0.0)),
            "second_drop_to_ratio": min(
                ((one.second_drop_to_ops_per_s or 0.0) / (one.rate_before_ops_per_s or 1.0) for one in fell),
                default=0.0,
            ),
            "rejoined": _ways(fault.rejoined for fault in faults if fault.rejoined),
            "after_load": any(fault.after_load for fault in faults),
        }
    )


def _ways(rejoined: Iterable[str]) -> list[str]:
    """Each once, those that differ in a count alone as one: "state transfer of 3 to 9 write sets"."""
    counts: dict[str, set[int]] = {}
    for words in rejoined:
        counts.setdefault(_FIRST_COUNT.sub("{}", words, count=1), set()).update(
            map(int, _FIRST_COUNT.findall(words)[:1])
        )
    return [
        way.format(" to ".join(dict.fromkeys(f"{number:,}" for number in (min(seen), max(seen))))) if seen else way
        for way, seen in sorted(counts.items())
    ]


#: By the name of a check that counts what was acknowledged: the operations of which none can be lost without its
#: noticing. All others that write could: a changed value is older, and still one that the data may have.
COUNTED: dict[str, frozenset[str]] = {
    "row count": frozenset({"INSERT", "oltp_insert"}),
    # With the condition about what was delivered.
    "row counts": frozenset({"new_order", "payment", "delivery"}),
    "number of orders": frozenset({"create", "delete"}),
    "number of nodes": frozenset({"addnode", "deletenode"}),
}
#: Nothing of these can be lost.
READING = frozenset(
    {
        *("READ", "SCAN", "read", "new_order_rollback", "order_status", "stock_level"),
        *("oltp_read_only", "oltp_point_select", "select_random_points", "select_random_ranges"),
        *("countlink", "getlink", "getlinklist", "getlinklist_history", "getnode"),
    }
)
#: Longer words of a check, characters, are not repeated in a sentence.
EXAMPLE_MAX = 70
#: A check that reads acknowledged rows by their keys, and the operation that it covers.
BY_KEY = "acknowledged rows"
KEYED = "INSERT"
_NUMBER = re.compile(r"\d+")
_COUNT = re.compile(r"(\d+)(?: to (\d+))? rows")
_DOUBT = re.compile(r"of (\d+) without an answer (\d+) present")
_STORED = "stored without an acknowledgement"


def loss_of(runs: Sequence[RunRecord]) -> tuple[str, str]:
    """Of the finished runs of a cell: in two words, and as a clause; "" where nothing was written."""
    runs = [run for run in runs if run.state == "done"]
    checks = [(run, check) for run in runs for check in run.checks if check.name in COUNTED]
    keyed = [check for run in runs for check in run.checks if check.name == BY_KEY]
    if lost := [check for check in keyed if not check.ok]:
        where = f" in {len(lost)} of {len(runs)} runs" if len(runs) > 1 else ""
        found = f"{lost[0].actual} ({'; '.join(lost[0].evidence[:3])})"
        return "writes lost", f"acknowledged rows are lost or wrong{where}: {found}"
    wrong = [(run, check) for run, check in checks if not check.ok]
    if wrong:
        where = f" in {len(wrong)} of {len(runs)} runs" if len(runs) > 1 else ""
        return "writes lost", f"the data are not what was acknowledged{where}: {_figures(wrong[0][1])}"
    done = dict.fromkeys(s.operation for run in runs for s in run.series if s.part_of is None and s.count)
    writing = [name for name in done if name not in READING]
    counts = frozenset[str]().union(*(COUNTED[check.name] for _, check in checks))
    seen = [name for name in writing if name in counts]
    unseen = [name for name in writing if name not in counts]
    said = []
    if keyed and KEYED in seen:
        said.append(_keyed_words(keyed))
        seen.remove(KEYED)
    if seen:
        figures = _figures(checks[0][1])
        example = f" ({'in the first run ' if len(runs) > 1 else ''}{figures})" if len(figures) < EXAMPLE_MAX else ""
        said.append(_counted_words(" or ".join(seen), [check for _, check in checks]) + example)
    if unseen:
        count = (
            "the checks after the run count rows" if checks else "no check after the run counts what was acknowledged"
        )
        said.append(f"a lost {' or '.join(unseen)} could pass unseen{'' if seen else f': {count}'}")
    verdict = "" if not said else "loss not excluded" if unseen else "no write lost"
    return verdict, "; ".join(said)


def unknown_may_have_written(runs: Sequence[RunRecord]) -> bool:
    """Whether it may: not where all that is unknown is known to have been reads."""
    unknown = {s.operation for run in runs for s in run.series if s.outcome == "unknown" and s.part_of is None}
    return not unknown or not unknown <= READING


def _keyed_words(checks: Sequence[Check]) -> str:
    """Of rows that were read by their keys: whether all, and what became of those without an answer."""
    numbers = [[int(n) for n in _NUMBER.findall(check.expected)[:2]] for check in checks]
    read, acknowledged = (sum(row[place] for row in numbers) for place in (0, 1))
    if read >= acknowledged:
        words = (
            f"every acknowledged {KEYED} ({count_words(read)}) was read by its key after the run, and none is missing"
        )
    else:
        words = (
            f"{count_words(read)} of {count_words(acknowledged)} acknowledged {KEYED}s were read by key after the run,"
            " and none of these is missing"
        )
    doubts = [_DOUBT.search(check.actual) for check in checks]
    if found := [(int(doubt[1]), int(doubt[2])) for doubt in doubts if doubt]:
        unanswered, stored = (sum(pair[place] for pair in found) for place in (0, 1))
        names = [words.partition(":")[0] for check in checks for words in check.evidence if _STORED in words]
        listed = f" ({', '.join(names[:3])}{', ...' if stored > 3 else ''})" if names else ""
        words += f"; of {count_words(unanswered)} that got no answer {count_words(stored)} are stored{listed}"
    return words


def _counted_words(names: str, checks: Sequence[Check]) -> str:
    """Rows that are stored without an answer make up for lost ones in a count, which therefore proves no single row."""
    if any("at least" in check.expected for check in checks):
        return f"acknowledged {names} could be missing: what an earlier run inserted is not known"
    unseen = max((_hidden(check) for check in checks), default=0)
    if unseen == 0:
        return f"no acknowledged {names} is missing by the count of rows"
    return f"up to {count_words(unseen)} acknowledged {names} could be missing in a run: only rows were counted"


def _hidden(check: Check) -> int:
    """The most rows that can be missing while the counts are as they should be."""
    most = 0
    for expected, actual in zip(_COUNT.finditer(check.expected), _COUNT.finditer(check.actual), strict=False):
        most += max(0, int(expected[2] or expected[1]) - int(actual[1]))
    return most


def _figures(check: Check) -> str:
    """ "21,819 rows, 21,818 to 21,820 expected"."""
    actual, expected = (
        _NUMBER.sub(lambda found: count_words(int(found[0])), x) for x in (check.actual, check.expected)
    )
    return f"{actual}, {expected.removesuffix(' rows')} expected"
