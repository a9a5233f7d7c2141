"""Whether several servers hold the same in the tables of a plan.

To read all of large ones would take as long as to load them. So the smallest are read whole, up to WHOLE_BYTES_MAX
together, and of each other the rows at both ends of its primary key, where old and new rows are if keys count up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from bakeoff.systems.server.process import DatabaseServer

WHOLE_BYTES_MAX = 1 << 30
#: At each end.
ENDS_ROWS = 10_000


class Contents(ABC):
    """Of tables, asked of single servers. All raise ServerError."""

    @abstractmethod
    def size_bytes(self, server: DatabaseServer, table: str) -> int:
        """About, without reading it."""

    @abstractmethod
    def whole(self, server: DatabaseServer, table: str) -> str:
        """Rows of a table and a checksum of what is in them: the same words where the same is in it."""

    @abstractmethod
    def ends(self, server: DatabaseServer, table: str, rows: int) -> str:
        """The same of its first and last `rows` by primary key; "" where it has none."""


class Comparison:
    """Of servers with the first of them."""

    whole_bytes_max: ClassVar[int] = WHOLE_BYTES_MAX
    ends_rows: ClassVar[int] = ENDS_ROWS

    def __init__(self, contents: Contents, first: DatabaseServer, tables: Sequence[str]) -> None:
        self._contents = contents
        self._tables = tables
        self._whole = self._read_whole({table: contents.size_bytes(first, table) for table in tables})
        self._held = self._read(first)

    def _read_whole(self, sizes: dict[str, int]) -> set[str]:
        found, together = set(), 0
        for table in sorted(sizes, key=lambda table: sizes[table]):
            together += sizes[table]
            if together <= self.whole_bytes_max:
                found.add(table)
        return found

    def _read(self, server: DatabaseServer) -> dict[str, str]:
        return {
            table: self._contents.whole(server, table)
            if table in self._whole
            else self._contents.ends(server, table, self.ends_rows)
            for table in self._tables
        }

    def difference(self, server: DatabaseServer) -> tuple[str, str] | None:
        """What the first holds and what this one holds of the first table in which they differ; None: in none."""
        found = self._read(server)
        for table, held in self._held.items():
            if found[table] != held:
                return f"{table}: {held}", f"{table}: {found[table]}"
        return None

    @property
    def extent(self) -> str:
        """What of large tables was compared, as clauses that go on; "" if all was."""
        large = [table for table in self._tables if table not in self._whole]
        keyed = [table for table in large if self._held[table]]
        others = [table for table in large if not self._held[table]]
        rows = f"the first and last {self.ends_rows:,} rows by primary key"
        ends = f"; of {', '.join(keyed)} (large) only {rows} were compared" if keyed else ""
        nothing = f"; not compared: {', '.join(others)} (large, without a primary key)" if others else ""
        return ends + nothing
