"""Engine processes on load machines, however these are reached: a keeper holds each engine (`remote_keeper`), and the
controller has one end of its connection (`keeper_connection`)."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Self

from ..analysis.wording import seconds_words
from ..errors import BakeoffError
from ..model.boundary import Ready
from ..provision.process import wait_until
from . import remote_keeper
from .engines import GRACE_S, SILENT_GRACE_S, Engines, Place
from .keeper_connection import Link, Machine, Switchboard
from .portable_spec import carried

#: From the end of a keeper's connection to that of what held the keeper.
KEEPER_END_S = 3.0
_LOOK_S = 0.5
#: A client whose clock could not be compared by then has a worse bound, from its beats.
_COMPARE_S = 10.0
#: Besides the way there: a keeper waits for a core where the machine is busy, and a client that begins late says so.
_LEAD_S = 0.2


class RemoteEngines(Engines):
    """On load machines: client i on machine i mod M."""

    def __init__(self, where: str, host: LoadMachines, machines: Sequence[Machine]) -> None:
        super().__init__(where)
        self._host = host
        self._machines = machines
        self._links: list[Link] = []

    @property
    def lead_s(self) -> float:
        return _LEAD_S + 2 * max((link.round_trip_ns for link in self._links), default=0) / 1e9

    def start(self, document: Path, env: Mapping[str, str], log: Path) -> None:
        number = len(self._links)
        machine = self._machines[number % len(self._machines)]
        what = carried(document.read_text(), env)
        if what.env:
            self._host.refuse_plain()
        self.add(f"client {number} on {machine.name}")
        link = Link(self._host.board, machine, number, self, what, log)
        self._links.append(link)
        self._host.send(link, takes_machine=number < len(self._machines))

    def wait_ready(self, timeout_s: float) -> list[Ready]:
        """Then compares clocks: nothing else goes on by now."""
        ready = super().wait_ready(timeout_s)
        for link in self._links:
            link.compare()
        deadline = time.monotonic() + _COMPARE_S
        for link in self._links:
            link.compared.wait(max(0.0, deadline - time.monotonic()))
        return ready

    def begin(self, unix_ns: int) -> None:
        monotonic_ns = time.monotonic_ns() + unix_ns - time.time_ns()
        for link in self._links:
            link.begin(monotonic_ns)

    def places(self) -> list[Place]:
        epochs = [told.result.epoch_unix_ns if told.result else 0 for told in self._told]
        return [link.place(epoch) for link, epoch in zip(self._links, epochs, strict=True)]

    def pids(self) -> list[int]:
        """Of engines and keepers."""
        here = remote_keeper.here()
        links = [link for link in self._links if here and link.greeting.get("here") == here]
        return [pid for link in links for pid in (link.engine_pid, link.greeting["pid"]) if pid]

    def close(self) -> None:
        """Ends all clients. Of those that can be reached none is left when it returns, nor what held it."""
        grace_s = SILENT_GRACE_S if self.silent else GRACE_S
        for link in self._links:
            link.end(grace_s)
        deadline = time.monotonic() + 2 * grace_s + KEEPER_END_S
        for link in self._links:
            link.over.wait(max(0.0, deadline - time.monotonic()))
        self._host.await_ended({link.machine.address for link in self._links if not link.is_lost})

    def _send(self, line: str) -> None:
        for link in self._links:
            link.send(line)


class LoadMachines(ABC):
    """A `Host`, and a context. min_clients: machines that must be free for engines to start; None: all that were free
    at first. A machine is not free until its last client has ended. tell: prints what people may want to know."""

    #: Follows "start ... again and continue with --resume".
    what_to_start: str

    def __init__(
        self, name: str, board: Switchboard, *, min_clients: int | None, wait_s: float, tell: Callable[[str], None]
    ) -> None:
        self.name = name
        self.board = board
        self._wait_s = wait_s
        self._tell = tell
        self._machines: dict[str, Machine] = {}
        try:
            self._needed = min_clients or max(1, len(self.machines()))
        except BaseException:
            self.board.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended_by: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def machines(self) -> list[Machine]:
        """Those that can be reached now. All that ever could are in `_machines`, by their addresses."""

    @abstractmethod
    def send(self, link: Link, *, takes_machine: bool) -> None:
        """Starts the keeper of a client on its machine. takes_machine: as the first of its run there."""

    @abstractmethod
    def holds_client(self, address: str) -> bool: ...

    @abstractmethod
    def refuse_plain(self) -> None:
        """Raises PlanError where others could read a secret on its way."""

    def engines(self, where: str) -> RemoteEngines:
        """Waits for the number of machines needed. Raises BakeoffError where they do not come: no later run of the
        plan could be made."""
        return RemoteEngines(where, self, self._wait_for_machines(where))

    def await_ended(self, addresses: Collection[str]) -> None:
        """Until the machines of these addresses hold no client, or for a while."""
        wait_until(lambda: not any(map(self.holds_client, addresses)), KEEPER_END_S, 0.01)

    def free(self) -> list[Machine]:
        """Those that can be reached and hold no client, by name."""
        free = [machine for machine in self.machines() if not self.holds_client(machine.address)]
        return sorted(free, key=lambda machine: natural(machine.name))

    def _wait_for_machines(self, where: str) -> list[Machine]:
        deadline, waiting = time.monotonic() + self._wait_s, False
        while len(free := self.free()) < self._needed:
            words = f"{len(free)} of the {self._needed} load machines that a run needs are available"
            if time.monotonic() > deadline:
                raise BakeoffError(
                    f"{words} after {seconds_words(self._wait_s)}",
                    where=where,
                    hint=f"start {self.what_to_start} again and continue with --resume, or allow fewer machines:"
                    " `min_clients` in [fleet]",
                )
            if not waiting:
                absent = {known.name for known in self._machines.values()} - {machine.name for machine in free}
                names = ", ".join(sorted(absent, key=natural)) or "more"
                self._tell(f"{words}: waiting for {names} (up to {seconds_words(self._wait_s)})")
                waiting = True
            time.sleep(_LOOK_S)
        if waiting:
            self._tell(f"{len(free)} load machines are available: continuing")
        return free


def natural(name: str) -> list[tuple[int, str]]:
    """load2 before load10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
