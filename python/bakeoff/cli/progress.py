"""What is seen while a plan runs: one line that moves on a terminal; when piped a line for each run, and between them
one every few seconds. With `--events`, what happens as JSON lines on stdout for other programs, too."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

from .. import __version__
from ..analysis.wording import duration_words, seconds_words
from ..findings.run_values import time_words
from ..model.boundary import Document, Interval, Progress
from ..model.records.run import RunRecord
from ..plan.resolved import Cell, ResolvedPlan
from ..schedule.conductor import View
from ..schedule.merge import merge_intervals
from ..schedule.run_order import Slot
from .event_schema import Begin, CellAdded, CellDescription, Loading, Phase, RunBegins, RunEnds, Second, WarningEvent
from .output import flush, say, show

CLEAR = "\r\x1b[K"
#: Between two lines when piped, at least.
PIPED_EVERY_S = 5.0


class Line(View):
    """Runs done, current rate, p99, errors, time left, on stderr. clock: seconds of any origin."""

    def __init__(self, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._moving = sys.stderr.isatty() and not quiet
        self._quiet = quiet
        self._clock = clock
        self._since = self._said = clock()  # the end of the run before, or of loading
        self._done = self._total = self._errors = 0
        self._loads = False
        self._lengths_s: dict[str, list[float]] = {}  # of the runs made so far, by cell
        self._at_most = False
        self._clients = self._machines = 1
        self._now = ""
        self._rates: dict[int, tuple[int, float, int]] = {}

    def begin(self, runs: int, done: int, *, at_most: bool = False) -> None:
        self._total, self._done, self._since, self._at_most = runs, done, self._clock(), at_most
        if done:
            self._say(f"{done} of {'at most ' if at_most else ''}{runs} runs are there already")

    def loading(self, cell: Cell, progress: Progress | None) -> None:
        self._loads = True
        if progress is None:
            self._draw(f"{cell.record.system}: starting and loading")
        else:
            share = progress.done / progress.total if progress.total else 1.0
            rows = share * cell.workload.loaded_rows
            rate = rows / progress.elapsed_s if progress.elapsed_s > 0 else 0.0
            self._draw(f"{cell.record.system}: loading {share:.0%}, {rate:,.0f} rows/s")

    def run_begins(self, slot: Slot, cell: Cell) -> None:
        self._now = f"{slot.run} {cell.record.label}"
        self._clients, self._machines = cell.clients, 1
        self._rates = {}
        self._errors = 0
        self._draw(self._now)

    def stage(self, words: str) -> None:
        if self._loads:  # once for many runs, so it is no part of one
            self._since, self._loads = self._clock(), False
        self._draw(f"{self._now}: {words}")

    def placed(self, machines: int) -> None:
        self._machines = machines

    def interval(self, interval: Interval) -> None:
        """Clients report the same second one after the other; their counts are added, the slowest p99 is shown when all
        of them have."""
        whole = [s for s in interval.series if not s.part]
        ok = [s.response for s in whole if s.outcome == "ok"]
        count, p99_ns, clients = self._rates.get(interval.second, (0, 0.0, 0))
        count += sum(h.count for h in ok)
        p99_ns = max([p99_ns, *(h.p99_ns for h in ok if h.count)])
        self._rates[interval.second] = (count, p99_ns, clients + 1)
        self._errors += sum(s.response.count for s in whole if s.outcome != "ok")
        if clients + 1 < self._clients:
            return
        phase = "warm-up" if interval.warm_up else f"second {interval.second}"
        rate = count / interval.length_s if interval.length_s > 0 else 0.0
        p99 = f"p99 {duration_words(p99_ns)}" if count else "no p99"
        words = f"{self._now}: {phase}, {rate:,.0f} ops/s, {p99}, errors {self._errors}"
        self._draw(f"{words}, {self._clients} clients on {self._machines} machines" if self._machines > 1 else words)

    def run_ends(self, slot: Slot, cell: Cell, record: RunRecord) -> None:
        self._done += 1
        before_s, self._since, self._loads = self._since, self._clock(), False
        self._lengths_s.setdefault(slot.cell, []).append(self._since - before_s)
        if record.state == "failed":
            self._say(f"{slot.run} {cell.record.label}: FAILED: {record.failure}")
        elif not self._moving and not self._quiet:
            words = f"p99 {time_words(record.response, 'p99_ms') or 'not stated'}"
            flag = "" if record.standing == "valid" else f", {record.standing.upper()}"
            self._say(
                f"{self._count()} {slot.run} {cell.record.label}: {record.rate_ops_per_s:,.0f} ops/s, "
                f"{words}, errors {sum(record.errors.values())}{flag}{self._left(', ')}"
            )

    def repeated(self, runs: int) -> None:
        self._total += runs

    def message(self, words: str) -> None:
        self._say(words)

    def _say(self, words: str) -> None:
        self._said = self._clock()
        say(words, before=CLEAR if self._moving else "")

    def close(self) -> None:
        if self._moving:
            say("", before=CLEAR, end="")

    def _draw(self, words: str) -> None:
        line = f"{self._count()} {words}" if self._total else words
        if self._moving:
            left = self._left(" | ")
            say(f"{line[: 118 - len(left)]}{left}", before=CLEAR, end="")
        elif not self._quiet and self._clock() - self._said >= PIPED_EVERY_S:
            self._say(f"{line}{self._left(', ')}")

    def _count(self) -> str:
        return f"[{self._done}, at most {self._total}]" if self._at_most else f"[{self._done}/{self._total}]"

    def _left(self, before: str) -> str:
        """By the mean length of each cell's runs so far: those of one system may take much longer, and each cell will
        have as many. Nothing before the first."""
        if not self._lengths_s:
            return ""
        whole_s = fmean(map(fmean, self._lengths_s.values())) * (self._total - self._done)
        left_s = whole_s if self._loads else max(0.0, whole_s - (self._clock() - self._since))
        return f"{before}{'at most ' if self._at_most else ''}{seconds_words(left_s)} left"


def tell(event: Document) -> None:
    """Strict JSON in ASCII: whatever a database said, nothing in it steers a terminal."""
    show(json.dumps(event.model_dump(mode="json"), allow_nan=False))
    flush()


_SAME_OF_A_RUN = (
    *("state", "failure", "valid", "standing", "attempt"),
    *("rate_ops_per_s", "error_ratio", "errors", "response"),
)


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
        same = {name: getattr(record, name) for name in _SAME_OF_A_RUN}
        findings = [finding for finding in record.validity if finding.ok is False]
        tell(RunEnds(run=slot.run, cell=slot.cell, block=slot.block, findings=findings, **same))
        super().run_ends(slot, cell, record)
        self._run = ""

    def message(self, words: str) -> None:
        tell(WarningEvent(run=self._run, words=words))
        super().message(words)


def _told(cell: Cell) -> CellDescription:
    c = cell.record
    return CellDescription(id=c.id, label=c.label, system=c.system, levels=c.levels)
