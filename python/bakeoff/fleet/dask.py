"""Engine processes on the machines of a Dask cluster. Dask carries one task for each to a worker that is named; the
task starts a keeper there (`keeper.py`), which connects straight to this process (`link.py`), and all of the run goes
over that connection."""

from __future__ import annotations

import inspect
import json
import re
import socket
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..analysis.wording import seconds_words
from ..errors import BakeoffError, PlanError
from ..model.boundary import Ready
from . import keeper
from .engine_events import EngineLines
from .host import Place
from .link import Link, Machine, Switchboard
from .local import GRACE_S, SILENT_GRACE_S
from .portable_spec import carried
from .spec import is_loopback

if TYPE_CHECKING:
    from distributed import Client, Future

    from .cluster import Cluster

#: A worker may declare how much of this it has; a run takes all of it.
RESOURCE = "client"
#: From the end of a keeper's connection to that of its task.
_TASK_END_S = 3.0
_LOOK_S = 0.5
#: A client whose clock could not be compared by then has a worse bound, from its beats.
_COMPARE_S = 10.0
#: Beside the way there: a keeper waits for a core where the machine is busy, and a client that begins late says so.
_LEAD_S = 0.2


class DaskEngines(EngineLines):
    """`host.Engines` on load machines: client i on machine i mod M."""

    def __init__(self, where: str, host: DaskHost, machines: Sequence[Machine]) -> None:
        super().__init__(where)
        self._host = host
        self._machines = machines
        self._links: list[Link] = []

    def __enter__(self) -> DaskEngines:
        return self

    def __exit__(self, *ended_by: object) -> None:
        self.close()

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
        here = keeper.here()
        links = [link for link in self._links if here and link.greeting.get("here") == here]
        return [pid for link in links for pid in (link.engine_pid, link.greeting["pid"]) if pid]

    def close(self) -> None:
        """Ends all clients. Of those that can be reached none is left when it returns, nor the task that held it."""
        grace_s = SILENT_GRACE_S if self.silent else GRACE_S
        for link in self._links:
            link.end(grace_s)
        deadline = time.monotonic() + 2 * grace_s + _TASK_END_S
        for link in self._links:
            link.over.wait(max(0.0, deadline - time.monotonic()))
        self._host.await_tasks({link.machine.address for link in self._links if not link.is_lost})

    def _send(self, line: str) -> None:
        for link in self._links:
            link.send(line)


class DaskHost:
    """The machines of a cluster. min_clients: machines that must be there for engines to start; None: all that were
    there at first. A machine whose last client has not ended is not there. tell: what people may want to know.

    with opened(spec) as cluster, DaskHost(cluster) as host: ..."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        min_clients: int | None = None,
        wait_s: float = 600.0,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.name = cluster.description
        self._cluster = cluster
        self._wait_s = wait_s
        self._tell = tell
        self._machines: dict[str, Machine] = {}
        self._tasks: dict[str, list[Future]] = {}
        self._source = inspect.getsource(keeper)
        encrypted = cluster.address.startswith("tls://")
        tls = cluster.security.get_listen_args("client")["ssl_context"] if encrypted else None
        self.board = Switchboard(cluster.listen or _address_towards(cluster.address), tls, cluster.port)
        try:
            self._needed = min_clients or max(1, len(self._there()))
        except BaseException:
            self.board.close()
            raise

    def __enter__(self) -> DaskHost:
        return self

    def __exit__(self, *ended_by: object) -> None:
        for tasks in self._tasks.values():
            _cancel(tasks)
        self.board.close()

    def engines(self, where: str) -> DaskEngines:
        """Waits for as many machines as are needed. Raises BakeoffError where they do not come: no later run of the
        plan could be made."""
        return DaskEngines(where, self, self._wait_for_machines(where))

    def refuse_plain(self) -> None:
        """Raises PlanError where others could read a secret on its way."""
        host = self.board.host
        if not self.board.encrypted and not is_loopback(f"[{host}]" if ":" in host else host):
            raise PlanError(
                f"the password of a system would go to the load machines in plain sight ({self._cluster.address})",
                where="fleet.address",
                hint="use a scheduler at tls://, whose workers and clients show certificates",
            )

    def send(self, link: Link, *, takes_machine: bool) -> None:
        """The errand of a client to its machine. takes_machine: as the first of its run there, so that no other run's
        comes there where the worker declares the resource."""
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

    def await_tasks(self, addresses: Collection[str]) -> None:
        """Until the machines of these addresses are free, or for a while."""
        deadline = time.monotonic() + _TASK_END_S
        tasks = [task for address in addresses for task in self._tasks.get(address, [])]
        while time.monotonic() < deadline and not all(task.done() for task in tasks):
            time.sleep(0.01)

    def _wait_for_machines(self, where: str) -> list[Machine]:
        deadline, waiting = time.monotonic() + self._wait_s, False
        while len(free := self.free()) < self._needed:
            words = f"{len(free)} of the {self._needed} load machines that a run needs are there"
            if time.monotonic() > deadline:
                raise BakeoffError(
                    f"{words} after {seconds_words(self._wait_s)}",
                    where=where,
                    hint="start their Dask workers again and continue with --resume, or let it go on with fewer:"
                    " `min_clients` in [fleet]",
                )
            if not waiting:
                absent = {known.name for known in self._machines.values()} - {machine.name for machine in free}
                names = ", ".join(sorted(absent, key=_natural)) or "more"
                self._tell(f"{words}: waiting for {names} (up to {seconds_words(self._wait_s)})")
                waiting = True
            time.sleep(_LOOK_S)
        if waiting:
            self._tell(f"{len(free)} load machines are there: going on")
        return free

    def free(self) -> list[Machine]:
        """Those that are there and hold no client, by name."""
        return [
            machine for machine in self._there() if all(task.done() for task in self._tasks.get(machine.address, []))
        ]

    def _there(self) -> list[Machine]:
        """Workers that the scheduler knows, by their names."""
        workers = self._workers()
        for address in set(self._tasks) - set(workers):
            _cancel(self._tasks.pop(address))  # or they would wait for such a worker for ever
        for tasks in self._tasks.values():
            tasks[:] = [task for task in tasks if not task.done()]
        names = _names(workers)
        for address, worker in workers.items():
            capacity = worker.get("resources", {}).get(RESOURCE, 0)
            self._machines.setdefault(address, Machine(names[address], address, capacity))
        return sorted((self._machines[address] for address in workers), key=lambda machine: _natural(machine.name))

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
        return str(task.result()) or "its keeper ended"
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


def _natural(name: str) -> list[tuple[int, str]]:
    """load2 before load10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


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
                            return f"its keeper has said nothing for {silence_s:.0f} s"
                except BrokenPipeError:
                    pass  # it has ended
                finally:
                    keeper.kill()  # it has ended already, or is frozen
            words.seek(0)
            return words.read()[-2000:].decode(errors="replace").strip()

    return hold
