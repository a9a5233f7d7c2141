"""Load machines of a Dask cluster. Dask carries one task for each client to a worker that is named; the task starts a
keeper there, which connects straight to this process, and all of the run goes over that connection."""

from __future__ import annotations

import inspect
import json
import socket
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import PlanError
from . import remote_keeper
from .keeper_connection import Link, Machine, Switchboard
from .load_machines import LoadMachines
from .spec import is_loopback

if TYPE_CHECKING:
    from distributed import Client, Future

    from .clusters import Cluster

#: A worker may declare how much of this it has; a run takes all of it.
RESOURCE = "client"


class DaskHost(LoadMachines):
    """The machines of a cluster.

    with opened(spec) as cluster, DaskHost(cluster) as host: ..."""

    what_to_start = "their Dask workers"

    def __init__(
        self,
        cluster: Cluster,
        *,
        min_clients: int | None = None,
        wait_s: float = 600.0,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._cluster = cluster
        self._tasks: dict[str, list[Future]] = {}
        self._source = inspect.getsource(remote_keeper)
        encrypted = cluster.address.startswith("tls://")
        tls = cluster.security.get_listen_args("client")["ssl_context"] if encrypted else None
        board = Switchboard(cluster.listen or _address_towards(cluster.address), tls, cluster.port)
        super().__init__(cluster.description, board, min_clients=min_clients, wait_s=wait_s, tell=tell)

    def close(self) -> None:
        for tasks in self._tasks.values():
            _cancel(tasks)
        self.board.close()

    def refuse_plain(self) -> None:
        host = self.board.host
        if not self.board.encrypted and not is_loopback(f"[{host}]" if ":" in host else host):
            raise PlanError(
                f"the password of a system would be sent to the load machines unencrypted ({self._cluster.address})",
                where="fleet.address",
                hint="use a scheduler at tls://, whose workers and clients use certificates",
            )

    def send(self, link: Link, *, takes_machine: bool) -> None:
        """takes_machine: no other run's client comes there where the worker declares the resource."""
        self.board.expect(link)
        machine = link.machine
        what = json.dumps({"address": [self.board.host, self.board.port], "token": link.token})
        task = self._client().submit(
            errand(),
            self._source,
            what,
            workers=[machine.address],
            allow_other_workers=False,
            resources={RESOURCE: machine.capacity} if takes_machine and machine.capacity else None,
            retries=0,
            pure=False,
        )
        self._tasks.setdefault(machine.address, []).append(task)
        task.add_done_callback(lambda done: None if link.finished else link.lose(_last_words(done)))

    def holds_client(self, address: str) -> bool:
        return not all(task.done() for task in self._tasks.get(address, []))

    def machines(self) -> list[Machine]:
        workers = self._workers()
        for address in set(self._tasks) - set(workers):
            _cancel(self._tasks.pop(address))  # or they would wait for such a worker for ever
        for tasks in self._tasks.values():
            tasks[:] = [task for task in tasks if not task.done()]
        names = _names(workers)
        for address, worker in workers.items():
            capacity = worker.get("resources", {}).get(RESOURCE, 0)
            self._machines.setdefault(address, Machine(names[address], address, capacity))
        return [self._machines[address] for address in workers]

    def _workers(self) -> dict[str, dict[str, Any]]:
        """By their addresses; none where the scheduler does not answer."""
        try:
            found: dict[str, dict[str, Any]] = self._client().scheduler_info().get("workers", {})
            return found
        except (OSError, TimeoutError):
            return {}

    def _client(self) -> Client:
        return self._cluster.client()


def _cancel(tasks: Iterable[Future]) -> None:
    from distributed.client import ClosedClientError

    with suppress(ClosedClientError, OSError, TimeoutError):  # a scheduler that is gone has forgotten them
        for task in tasks:
            task.cancel()


def _last_words(task: Future) -> str:
    from distributed import CancelledError

    try:
        return str(task.result()) or "its client process (keeper) ended"
    except CancelledError:
        return "the Dask scheduler has ended, or cannot be reached"
    except Exception as error:  # whatever the task raised there
        return f"its Dask task failed: {error}"


def _names(workers: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Of machines, by address: what their worker is called, or else their host, with its port where it has several."""
    hosts = [urlsplit(address).hostname or address for address in workers]
    names = {}
    for address, worker in workers.items():
        host = urlsplit(address).hostname or address
        name = str(worker.get("name", address))
        if isinstance(worker.get("name"), int):
            name = f"Dask worker {int(name) + 1}"
        elif name == address:
            name = host if hosts.count(host) == 1 else f"{host}:{urlsplit(address).port}"
        names[address] = name
    return names


def _address_towards(scheduler: str) -> str:
    """Of this machine, as it reaches the scheduler. Nothing is sent."""
    found = urlsplit(scheduler)
    family = socket.AF_INET6 if ":" in (found.hostname or "") else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((found.hostname, found.port))
        address: str = probe.getsockname()[0]
        return address


#: source of the keeper, its address and token as JSON -> what the keeper said at its end.
Errand = Callable[[str, str], str]


def errand() -> Errand:
    """A function in a function: Dask carries such a one by value, so nothing of ours need be installed there."""

    def hold(source: str, errand: str) -> str:
        import json
        import os
        import select
        import subprocess
        import sys
        import tempfile
        import time

        from distributed import get_worker, secede

        beat_s, silence_s = 1.0, 5.0
        start_s = 20.0  # more than silence: dozens of them may start at once on a few cores
        security = get_worker().security
        names = {"ca": security.tls_ca_file, "cert": security.tls_worker_cert, "key": security.tls_worker_key}
        tls = {key: os.path.abspath(v) if v and "\n" not in v else v for key, v in names.items()}
        first = {**json.loads(errand), "tls": tls if tls["ca"] else None}
        secede()  # it waits, and others of this run may be held here, too
        with (
            tempfile.TemporaryDirectory(prefix="bakeoff-", ignore_cleanup_errors=True) as folder,
            tempfile.TemporaryFile() as words,
        ):
            keeper = subprocess.Popen(
                [sys.executable, "-I", "-c", source],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                cwd=folder,
                process_group=0,
            )
            assert keeper.stdin is not None
            assert keeper.stdout is not None
            with keeper:
                beaten = time.monotonic()
                heard = beaten + start_s
                try:
                    keeper.stdin.write(json.dumps(first).encode() + b"\n")
                    while True:
                        if (now := time.monotonic()) >= beaten:
                            keeper.stdin.write(b"\n")
                            beaten = now + beat_s
                        if select.select([keeper.stdout], [], [], max(0.0, beaten - now))[0]:
                            if not os.read(keeper.stdout.fileno(), 4096):
                                break
                            heard = max(heard, time.monotonic())
                        elif now - heard > silence_s:  # before the look: a worker that stood still has missed nothing
                            return f"its client process (keeper) has sent nothing for {silence_s:.0f} s"
                except BrokenPipeError:
                    pass  # it has ended
                finally:
                    keeper.kill()  # it has ended already, or is frozen
            words.seek(0)
            return words.read()[-2000:].decode(errors="replace").strip()

    return hold
