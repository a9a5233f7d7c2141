"""How much of tables is read to find out whether servers hold the same, on contents that are given."""

from __future__ import annotations

from typing import Any, cast

import pytest
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.replication import WHOLE_BYTES_MAX, Comparison, Contents

ONE, OTHER = (cast(DatabaseServer, name) for name in ("one", "other"))
LARGE = WHOLE_BYTES_MAX


class Given(Contents):
    """The same on all servers, but for `differing`: tables as "other" holds them. asked: what of each was read."""

    def __init__(self, sizes: dict[str, int], without_key: str = "", **differing: str) -> None:
        self.sizes = sizes
        self.without_key = without_key
        self.differing = differing
        self.asked: list[str] = []

    def size_bytes(self, server: DatabaseServer, table: str) -> int:
        return self.sizes[table]

    def whole(self, server: DatabaseServer, table: str) -> str:
        self.asked.append(f"all of {table}")
        return self._said(server, table)

    def ends(self, server: DatabaseServer, table: str, rows: int) -> str:
        self.asked.append(f"ends of {table}")
        return "" if table == self.without_key else self._said(server, table)

    def _said(self, server: Any, table: str) -> str:
        return self.differing.get(table, "3 rows") if server == "other" else "3 rows"


def compared(contents: Given) -> Comparison:
    return Comparison(contents, ONE, [*contents.sizes])


def test_small_tables_are_read_whole() -> None:
    contents = Given({"a": 1000, "b": 1000}, b="2 rows")
    comparison = compared(contents)
    assert comparison.difference(ONE) is None
    assert comparison.difference(OTHER) == ("b: 3 rows", "b: 2 rows")
    assert set(contents.asked) == {"all of a", "all of b"}
    assert comparison.extent == ""


def test_of_large_tables_the_ends_are_read_which_is_said() -> None:
    contents = Given({"orders": LARGE + 1, "items": 1000}, orders="2 rows")
    comparison = compared(contents)
    assert set(contents.asked) == {"ends of orders", "all of items"}
    assert comparison.difference(OTHER) == ("orders: 3 rows", "orders: 2 rows")
    assert comparison.extent == "; of orders (large) only the first and last 10,000 rows by primary key were compared"


@pytest.mark.parametrize(("tables", "whole"), [(2, 2), (4, 3)])
def test_all_that_is_read_whole_is_bounded_together_the_smallest_first(tables: int, whole: int) -> None:
    contents = Given({f"t{number}": LARGE // 3 for number in range(tables)})
    compared(contents)
    assert sum(words.startswith("all") for words in contents.asked) == whole


def test_a_large_table_without_a_key_is_not_compared_which_is_said() -> None:
    comparison = compared(Given({"history": 2 * LARGE, "items": 1000}, without_key="history"))
    assert comparison.difference(OTHER) is None
    assert comparison.extent == "; not compared: history (large, without a primary key)"
