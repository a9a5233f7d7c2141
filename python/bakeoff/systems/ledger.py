"""Which tables of an existing system are ours: written down next to them, in the table `bakeoff_tables`.

A table is ours if the ledger says so and it is still the one of which it said so, by a mark that no later table of the
same name has. So a table that a user made under the same name later is the user's. How marks and entries are read and
written is the system's own: nothing here knows a statement of any.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from bakeoff.errors import PlanError

TABLE = "bakeoff_tables"


@dataclass(frozen=True)
class Entry:
    """What a ledger says of a table. mark: of the table once it is loaded; before, one older than it can have."""

    dataset: str
    loaded: bool
    mark: Any


@dataclass(frozen=True)
class Found:
    name: str
    ours: bool
    whole: bool = False  # of ours: its load came to its end
    dataset: str = ""  # of ours


class Ledger(ABC):
    """So that no table of anybody else is ever taken for one of ours. Names are those of the plan's workload, in the
    plan's schema; those that hooks take and return are as the system has stored them. All raise ServerError."""

    place: ClassVar[str]  # a plan's option that names what the tables lie in

    def __init__(self, where: str) -> None:
        self._where = where

    # -- what a system says -----------------------------------------------------------------------------------------

    def absent_place(self) -> str:
        """What the plan's tables are to lie in and is not there ("schema `x`"); "" if it is."""
        return ""

    @abstractmethod
    def make_place(self) -> None:
        """Makes that where it is not there."""

    @abstractmethod
    def claim(self) -> None:
        """Makes this process the only bakeoff at work there, until `release`; before anything is written."""

    @abstractmethod
    def release(self) -> None: ...

    def sizes(self, tables: Sequence[str]) -> dict[str, int]:
        """Bytes of each, indexes included, where the system tells."""
        return {}

    @abstractmethod
    def drop_words(self, tables: Sequence[str]) -> str:
        """What a user would type there to drop them."""

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
        return name

    def _wake(self) -> None:  # noqa: B027  # nothing, where there is no connection
        """Before anything is asked: replaces a connection that was lost meanwhile."""

    # -- what is the same for all -----------------------------------------------------------------------------------

    def there(self, tables: Sequence[str]) -> list[Found]:
        """Of these tables those that exist. Changes nothing, and needs no claim."""
        self._wake()
        marks = self._marks()
        entries = self._entries(marks.keys())
        there = [(name, self._stored(name)) for name in tables if self._stored(name) in marks]
        return [self._judged(name, marks[stored], entries.get(stored)) for name, stored in there]

    def _judged(self, name: str, mark: Any, entry: Entry | None) -> Found:
        if mark is None or entry is None:
            return Found(name, ours=False)
        if not (mark == entry.mark if entry.loaded else self._is_younger(mark, entry.mark)):
            return Found(name, ours=False)
        return Found(name, ours=True, whole=entry.loaded, dataset=entry.dataset)

    def strangers(self, tables: Sequence[str]) -> list[str]:
        """Of these tables those that exist and are not ours."""
        return [found.name for found in self.there(tables) if not found.ours]

    def begin(self, tables: Sequence[str], dataset: str, bundle: str, *, all_there: bool = False) -> None:
        """Drops those that are ours (all_there: and those that are not), all of them or none, and writes down that all
        are about to be made and loaded. Raises PlanError where one cannot be dropped."""
        self._drop(tables, all_there=all_there)
        self._enter([*map(self._stored, tables)], dataset, bundle)

    def loaded(self, tables: Sequence[str]) -> None:
        """Writes down that they are whole."""
        self._wake()
        self._enter_loaded([*map(self._stored, tables)])

    def drop(self, tables: Sequence[str]) -> None:
        """Drops those that are ours, and all memory of them."""
        self._drop(tables, all_there=False)
        self._remove_entries([*map(self._stored, tables)])

    def _drop(self, tables: Sequence[str], *, all_there: bool) -> None:
        going = [found.name for found in self.there(tables) if found.ours or all_there]
        if not going:
            return
        marks = self._marks()
        for name in going:
            if marks[self._stored(name)] is None:
                raise PlanError(
                    f"`{name}` exists and is not a table: bakeoff does not drop it",
                    where=self._where,
                    hint="drop it by hand, or put the plan's tables elsewhere",
                )
        self._remove_tables([*map(self._stored, going)])
