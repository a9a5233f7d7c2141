"""What is known of the data that a system holds, and which keys each run inserts where nothing is put back."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from ..plan.resolved import Cell

#: What was done to the data since they were loaded: of every client of every run a document, in the workload's own
#: words. None stands for a run of which nobody knows what it did.
Done = list[JsonValue]


@dataclass
class Data:
    """A data set in its place; systems that work on the same tables share the object."""

    #: As it was loaded or found.
    begun: Done = field(default_factory=list)
    #: Of those that insert into it, see `InsertTurns`; other than 0 where somebody has before.
    first_turn: int = 0
    #: The copy that can be put back, of a private system.
    snapshot: Path | None = None
    #: That the next run begins with.
    done: Done = field(init=False)

    def __post_init__(self) -> None:
        self.done = self.begun


#: Of these an occasion draws its first: two of them meet by chance in one of 100,000 cases. The keys of so many turns
#: fit 63 bits where a workload steps by 10^11.
_TURNS = 2**25


@dataclass(frozen=True)
class InsertTurns:
    """Of the cells of a plan. Two that share data never have the same one; two that are asked for the same work on data
    of their own (those that are compared) have it wherever they can, however many cells each of their systems has."""

    of_cell: dict[str, int]
    #: Turns of a block.
    width: int

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> InsertTurns:
        asked: dict[str, int] = {}
        taken: Counter[tuple[str, int]] = Counter()
        places: dict[str, tuple[int, int]] = {}
        for cell in cells:
            holder = cell.instance_key if cell.place is None else cell.load_key
            work = asked.setdefault(_work(cell), len(asked))
            places[cell.record.id] = taken[holder, work], work
            taken[holder, work] += 1
        width = len(asked) * max(taken.values(), default=0)
        return cls({cell: again * len(asked) + work for cell, (again, work) in places.items()}, width)

    def turn(self, cell: str, block: int) -> int:
        """From 0, with the first of block 1."""
        return (block - 1) * self.width + self.of_cell[cell]


def _work(cell: Cell) -> str:
    return repr((cell.workload.spec, cell.threads, cell.clients, cell.sessions, cell.pacing, cell.limit))


def random_first_turn() -> int:
    """The first turn of an occasion on data that others have inserted into: nobody knows which turns they had."""
    return secrets.randbelow(_TURNS)
