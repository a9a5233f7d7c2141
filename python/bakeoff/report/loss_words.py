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
_NUMBER = re.compile(r"\d+")


def loss_words(runs: Sequence[RunRecord]) -> str:
    """A clause about the finished runs of a cell; "" where nothing was written."""
    runs = [run for run in runs if run.state == "done"]
    checks = [(run, check) for run in runs for check in run.checks if check.name in COUNTED]
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
    if seen:
        figures = _figures(checks[0][1])
        example = f" ({'in the first run ' if len(runs) > 1 else ''}{figures})" if len(figures) < EXAMPLE_MAX else ""
        what = f"no {' or '.join(seen)}" if unseen else "nothing"
        said.append(f"{what} that was acknowledged is missing{example}")
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


def _figures(check: Check) -> str:
    """ "21,819 rows, 21,818 to 21,820 expected"."""
    actual, expected = (
        _NUMBER.sub(lambda found: count_words(int(found[0])), x) for x in (check.actual, check.expected)
    )
    return f"{actual}, {expected.removesuffix(' rows')} expected"
