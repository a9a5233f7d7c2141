"""Where engines run, as the schedule knows it. `local` is this machine; another way of reaching one is another file.

with host.engines("load of mariadb") as engines:
    engines.start(document, env, log)     # once per client
    engines.wait_ready(timeout_s)
    engines.begin(unix_ns)                # at least `lead_s` ahead
    for client, event in engines.events(): ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

from ..errors import EngineError
from ..model.boundary import Event, Ready, RunResult, Warning
from ..model.clients import THIS_MACHINE


class ClientsLost(EngineError):
    """Clients on load machines ended, through no fault of what they measured."""


class MachineLost(ClientsLost):
    """A load machine is not there any more, or not for this run. why: follows "was lost: "."""

    def __init__(self, machine: str, why: str, where: str) -> None:
        hint = "the next run goes on with the machines that are left, or waits for them, as `min_clients` says"
        super().__init__(f"the load machine {machine} was lost: {why}", where=where, hint=hint)
        self.machine = machine


class StoodStill(ClientsLost):
    """The controller did, for so long that load machines gave it up; they may be there still."""

    def __init__(self, stalled_s: float, where: str) -> None:
        what = f"this machine, which carries out the plan, stood still for {stalled_s:.0f} s"
        super().__init__(what, where=where, hint="leave it a core of its own; the next run begins with all machines")


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


class Engines(Protocol):
    """The clients of one phase of one run. Leaving the context ends them all, whatever happened. Errors are
    EngineError, or EngineTrouble with the engine's own words; all but `mark` is called from one thread."""

    #: What the clients warned of so far, and which of them did.
    warnings: list[tuple[int, Warning]]

    @property
    def lead_s(self) -> float:
        """Between `begin` and the time that it names, at least, so that every client knows it by then."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *ended_by: object) -> None: ...

    def start(self, document: Path, env: Mapping[str, str], log: Path) -> None:
        """One client more, on `document`; its words go to `log`. Both are files of ours, wherever the client runs; env:
        the secrets that the document names."""

    def wait_ready(self, timeout_s: float) -> list[Ready]:
        """Until every client has opened its sessions."""

    def begin(self, unix_ns: int) -> None:
        """All clients begin (with the warm-up) at this time of the controller's real-time clock."""

    def mark(self, number: int) -> None:
        """Something planned happens now: every client writes it down on its own time axis, as an event. From any
        thread."""

    def stop(self) -> None:
        """Ends the run now, without waiting for what is in flight; results come as ever."""

    def events(
        self,
        deadline: float | None = None,
        *,
        silence_s: float | None = None,
        quiet: Callable[[float], None] = lambda _: None,
    ) -> Iterator[tuple[int, Event]]:
        """Of all clients as they come, until every client has given its result, or `deadline` (monotonic). Raises
        EngineError where one that has not ended tells of nothing that goes on for `silence_s`. quiet: is called with
        the seconds since any of them last reported something, about twice a second while none does."""

    def results(self) -> list[RunResult]: ...

    def places(self) -> list[Place]:
        """Of each client, in the order in which they were started. Whole once `events` has ended."""

    def pids(self) -> list[int]:
        """Of the clients that run on this machine, where the sampler can see them."""


class Host(Protocol):
    """name: of the machine, for people."""

    name: str

    def engines(self, where: str) -> Engines:
        """where: the run and its phase, for error messages."""
