"""Which run a search makes next, decided from the runs that are there and from nothing else.

A block is one step of every search that goes on, in seeded random order, so that a drift of the machine hits all alike.
The n-th run of a search is in block n.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..analysis.search import Outcome, Trial, next_step
from ..findings.limits_and_searches.searches import question_of
from ..model.records.plan import Scalar
from ..model.records.run import RunRecord
from ..plan.resolved import Cell, ResolvedPlan
from .run_order import Slot, in_turn


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
        """The run to make next, and its cell, which the plan then has; None: all is found, or the runs are used up."""
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
        """A run that was disturbed or lost to the last attempt says nothing, and is no "limit not kept"."""
        runs = [found for _, found in sorted(self._runs[subject].items())]
        return [self._trial(level, run) for level, run in runs if not run.leaves_its_place_open]

    def _trial(self, level: Scalar, run: RunRecord) -> Trial:
        if run.id not in self._trials:
            self._trials[run.id] = Trial(float(level), self.excess(run))
        return self._trials[run.id]

    def _cell(self, subject: str, level: float) -> Cell:
        """Of the plan, which has the levels that have runs, and this one."""
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
