"""The right to administer the network, which faults between servers need (between.py, delay.py)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from ..errors import PlanError
from ..model.faults import BETWEEN_SERVERS, FaultKind

_NET_ADMIN = 12  # linux/capability.h


def refuse_without_right(kinds: Iterable[FaultKind], where: str, status: Path = Path("/proc/self/status")) -> None:
    """Raises PlanError if one of these faults needs the right and we lack it, before a run and not when the fault is
    due. status: of this process."""
    between = [kind for kind in kinds if kind in BETWEEN_SERVERS]
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", status.read_text(), re.MULTILINE) if between else None
    if found and not int(found[1], 16) >> _NET_ADMIN & 1:
        raise PlanError(
            f"a {between[0]} needs root (CAP_NET_ADMIN), and this process has no such right",
            where=where,
            hint="run bakeoff as root, or choose another fault, such as freeze",
        )
