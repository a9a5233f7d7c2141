"""In which order runs are made: blocks of one repetition of every cell, so that a drift of the machine hits all cells
alike and repetitions can be compared block by block.

Blocks come in pairs: one in seeded random order, the next in that order reversed. So of any two cells each goes first
equally often (in an odd number of blocks one of them once more), and over a pair all stand at the same mean place:
whatever grows in the course of a block (a filling disk, a warming machine) favours none of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Slot:
    """One run to be made. `order` from 0 over the whole plan, `block` and `attempt` from 1."""

    order: int
    block: int
    cell: str
    attempt: int = 1

    @property
    def run(self) -> str:
        again = "" if self.attempt == 1 else f".{self.attempt}"
        return f"b{self.block:02d}-{self.cell}{again}"


def schedule(cells: Sequence[str], repetitions: int, seed: int) -> list[Slot]:
    """All runs of a plan. The same cells, repetitions and seed give the same order on every machine, in whatever order
    the cells are listed; further cells or repetitions leave the order of the others as it was."""
    slots: list[Slot] = []
    for block in range(1, repetitions + 1):
        slots += [Slot(len(slots) + i, block, cell) for i, cell in enumerate(in_turn(cells, block, seed))]
    return slots


def in_turn(cells: Sequence[str], block: int, seed: int) -> list[str]:
    """The order of one block."""
    pair, second = divmod(block - 1, 2)
    return sorted(
        cells, key=lambda cell: random.Random(f"bakeoff order {seed} {pair} {cell}").random(), reverse=second > 0
    )
