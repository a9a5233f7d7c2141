"""What is seen while a plan runs: one line that moves on a terminal, one line a run when piped."""

from __future__ import annotations

import sys
import time

from ..analysis.wording import seconds_words
from ..model.boundary import Interval, Progress
from ..model.records import RunRecord
from ..plan.resolved import Cell
from ..report.answer import time_words
from ..schedule.conduct import View, seconds_left
from ..schedule.order import Slot
from .output import say

CLEAR = "\r\x1b[K"


class Line(View):
    """Runs done, current rate, p99, errors, time left, on stderr."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._moving = sys.stderr.isatty() and not quiet
        self._quiet = quiet
        self._began = time.monotonic()
        self._done = self._made = self._total = self._errors = 0
        self._now = ""
        self._rates: dict[int, tuple[int, float, int]] = {}

    def begin(self, slots: list[Slot], done: int) -> None:
        self._total, self._done, self._began = len(slots), done, time.monotonic()
        if done:
            self._say(f"{done} of {len(slots)} runs are there already")

    def loading(self, cell: Cell, progress: Progress | None) -> None:
        if progress is None:
            self._draw(f"{cell.record.system}: starting and loading")
        else:
            share = progress.done / progress.total if progress.total else 1.0
            rows = share * cell.workload.loaded_rows
            rate = rows / progress.elapsed_s if progress.elapsed_s > 0 else 0.0
            self._draw(f"{cell.record.system}: loading {share:.0%}, {rate:,.0f} rows/s")

    def run_begins(self, slot: Slot, cell: Cell) -> None:
        self._now = f"{slot.run} {cell.record.label}"
        self._rates = {}
        self._errors = 0
        self._draw(self._now)

    def stage(self, words: str) -> None:
        self._draw(f"{self._now}: {words}")

    def interval(self, interval: Interval) -> None:
        """Clients report the same second one after the other; their counts are added, the slowest p99 is shown."""
        whole = [s for s in interval.series if not s.part]
        ok = [s.response for s in whole if s.outcome == "ok"]
        count, p99_ns, clients = self._rates.get(interval.second, (0, 0.0, 0))
        count += sum(h.count for h in ok)
        p99_ns = max([p99_ns, *(h.p99_ns for h in ok if h.count)])
        self._rates[interval.second] = (count, p99_ns, clients + 1)
        self._errors += sum(s.response.count for s in whole if s.outcome != "ok")
        phase = "warm-up" if interval.warm_up else f"second {interval.second}"
        rate = count / interval.length_s if interval.length_s > 0 else 0.0
        self._draw(f"{self._now}: {phase}, {rate:,.0f} ops/s, p99 {p99_ns / 1e6:.2f} ms, errors {self._errors}")

    def run_ends(self, slot: Slot, cell: Cell, record: RunRecord) -> None:
        self._done += 1
        self._made += 1
        if record.state == "failed":
            self._say(f"{slot.run} {cell.record.label}: FAILED: {record.failure}")
        elif not self._moving and not self._quiet:
            words = f"p99 {time_words(record.response, 'p99_ms') or 'not stated'}"
            flag = "" if record.valid else ", INVALID"
            self._say(
                f"[{self._done}/{self._total}] {slot.run} {cell.record.label}: {record.rate_ops_per_s:,.0f} ops/s, "
                f"{words}, errors {sum(record.errors.values())}{flag}, {self._left()} left"
            )

    def message(self, words: str) -> None:
        self._say(words)

    def _say(self, words: str) -> None:
        say(words, before=CLEAR if self._moving else "")

    def close(self) -> None:
        if self._moving:
            say("", before=CLEAR, end="")

    def _draw(self, words: str) -> None:
        if self._moving:
            line = f"[{self._done}/{self._total}] {words}" if self._total else words
            left = f" | {self._left()} left" if self._total else ""
            width = 118 - len(left)
            say(f"{line[:width]}{left}", before=CLEAR, end="")

    def _left(self) -> str:
        left_s = seconds_left(self._made, self._total - (self._done - self._made), self._began)
        return "?" if left_s is None else seconds_words(left_s)
