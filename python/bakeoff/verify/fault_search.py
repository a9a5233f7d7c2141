"""A search for faults that break a promise, seed by seed, and for the fewest of them that still do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .wanted_faults import WantedFaults


def search(violates: Callable[[WantedFaults], bool], wanted: WantedFaults, seeds: int) -> WantedFaults | None:
    """The first of this number of seeds, from that of `wanted` on, whose faults break a promise, with no more of them
    than are needed; None: no seed does. A server does nothing twice in the same way: what breaks a promise only at
    times may be missed, and a fault may stay that is not needed."""
    for seed in range(wanted.seed, wanted.seed + seeds):
        tried = replace(wanted, seed=seed)
        if violates(tried):
            return _with_fewest(violates, tried)
    return None


def _with_fewest(violates: Callable[[WantedFaults], bool], found: WantedFaults) -> WantedFaults:
    """Leaves out one fault after another, the last first: those before it stay as they were drawn."""
    for number in reversed(range(len(found.kinds))):
        fewer = replace(found, kinds=(*found.kinds[:number], *found.kinds[number + 1 :]))
        if fewer.kinds and violates(fewer):
            found = fewer
    return found
