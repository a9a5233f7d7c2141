"""Which runs are repeated, because they were disturbed or lost to infrastructure, and as which attempt. A run that its
system failed never is. See docs/method/disturbance.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..model.attempts import by_place, counting, is_open, runs_that_count
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
        """Whether nothing has been made there, or all that was made was lost to infrastructure."""
        attempts = self.attempts(slot)
        return not attempts or (counting(attempts).state == "failed" and is_open(attempts))

    def chosen(self, slots: Sequence[Slot]) -> list[Slot]:
        """Those of them whose runs were all disturbed or lost, in their order, as many as may still be repeated."""
        lost = [slot for slot in slots if (runs := self.attempts(slot)) and is_open(runs)]
        return lost[: max(0, self._at_most - self._made())]

    def standing(self) -> list[RunRecord]:
        """Of each place the run that counts, but for those places that are made again."""
        counted = runs_that_count(run for of_place in self._places.values() for run in of_place)
        slots = [Slot(run.order, run.block, run.cell) for run in counted]
        again = set(self.chosen(slots)) | {slot for slot in slots if self.is_missing(slot)}
        return [run for run, slot in zip(counted, slots, strict=True) if slot not in again]

    def _made(self) -> int:
        """Runs that were made because the one before was disturbed or lost."""
        return sum(len(runs) - 1 for runs in self._places.values())
