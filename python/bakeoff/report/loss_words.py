"""Whether anything that was acknowledged is gone after a fault, as far as the checks of the workload can see it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..analysis.wording import count_words
from ..model.boundary import Check
from ..model.records import RunRecord

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


def loss_words(runs: Sequence[RunRecord]) -> str:
    """A clause about the finished runs of a cell; "" where nothing was written."""
    runs = [run for run in runs if run.state == "done"]
    checks = [(run, check) for run in runs for check in run.checks if check.name in COUNTED]
    keyed = [check for run in runs for check in run.checks if check.name == BY_KEY]
    if lost := [check for check in keyed if not check.ok]:
        where = f" in {len(lost)} of {len(runs)} runs" if len(runs) > 1 else ""
        return f"acknowledged rows are lost or wrong{where}: {lost[0].actual} ({'; '.join(lost[0].evidence[:3])})"
    wrong = [(run, check) for run, check in checks if not check.ok]
    if wrong:
        where = f" in {len(wrong)} of {len(runs)} runs" if len(runs) > 1 else ""
        return f"the data are not what was acknowledged{where}: {_figures(wrong[0][1])}"
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
    return "; ".join(said)


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
