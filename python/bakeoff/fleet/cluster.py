"""One Dask cluster, however it was made: its scheduler and how to speak to it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..provision.certificate import new_pem

if TYPE_CHECKING:
    from distributed import Client, Security

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
        """Connected; anew where the scheduler was gone for good. Raises OSError."""
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
    """A cluster that is there. Raises OSError."""
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
