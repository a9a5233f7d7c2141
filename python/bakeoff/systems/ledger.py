"""Which tables of an existing system are ours: written down next to them, in the table `bakeoff_tables`.

A table is ours if the ledger says so and it is still the one of which it said so, by a mark that no later table of the
same name has. So a table that a user made under the same name later is the user's. How marks and entries are read and
written is the system's own: nothing here knows a statement of any.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.errors import PlanError
from bakeoff.systems.base import Found, Ledger

TABLE = "bakeoff_tables"


@dataclass(frozen=True)
class Entry:
    """What a ledger says of a table. mark: of the table once it is loaded; before, one older than it can have."""

    dataset: str
    loaded: bool
    mark: Any


class MarkedLedger(Ledger):
    """Names that hooks take and return are those that the system has stored. All raise ServerError."""

    def __init__(self, where: str) -> None:
        self._where = where

    @abstractmethod
    def _marks(self) -> Mapping[str, Any]:
        """Of everything in the place that has the name of a table; None: it is none (a view)."""

    @abstractmethod
    def _entries(self, names: Collection[str]) -> Mapping[str, Entry]:
        """The ledger's. names: of everything in the place, so that it shows whether there is a ledger."""

    @abstractmethod
    def _is_younger(self, mark: Any, before: Any) -> bool:
        """Whether a table that has this mark was made after an entry got that one."""

    @abstractmethod
    def _enter(self, names: Sequence[str], dataset: str, bundle: str) -> None:
        """Writes down that all are about to be made and loaded, in place of what the ledger said of them; makes the
        ledger if there is none."""

    @abstractmethod
    def _enter_loaded(self, names: Sequence[str]) -> None:
        """Writes down the marks that they have now."""

    @abstractmethod
    def _remove_entries(self, names: Sequence[str]) -> None:
        """If there is a ledger; it goes with its last entry."""

    @abstractmethod
    def _remove_tables(self, names: Sequence[str]) -> None:
        """All or none, where the system can. Raises PlanError where something else needs one."""

    def _stored(self, name: str) -> str:
        """What the system calls a table of that name."""
        return name

    def _wake(self) -> None:
        """Before anything is asked: replaces a connection that was lost meanwhile."""

    def there(self, tables: Sequence[str]) -> list[Found]:
        self._wake()
        marks = self._marks()
        entries = self._entries(marks.keys())
        there = [(name, self._stored(name)) for name in tables if self._stored(name) in marks]
        return [self._judged(name, marks[stored], entries.get(stored)) for name, stored in there]

    def _judged(self, name: str, mark: Any, entry: Entry | None) -> Found:
        """Whether what has that mark is the table of which the entry says that."""
        if mark is None or entry is None:
            return Found(name, ours=False)
        if not (mark == entry.mark if entry.loaded else self._is_younger(mark, entry.mark)):
            return Found(name, ours=False)
        return Found(name, ours=True, whole=entry.loaded, dataset=entry.dataset)

    def begin(self, tables: Sequence[str], dataset: str, bundle: str, *, all_there: bool = False) -> None:
        self._drop(tables, all_there=all_there)
        self._enter([*map(self._stored, tables)], dataset, bundle)

    def loaded(self, tables: Sequence[str]) -> None:
        self._wake()
        self._enter_loaded([*map(self._stored, tables)])

    def drop(self, tables: Sequence[str]) -> None:
        self._drop(tables, all_there=False)
        self._remove_entries([*map(self._stored, tables)])

    def _drop(self, tables: Sequence[str], *, all_there: bool) -> None:
        """all_there: not only those that are ours."""
        going = [found.name for found in self.there(tables) if found.ours or all_there]
        if not going:
            return
        marks = self._marks()
        for name in going:
            if marks[self._stored(name)] is None:
                raise PlanError(
                    f"`{name}` is there and is no table: bakeoff does not drop it",
                    where=self._where,
                    hint="drop it by hand, or keep the tables of the plan apart from it",
                )
        self._remove_tables([*map(self._stored, going)])
