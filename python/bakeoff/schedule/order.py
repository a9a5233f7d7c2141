"""In which order runs are made: blocks of one repetition of every cell, each block in its own seeded random order, so
that a drift of the machine hits all cells alike and repetitions can be compared block by block."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Slot:
    """One run to be made. `order` from 0 over the whole plan, `block` from 1."""

    order: int
    block: int
    cell: str

    @property
    def run(self) -> str:
        return f"b{self.block:02d}-{self.cell}"


def schedule(cells: Sequence[str], repetitions: int, seed: int) -> list[Slot]:
    """All runs of a plan. The same cells, repetitions and seed give the same order on every machine."""
    slots: list[Slot] = []
    for block in range(1, repetitions + 1):
        shuffled = list(cells)
        random.Random(f"bakeoff order {seed} {block}").shuffle(shuffled)
        slots += [Slot(len(slots) + i, block, cell) for i, cell in enumerate(shuffled)]
    return slots
