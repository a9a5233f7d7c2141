"""What planned faults did to a run, in one number each: of several faults the longest. docs/method/faults.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..model.faults import FaultEffect, FaultRecord
from .metric import Observed, Unit

Of = Callable[[FaultRecord, FaultEffect], float | None]


@dataclass(frozen=True)
class FaultFigure:
    """name: of the metric. of: of one fault that was carried out; None: it has no such value."""

    name: str
    unit: Unit
    label: str
    about: str
    of: Of
    together: Callable[[Iterable[float]], float] = max

    def of_run(self, seen: Observed) -> float | None:
        found = [self.of(fault, fault.effect) for fault in seen.run.faults if fault.effect is not None]
        known = [value for value in found if value is not None]
        return self.together(known) if known else None


def without_writes_s(effect: FaultEffect) -> float:
    """Without any success, where the work writes nothing."""
    return effect.without_success_s if effect.without_writes_s is None else effect.without_writes_s


def full_rate_s(effect: FaultEffect) -> float | None:
    """At least, where the rate was not seen to come back; None: it was never known."""
    if effect.rate_before_ops_per_s is None:
        return None
    return effect.watched_s if effect.full_rate_s is None else effect.full_rate_s


def was_not_seen_back(seen: Observed) -> bool:
    """That the rate came back after every fault."""
    effects = [fault.effect for fault in seen.run.faults if fault.effect is not None]
    return any(effect.full_rate_s is None for effect in effects)


FULL_RATE = "time_to_full_rate_s"
FAULT_FIGURES: tuple[FaultFigure, ...] = (
    FaultFigure(
        "time_to_detect_s",
        "s",
        "time to detect",
        "From a planned fault until the first operation failed because of it; none where all of them only waited.",
        lambda fault, effect: effect.detect_s,
    ),
    FaultFigure(
        "time_without_writes_s",
        "s",
        "time without writes",
        "The longest time around a planned fault in which nothing that writes ended right, to 0.1 s; of work that only"
        " reads, in which nothing did.",
        lambda fault, effect: without_writes_s(effect),
    ),
    FaultFigure(
        FULL_RATE,
        "s",
        "time to full rate",
        "From a planned fault until the rate was what it had been before, and stayed so.",
        lambda fault, effect: full_rate_s(effect),
    ),
    FaultFigure(
        "rejoin_s",
        "s",
        "rejoin time",
        "From the start of a server that a planned fault had ended until it served again.",
        lambda fault, effect: None if fault.planned.do == "freeze" else fault.rejoin_s,
    ),
    FaultFigure(
        "longest_wait_s",
        "s",
        "longest wait at a fault",
        "The longest response time of what ended while a planned fault was felt; what waited then and never ended in"
        " the window counts at its age.",
        lambda fault, effect: effect.longest_wait_s,
    ),
    FaultFigure(
        "fault_errors",
        "count",
        "number of errors at faults",
        "Operations that failed or are unknown in the seconds in which planned faults were felt.",
        lambda fault, effect: float(effect.failed + effect.unknown),
        sum,
    ),
)
