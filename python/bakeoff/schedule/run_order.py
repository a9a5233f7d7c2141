"""In which order runs are made, which of them are repeated, and which keys they insert where nothing is put back.

A block holds one repetition of every cell, so that a drift of the machine affects all cells alike and repetitions are
compared block by block. Blocks come in pairs: one in seeded random order, the next in that order reversed. So of any
two cells each goes first equally often (in an odd number of blocks one of them once more), and over a pair all have the
same mean place: what grows in the course of a block (a filling disk, a warming machine) favours none of them.

A search decides its next run from the runs that exist and from nothing else. A block is one step of every search that
goes on, in seeded random order; the n-th run of a search is in block n.

A run that was disturbed or lost to infrastructure is repeated as another attempt; a run that its system failed never is
(docs/method/disturbance.md).
"""

from __future__ import annotations

import random
import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from ..analysis.search import Outcome, Trial, next_step
from ..findings.limits_and_searches.searches import question_of
from ..model.records.plan import Scalar
from ..model.records.run import RunRecord, by_place, counting, is_open, runs_that_count
from ..plan.resolved import Cell, ResolvedPlan


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
        """The next run of this cell in this block."""
        order, self._order = self._order, self._order + 1
        attempt = 1 + max((run.attempt for run in self.attempts(slot)), default=0)
        return replace(slot, order=order, attempt=attempt)

    def is_missing(self, slot: Slot) -> bool:
        """Whether this place has no run, or only runs that infrastructure lost."""
        attempts = self.attempts(slot)
        return not attempts or (counting(attempts).state == "failed" and is_open(attempts))

    def chosen(self, slots: Sequence[Slot]) -> list[Slot]:
        """The places whose runs were all disturbed or lost, in their order, up to the number of repeats left."""
        lost = [slot for slot in slots if (runs := self.attempts(slot)) and is_open(runs)]
        return lost[: max(0, self._at_most - self._made())]

    def standing(self) -> list[RunRecord]:
        """The run that counts in each place, without the places that are repeated."""
        counted = runs_that_count(run for of_place in self._places.values() for run in of_place)
        slots = [Slot(run.order, run.block, run.cell) for run in counted]
        again = set(self.chosen(slots)) | {slot for slot in slots if self.is_missing(slot)}
        return [run for run, slot in zip(counted, slots, strict=True) if slot not in again]

    def _made(self) -> int:
        """Runs that were made because the one before was disturbed or lost."""
        return sum(len(runs) - 1 for runs in self._places.values())


#: An invocation draws its first turn from these: two draw the same in one of 100,000 cases. The keys of this many turns
#: fit 63 bits where a workload steps by 10^11.
_TURNS = 2**25


@dataclass(frozen=True)
class InsertTurns:
    """Turns of a plan's cells. Two cells that share data never have the same turn. Two with the same work on separate
    data (those that are compared) have the same turn where possible, however many cells each of their systems has."""

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
    """The first turn of an invocation on data with inserts of other invocations, whose turns are unknown."""
    return secrets.randbelow(_TURNS)


@dataclass
class Searching:
    """plan: one with a search, at any levels; it grows. excess: of a run, how far it was beyond the limits."""

    plan: ResolvedPlan
    excess: Callable[[RunRecord], float]
    #: By subject and block.
    _runs: dict[str, dict[int, tuple[Scalar, RunRecord]]] = field(default_factory=lambda: defaultdict(dict))
    _trials: dict[str, Trial] = field(default_factory=dict)
    _ended: set[str] = field(default_factory=set)
    _made: int = 0

    def __post_init__(self) -> None:
        assert self.plan.record.search is not None
        self._search = self.plan.record.search
        self._question = question_of(self._search)
        self._subjects = list(dict.fromkeys(self._search.subject(cell) for cell in self.plan.record.cells))

    def add(self, runs: Iterable[RunRecord]) -> None:
        """Of cells that the plan has."""
        cells = {cell.id: cell for cell in self.plan.record.cells}
        for run in runs:
            cell = cells[run.cell]
            level = cell.levels[self._search.factor]
            self._runs[self._search.subject(cell)][run.block] = level, run
            self._made = max(self._made, run.order + 1)

    def next(self) -> tuple[Slot, Cell] | None:
        """The next run and its cell, which is added to the plan; None: all is found, or the runs are used up."""
        for block in range(1, self._search.runs + 1):
            for subject in in_turn(self._subjects, block, self.plan.record.seed):
                if subject in self._ended or block in self._runs[subject]:
                    continue
                step = next_step(self._question, self._trials_of(subject))
                if isinstance(step, Outcome):
                    self._ended.add(subject)
                    continue
                cell = self._cell(subject, step)
                return Slot(self._made, block, cell.record.id), cell
        return None

    def _trials_of(self, subject: str) -> list[Trial]:
        """A run that was disturbed or lost in every attempt says nothing; it does not count as "limit not kept"."""
        runs = [found for _, found in sorted(self._runs[subject].items())]
        return [self._trial(level, run) for level, run in runs if not run.leaves_its_place_open]

    def _trial(self, level: Scalar, run: RunRecord) -> Trial:
        if run.id not in self._trials:
            self._trials[run.id] = Trial(float(level), self.excess(run))
        return self._trials[run.id]

    def _cell(self, subject: str, level: float) -> Cell:
        """The cell at this level, which is added to the plan if it is new."""
        assert self.plan.with_levels is not None
        wanted = int(level) if self._search.whole else level
        tried = {name: [found for found, _ in runs.values()] for name, runs in self._runs.items() if runs}
        tried[subject] = [*tried.get(subject, []), wanted]
        self.plan = self.plan.with_levels({name: sorted(set(levels)) for name, levels in tried.items()})
        return next(
            cell
            for cell in self.plan.cells
            if self._search.subject(cell.record) == subject and cell.record.levels[self._search.factor] == wanted
        )
