"""What planned faults did to a run, in one number each: of several faults the longest. docs/method/faults.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..model.faults import FaultEffect, FaultRecord
from .metric import Observed, Unit

Of = Callable[[FaultRecord], float | None]


@dataclass(frozen=True)
class FaultFigure:
    """name: of the metric. of: of one fault; None: it has no such value."""

    name: str
    unit: Unit
    label: str
    about: str
    of: Of
    together: Callable[[Iterable[float]], float] = max

    def of_run(self, seen: Observed) -> float | None:
        return self.of_faults(seen.run.faults)

    def of_faults(self, faults: Iterable[FaultRecord]) -> float | None:
        known = [value for value in map(self.of, faults) if value is not None]
        return self.together(known) if known else None


def _of_effect(of: Callable[[FaultEffect], float | None]) -> Of:
    return lambda fault: None if fault.effect is None else of(fault.effect)


def without_writes_s(effect: FaultEffect) -> float:
    """Without any success, where the work writes nothing."""
    return effect.without_success_s if effect.without_writes_s is None else effect.without_writes_s


def full_rate_s(effect: FaultEffect) -> float | None:
    """At least, where the rate was not seen to come back; None: it cannot be judged."""
    if effect.rate_before_ops_per_s is None:
        return None
    return effect.watched_s if effect.full_rate_s is None else effect.full_rate_s


def was_not_seen_back(seen: Observed) -> bool:
    """That the rate came back after every fault."""
    return any(fault.effect is not None and fault.effect.not_back for fault in seen.run.faults)


FULL_RATE = "time_to_full_rate_s"
BACK = "time_to_back_s"
FAULT_FIGURES: tuple[FaultFigure, ...] = (
    FaultFigure(
        "time_to_detect_s",
        "s",
        "time to detect",
        "From a planned fault until the first operation failed because of it; none where all of them only waited.",
        _of_effect(lambda effect: effect.detect_s),
    ),
    FaultFigure(
        "time_without_writes_s",
        "s",
        "time without writes",
        "The longest time around a planned fault in which nothing that writes ended right, to 0.1 s; of work that only"
        " reads, in which nothing did.",
        _of_effect(without_writes_s),
    ),
    FaultFigure(
        "time_without_reads_s",
        "s",
        "time without reads",
        "The longest time around a planned fault in which nothing that only reads ended right, to 0.1 s; 0 where it was"
        " no longer than before the first fault.",
        _of_effect(lambda effect: effect.without_reads_s),
    ),
    FaultFigure(
        FULL_RATE,
        "s",
        "time to full rate",
        "From a planned fault until the rate was what it had been before, and stayed so.",
        _of_effect(full_rate_s),
    ),
    FaultFigure(
        "fell_again_s",
        "s",
        "time of a second fall",
        "For how long the rate was below the full rate once more after it had come back from a planned fault: of"
        " several such falls the longest; 0: it stayed.",
        _of_effect(lambda effect: effect.fell_again_for_s),
    ),
    FaultFigure(
        BACK,
        "s",
        "time to serve again",
        "From a planned fault until the server that it hurt served again.",
        lambda fault: None if fault.begun_s is None or fault.back_s is None else fault.back_s - fault.begun_s,
    ),
    FaultFigure(
        "rejoin_s",
        "s",
        "rejoin time",
        "From the start of a server that a planned fault had ended until it served again.",
        lambda fault: None if fault.planned.do == "freeze" else fault.rejoin_s,
    ),
    FaultFigure(
        "longest_wait_s",
        "s",
        "longest wait at a fault",
        "The longest response time of what ended while a planned fault was felt; what waited then and never ended in"
        " the window counts at its age.",
        _of_effect(lambda effect: effect.longest_wait_s),
    ),
    FaultFigure(
        "fault_errors",
        "count",
        "number of errors at faults",
        "Operations that failed or are unknown in the seconds in which planned faults were felt.",
        _of_effect(lambda effect: float(effect.failed + effect.unknown)),
        sum,
    ),
)
