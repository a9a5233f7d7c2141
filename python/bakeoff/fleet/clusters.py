"""Dask clusters, one way of getting one, one function. Nothing of Dask is imported before one is opened."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BakeoffError, PlanError
from ..provision.certificate import new_pem
from .spec import Existing, FleetSpec, Kubernetes, Local, Slurm, Ssh, Tls

if TYPE_CHECKING:
    from distributed import Client, Security

#: The program with which a worker begins: a Ctrl-C in the terminal is ours alone, and ending the worker, too.
_OWN_GROUP = "import os; os.setpgid(0, 0)"


@contextmanager
def opened(spec: FleetSpec) -> Iterator[Cluster]:
    """What a plan's [fleet] names, for as long as the plan is carried out. Raises BakeoffError."""
    silence()
    with ExitStack() as held:
        try:
            cluster = held.enter_context(_opened(spec))
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:  # of Dask, and of what it asks
            hint = "is the scheduler running, and do the certificates match?"
            raise BakeoffError(f"{spec.words} cannot be reached: {error}", where="[fleet]", hint=hint) from error
        cluster.description, cluster.port = spec.words, spec.port
        cluster.listen = spec.listen or cluster.listen
        yield cluster


def _opened(spec: FleetSpec) -> AbstractContextManager[Cluster]:
    match spec.way:
        case Existing(address=address, tls=tls):
            return existing(address, _security(address, tls))
        case Local(workers=workers):
            return local(workers)
        case Ssh():
            raise AssertionError("not a Dask cluster: fleet/ssh.py")
        case Slurm():
            return by_slurm(spec, spec.way)
        case Kubernetes():
            return by_kubernetes(spec, spec.way)


def _security(address: str, tls: Tls | None) -> Security:
    """None: what Dask's own configuration says. Raises BakeoffError where that has no certificates and needs some."""
    from distributed import Security

    if tls is None:
        found = Security()
        if address.startswith("tls:") and found.get_connection_args("client").get("ssl_context") is None:
            hint = (
                'tls = { ca = "cert.pem", cert = "cert.pem", key = "key.pem" } in [fleet], or in Dask\'s configuration'
            )
            raise PlanError(f"{address} requires certificates, and none are named", where="[fleet]", hint=hint)
        return found
    ca, cert, key = (str(path) for path in (tls.ca, tls.cert, tls.key))
    return Security(tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key, require_encryption=True)


@contextmanager
def local(workers: int) -> Iterator[Cluster]:
    from dask import config
    from distributed import LocalCluster, Security

    with (
        config.set(QUIET),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=LOOPBACK_ONLY,
            worker_dashboard_address=LOOPBACK_ONLY,
            memory_limit=0,
            preload=[_OWN_GROUP],
        ) as made,
        existing(made.scheduler_address, Security(), listen="127.0.0.1") as cluster,
    ):
        cluster.description = f"{workers} workers on this machine"
        cluster.client().wait_for_workers(workers)
        yield cluster


#: Dask always serves its own pages; nobody but this machine is to see them.
LOOPBACK_ONLY = "127.0.0.1:0"
#: Of Dask on machines that measure: by itself a worker looks at itself dozens of times a second
#: (docs/method/fleet.md has what that costs).
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.system-monitor.disk": False,
}


@dataclass
class Cluster:
    """A scheduler and how to speak to it. listen: at which address its machines reach this one; None: the one that this
    machine uses to reach the scheduler; port: of that, 0: any that is free. description: for people."""

    address: str
    security: Security
    description: str
    listen: str | None = None
    port: int = 0
    _client: Client | None = field(default=None, repr=False)

    def client(self) -> Client:
        """Connected; reconnects where the scheduler was gone for good. Raises OSError."""
        from distributed import Client

        silence()
        if self._client is None or self._client.status in ("closed", "closing"):
            self._client = Client(self.address, security=self.security, timeout="10s", set_as_default=False)
        return self._client

    def close(self) -> None:
        if self._client is not None:
            self._client.close()


@contextmanager
def existing(address: str, security: Security, *, listen: str | None = None) -> Iterator[Cluster]:
    """An existing cluster. Raises OSError."""
    cluster = Cluster(address, security, f"the machines of {address}", listen)
    try:
        cluster.client()
        yield cluster
    finally:
        cluster.close()


def own_security() -> Security:
    """Of certificates that are made for one cluster and held in memory."""
    from distributed import Security

    pem = new_pem()
    roles = ("client", "scheduler", "worker")
    parts = (("cert", pem.certificate), ("key", pem.key))
    shown = {f"tls_{role}_{part}": text for role in roles for part, text in parts}
    return Security(tls_ca_file=pem.authority, **shown, require_encryption=True)


def silence() -> None:
    """What Dask logs in this process is for those who run clusters; what comes of its troubles the run itself tells."""
    import distributed

    for name in [distributed.__name__, *logging.root.manager.loggerDict]:
        if name.partition(".")[0] == distributed.__name__:
            logging.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def by_slurm(fleet: FleetSpec, way: Slurm) -> Iterator[Cluster]:
    """Once as many jobs run as a run needs. Certificates are files while the plan is carried out, in a folder of the
    user's home, which Slurm's machines share. Raises OSError, TimeoutError."""
    from dask import config
    from dask_jobqueue import SLURMCluster

    security = own_security()
    with (
        config.set(QUIET),
        tempfile.TemporaryDirectory(prefix=".bakeoff-", dir=Path.home()) as folder,
        SLURMCluster(n_workers=way.jobs, **job_options(fleet, way, security, folder)) as made,
        existing(made.scheduler_address, security, listen=fleet.listen) as cluster,
    ):
        cluster.client().wait_for_workers(fleet.min_clients or way.jobs, timeout=fleet.wait_s)
        yield cluster


def job_options(fleet: FleetSpec, way: Slurm, security: Security, folder: str) -> dict[str, Any]:
    """Options of dask-jobqueue. folder: of the certificates' files."""
    scheduler = {"host": fleet.listen, "port": fleet.port + 1 if fleet.port else 0}
    return {
        "queue": way.queue,
        "account": way.account,
        "walltime": _walltime(way.walltime_s),
        "cores": way.cores,
        "memory": way.memory,
        "processes": 1,
        "security": security,
        "shared_temp_directory": folder,
        "scheduler_options": {**scheduler, "dashboard": False, "dashboard_address": LOOPBACK_ONLY},
        "worker_extra_args": ["--no-dashboard"],
    }


def _walltime(seconds: float | None) -> str | None:
    """As sbatch has it: "02:00:00"."""
    if seconds is None:
        return None
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest:02}"


#: One thread holds any number of clients.
_WORKER = ["dask-worker", "--nthreads", "1", "--no-nanny"]


@contextmanager
def by_kubernetes(fleet: FleetSpec, way: Kubernetes) -> Iterator[Cluster]:
    """Once as many pods are there as a run needs; they are removed with the plan. Raises OSError, TimeoutError, and
    ValueError where a cluster of that name is there already."""
    from dask_kubernetes.operator import KubeCluster
    from dask_kubernetes.operator.kubecluster.kubecluster import CreateMode
    from distributed import Security

    with (
        KubeCluster(
            namespace=way.namespace,
            custom_cluster_spec=cluster_spec(way),
            create_mode=CreateMode.CREATE_ONLY,
            shutdown_on_close=True,
            quiet=True,
        ) as made,
        existing(made.scheduler_address, Security(), listen=fleet.listen) as cluster,
    ):
        cluster.client().wait_for_workers(fleet.min_clients or way.replicas, timeout=fleet.wait_s)
        yield cluster


def cluster_spec(way: Kubernetes) -> dict[str, Any]:
    from dask_kubernetes.operator import make_cluster_spec

    spec: dict[str, Any] = make_cluster_spec(
        name=way.name, image=way.image, n_workers=way.replicas, worker_command=_WORKER
    )
    return spec
