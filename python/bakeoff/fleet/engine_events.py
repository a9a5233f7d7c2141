"""What the clients of one phase tell, line by line, wherever they run: read, kept in order, and watched for silence. A
way of reaching them brings lines in from any thread and carries control lines out."""

from __future__ import annotations

import queue
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from ..errors import BakeoffError, EngineError, ExitCode
from ..model.boundary import EVENT, Event, Ready, RunResult, Trouble, Warning
from ..provision.process import exit_words

#: Of an engine's own log, in the words of an error.
LAST_WORDS_CHARS = 500


class EngineTrouble(BakeoffError):
    """The engine said what went wrong; its words are passed on."""

    def __init__(self, trouble: Trouble, where: str) -> None:
        super().__init__(trouble.what, where=f"{where}, {trouble.where}" if trouble.where else where, hint=trouble.hint)
        self.exit_code = ExitCode.USAGE if trouble.kind == "usage" else ExitCode.ENVIRONMENT
        self.kind = trouble.kind


@dataclass
class _Told:
    name: str
    ended: bool = False
    #: When it last told of anything but a warning (monotonic).
    heard: float = 0.0
    result: RunResult | None = None


@dataclass(frozen=True)
class _End:
    """No line comes any more. why: raised if there has been no result, or `at_once`."""

    why: BakeoffError
    at_once: bool


class EngineLines(ABC):
    """The half of `host.Engines` that is the same everywhere. `told`, `ended` and `lost` are called from any thread, in
    the order in which a client's lines came."""

    def __init__(self, where: str) -> None:
        self.where = where
        #: What the clients warned of so far, and which of them did.
        self.warnings: list[tuple[int, Warning]] = []
        #: Somebody has told of nothing for too long: asking it to end is of little use.
        self.silent = False
        self._told: list[_Told] = []
        self._lines: queue.Queue[tuple[int, str | bytes | _End]] = queue.Queue()

    @abstractmethod
    def _send(self, line: str) -> None:
        """A control line to every client. Those that have ended say so by themselves. From any thread."""

    def add(self, name: str) -> int:
        """One client more; its number. name: as errors call it."""
        self._told.append(_Told(name))
        return len(self._told) - 1

    def told(self, client: int, line: str | bytes) -> None:
        self._lines.put((client, line))

    def ended(self, client: int, code: int, last_words: str) -> None:
        """It has told all it will. code: as `Popen.returncode`; last_words: of its log."""
        why = EngineError(
            f"{self._told[client].name} ended before it gave a result ({exit_words(code)})",
            where=self.where,
            hint=f"its last words: {last_words.strip()[-LAST_WORDS_CHARS:] or 'none'}",
        )
        self._lines.put((client, _End(why, at_once=False)))

    def lost(self, client: int, why: BakeoffError) -> None:
        """Nobody knows what became of it, so that its result, too, is none."""
        self._lines.put((client, _End(why, at_once=True)))

    def wait_ready(self, timeout_s: float) -> list[Ready]:
        ready: dict[int, Ready] = {}
        deadline = time.monotonic() + timeout_s
        for client, event in self.events(deadline):
            if isinstance(event, Ready):
                ready[client] = event
            if len(ready) == len(self._told):
                return [ready[i] for i in sorted(ready)]
        late = len(self._told) - len(ready)
        raise EngineError(
            f"{late} of {len(self._told)} clients were not ready within {timeout_s:.0f} s",
            where=self.where,
            hint="is the server overloaded or frozen? its log is in the run's folder",
        )

    def begin(self, unix_ns: int) -> None:
        self._send(start_at(unix_ns))

    def mark(self, number: int) -> None:
        self._send(f'{{"control":"mark","id":{number}}}')

    def stop(self) -> None:
        self._send('{"control":"stop"}\n{"control":"stop"}')

    def events(
        self,
        deadline: float | None = None,
        *,
        silence_s: float | None = None,
        quiet: Callable[[float], None] = lambda _: None,
    ) -> Iterator[tuple[int, Event]]:
        for client in self._told:
            client.heard = time.monotonic()
        while not all(client.ended for client in self._told):
            if silence_s is not None:
                self._refuse_silence(silence_s)
            timeout = None if deadline is None else deadline - time.monotonic()
            if timeout is not None and timeout <= 0:
                return
            try:
                # A bounded wait, so that a signal is acted on at once.
                index, line = self._lines.get(timeout=min(0.5, timeout or 0.5))
            except queue.Empty:
                quiet(time.monotonic() - max(client.heard for client in self._told))
                continue
            client = self._told[index]
            if isinstance(line, _End):
                client.ended = True
                if line.at_once or client.result is None:
                    raise line.why
                continue
            event = self._parse(line)
            if isinstance(event, Trouble):
                raise EngineTrouble(event, self.where)
            if isinstance(event, RunResult):
                client.result = event
            if isinstance(event, Warning):
                self.warnings.append((index, event))
            else:
                client.heard = time.monotonic()
            yield index, event

    def results(self) -> list[RunResult]:
        return [client.result for client in self._told if client.result is not None]

    def _refuse_silence(self, silence_s: float) -> None:
        silent = [c for c in self._told if not c.ended and time.monotonic() - c.heard > silence_s]
        if silent:
            self.silent = True
            raise EngineError(
                f"{silent[0].name} has told of nothing for {silence_s:.0f} s",
                where=self.where,
                hint="is it frozen, or the server, or the disk? the logs are in the bundle",
            )

    def _parse(self, line: str | bytes) -> Event:
        try:
            return EVENT.validate_json(line)
        except ValidationError as error:
            raise EngineError(
                f"the measuring process answered something this bakeoff does not know: {error.errors()[0]['msg']}",
                where=self.where,
                hint="the engine and the Python package are of different versions; reinstall both with `pip install .`",
            ) from error


def start_at(unix_ns: int) -> str:
    """The control line with which a client begins at this time of its machine's real-time clock."""
    return f'{{"control":"start_at","unix_ns":{unix_ns}}}'
