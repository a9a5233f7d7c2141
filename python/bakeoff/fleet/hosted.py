"""The host of a plan: this machine, or the load machines that its [fleet] names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .host import Host
from .local import LocalHost
from .spec import FleetSpec


@contextmanager
def hosted(fleet: FleetSpec | None, tell: Callable[[str], None]) -> Iterator[Host]:
    """For as long as the plan is carried out. tell: what people may want to know. Raises BakeoffError."""
    if fleet is None:
        yield LocalHost()
        return
    from .clusters import opened
    from .dask import DaskHost

    with (
        opened(fleet) as cluster,
        DaskHost(cluster, min_clients=fleet.min_clients, wait_s=fleet.wait_s, tell=tell) as host,
    ):
        yield host
