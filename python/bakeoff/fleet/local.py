"""Engine processes on this machine. No engine outlives this process: its stdin ends with us."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from ..errors import BakeoffError, EngineError, ExitCode
from ..model.boundary import EVENT, Event, Ready, RunResult, Trouble, Warning
from ..provision.process import exit_words
from .binary import engine_path

#: Between asking clients to end and insisting, which is done twice.
_GRACE_S = 2.0
#: The same for those that tell of nothing any more.
_SILENT_GRACE_S = 0.2


@dataclass
class _Client:
    process: subprocess.Popen[str]
    log: Path
    ended: bool = False
    #: When it last told of anything but a warning (monotonic).
    heard: float = 0.0
    result: RunResult | None = None


class EngineTrouble(BakeoffError):
    """The engine said what went wrong; its words are passed on."""

    def __init__(self, trouble: Trouble, where: str) -> None:
        super().__init__(trouble.what, where=f"{where}, {trouble.where}" if trouble.where else where, hint=trouble.hint)
        self.exit_code = ExitCode.USAGE if trouble.kind == "usage" else ExitCode.ENVIRONMENT
        self.kind = trouble.kind


class LocalEngines:
    """`host.Engines` as processes of ours."""

    def __init__(self, where: str) -> None:
        self.where = where
        #: What the clients warned of so far, and which of them did.
        self.warnings: list[tuple[int, Warning]] = []
        self._clients: list[_Client] = []
        self._grace_s = _GRACE_S
        self._sending = threading.Lock()
        self._lines: queue.Queue[tuple[int, str | None]] = queue.Queue()

    def __enter__(self) -> LocalEngines:
        return self

    def __exit__(self, *ended_by: object) -> None:
        self.close()

    def start(self, document: Path, env: Mapping[str, str], log: Path) -> None:
        """In a process group of its own: Ctrl-C reaches us, and we end its input. In our session, as the private
        servers are: one share of the processor for each thread (docs/decisions/0007)."""
        index = len(self._clients)
        with open(log, "ab", opener=_not_through_a_link) as errors:
            process = subprocess.Popen(
                [str(engine_path()), str(document)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **env},
                text=True,
                encoding="utf-8",
                process_group=0,
            )
        self._clients.append(_Client(process, log))
        assert process.stdout is not None
        threading.Thread(target=self._listen, args=(index, process.stdout), daemon=True).start()

    def pids(self) -> list[int]:
        return [client.process.pid for client in self._clients]

    def wait_ready(self, timeout_s: float) -> list[Ready]:
        ready: dict[int, Ready] = {}
        deadline = time.monotonic() + timeout_s
        for client, event in self.events(deadline):
            if isinstance(event, Ready):
                ready[client] = event
            if len(ready) == len(self._clients):
                return [ready[i] for i in sorted(ready)]
        late = len(self._clients) - len(ready)
        raise EngineError(
            f"{late} of {len(self._clients)} clients were not ready within {timeout_s:.0f} s",
            where=self.where,
            hint="is the server overloaded or frozen? its log is in the run's folder",
        )

    def begin(self, unix_ns: int) -> None:
        self._send(f'{{"control":"start_at","unix_ns":{unix_ns}}}')

    def mark(self, number: int) -> None:
        self._send(f'{{"control":"mark","id":{number}}}')

    def stop(self) -> None:
        self._send('{"control":"stop"}\n{"control":"stop"}')

    def events(self, deadline: float | None = None, *, silence_s: float | None = None) -> Iterator[tuple[int, Event]]:
        for client in self._clients:
            client.heard = time.monotonic()
        while not all(client.ended for client in self._clients):
            if silence_s is not None:
                self._refuse_silence(silence_s)
            timeout = None if deadline is None else deadline - time.monotonic()
            if timeout is not None and timeout <= 0:
                return
            try:
                # A bounded wait, so that a signal is acted on at once.
                index, line = self._lines.get(timeout=min(0.5, timeout or 0.5))
            except queue.Empty:
                continue
            if line is None:
                self._ended(index)
                continue
            event = self._parse(index, line)
            if isinstance(event, Trouble):
                raise EngineTrouble(event, self.where)
            if isinstance(event, RunResult):
                self._clients[index].result = event
            if isinstance(event, Warning):
                self.warnings.append((index, event))
            else:
                self._clients[index].heard = time.monotonic()
            yield index, event

    def _refuse_silence(self, silence_s: float) -> None:
        silent = [c for c in self._clients if not c.ended and time.monotonic() - c.heard > silence_s]
        if silent:
            self._grace_s = _SILENT_GRACE_S
            raise EngineError(
                f"the measuring process {silent[0].process.pid} has told of nothing for {silence_s:.0f} s",
                where=self.where,
                hint="is it frozen, or the server, or the disk? the logs are in the bundle",
            )

    def results(self) -> list[RunResult]:
        return [client.result for client in self._clients if client.result is not None]

    def close(self) -> None:
        """Ends all clients: end of input, then SIGTERM, then SIGKILL. Nothing is left when it returns."""
        for client in self._clients:
            _close_quietly(client.process.stdin)
        for sign in (None, signal.SIGTERM, signal.SIGKILL):
            deadline = time.monotonic() + self._grace_s
            for client in self._clients:
                if sign is not None and client.process.poll() is None:
                    client.process.send_signal(sign)
            for client in self._clients:
                try:
                    client.process.wait(max(0.01, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    continue

    def _listen(self, index: int, stdout: IO[str]) -> None:
        for line in stdout:
            self._lines.put((index, line))
        stdout.close()
        self._lines.put((index, None))

    def _ended(self, index: int) -> None:
        client = self._clients[index]
        client.ended = True
        code = client.process.wait()
        if client.result is None:
            raise EngineError(
                f"the measuring process ended before it gave a result ({exit_words(code)})",
                where=self.where,
                hint=f"its last words: {_tail(client.log) or 'none'}",
            )

    def _parse(self, index: int, line: str) -> Event:
        try:
            return EVENT.validate_json(line)
        except ValidationError as error:
            raise EngineError(
                f"the measuring process answered something this bakeoff does not know: {error.errors()[0]['msg']}",
                where=self.where,
                hint="the engine and the Python package are of different versions; reinstall both with `pip install .`",
            ) from error

    def _send(self, line: str) -> None:
        with self._sending:
            for client in self._clients:
                try:
                    assert client.process.stdin is not None
                    client.process.stdin.write(line + "\n")
                    client.process.stdin.flush()
                except (BrokenPipeError, ValueError):
                    continue  # it has ended; `events` says how


class LocalHost:
    """This machine."""

    name = "this machine"

    def engines(self, where: str) -> LocalEngines:
        return LocalEngines(where)


def _not_through_a_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def _close_quietly(pipe: IO[str] | None) -> None:
    try:
        if pipe is not None:
            pipe.close()
    except BrokenPipeError:
        return


def _tail(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()[-500:]
    except OSError:
        return ""
