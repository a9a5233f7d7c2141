"""A look at each load machine before any run: a keeper goes there as for a client, and is asked in place of starting an
engine."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import BakeoffError
from . import remote_keeper
from .clock_offset import offset
from .keeper_connection import Link, Machine, Switchboard
from .load_machines import LoadMachines
from .portable_spec import Carried

_EXCHANGES = 16
_BANDWIDTH_BYTES = 8 << 20
_CHECK_TIMEOUT_S = 60.0

#: By name, host and port.
Servers = Mapping[str, tuple[str, int]]


@dataclass
class CheckedMachine:
    """What a load machine said of itself. None: it could not be asked."""

    name: str
    #: Why no client can run there, or none reaches a server; empty: it is fit.
    unfit: str = ""
    hint: str = ""
    #: Of the machine since it was started: workers that share it are on one machine.
    boot_id: str = ""
    cores: int | None = None
    #: Over the last minute.
    load_average: float | None = None
    kernel: str = ""
    clock_source: str = ""
    clock_offset_ns: int | None = None
    clock_bound_ns: int | None = None
    #: In the kernel's words; None: the engine may use it.
    io_uring_refusal: str | None = None
    #: "there", "carried"
    engine: str = ""
    python: str = ""
    distributed: str = ""
    round_trip_ns: int | None = None
    bandwidth_bytes_per_s: float | None = None
    server_round_trip_ns: dict[str, int] = field(default_factory=dict)


def check_machines(host: LoadMachines, servers: Servers) -> list[CheckedMachine]:
    """All free machines, at the same time. Raises BakeoffError if there are none."""
    machines = host.free()
    if not machines:
        raise BakeoffError(f"{host.name} has no worker", where="[fleet]", hint=f"start {host.what_to_start}")
    visits = [_Check(host.board, machine, servers) for machine in machines]
    for each in visits:
        host.send(each, takes_machine=True)
    deadline = time.monotonic() + _CHECK_TIMEOUT_S
    for each in visits:
        if not each.over.wait(max(0.0, deadline - time.monotonic())):
            each.lose(f"it did not answer within {_CHECK_TIMEOUT_S:.0f} s")
    host.await_ended([machine.address for machine in machines])
    return [each.checked() for each in visits]


class _NoEngines:
    """Nobody listens to engines: there are none."""

    where = "[fleet]"

    def __init__(self) -> None:
        self.why: BakeoffError | None = None

    def receive(self, client: int, line: str | bytes) -> None: ...

    def ended(self, client: int, code: int, last_words: str) -> None: ...

    def lost(self, client: int, why: BakeoffError) -> None:
        self.why = why


class _Check(Link):
    def __init__(self, board: Switchboard, machine: Machine, servers: Servers) -> None:
        self._visitors = _NoEngines()
        nothing = Carried(document="", inputs={}, outputs={}, addresses=dict(servers), env={})
        super().__init__(board, machine, 0, self._visitors, nothing, Path())
        self._servers = servers
        self._visited = CheckedMachine(machine.name)

    def checked(self) -> CheckedMachine:
        visited, why = self._visited, self._visitors.why
        if why is not None:
            visited.unfit, visited.hint = why.what, why.hint
        elif unreached := [name for name in self._servers if name not in visited.server_round_trip_ns]:
            host, port = self._servers[unreached[0]]
            visited.unfit = f"{self.machine.name} does not reach {unreached[0]} at {host}:{port}"
            visited.hint = "open the firewall for it, or write an address that the load machine reaches"
        return visited

    async def _set_up(self) -> None:
        visited, said = self._visited, self.greeting
        visited.cores, visited.kernel, visited.clock_source = said["cores"], said["kernel"], said["clock_source"]
        visited.boot_id, visited.load_average = said["here"].partition(" ")[0], said["load_average"]
        visited.python, visited.distributed = said["python"], said["distributed"]
        await self._tell_clock()
        self._refuse_platform()
        visited.engine = "carried" if await self._bring_engine() else "there"
        visited.io_uring_refusal = (await self._ask("list")).get("io_uring_refusal")
        self._write(remote_keeper.REACH, {"addresses": self._carried.addresses})
        visited.server_round_trip_ns = remote_keeper.said(await self._expect(remote_keeper.REACHED))
        await self._tell_bandwidth()

    async def _listen(self) -> None:
        self.finished = True
        self._write(remote_keeper.END, {"grace_s": 0.0})
        with suppress(remote_keeper.Gone):
            while True:
                await self._hear()

    async def _ask(self, *arguments: str) -> dict[str, Any]:
        self._write(remote_keeper.ASK, {"arguments": arguments})
        return remote_keeper.said(str(remote_keeper.said(await self._expect(remote_keeper.SAID))["out"]).encode())

    async def _tell_clock(self) -> None:
        for _ in range(_EXCHANGES):
            await self._exchange()
        found = offset(self._exchanges)
        self._visited.clock_offset_ns, self._visited.clock_bound_ns = found.ahead_ns, found.bound_ns
        self._visited.round_trip_ns = found.round_trip_ns

    async def _tell_bandwidth(self) -> None:
        """From the controller to it: the keeper answers a time stamp once it has what was sent before."""
        began = time.monotonic()
        self._write(remote_keeper.FILE, {"name": "bandwidth", "size_bytes": _BANDWIDTH_BYTES})
        part = bytes(remote_keeper.PART_BYTES)
        for _ in range(_BANDWIDTH_BYTES // remote_keeper.PART_BYTES):
            await self._part(part)
        await self._exchange()
        self._visited.bandwidth_bytes_per_s = _BANDWIDTH_BYTES / (time.monotonic() - began)

    async def _exchange(self) -> None:
        """A time stamp there and back: this one, and no beat's."""
        began_ns = time.monotonic_ns()
        self._ping()
        while not self._exchanges or self._exchanges[-1].sent_ns < began_ns:
            self._take(*await self._hear())
