"""On which machine each bundle of a history was made, by a name."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Literal

from ..analysis.wording import bytes_words, counted
from ..bundle.read import Bundle
from ..model.records.bundle import MachineFacts

#: What makes two machines one: the host's name and its hardware; or the hardware alone, where names are drawn at each
#: start.
MachinesBy = Literal["hostname", "hardware"]
_GIB = 1 << 30


def machine_names(bundles: Sequence[Bundle], by: MachinesBy) -> list[str]:
    """Of each bundle; different machines have different names."""
    read, words = _READ[by]
    keys = [read(bundle.machine) for bundle in bundles]
    names: dict[Hashable, str] = {}
    for key, bundle in zip(keys, bundles, strict=True):
        if key not in names:
            name = words(bundle.machine)
            names[key] = f"{name} ({_hardware_words(bundle.machine)})" if name in names.values() else name
    return [names[key] for key in keys]


def _hardware(machine: MachineFacts) -> Hashable:
    """Memory in steps of 1.4: kernels leave a little more or less of it."""
    steps = round(2 * math.log2(machine.memory_bytes)) if machine.memory_bytes else None
    return machine.cpu_model, machine.cores, steps


def _hardware_words(machine: MachineFacts) -> str:
    memory = bytes_words(max(1, round(machine.memory_bytes / _GIB)) * _GIB)
    return f"{machine.cpu_model or 'unknown CPU'}, {counted(machine.cores, 'core', 'cores')}, {memory}"


_READ: dict[MachinesBy, tuple[Callable[[MachineFacts], Hashable], Callable[[MachineFacts], str]]] = {
    "hostname": (lambda machine: (machine.hostname, _hardware(machine)), lambda machine: machine.hostname),
    "hardware": (_hardware, _hardware_words),
}
