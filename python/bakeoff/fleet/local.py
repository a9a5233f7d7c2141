"""Engine processes on this machine. No engine outlives this process: its stdin ends with us."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import IO

from .engine_events import LAST_WORDS_CHARS, EngineLines
from .engine_program import engine_path
from .host import Place

#: Between asking clients to end and insisting, which is done twice.
GRACE_S = 2.0
#: The same for those that tell of nothing any more.
SILENT_GRACE_S = 0.2
#: Between "all ready" and the epoch, so that every client has read the line by then.
LEAD_S = 0.05


@dataclass(frozen=True)
class _Client:
    process: subprocess.Popen[str]
    log: Path


class LocalEngines(EngineLines):
    """`host.Engines` as processes of ours."""

    lead_s = LEAD_S

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self._clients: list[_Client] = []
        self._sending = threading.Lock()

    def __enter__(self) -> LocalEngines:
        return self

    def __exit__(self, *ended_by: object) -> None:
        self.close()

    def start(self, document: Path, env: Mapping[str, str], log: Path) -> None:
        """In a process group of its own: Ctrl-C reaches us, and we end its input. In our session, as the private
        servers are: one share of the processor for each thread (docs/decisions/0007)."""
        with open(log, "ab", opener=not_through_a_link) as errors:
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
        client = _Client(process, log)
        self._clients.append(client)
        number = self.add(f"the measuring process {process.pid}")
        threading.Thread(target=self._listen, args=(number, client), daemon=True).start()

    def pids(self) -> list[int]:
        return [client.process.pid for client in self._clients]

    def places(self) -> list[Place]:
        return [Place() for _ in self._clients]

    def close(self) -> None:
        """Ends all clients: end of input, then SIGTERM, then SIGKILL. Nothing is left when it returns."""
        grace_s = SILENT_GRACE_S if self.silent else GRACE_S
        for client in self._clients:
            _close_quietly(client.process.stdin)
        for sign in (None, signal.SIGTERM, signal.SIGKILL):
            deadline = monotonic() + grace_s
            for client in self._clients:
                if sign is not None and client.process.poll() is None:
                    client.process.send_signal(sign)
            for client in self._clients:
                try:
                    client.process.wait(max(0.01, deadline - monotonic()))
                except subprocess.TimeoutExpired:
                    continue

    def _listen(self, number: int, client: _Client) -> None:
        stdout = client.process.stdout
        assert stdout is not None
        for line in stdout:
            self.told(number, line)
        stdout.close()
        self.ended(number, client.process.wait(), _tail(client.log))

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


def not_through_a_link(path: str, flags: int) -> int:
    """For `open` of a run's log, whose folder others may write to."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def _close_quietly(pipe: IO[str] | None) -> None:
    try:
        if pipe is not None:
            pipe.close()
    except BrokenPipeError:
        return


def _tail(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()[-LAST_WORDS_CHARS:]
    except OSError:
        return ""
