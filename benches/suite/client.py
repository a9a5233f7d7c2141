"""A client under measurement: what it is asked, what it says of itself, and its process."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bakeoff.errors import BakeoffError

#: Thousands of sessions, one after the other.
READY_TIMEOUT_S = 120.0
#: The client runs for so much longer than the window, at either end.
MARGIN_S = 0.25
#: Added at its end for each session: the server answers the last sample's request after all of theirs.
MARGIN_S_PER_SESSION = 0.002


@dataclass(frozen=True)
class Tables:
    """A data set of the script that made it."""

    script: str = "oltp_read_write"
    tables: int = 1
    rows: int = 100_000  # each
    loaders: int = 1


@dataclass(frozen=True)
class Job:
    """One run."""

    script: str
    sessions: int
    transport: str  # "tcp" or "socket"
    tables: Tables
    distribution: str
    warm_up_s: int
    window_s: float
    cores: tuple[int, ...]  # given to the client
    server_cores: tuple[int, ...]
    pipeline: int = 1  # requests in flight of each session

    @property
    def run_s(self) -> float:
        """What the client is to run after the warm-up."""
        return self.window_s + 2 * MARGIN_S + self.sessions * MARGIN_S_PER_SESSION


@dataclass(frozen=True)
class Report:
    """What a client says of its own run. Latencies are those after the warm-up; None: it does not say."""

    rate_ops_per_s: float
    latency_ms_p50: float | None
    latency_ms_p99: float | None
    error_ratio: float
    cpu_us_per_op: float | None = None
    io: str | None = None  # the engine's way of asking the kernel


class Client(Protocol):
    name: str

    def begin(self, job: Job) -> ClientProcess:
        """Started, and its sessions are being opened."""

    def version(self) -> str: ...

    def report(self, output: str, job: Job) -> Report:
        """Of the whole output of a run that has ended well."""

    def prepare(self, tables: Tables) -> float:
        """Makes the tables, after removing older ones. Returns the wall time of the making, seconds."""


class ClientProcess:
    """A client that says on its output when all its sessions are open."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], cores: Sequence[int], is_ready: Callable[[str], bool]
    ) -> None:
        self._begin_s = time.monotonic()
        self._is_ready = is_ready
        self._ready = threading.Event()
        self._lines: list[str] = []
        self.ready_s = 0.0  # from its start to its last session open
        self._argv = ["taskset", "--cpu-list", ",".join(map(str, cores)), *argv]
        self._process = subprocess.Popen(
            self._argv, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.pid = self._process.pid
        # A full pipe would stop the client, so somebody must read while it runs.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if not self._ready.is_set() and self._is_ready(line):
                self.ready_s = time.monotonic() - self._begin_s
                self._ready.set()
            self._lines.append(line)
        self._ready.set()  # nobody shall wait for a client that has ended

    def wait_ready(self) -> None:
        if not self._ready.wait(READY_TIMEOUT_S) or not self.ready_s:
            raise self._failed("did not open its sessions")

    def refuse_ended(self, when: str) -> None:
        """What is read of a process that has ended, or of a server that it has left, is no figure of its window."""
        if self._process.poll() is not None:
            raise self._failed(f"ended {when}")

    def finish(self) -> str:
        """Waits for its end; all it said."""
        self._process.wait()
        self._reader.join()
        if self._process.returncode:
            raise self._failed(f"ended with exit code {self._process.returncode}")
        return "".join(self._lines)

    def kill(self) -> None:
        """Also of one that has ended."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _failed(self, how: str) -> BakeoffError:
        return BakeoffError(f"a client {how}: {last_words(''.join(self._lines))}", where=" ".join(self._argv))


def last_words(output: str) -> str:
    """The engine says why it failed in its last line, as JSON; others do so anywhere near the end."""
    try:
        return str(json.loads(output.splitlines()[-1])["what"])
    except (ValueError, IndexError, KeyError, TypeError):
        return output[-600:].strip()
