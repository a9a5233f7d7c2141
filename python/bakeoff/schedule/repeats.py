"""Which disturbed runs are repeated, and as which attempt. See docs/method/disturbance.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..model.attempts import by_place, counting
from ..model.records import RunRecord
from .order import Slot


class Repeats:
    """Of one plan. runs: those that were made before. at_most: repeats over the whole life of the bundle."""

    def __init__(self, runs: Iterable[RunRecord], at_most: int) -> None:
        self._places = by_place(runs)
        self._at_most = at_most
        self._order = 1 + max((run.order for of_place in self._places.values() for run in of_place), default=-1)

    def attempts(self, slot: Slot) -> list[RunRecord]:
        return self._places.get((slot.block, slot.cell), [])

    def add(self, record: RunRecord) -> None:
        self._places.setdefault((record.block, record.cell), []).append(record)

    def next_attempt(self, slot: Slot) -> Slot:
        """The run to be made there now."""
        order, self._order = self._order, self._order + 1
        attempt = 1 + max((run.attempt for run in self.attempts(slot)), default=0)
        return replace(slot, order=order, attempt=attempt)

    def is_missing(self, slot: Slot) -> bool:
        """Whether nothing has been made there, or what was made could not be completed."""
        attempts = self.attempts(slot)
        return not attempts or counting(attempts).state == "failed"

    def chosen(self, slots: Sequence[Slot]) -> list[Slot]:
        """Those of them whose runs were all disturbed, in their order, as many as may still be repeated."""
        disturbed = [slot for slot in slots if (runs := self.attempts(slot)) and _waits(counting(runs))]
        return disturbed[: max(0, self._at_most - self._made())]

    def _made(self) -> int:
        """Runs that were made because the one before was disturbed."""
        return sum(_waits(before) for runs in self._places.values() for before in runs[:-1])


def _waits(run: RunRecord) -> bool:
    return run.leaves_its_place_open and run.state == "done"
