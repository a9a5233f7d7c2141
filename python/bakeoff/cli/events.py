"""`bakeoff run --events`: what happens, as JSON lines on stdout for other programs; people see it on stderr as ever."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path

from .. import __version__
from ..model.boundary import Document, Interval, Progress
from ..model.records import RunRecord
from ..plan.resolved import Cell, ResolvedPlan
from ..schedule.merge import merge_intervals
from ..schedule.run_order import Slot
from .output import flush, show
from .progress import Line
from .told import Begin, CellAdded, CellTold, Loading, Phase, RunBegins, RunEnds, Second, WarningTold


def tell(event: Document) -> None:
    """Strict JSON in ASCII: whatever a database said, nothing in it steers a terminal."""
    show(json.dumps(event.model_dump(mode="json"), allow_nan=False))
    flush()


class Events(Line):
    """Told of everything that the progress line is."""

    def __init__(self, plan: ResolvedPlan, bundle: Path, *, quiet: bool = False) -> None:
        super().__init__(quiet=quiet)
        self._plan = plan
        self._bundle = bundle
        self._run = ""
        self._clients = 1
        self._seconds: dict[int, list[Interval]] = defaultdict(list)

    def begin(self, runs: int, done: int, *, at_most: bool = False) -> None:
        tell(
            Begin(
                bakeoff_version=__version__,
                title=self._plan.record.title,
                bundle=os.path.abspath(self._bundle),
                cells=[_told(cell) for cell in self._plan.cells],
                runs=runs,
                runs_done=done,
            )
        )
        super().begin(runs, done, at_most=at_most)

    def cell_added(self, cell: Cell) -> None:
        tell(CellAdded(cell=_told(cell)))
        super().cell_added(cell)

    def loading(self, cell: Cell, progress: Progress | None) -> None:
        done, total, elapsed_s = (progress.done, progress.total, progress.elapsed_s) if progress else (0, 0, 0.0)
        record = cell.record
        tell(Loading(system=record.system, cell=record.id, done=done, total=total, elapsed_s=elapsed_s))
        super().loading(cell, progress)

    def run_begins(self, slot: Slot, cell: Cell) -> None:
        self._run, self._clients = slot.run, cell.clients
        self._seconds.clear()
        tell(RunBegins(run=slot.run, cell=slot.cell, block=slot.block))
        super().run_begins(slot, cell)

    def stage(self, words: str) -> None:
        tell(Phase(run=self._run, phase=words))
        super().stage(words)

    def interval(self, interval: Interval) -> None:
        """A second is told when every client has told of it."""
        clients = self._seconds[interval.second]
        clients.append(interval)
        if len(clients) == self._clients:
            tell(Second(run=self._run, **merge_intervals(self._seconds.pop(interval.second)).rows[0]))
        super().interval(interval)

    def run_ends(self, slot: Slot, cell: Cell, record: RunRecord) -> None:
        tell(
            RunEnds(
                run=slot.run,
                cell=slot.cell,
                block=slot.block,
                state=record.state,
                failure=record.failure,
                valid=record.valid,
                standing=record.standing,
                attempt=record.attempt,
                findings=[finding for finding in record.validity if finding.ok is False],
                rate_ops_per_s=record.rate_ops_per_s,
                error_ratio=record.error_ratio,
                errors=record.errors,
                response=record.response,
            )
        )
        super().run_ends(slot, cell, record)
        self._run = ""

    def message(self, words: str) -> None:
        tell(WarningTold(run=self._run, words=words))
        super().message(words)


def _told(cell: Cell) -> CellTold:
    c = cell.record
    return CellTold(id=c.id, label=c.label, system=c.system, levels=c.levels)
