"""The host of a plan: this machine, or the load machines that its [fleet] names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import BakeoffError
from .host import Host
from .local import LocalHost
from .spec import FleetSpec


@contextmanager
def hosted(fleet: FleetSpec | None) -> Iterator[Host]:
    """For as long as the plan is carried out."""
    if fleet is not None:
        raise BakeoffError(f"clients cannot run on {fleet.words} yet", where="[fleet]", hint="leave it out")
    yield LocalHost()
