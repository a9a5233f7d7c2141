"""What is known of the data that a system holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..model.boundary import StateReport

#: More than any table has, and a number that every reader of JSON keeps exactly.
ROWS_MAX = 2**53 - 1


@dataclass(frozen=True)
class Rows:
    """How many there must be at least, and can be at most: an insert may have been stored or not."""

    least: int
    most: int

    def after(self, state: StateReport) -> Rows:
        """A run that did this."""
        stored = self.least + state.inserts_acknowledged, self.most + state.inserts_acknowledged + state.inserts_unknown
        return Rows(stored[0], min(stored[1], ROWS_MAX))

    def or_more(self) -> Rows:
        """After a run of which nobody knows what it did."""
        return Rows(self.least, ROWS_MAX)


@dataclass
class Data:
    """A data set in its place; systems that work on the same tables share the object."""

    #: As it was loaded or found.
    begun: Rows
    #: The copy that can be put back, of a private system.
    snapshot: Path | None = None
    #: That the next run begins with.
    rows: Rows = field(init=False)

    def __post_init__(self) -> None:
        self.rows = self.begun
