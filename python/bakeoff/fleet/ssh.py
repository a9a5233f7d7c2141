"""Load machines that SSH reaches: a scheduler in this process, and on each machine a worker that lives as long as its
connection (`ssh_worker.py`). Certificates are made for the run and are in memory alone, on both sides.

Dask has an SSH cluster of its own, which needs SSH to this machine, too, and shows on every machine's command line what
Dask is configured with, paths of keys included."""

from __future__ import annotations

import asyncio
import inspect
import json
import platform
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ..errors import BakeoffError
from . import ssh_worker
from .cluster import LOOPBACK_ONLY, QUIET, Cluster, existing, own_security
from .spec import Ssh

if TYPE_CHECKING:
    import asyncssh

_CONNECT_TIMEOUT_S = 15.0
#: Until the Python there has imported Dask and its worker is known to the scheduler.
_WORKER_TIMEOUT_S = 60.0
#: A worker that has ended is started again after this, for as long as the plan is carried out.
_AGAIN_S = 2.0
_END_S = 3.0
_ALIVE_S = 5


@contextmanager
def by_ssh(way: Ssh, *, listen: str | None = None, port: int = 0) -> Iterator[Cluster]:
    """listen, port: where load machines reach the controller; the scheduler is at the port after it. Raises
    BakeoffError naming the machine that cannot be had."""
    from distributed import Scheduler, SpecCluster

    security = own_security()
    names = ("tls_ca_file", "tls_worker_cert", "tls_worker_key")
    theirs = {name: getattr(security, name) for name in names}
    listen = listen or asyncio.run(_address_towards(way.hosts[0]))
    options = {
        "host": listen,
        "port": port + 1 if port else 0,
        "protocol": "tls://",
        "security": security,
        "dashboard": False,
        "dashboard_address": LOOPBACK_ONLY,
    }
    with SpecCluster(
        workers={}, scheduler={"cls": Scheduler, "options": options}, security=security, name="bakeoff"
    ) as made:
        address = made.scheduler_address
        machines = [
            _Machine(host, way.remote_python, {"scheduler": address, "name": host, "security": theirs, "config": QUIET})
            for host in way.hosts
        ]
        try:
            made.sync(_start, machines)
            with existing(address, security, listen=listen) as cluster:
                yield cluster
        finally:
            made.sync(_end, machines)


async def _start(machines: Sequence[_Machine]) -> None:
    await asyncio.gather(*(machine.start() for machine in machines))


async def _end(machines: Sequence[_Machine]) -> None:
    await asyncio.gather(*(machine.end() for machine in machines))


async def _address_towards(host: str) -> str:
    """Of this machine, as it reaches the other. Raises BakeoffError."""
    async with await _connect(host) as connection:
        found = connection.get_extra_info("sockname")
    if not found:  # there is a machine in between
        what = f"at which address {host} reaches this machine is not known"
        raise BakeoffError(what, where="[fleet] ssh", hint='say it: listen = "10.0.0.1"')
    return str(found[0])


async def _connect(host: str) -> asyncssh.SSHClientConnection:
    import asyncssh

    try:
        return await asyncssh.connect(host, connect_timeout=_CONNECT_TIMEOUT_S, keepalive_interval=_ALIVE_S)
    except (OSError, asyncssh.Error) as error:
        raise BakeoffError(
            f"{host} cannot be reached by SSH: {error}",
            where="[fleet] ssh",
            hint=f"`ssh {host} true` has to work without a question; ~/.ssh/config says user, port and key",
        ) from error


class _Machine:
    """The worker on one machine. told: what it is told on its input."""

    def __init__(self, host: str, python: str, told: dict[str, Any]) -> None:
        self._host = host
        self._python = python
        self._told = told
        self._connection: asyncssh.SSHClientConnection | None = None
        self._process: asyncssh.SSHClientProcess[str] | None = None
        self._keeping: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Returns once the scheduler knows it. Raises BakeoffError."""
        await self._begin()
        self._keeping = asyncio.create_task(self._keep())

    async def end(self) -> None:
        if self._keeping is not None:
            self._keeping.cancel()
        if self._process is not None:
            self._process.stdin.write_eof()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait_closed(), _END_S)
        if self._connection is not None:
            self._connection.close()

    async def _keep(self) -> None:
        while True:
            if self._process is not None:
                await self._process.wait_closed()
            await asyncio.sleep(_AGAIN_S)
            with suppress(BakeoffError):  # it is away for longer; whoever waits for it says so
                await self._begin()

    async def _begin(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._process = None
        self._connection = await _connect(self._host)
        command = shlex.join([self._python, "-c", inspect.getsource(ssh_worker)])
        process = await self._connection.create_process(command)
        self._refuse_other(await self._hear(process))
        process.stdin.write(json.dumps(self._told) + "\n")
        await self._hear(process)
        self._process = process

    async def _hear(self, process: asyncssh.SSHClientProcess[str]) -> dict[str, Any]:
        """The next that it says."""
        why = f"no answer within {_WORKER_TIMEOUT_S:.0f} s"
        try:
            async with asyncio.timeout(_WORKER_TIMEOUT_S):
                if line := await process.stdout.readline():
                    heard: dict[str, Any] = json.loads(line)
                    return heard
                why = (await process.stderr.read()).strip().rpartition("\n")[2] or "it says nothing"
        except (TimeoutError, ValueError):
            pass
        from distributed import __version__

        raise BakeoffError(
            f"{self._python} on {self._host} starts no Dask worker: {why}",
            where="[fleet] ssh",
            hint=f"`{self._python} -m pip install distributed=={__version__}` there, or say another `remote_python`",
        )

    def _refuse_other(self, theirs: dict[str, Any]) -> None:
        """Python carries functions between equals alone, and so does Dask."""
        from distributed import __version__

        for name, own, other in (
            ("Python", platform.python_version(), str(theirs.get("python"))),
            ("distributed", __version__, str(theirs.get("distributed"))),
        ):
            depth = 2 if name == "Python" else 3
            if own.split(".")[:depth] != other.split(".")[:depth]:
                raise BakeoffError(
                    f"{self._host} has {name} {other}, and this machine {own}",
                    where="[fleet] ssh",
                    hint=f"install {name} {'.'.join(own.split('.')[:depth])} there, and name it in `remote_python`",
                )
