"""Where engines run, as the schedule knows it, and what they tell, line by line: read, kept in order, and watched for
silence. A way of reaching them is another file: it brings lines in from any thread and carries control lines out.

with host.engines("load of mariadb") as engines:
    engines.start(document, env, log)     # once per client
    engines.wait_ready(timeout_s)
    engines.begin(unix_ns)                # at least `lead_s` ahead
    for client, event in engines.events(): ...
"""

from __future__ import annotations

import os
import queue
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

from pydantic import ValidationError

from ..errors import BakeoffError, EngineError, ExitCode
from ..model.boundary import EVENT, Event, Ready, RunResult, Trouble, Warning
from ..model.clients import THIS_MACHINE
from ..provision.process import exit_words

#: Of an engine's own log, in the words of an error.
LAST_WORDS_CHARS = 500
#: Between asking clients to end and insisting, which is done twice.
GRACE_S = 2.0
#: The same for those that send nothing any more.
SILENT_GRACE_S = 0.2


class EngineTrouble(BakeoffError):
    """The engine said what went wrong; its words are passed on."""

    def __init__(self, trouble: Trouble, where: str) -> None:
        super().__init__(trouble.what, where=f"{where}, {trouble.where}" if trouble.where else where, hint=trouble.hint)
        self.exit_code = ExitCode.USAGE if trouble.kind == "usage" else ExitCode.ENVIRONMENT
        self.kind = trouble.kind


class ClientsLost(EngineError):
    """Clients on load machines ended, through no fault of what they measured."""


class MachineLost(ClientsLost):
    """A load machine is not there any more, or not for this run. why: follows "was lost: "."""

    def __init__(self, machine: str, why: str, where: str) -> None:
        hint = "the next run uses the remaining machines, or waits for lost ones, as `min_clients` says"
        super().__init__(f"the load machine {machine} was lost: {why}", where=where, hint=hint)
        self.machine = machine


class StoodStill(ClientsLost):
    """The controller did, for so long that load machines gave it up; they may be there still."""

    def __init__(self, stalled_s: float, where: str) -> None:
        what = f"this machine, which controls the run, stalled for {stalled_s:.0f} s"
        super().__init__(what, where=where, hint="leave it a core of its own; the next run starts with all machines")


@dataclass(frozen=True)
class Place:
    """Where a client ran, and how well its clock is known there. The controller is the process that carries out the
    plan."""

    #: As people know it.
    machine: str = THIS_MACHINE
    #: It is the controller's, whatever it is called, and has the same clock.
    is_here: bool = True
    #: Cores that a client may use there; None: those of this machine.
    cores: int | None = None
    #: The machine's monotonic clock minus the controller's, as the start was set by it.
    clock_offset_ns: int = 0
    #: The true offset differs from it by no more than this, from before the run to after it.
    clock_bound_ns: int = 0
    #: There and back, the least of several. None: the controller is there.
    round_trip_ns: int | None = None
    #: The same to each node that listens on TCP, by its name; the time that a connection takes to be made.
    server_round_trip_ns: dict[str, int] = field(default_factory=dict)
    #: Between the time that the controller named for the start and the client's own epoch; None: not told.
    start_late_ns: int | None = None


@dataclass
class _Told:
    name: str
    ended: bool = False
    #: When it last sent anything but a warning (monotonic).
    heard: float = 0.0
    result: RunResult | None = None


@dataclass(frozen=True)
class _End:
    """No line comes any more. why: raised if there has been no result, or `at_once`."""

    why: BakeoffError
    at_once: bool


class Engines(ABC):
    """The clients of one phase of one run. Leaving the context ends them all, whatever happened. Errors are
    EngineError, or EngineTrouble with the engine's own words. All but `mark` is called from one thread; `receive`,
    `ended` and `lost` from any, in the order in which a client's lines came."""

    def __init__(self, where: str) -> None:
        self.where = where
        #: What the clients warned of so far, and which of them did.
        self.warnings: list[tuple[int, Warning]] = []
        #: Somebody has sent nothing for too long: asking it to end is of little use.
        self.silent = False
        self._told: list[_Told] = []
        self._lines: queue.Queue[tuple[int, str | bytes | _End]] = queue.Queue()

    @property
    @abstractmethod
    def lead_s(self) -> float:
        """Between `begin` and the time that it names, at least, so that every client knows it by then."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended_by: object) -> None:
        self.close()

    @abstractmethod
    def start(self, document: Path, env: Mapping[str, str], log: Path) -> None:
        """One client more, on `document`; its words go to `log`. Both are files of ours, wherever the client runs; env:
        the secrets that the document names."""

    @abstractmethod
    def places(self) -> list[Place]:
        """Of each client, in the order in which they were started. Whole once `events` has ended."""

    @abstractmethod
    def pids(self) -> list[int]:
        """Of the clients that run on this machine, where the sampler can see them."""

    @abstractmethod
    def close(self) -> None:
        """Ends all clients. None is left when it returns, but where a machine cannot be reached."""

    @abstractmethod
    def _send(self, line: str) -> None:
        """A control line to every client. Those that have ended say so by themselves. From any thread."""

    def add(self, name: str) -> int:
        """One client more; its number. name: as errors call it."""
        self._told.append(_Told(name))
        return len(self._told) - 1

    def receive(self, client: int, line: str | bytes) -> None:
        self._lines.put((client, line))

    def ended(self, client: int, code: int, last_words: str) -> None:
        """The client has sent its last line. code: as `Popen.returncode`; last_words: of its log."""
        why = EngineError(
            f"{self._told[client].name} ended without a result ({exit_words(code)})",
            where=self.where,
            hint=f"end of its log: {last_words.strip()[-LAST_WORDS_CHARS:] or 'none'}",
        )
        self._lines.put((client, _End(why, at_once=False)))

    def lost(self, client: int, why: BakeoffError) -> None:
        """The client's fate is unknown, so it has no result."""
        self._lines.put((client, _End(why, at_once=True)))

    def wait_ready(self, timeout_s: float) -> list[Ready]:
        """Until every client has opened its sessions."""
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
        """All clients begin (with the warm-up) at this time of the controller's real-time clock."""
        self._send(start_at(unix_ns))

    def mark(self, number: int) -> None:
        """Something planned happens now: every client writes it down on its own time axis, as an event."""
        self._send(f'{{"control":"mark","id":{number}}}')

    def stop(self) -> None:
        """Ends the run now, without waiting for what is in flight; results come as ever."""
        self._send('{"control":"stop"}\n{"control":"stop"}')

    def events(
        self,
        deadline: float | None = None,
        *,
        silence_s: float | None = None,
        quiet: Callable[[float], None] = lambda _: None,
    ) -> Iterator[tuple[int, Event]]:
        """Of all clients as they come, until every client has given its result, or `deadline` (monotonic). Raises
        EngineError where a running client sends nothing for `silence_s`; while the caller handles an event, nothing is
        read, and that time does not count. quiet: is called with the seconds since any of them last reported something,
        about twice a second while none does."""
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
            given = time.monotonic()
            yield index, event
            handled_s = time.monotonic() - given
            for client in self._told:
                client.heard += handled_s

    def results(self) -> list[RunResult]:
        return [client.result for client in self._told if client.result is not None]

    def _refuse_silence(self, silence_s: float) -> None:
        silent = [c for c in self._told if not c.ended and time.monotonic() - c.heard > silence_s]
        if silent:
            self.silent = True
            raise EngineError(
                f"{silent[0].name} has sent nothing for {silence_s:.0f} s",
                where=self.where,
                hint="is it, the server or the disk frozen? the logs are in the bundle",
            )

    def _parse(self, line: str | bytes) -> Event:
        try:
            return EVENT.validate_json(line)
        except ValidationError as error:
            raise EngineError(
                f"the engine sent something that this bakeoff does not know: {error.errors()[0]['msg']}",
                where=self.where,
                hint="the engine and the Python package are of different versions; reinstall both with `pip install .`",
            ) from error


def start_at(unix_ns: int) -> str:
    """The control line with which a client begins at this time of its machine's real-time clock."""
    return f'{{"control":"start_at","unix_ns":{unix_ns}}}'


def not_through_a_link(path: str, flags: int) -> int:
    """For `open` of a run's log, whose folder others may write to."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


class Host(Protocol):
    """name: of the machine, for people."""

    name: str

    def engines(self, where: str) -> Engines:
        """where: the run and its phase, for error messages."""
