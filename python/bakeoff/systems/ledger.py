"""Which tables of an existing system are ours: recorded next to them, in the table `bakeoff_tables`.

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
    """What a ledger says of a table. mark: of the loaded table; before that, a mark older than any it can have."""

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
    """Makes certain that nobody else's table is ever taken for ours. Names are those of the plan's workload, in the
    plan's schema; those that hooks take and return are as the system has stored them. All raise ServerError."""

    place: ClassVar[str]  # a plan's option that names the tables' schema or keyspace

    def __init__(self, where: str) -> None:
        self._where = where

    # -- what a system implements ---------------------------------------------------------------------------------

    def absent_place(self) -> str:
        """The missing place of the plan's tables ("schema `x`"); "" if it exists."""
        return ""

    @abstractmethod
    def make_place(self) -> None:
        """Creates the place if it does not exist."""

    @abstractmethod
    def claim(self) -> None:
        """Makes this process the only bakeoff that works there, until `release`; before anything is written."""

    @abstractmethod
    def release(self) -> None: ...

    def sizes(self, tables: Sequence[str]) -> dict[str, int]:
        """Bytes of each, indexes included, if the system reports them."""
        return {}

    @abstractmethod
    def drop_words(self, tables: Sequence[str]) -> str:
        """The statements with which a user drops them."""

    @abstractmethod
    def _marks(self) -> Mapping[str, Any]:
        """Marks of everything in the place with the name of a table; None: it is not a table (a view)."""

    @abstractmethod
    def _entries(self, names: Collection[str]) -> Mapping[str, Entry]:
        """The ledger's entries. names: of everything in the place, which shows whether a ledger exists."""

    @abstractmethod
    def _is_younger(self, mark: Any, before: Any) -> bool:
        """Whether a table with this mark was created after an entry got that one."""

    @abstractmethod
    def _enter(self, names: Sequence[str], dataset: str, bundle: str) -> None:
        """Records that all are about to be created and loaded, in place of their entries; creates the ledger if there
        is none."""

    @abstractmethod
    def _enter_loaded(self, names: Sequence[str]) -> None:
        """Records their current marks."""

    @abstractmethod
    def _remove_entries(self, names: Sequence[str]) -> None:
        """Removes their entries, if there is a ledger, and the ledger with its last entry."""

    @abstractmethod
    def _remove_tables(self, names: Sequence[str]) -> None:
        """Drops all or none, if the system can. Raises PlanError if something else needs one."""

    def _stored(self, name: str) -> str:
        return name

    def _wake(self) -> None:  # noqa: B027  # nothing, where there is no connection
        """Before any statement: replaces a connection that was lost meanwhile."""

    # -- what is the same for all -----------------------------------------------------------------------------------

    def there(self, tables: Sequence[str]) -> list[Found]:
        """Those of these tables that exist. Changes nothing, and needs no claim."""
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
        """Those of these tables that exist and are not ours."""
        return [found.name for found in self.there(tables) if not found.ours]

    def begin(self, tables: Sequence[str], dataset: str, bundle: str, *, all_there: bool = False) -> None:
        """Drops those that are ours (all_there: and those that are not), all of them or none, and records that all are
        about to be created and loaded. Raises PlanError if one cannot be dropped."""
        self._drop(tables, all_there=all_there)
        self._enter([*map(self._stored, tables)], dataset, bundle)

    def loaded(self, tables: Sequence[str]) -> None:
        """Records that they are complete."""
        self._wake()
        self._enter_loaded([*map(self._stored, tables)])

    def drop(self, tables: Sequence[str]) -> None:
        """Drops those that are ours, and their entries."""
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
