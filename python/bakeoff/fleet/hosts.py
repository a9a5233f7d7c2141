"""The host of a plan: this machine, or the load machines that its [fleet] names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .host import Host
from .local import LocalHost
from .spec import FleetSpec, Ssh

if TYPE_CHECKING:
    from .load_machines import LoadMachines

Tell = Callable[[str], None]


@contextmanager
def hosted(fleet: FleetSpec | None, tell: Tell) -> Iterator[Host]:
    """For as long as the plan is carried out. tell: what people may want to know. Raises BakeoffError."""
    if fleet is None:
        yield LocalHost()
        return
    with fleet_host(fleet, tell) as host:
        yield host


@contextmanager
def fleet_host(fleet: FleetSpec, tell: Tell) -> Iterator[LoadMachines]:
    """Its load machines."""
    needed: dict[str, Any] = {"min_clients": fleet.min_clients, "wait_s": fleet.wait_s, "tell": tell}
    if isinstance(fleet.way, Ssh):
        from .ssh import SshHost

        with SshHost(fleet.way, **needed) as host:
            yield host
        return
    from .clusters import opened
    from .dask import DaskHost

    with opened(fleet) as cluster, DaskHost(cluster, **needed) as host:
        yield host
