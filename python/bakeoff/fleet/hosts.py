"""The host of a plan: this machine, whose engine processes do not outlive this one (their stdin ends with us), or the
load machines that its [fleet] names."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING, Any

from .engine_program import engine_path
from .engines import GRACE_S, LAST_WORDS_CHARS, SILENT_GRACE_S, Engines, Host, Place, not_through_a_link
from .spec import FleetSpec, Ssh

if TYPE_CHECKING:
    from .load_machines import LoadMachines

Tell = Callable[[str], None]


@contextmanager
def hosted(fleet: FleetSpec | None, tell: Tell) -> Iterator[Host]:
    """For as long as the plan is carried out. tell: what people may want to know. Raises BakeoffError."""
    if fleet is None:
        yield LocalHost()
        return
    with fleet_host(fleet, tell) as host:
        yield host


@contextmanager
def fleet_host(fleet: FleetSpec, tell: Tell) -> Iterator[LoadMachines]:
    needed: dict[str, Any] = {"min_clients": fleet.min_clients, "wait_s": fleet.wait_s, "tell": tell}
    if isinstance(fleet.way, Ssh):
        from .ssh import SshHost

        with SshHost(fleet.way, **needed) as host:
            yield host
        return
    from .clusters import opened
    from .dask import DaskHost

    with opened(fleet) as cluster, DaskHost(cluster, **needed) as host:
        yield host


#: Between "all ready" and the epoch, so that every client has read the line by then.
LEAD_S = 0.05


@dataclass(frozen=True)
class _Client:
    process: subprocess.Popen[str]
    log: Path


class LocalEngines(Engines):
    lead_s = LEAD_S

    def __init__(self, where: str, under: Sequence[str | Path] = ()) -> None:
        """under: words before the engine's own, of a program that becomes it."""
        super().__init__(where)
        self._under = under
        self._clients: list[_Client] = []
        self._sending = threading.Lock()

    def start(self, document: Path, env: Mapping[str, str], log: Path) -> None:
        """In its own process group: Ctrl-C reaches us, and we end its input. In our session, as the managed
        servers are: one share of the processor for each thread (docs/decisions/0007)."""
        with open(log, "ab", opener=not_through_a_link) as errors:
            process = subprocess.Popen(
                [*map(str, self._under), str(engine_path()), str(document)],
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
        number = self.add(f"the engine (pid {process.pid})")
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
            self.receive(number, line)
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
    name = "this machine"

    def engines(self, where: str) -> LocalEngines:
        return LocalEngines(where)


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
