"""Progress of a running plan. On a terminal: a line for each finished run, warnings, and a status line that is redrawn
in place. On a pipe: the same lines, and a status line every few seconds. `--events` adds JSON lines on stdout."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from .. import __version__
from ..analysis.wording import duration_words, seconds_words
from ..bundle.events import (
    Begin,
    CellAdded,
    CellDescription,
    Loading,
    Phase,
    RunBegins,
    RunEnds,
    Sampled,
    Second,
    Verified,
    WarningEvent,
)
from ..bundle.run_files import EACH_SECOND_S, LATER_S, Row
from ..findings.run_values import time_words
from ..model.boundary import Document, Progress
from ..model.records.run import RunRecord
from ..model.records.verification import VerificationRecord
from ..plan.resolved import Cell, ResolvedPlan
from ..report.charts.server import candidates
from ..schedule.conductor import View
from ..schedule.run_order import Slot
from ..verify.verdicts import level_words, verdict_of
from .output import flush, say, show

CLEAR = "\r\x1b[K"
#: Shortest time between two lines on a pipe.
PIPED_EVERY_S = 5.0
#: Letters of the progress bar, and the narrowest terminal that shows it.
BAR_WIDTH = 10
BAR_FROM_COLUMNS = 100


class Line(View):
    """Finished runs, current throughput, p99, errors and time left, on stderr. clock: seconds of any origin.
    estimated_run_s: the length of a run, for the time left before one has ended."""

    def __init__(
        self,
        *,
        quiet: bool = False,
        estimated_run_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._moving = sys.stderr.isatty() and not quiet
        self._quiet = quiet
        self._estimated_run_s = estimated_run_s
        self._clock = clock
        self._since = self._said = clock()  # the end of the run before, or of loading
        self._done = self._total = self._errors = 0
        self._loads = False
        self._lengths_s: dict[str, list[float]] = {}  # of the finished runs, by cell
        self._at_most = False
        self._clients = self._machines = 1
        self._warned: set[str] = set()
        self._now = ""
        self._window_s = 0.0
        self._warm_up_seconds = 0

    def begin(self, runs: int, done: int, *, at_most: bool = False) -> None:
        self._total, self._done, self._since, self._at_most = runs, done, self._clock(), at_most
        if done:
            self.note(f"{done} of {'at most ' if at_most else ''}{runs} runs are done already")

    def loading(self, cell: Cell, progress: Progress | None) -> None:
        self._loads = True
        if progress is None:
            self._draw(f"{cell.record.system}: starting and loading")
            return
        share = progress.done / progress.total if progress.total else 1.0
        rate = share * cell.workload.loaded_rows / progress.elapsed_s if progress.elapsed_s > 0 else 0.0
        left = f", {seconds_words(progress.elapsed_s * (1 / share - 1))} left" if 0 < share < 1 else ""
        self._draw(f"{cell.record.system}: loading {share:.0%}, {rate:,.0f} rows/s{left}")

    def run_begins(self, slot: Slot, cell: Cell) -> None:
        self._now = cell.record.label if self._moving else f"{slot.run} {cell.record.label}"
        self._clients, self._machines = cell.clients, 1
        self._window_s = cell.expected_window_s if self._moving else 0.0
        self._errors = self._warm_up_seconds = 0
        self._draw(self._now)

    def stage(self, words: str) -> None:
        if self._loads:  # loading serves many runs, so it is not part of one run's length
            self._since, self._loads = self._clock(), False
        self._draw(f"{self._now}: {words}")

    def placed(self, machines: int) -> None:
        self._machines = machines

    def second(self, row: Row) -> None:
        self._errors += row["errors"]
        p99 = f"p99 {duration_words(row['p99_ms'] * 1e6)}" if row["ok"] else "no p99"
        errors = f", errors {self._errors}" if self._errors or not self._moving else ""
        words = f"{self._now}: {self._phase(row)}, {row['rate_ops_per_s']:,.0f} ops/s, {p99}{errors}"
        self._draw(f"{words}, {self._clients} clients on {self._machines} machines" if self._machines > 1 else words)

    def _phase(self, row: Row) -> str:
        if row["warm_up"]:
            self._warm_up_seconds = row["second"] + 1
            return "warm-up"
        if not self._moving:
            return f"second {row['second']}"
        return f"{row['second'] + 1 - self._warm_up_seconds} of {self._window_s:.0f} s"

    def run_ends(self, slot: Slot, cell: Cell, record: RunRecord) -> None:
        self._done += 1
        before_s, self._since, self._loads = self._since, self._clock(), False
        self._lengths_s.setdefault(slot.cell, []).append(self._since - before_s)
        if record.state == "failed":
            self.note(f"{slot.run} {cell.record.label}: FAILED: {record.failure}")
            return
        if not self._quiet:
            words = f"p99 {time_words(record.response, 'p99_ms') or 'not stated'}"
            flag = "" if record.standing == "valid" else f", {record.standing.upper()}"
            left = "" if self._moving else self._left(", ")
            self.note(
                f"{self._count()} {slot.run} {cell.record.label}: {record.rate_ops_per_s:,.0f} ops/s, "
                f"{words}, errors {sum(record.errors.values())}{flag}{left}"
            )
        self._warn(slot, record)

    def _warn(self, slot: Slot, record: RunRecord) -> None:
        """Why a run does not count, what it did wrong before what disturbed it; what else is wrong with it only the
        first time."""
        for found in sorted(record.validity, key=lambda found: found.severity != "invalid"):
            new = found.severity == "warning" and found.name not in self._warned
            if found.ok is False and (found.severity in ("invalid", record.standing) or new):
                self.note(f"warning: {slot.run}: {found.words}")
                self._warned.add(found.name)

    def repeated(self, runs: int) -> None:
        self._total += runs

    def verifying(self, words: str) -> None:
        self._draw(f"verifying {words}")

    def verified(self, record: VerificationRecord) -> None:
        if not self._quiet:
            self.note(f"{record.label} at {level_words(record)}: {verdict_of(record)}")

    def doing(self, words: str) -> None:
        """What goes on, outside of any run."""
        self._draw(words)

    def message(self, words: str) -> None:
        self.note(words)

    def note(self, words: str) -> None:
        """A line that stays. On a terminal the status line, which it replaces, returns with the next report."""
        self._said = self._clock()
        say(words, before=CLEAR if self._moving else "")

    def close(self) -> None:
        if self._moving:
            say("", before=CLEAR, end="")

    def _draw(self, words: str) -> None:
        if self._moving:
            say(self._status(words), before=CLEAR, end="")
        elif not self._quiet and self._clock() - self._said >= PIPED_EVERY_S:
            line = f"{self._count()} {words}" if self._total else words
            self.note(f"{line}{self._left(', ')}")

    def _status(self, words: str) -> str:
        """`[12/60 ##........] 8 min 20 s left | what happens now`, cut to the terminal's width."""
        columns = _columns() - 1
        if not self._total:
            return words[:columns]
        count = self._count()
        if columns >= BAR_FROM_COLUMNS - 1:
            filled = int(BAR_WIDTH * self._share_done())
            count = f"{count[:-1]} {'#' * filled}{'.' * (BAR_WIDTH - filled)}]"
        return f"{count}{self._left(' ', estimated=True)} | {words}"[:columns]

    def _share_done(self) -> float:
        """Of all runs; the current one counts by its time."""
        lengths_s = self._mean_length_s()
        current = 0.0 if self._loads or not lengths_s else min(1.0, (self._clock() - self._since) / lengths_s)
        return min(1.0, (self._done + current) / self._total) if self._total else 0.0

    def _mean_length_s(self) -> float | None:
        """Of a run: the mean over the cells of each one's mean, because runs of one system may take much longer, and
        every cell has as many runs. Before the first has ended, as estimated."""
        return fmean(map(fmean, self._lengths_s.values())) if self._lengths_s else self._estimated_run_s

    def _count(self) -> str:
        return f"[{self._done}, at most {self._total}]" if self._at_most else f"[{self._done}/{self._total}]"

    def _left(self, before: str, *, estimated: bool = False) -> str:
        """estimated: also before the first run has ended."""
        length_s = self._mean_length_s()
        if length_s is None or not (self._lengths_s or estimated):
            return ""
        whole_s = length_s * (self._total - self._done)
        left_s = whole_s if self._loads else max(0.0, whole_s - (self._clock() - self._since))
        if left_s < 1:  # the run takes longer than those before it: how much is not known
            return ""
        about = "at most " if self._at_most else "" if self._lengths_s else "about "
        return f"{before}{about}{seconds_words(left_s)} left"


def _columns() -> int:
    """The width of the terminal behind stderr; stdout may be a file."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def emit(event: Document) -> None:
    """Strict JSON in ASCII, so that no text of a database can control a terminal."""
    show(json.dumps(event.model_dump(mode="json"), allow_nan=False))
    flush()


_SAME_OF_A_RUN = (
    *("state", "failure", "valid", "standing", "attempt"),
    *("rate_ops_per_s", "error_ratio", "errors", "response"),
)


class Events(Line):
    """The same progress, and each step as an event to those who listen."""

    def __init__(
        self,
        plan: ResolvedPlan,
        bundle: Path,
        listeners: Sequence[Callable[[Document], None]],
        *,
        quiet: bool = False,
        estimated_run_s: float | None = None,
    ) -> None:
        super().__init__(quiet=quiet, estimated_run_s=estimated_run_s)
        self._plan = plan
        self._bundle = bundle
        self._listeners = listeners
        self._run = ""
        self._sampled_s = -1.0

    def _emit(self, event: Document) -> None:
        for listen in self._listeners:
            listen(event)

    def begin(self, runs: int, done: int, *, at_most: bool = False) -> None:
        self._emit(
            Begin(
                bakeoff_version=__version__,
                title=self._plan.record.title,
                bundle=os.path.abspath(self._bundle),
                cells=[_event_cell(cell) for cell in self._plan.cells],
                runs=runs,
                runs_done=done,
            )
        )
        super().begin(runs, done, at_most=at_most)

    def cell_added(self, cell: Cell) -> None:
        self._emit(CellAdded(cell=_event_cell(cell)))
        super().cell_added(cell)

    def loading(self, cell: Cell, progress: Progress | None) -> None:
        done, total, elapsed_s = (progress.done, progress.total, progress.elapsed_s) if progress else (0, 0, 0.0)
        record = cell.record
        self._emit(Loading(system=record.system, cell=record.id, done=done, total=total, elapsed_s=elapsed_s))
        super().loading(cell, progress)

    def run_begins(self, slot: Slot, cell: Cell) -> None:
        self._run, self._sampled_s = slot.run, -1.0
        self._emit(RunBegins(run=slot.run, cell=slot.cell, block=slot.block))
        super().run_begins(slot, cell)

    def stage(self, words: str) -> None:
        self._emit(Phase(run=self._run, phase=words))
        super().stage(words)

    def second(self, row: Row) -> None:
        self._emit(Second(run=self._run, **row))
        super().second(row)

    def sampled(self, row: Row, nodes: Sequence[str]) -> None:
        at_s = row["second"]
        if at_s <= self._sampled_s or (at_s >= EACH_SECOND_S and at_s < self._sampled_s + LATER_S):
            return
        self._sampled_s = at_s
        figures = {name: row[name] for name in candidates(list(row), nodes) if math.isfinite(row[name])}
        self._emit(Sampled(run=self._run, second=at_s, nodes=list(nodes), figures=figures))

    def run_ends(self, slot: Slot, cell: Cell, record: RunRecord) -> None:
        same = {name: getattr(record, name) for name in _SAME_OF_A_RUN}
        findings = [finding for finding in record.validity if finding.ok is False]
        self._emit(RunEnds(run=slot.run, cell=slot.cell, block=slot.block, findings=findings, **same))
        super().run_ends(slot, cell, record)
        self._run = ""

    def verified(self, record: VerificationRecord) -> None:
        self._emit(Verified(system=record.system, level=record.level, cells=record.cells, verdict=verdict_of(record)))
        super().verified(record)

    def message(self, words: str) -> None:
        self._emit(WarningEvent(run=self._run, words=words))
        super().message(words)


def _event_cell(cell: Cell) -> CellDescription:
    c = cell.record
    return CellDescription(id=c.id, label=c.label, system=c.system, levels=c.levels)
