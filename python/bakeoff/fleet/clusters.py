"""Dask clusters, one way of getting one, one function. Nothing of Dask is imported before one is opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Client, Security


@dataclass
class Cluster:
    """A scheduler and how to speak to it. listen: at which address its machines reach this one; None: the one that this
    machine uses to reach the scheduler. description: for people."""

    address: str
    security: Security
    description: str
    listen: str | None = None
    _client: Client | None = field(default=None, repr=False)

    def client(self) -> Client:
        """Connected; anew where the scheduler was gone for good. Raises OSError."""
        from distributed import Client

        if self._client is None or self._client.status in ("closed", "closing"):
            self._client = Client(self.address, security=self.security, timeout="10s", set_as_default=False)
        return self._client

    def close(self) -> None:
        if self._client is not None:
            self._client.close()


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
        config.set({"distributed.worker.profile.enabled": False}),
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
        ) as made,
        existing(made.scheduler_address, Security(), listen="127.0.0.1") as cluster,
    ):
        cluster.description = f"{workers} workers on this machine"
        cluster.client().wait_for_workers(workers)
        yield cluster
