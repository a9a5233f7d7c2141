"""A plan that goes on while others do something to it: `bakeoff run --events`, and what it has told so far."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from bakeoff.bundle.events import EVENT, RunEnds, Second, WarningEvent
from commands import started, wait_until

E = TypeVar("E")
_END_S = 60


class Going:
    """In the folder of its plan. words: what people see."""

    def __init__(self, plan: Path, *, through: Sequence[str] = (), env: dict[str, str] | None = None) -> None:
        self.process = started("run", plan, "--events", "--together", cwd=plan.parent, env=env, through=through)
        self.words = ""
        self._told: list[Any] = []
        self._listening = [threading.Thread(target=listen) for listen in (self._hear, self._read)]
        for thread in self._listening:
            thread.start()

    def _hear(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._told.append(EVENT.validate_json(line))

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            for line in lines:
                self.words += line

    def told(self, kind: type[E]) -> list[E]:
        return [one for one in list(self._told) if isinstance(one, kind)]

    def first(self, kind: type[E], fits: Callable[[E], bool], what: str) -> E:
        """The first such event that fits, now or later. what: a clause, for a test that has failed."""

        def look() -> E | None:
            ended = self.process.poll() is not None
            found = next(filter(fits, self.told(kind)), None)
            assert found or not ended, f"it ended with {self.process.returncode} before {what}: {self.words}"
            return found

        found: E = wait_until(look, what)
        return found

    def measured_run(self, after: str = "") -> str:
        """The first after this one of which operations are reported."""
        return self.first(Second, lambda second: second.run > after, f"a run after {after!r} measures").run

    def ended(self, run: str) -> RunEnds:
        return self.first(RunEnds, lambda one: one.run == run, f"run {run} ends")

    def warned_of(self, words: str) -> str:
        return self.first(WarningEvent, lambda one: words in one.words, f"it warns of {words!r}").words

    def end(self) -> int:
        """By Ctrl-C, unless it has ended; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
        for thread in self._listening:
            thread.join()
        return self.process.wait()
