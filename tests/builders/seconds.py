"""What a run's seconds become, without a bundle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bakeoff.model.boundary import Interval
from bakeoff.schedule.seconds import Seconds


@dataclass
class Rows:
    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)


@dataclass
class Kept:
    """In place of a run's files."""

    intervals: Rows = field(default_factory=Rows)
    tenths: Rows = field(default_factory=Rows)
    nodes: Rows = field(default_factory=Rows)
    histograms: Rows = field(default_factory=Rows)

    def finish(self, *, tenths: bool) -> None:
        if not tenths:
            self.tenths.rows.clear()


def seconds_of(
    *clients: Sequence[Interval], warm_up_s: float = 0.0, faults: bool = False, clock_bound_ns: int = 0
) -> tuple[Seconds, Kept]:
    """Clients report in turn, each its seconds in their order."""
    kept = Kept()
    seconds = Seconds(kept, len(clients), warm_up_s, faults=faults)  # type: ignore[arg-type]
    for place in range(max(map(len, clients), default=0)):
        for client, own in enumerate(clients):
            if place < len(own):
                seconds.add(client, own[place])
    seconds.finish(clock_bound_ns=clock_bound_ns)
    return seconds, kept
