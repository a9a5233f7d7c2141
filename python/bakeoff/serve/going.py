"""A plan that is being carried out, as its events tell it."""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..bundle.events import (
    Begin,
    CellAdded,
    CellDescription,
    Event,
    Loading,
    Phase,
    RunBegins,
    RunEnds,
    Sampled,
    Second,
    Verified,
    WarningEvent,
)
from ..bundle.live import LiveReader
from ..report.charts.scales import Series
from ..report.charts.server import with_cpu
from ..report.charts.timeline import RunOverTime, Setting

#: Of finished runs, warnings and columns of samples: the events may be anybody's.
_ENDED_MAX = 10_000
_WARNINGS_MAX = 50
_COLUMNS_MAX = 200


class Column:
    """Values over time; what is missing is NaN."""

    def __init__(self) -> None:
        self._seconds: array[float] = array("d")
        self._values: array[float] = array("d")

    def add(self, second: float, value: float | None) -> None:
        self._seconds.append(second)
        self._values.append(math.nan if value is None else value)

    def series(self) -> Series:
        """What belongs to a second is drawn in its middle."""
        return Series.of(np.array(self._seconds) + 0.5, np.array(self._values))


class RunGoing:
    """The run that goes on."""

    def __init__(self, id: str, cell: CellDescription, block: int) -> None:
        self.id = id
        self.cell = cell
        self.block = block
        self.phase = ""
        self.last: Second | None = None
        self.sample: Sampled | None = None
        self.ok = self.errors = 0
        self._warm_up_s = 0.0
        self._rate, self._p50_ms, self._p99_ms = Column(), Column(), Column()
        self._samples: dict[str, Column] = {}

    def add_second(self, second: Second) -> None:
        self.last = second
        self.ok += second.ok
        self.errors += second.errors
        if second.warm_up:
            self._warm_up_s = second.second + second.length_s
        self._rate.add(second.second, second.rate_ops_per_s)
        self._p50_ms.add(second.second, second.p50_ms)
        self._p99_ms.add(second.second, second.p99_ms)

    def add_sample(self, sample: Sampled) -> None:
        self.sample = sample
        for name, value in sample.figures.items():
            if name in self._samples or len(self._samples) < _COLUMNS_MAX:
                self._samples.setdefault(name, Column()).add(sample.second, value)

    def over_time(self) -> Setting:
        """For a chart."""
        run = RunOverTime(
            series=0,
            name=self.cell.label,
            repetition=self.block,
            valid=True,
            rate=self._rate.series(),
            p50_ms=self._p50_ms.series(),
            p99_ms=self._p99_ms.series(),
            metrics=with_cpu({name: column.series() for name, column in self._samples.items()}),
        )
        return Setting("", self._warm_up_s, (run,), nodes=tuple(self.sample.nodes if self.sample else ()))


@dataclass
class Going:
    """version: grows with each event."""

    title: str = ""
    runs: int = 0
    cells: dict[str, CellDescription] = field(default_factory=dict)
    loading: Loading | None = None
    run: RunGoing | None = None
    ended: deque[RunEnds] = field(default_factory=lambda: deque(maxlen=_ENDED_MAX))
    verified: list[Verified] = field(default_factory=list)
    warnings: deque[str] = field(default_factory=lambda: deque(maxlen=_WARNINGS_MAX))
    version: int = 0
    _done_before: int = 0
    _done: set[tuple[str, int]] = field(default_factory=set)

    @property
    def done(self) -> int:
        """Runs; a repeated one counts once."""
        return self._done_before + len(self._done)

    def cell(self, id: str) -> CellDescription:
        return self.cells.get(id) or CellDescription(id=id, label=id, system="", levels={})

    def add(self, events: Sequence[Event]) -> None:
        for event in events:
            self._add(event)
            self.version += 1

    def _add(self, event: Event) -> None:
        match event:
            case Begin():
                self.title, self.runs, self._done_before = event.title, event.runs, event.runs_done
                self.cells = {cell.id: cell for cell in event.cells}
            case CellAdded():
                self.cells[event.cell.id] = event.cell
            case Loading():
                self.loading = event
            case RunBegins():
                self.run, self.loading = RunGoing(event.run, self.cell(event.cell), event.block), None
            case Phase() if self.run:
                self.run.phase, self.loading = event.phase, None
            case Second() if self.run:
                self.run.add_second(event)
            case Sampled() if self.run:
                self.run.add_sample(event)
            case WarningEvent():
                self.warnings.append(f"{event.run}: {event.words}" if event.run else event.words)
            case RunEnds():
                self.ended.append(event)
                self._done.add((event.cell, event.block))
                self.run = None
            case Verified():
                self.verified.append(event)


class Watched:
    """The events of one bundle, read as they come."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._begin()

    def _begin(self, version: int = 0) -> None:
        self._reader = LiveReader(self._folder)
        self._going = Going(version=version)

    def look(self) -> Going | None:
        """As it is now; None where nothing goes on."""
        events = self._reader.events()
        if events is None:
            self._begin(self._going.version + 1)  # another has begun, or none goes on
            events = self._reader.events()
        while events:
            for event in events:
                if isinstance(event, Begin):  # another plan, or the same resumed
                    self._going = Going(version=self._going.version)
                self._going.add([event])
            events = self._reader.events()
        return None if events is None else self._going
