"""Where clients run when one machine is not enough, as a plan's [fleet] has decided it. Names of machines and files
alone: reading it needs nothing of Dask."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from ..analysis.wording import counted

#: Machines that are named one by one.
_NAMED_MAX = 8


@dataclass(frozen=True)
class Tls:
    """PEM files that this machine shows to a cluster, and by which it knows the cluster."""

    ca: Path
    cert: Path
    key: Path


@dataclass(frozen=True)
class Existing:
    """An existing cluster: its scheduler's address, "tls://scheduler:8786"."""

    address: str
    tls: Tls | None = None  # None: what Dask's own configuration says

    @property
    def words(self) -> str:
        return f"the machines of {self.address}"


@dataclass(frozen=True)
class Ssh:
    hosts: tuple[str, ...]
    remote_python: str

    @property
    def words(self) -> str:
        return f"{', '.join(self.hosts)} (SSH)"


@dataclass(frozen=True)
class Kubernetes:
    """Pods that the Dask operator makes. None: the namespace that kubectl works in."""

    name: str
    image: str
    replicas: int
    namespace: str | None = None

    @property
    def words(self) -> str:
        return f"{counted(self.replicas, 'pod', 'pods')} of {self.image}"


@dataclass(frozen=True)
class Slurm:
    """Jobs of Slurm's, each of which is one load machine. None: what dask-jobqueue's own configuration says."""

    jobs: int
    cores: int
    memory: str  # as Dask writes it: "4GiB"
    queue: str | None = None
    account: str | None = None
    walltime_s: float | None = None

    @property
    def words(self) -> str:
        return f"{counted(self.jobs, 'job', 'jobs')} of Slurm{f' in {self.queue}' if self.queue else ''}"


@dataclass(frozen=True)
class Local:
    workers: int

    @property
    def words(self) -> str:
        return f"{counted(self.workers, 'worker', 'workers')} on this machine"


Way = Existing | Ssh | Kubernetes | Slurm | Local


@dataclass(frozen=True)
class FleetSpec:
    way: Way
    #: Load machines that must be free for a run to begin; None: all that were free at first.
    min_clients: int | None = None
    #: How long a run waits for them.
    wait_s: float = 600.0
    #: At which address load machines reach this one; None: the one that it uses to reach them.
    listen: str | None = None
    #: Of that address; 0: any that is free.
    port: int = 0

    @property
    def words(self) -> str:
        """ "load1, load2 (SSH)"."""
        return self.way.words

    @property
    def here(self) -> bool:
        """Whether clients run on this machine: a scheduler that only this machine reaches has no other's workers."""
        return isinstance(self.way, Local) or (isinstance(self.way, Existing) and is_loopback(self.way.address))

    @property
    def plain(self) -> bool:
        """Whether what goes to load machines can be read on its way: the operator of Kubernetes knows no TLS."""
        if isinstance(self.way, Existing):
            return urlsplit(self.way.address).scheme != "tls" and not self.here
        return isinstance(self.way, Kubernetes)

    @property
    def machines(self) -> list[str] | None:
        """Their names, one for each; None where only the cluster knows."""
        match self.way:
            case Ssh(hosts=hosts):
                return list(hosts)
            case Kubernetes(replicas=count) | Slurm(jobs=count) | Local(workers=count):
                noun = {Kubernetes: "pod", Slurm: "job", Local: "Dask worker"}[type(self.way)]
                return [f"{noun} {number}" for number in range(1, count + 1)]
        return None


def is_loopback(address: str) -> bool:
    """Of "tcp://127.0.0.1:8786", "localhost:3306" or "[::1]:5432": whether only this machine reaches it."""
    host = urlsplit(address if "://" in address else f"//{address}").hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def spread(clients: int, machines: int) -> list[int]:
    """How many clients each machine gets: client i is on machine i mod M."""
    return [len(range(machine, clients, machines)) for machine in range(machines)]


def spread_words(clients: int, machines: Sequence[str]) -> str:
    """ "2 on load1, 1 on load2"; of many machines "2 on each of 10 machines, 1 on each of 3 machines"."""
    counts = spread(clients, len(machines))
    if len(machines) <= _NAMED_MAX:
        return ", ".join(f"{count} on {name}" for count, name in zip(counts, machines, strict=True) if count)
    held = Counter(count for count in counts if count)
    return ", ".join(f"{count} on each of {counted(number, 'machine', 'machines')}" for count, number in held.items())
