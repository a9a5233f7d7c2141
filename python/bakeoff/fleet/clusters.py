"""Dask clusters, one way of getting one, one function. Nothing of Dask is imported before one is opened."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import BakeoffError
from .spec import Existing, FleetSpec, Local, Tls

if TYPE_CHECKING:
    from distributed import Client, Security

#: Dask always serves its own pages; nobody but this machine is to see them.
_NO_DASHBOARD = "127.0.0.1:0"
#: Of Dask on machines that measure: by itself a worker looks at itself dozens of times a second, which took 1.3 % of a
#: core, and so 0.3 % (2026-11-22).
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
        """Connected; anew where the scheduler was gone for good. Raises OSError."""
        from distributed import Client

        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # whoever uses it says what comes of its troubles
        if self._client is None or self._client.status in ("closed", "closing"):
            self._client = Client(self.address, security=self.security, timeout="10s", set_as_default=False)
        return self._client

    def close(self) -> None:
        if self._client is not None:
            self._client.close()


@contextmanager
def opened(spec: FleetSpec) -> Iterator[Cluster]:
    """What a plan's [fleet] names, for as long as the plan is carried out. Raises BakeoffError."""
    with ExitStack() as held:
        try:
            cluster = held.enter_context(_opened(spec))
        except (OSError, TimeoutError) as error:
            hint = "is the scheduler running, and do the certificates fit?"
            raise BakeoffError(f"{spec.words} cannot be reached: {error}", where="[fleet]", hint=hint) from error
        cluster.description, cluster.port = spec.words, spec.port
        cluster.listen = spec.listen or cluster.listen
        yield cluster


def _opened(spec: FleetSpec) -> AbstractContextManager[Cluster]:
    match spec.way:
        case Existing(address=address, tls=tls):
            return existing(address, _security(tls))
        case Local(workers=workers):
            return local(workers)
    raise BakeoffError(f"clients cannot run on {spec.words} yet", where="[fleet]")


def _security(tls: Tls | None) -> Security:
    """None: what Dask's own configuration says."""
    from distributed import Security

    if tls is None:
        return Security()
    ca, cert, key = (str(path) for path in (tls.ca, tls.cert, tls.key))
    return Security(tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key, require_encryption=True)


@contextmanager
def existing(address: str, security: Security, *, listen: str | None = None) -> Iterator[Cluster]:
    """A cluster that is there. Raises OSError."""
    cluster = Cluster(address, security, f"the machines of {address}", listen)
    try:
        cluster.client()
        yield cluster
    finally:
        cluster.close()


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
            dashboard_address=_NO_DASHBOARD,
            worker_dashboard_address=_NO_DASHBOARD,
            memory_limit=0,
        ) as made,
        existing(made.scheduler_address, Security(), listen="127.0.0.1") as cluster,
    ):
        cluster.description = f"{workers} workers on this machine"
        cluster.client().wait_for_workers(workers)
        yield cluster
