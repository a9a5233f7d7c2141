"""What an event of each script consists of: statements by what they do, as sysbench counts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Options that count statements of one kind.
_RANGES = ("simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges")


@dataclass(frozen=True)
class Statements:
    """Of one event that meets every row it asks for. (A write that touches no row is counted as other.)"""

    read: int
    write: int
    other: int

    @property
    def total(self) -> int:
        return self.read + self.write + self.other


@dataclass(frozen=True)
class Script:
    words: str
    #: Options whose counts of statements it has, or "one": one statement, whatever the counts say.
    reads: tuple[str, ...] = ()
    #: "delete_inserts" is two statements each time.
    writes: tuple[str, ...] = ()
    transaction: bool = False


_READS = ("point_selects", *_RANGES)
_WRITES = ("index_updates", "non_index_updates", "delete_inserts")

#: By name, in the order of the documentation.
SCRIPTS: dict[str, Script] = {
    "oltp_read_write": Script("all of it in a transaction: 14 reads and 4 writes", _READS, _WRITES, True),
    "oltp_read_only": Script("the 14 reads of it in a transaction", _READS, transaction=True),
    "oltp_write_only": Script("the 4 writes of it in a transaction", writes=_WRITES, transaction=True),
    "oltp_point_select": Script("one select by primary key", ("one",)),
    "oltp_update_index": Script("one update of the indexed column by primary key", writes=("index_updates",)),
    "oltp_update_non_index": Script("one update of another column by primary key", writes=("non_index_updates",)),
    "oltp_delete": Script("one delete by primary key; rows are not put back", writes=("one",)),
    "oltp_insert": Script("one insert of a new row", writes=("one",)),
    "bulk_insert": Script("rows into a table of each thread's own, in large multi-row inserts", writes=("one",)),
    "select_random_points": Script("one select of 10 values of the indexed column", ("one",)),
    "select_random_ranges": Script("one count over 10 ranges of the indexed column", ("one",)),
}


def statements(spec: Mapping[str, Any]) -> Statements:
    """By the script of a resolved spec. Of bulk_insert, whose events are rows, one for each row."""
    script = SCRIPTS[spec["script"]]

    def times(option: str) -> int:
        if option in _RANGES and not spec["range_selects"]:
            return 0
        return 1 if option == "one" else int(spec[option]) * (2 if option == "delete_inserts" else 1)

    read, write = (sum(times(option) for option in options) for options in (script.reads, script.writes))
    transaction = script.transaction and not spec["skip_trx"] and read + write > 0
    return Statements(read, write, 2 if transaction else 0)
