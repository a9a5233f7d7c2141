"""Dask clusters, one way of getting one, one function. Nothing of Dask is imported before one is opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING

from ..errors import BakeoffError, PlanError
from .cluster import LOOPBACK_ONLY, QUIET, Cluster, existing, silence
from .spec import Existing, FleetSpec, Kubernetes, Local, Slurm, Ssh, Tls

if TYPE_CHECKING:
    from distributed import Security

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
            hint = "is the scheduler running, and do the certificates fit?"
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
            from .ssh import by_ssh

            return by_ssh(spec.way, listen=spec.listen, port=spec.port)
        case Slurm():
            from .slurm import by_slurm

            return by_slurm(spec, spec.way)
        case Kubernetes():
            from .kubernetes import by_kubernetes

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
            raise PlanError(f"{address} wants certificates, and none are named", where="[fleet]", hint=hint)
        return found
    ca, cert, key = (str(path) for path in (tls.ca, tls.cert, tls.key))
    return Security(tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key, require_encryption=True)


@contextmanager
def local(workers: int) -> Iterator[Cluster]:
    """So many worker processes on this machine."""
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
