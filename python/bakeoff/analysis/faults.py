"""What a fault did to the load, from the run's own series: docs/method/faults.md defines every figure.
And what planned faults did to a run, in one number each: of several faults the longest.

All is seen in tenths of a second, so no figure is better than that. Times are seconds since the window's start; those
before it (the warm-up) are negative. Arrays have one value for each tenth, in the order of time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model.faults import WATCHED_S_MIN, FaultEffect, FaultRecord
from .metric import Observed, Unit

TENTH_S = 0.1
#: Back at the full rate: every second's rate at most so much below what it was, or as low as it had been at times,
SLOWER_RATIO_MAX = 0.1
#: which is not taken to be lower than this,
LOW_RATIO_MIN = 0.5
#: or this many standard deviations of the two counts below it, if they came by chance alone (Poisson),
BY_CHANCE_SD = 3.0
#: for so long, as far as the load was watched.
STAYS_S = 3.0
#: A later fall is reported where its lowest second is below so much of the full rate,
FELL_RATIO_MAX = 0.75
#: and where it lasted for so long: a checkpoint may stall anything for less.
FELL_S_MIN = 1.0
_SECOND = round(1 / TENTH_S)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Tenths:
    """start_s: of each tenth. ok: operations that ended ok in it; writes: those of them that write, or may."""

    start_s: Array
    ok: Array
    writes: Array


@dataclass(frozen=True)
class Second:
    """What ended in one second. longest_ms: of the response times, whatever their outcome."""

    start_s: float
    ok: int
    failed: int
    unknown: int
    longest_ms: float


@dataclass(frozen=True)
class Fault:
    """One, or several of one event. begun_s: it was done. over_s: the server served again; None: it did not while the
    load was watched. window_s: the window ended. next_s: the next event of the run began."""

    begun_s: float
    over_s: float | None
    window_s: float
    next_s: float | None = None

    @property
    def until_s(self) -> float:
        """So long it was watched."""
        return self.window_s if self.next_s is None else self.next_s

    def may_explain(self, second: Second) -> bool:
        """What ended in the second in which the next one began may be of that one."""
        return self.begun_s - 1 < second.start_s and (self.next_s is None or second.start_s + 1 <= self.next_s)


@dataclass(frozen=True)
class Fall:
    """lowest: the rate of its lowest second."""

    begun_s: float
    lasted_s: float
    lowest: float


def effect(
    fault: Fault,
    first_s: float,
    tenths: Tenths,
    seconds: Sequence[Second],
    failures_s: Sequence[float],
    oldest_s: float = 0.0,
) -> FaultEffect:
    """first_s: when the first fault of the run began, before which all was as it should be. failures_s: times at which
    operations are known to have failed, the first of each kind among them. oldest_s: age, when the window ended, of the
    operation that had then waited longest."""
    before = (tenths.start_s >= 0) & (tenths.start_s + TENTH_S <= first_s)
    rates = second_rates(tenths.ok[before])
    least = _least(rates) if fault.until_s - fault.begun_s >= WATCHED_S_MIN else None
    full_s = None if least is None else _full_again(fault, tenths, least)
    usual = float(np.median(rates)) if len(rates) else 0.0
    fall = None if least is None or full_s is None else _second_drop(fault, tenths, least, usual, full_s)
    felt_until_s = fault.until_s if full_s is None else min(fault.until_s, max(full_s, fault.over_s or 0.0))
    felt = [s for s in seconds if fault.may_explain(s) and s.start_s <= felt_until_s]
    waits_s = [s.longest_ms / 1e3 for s in felt]
    if fault.window_s - oldest_s < felt_until_s:  # it waited while the fault was felt
        waits_s.append(oldest_s)
    writing = bool(tenths.writes.any())
    gap_before_s = longest_gap_s(tenths.start_s, tenths.writes if writing else tenths.ok, 0.0, first_s - TENTH_S)
    own_from_s = -np.inf if fault.begun_s <= first_s else fault.begun_s - TENTH_S - gap_before_s

    def gap_s(counts: Array) -> float:
        return longest_gap_s(tenths.start_s, counts, fault.begun_s, felt_until_s, own_from_s)

    reads = tenths.ok - tenths.writes
    usual_s = longest_gap_s(
        tenths.start_s, reads, 0.0, first_s - TENTH_S
    )  # where few read there are gaps without a fault
    reads_gap_s = gap_s(reads) if reads.any() else None

    return FaultEffect(
        detect_s=_detected_s(fault, felt, failures_s),
        without_success_s=gap_s(tenths.ok),
        without_writes_s=gap_s(tenths.writes) if writing else None,
        without_reads_s=0.0 if reads_gap_s is not None and reads_gap_s <= usual_s else reads_gap_s,
        gap_before_s=gap_before_s,
        rate_before_ops_per_s=None if least is None else usual,
        full_rate_s=None if full_s is None else full_s - fault.begun_s,
        second_drop_s=None if fall is None else fall.begun_s - fault.begun_s,
        second_drop_for_s=fall.lasted_s if fall else None if full_s is None else 0.0,
        second_drop_to_ops_per_s=None if fall is None else fall.lowest,
        felt_s=felt_until_s - fault.begun_s,
        watched_s=fault.until_s - fault.begun_s,
        longest_wait_s=max(waits_s, default=None),
        failed=sum(s.failed for s in felt),
        unknown=sum(s.unknown for s in felt),
    )


def error_ratio_outside_faults(felt: Sequence[tuple[float, float]], seconds: Sequence[Second]) -> float:
    """Of what ended in the window in seconds in which no fault was felt, the share that did not end ok. felt: from and
    to, seconds since the window's start."""
    quiet = [s for s in seconds if s.start_s >= 0 and not any(a < s.start_s + 1 and s.start_s <= b for a, b in felt)]
    failed = sum(s.failed + s.unknown for s in quiet)
    ended = failed + sum(s.ok for s in quiet)
    return failed / ended if ended else 0.0


def longest_gap_s(start_s: Array, counts: Array, from_s: float, to_s: float, own_from_s: float = -np.inf) -> float:
    """The longest time without anything counted, of those that reach into [from_s, to_s). A gap is its empty tenths and
    half of the two at its ends, in which the last before and the first after it lie anywhere. 0: no tenth was empty.
    own_from_s: one that began before it is of something else."""
    empty = np.concatenate([[False], counts == 0, [False]])
    begins, ends = (np.flatnonzero(empty[1:] != empty[:-1])[which::2] for which in (0, 1))
    lengths = [
        end - begin + 0.5 * (begin > 0) + 0.5 * (end < len(counts))
        for begin, end in zip(begins, ends, strict=True)
        if start_s[end - 1] + TENTH_S > from_s and own_from_s <= start_s[begin] < to_s
    ]
    return float(max(lengths)) * TENTH_S if lengths else 0.0


def second_rates(ok: Array) -> Array:
    """Operations per second, over every second that begins with a tenth; none of less than a second."""
    sums = np.cumsum(np.insert(ok, 0, 0.0))
    return np.asarray(sums[_SECOND:] - sums[:-_SECOND], dtype=np.float64) if len(ok) >= _SECOND else np.array([])


def _least(rates: Array) -> float | None:
    """What counts as the full rate, from those before the first fault; None: so few operations ended that chance alone
    may make their rate too low."""
    if not len(rates):
        return None
    usual, before_s = float(np.median(rates)), 1 + TENTH_S * (len(rates) - 1)
    by_chance = usual - BY_CHANCE_SD * np.sqrt(usual * (1 + 1 / before_s))
    if by_chance < LOW_RATIO_MIN * usual:
        return None
    return min((1 - SLOWER_RATIO_MAX) * usual, max(float(rates.min()), LOW_RATIO_MIN * usual), float(by_chance))


def _full_again(fault: Fault, tenths: Tenths, least: float) -> float | None:
    """When the first second began from which on the rate stayed; None: that was not seen."""
    watched = (tenths.start_s + TENTH_S > fault.begun_s) & (tenths.start_s + TENTH_S <= fault.until_s + 1e-6)
    rates = second_rates(tenths.ok[watched])
    full = rates >= least
    begun = tenths.ok[watched][: len(rates)] >= LOW_RATIO_MIN * least * TENTH_S  # not in the last tenths of a stall
    stays = round(STAYS_S / TENTH_S)
    for place in np.flatnonzero(full & begun):
        if full[place : place + stays].all():
            return max(float(tenths.start_s[watched][place]), fault.begun_s)
    return None


def _second_drop(fault: Fault, tenths: Tenths, least: float, usual: float, full_s: float) -> Fall | None:
    """The longest fall after the rate was back. A second that reaches into a fall of depth d by more than the share q/d
    is below the full rate, where q is what that leaves out: so the seconds below it begin and end that much off."""
    watched = (tenths.start_s >= full_s - 1e-6) & (tenths.start_s + TENTH_S <= fault.until_s + 1e-6)
    rates = second_rates(tenths.ok[watched])
    below = np.concatenate([[False], rates < least, [False]])
    begins, ends = (np.flatnonzero(below[1:] != below[:-1])[which::2] for which in (0, 1))
    falls = []
    for begin, end in zip(begins, ends, strict=True):
        lowest = float(rates[begin:end].min())
        if lowest >= FELL_RATIO_MAX * least:
            continue
        reach_s = min(1.0, (usual - least) / (usual - lowest))
        begun_s = full_s + TENTH_S * float(begin) + 1 - reach_s
        over_s = fault.until_s if end == len(rates) else full_s + TENTH_S * float(end - 1) + reach_s
        falls.append(Fall(begun_s, over_s - begun_s, lowest))
    longest = max(falls, key=lambda fall: fall.lasted_s, default=None)
    return longest if longest and longest.lasted_s >= FELL_S_MIN - TENTH_S else None


def _detected_s(fault: Fault, felt: Sequence[Second], failures_s: Sequence[float]) -> float | None:
    """Until the first failure; where its time is not known, until the end of its second."""
    counted = [second.start_s + 1 for second in felt if second.failed + second.unknown]
    if not counted:
        return None
    return min(at_s for at_s in (*failures_s, counted[0]) if at_s >= fault.begun_s) - fault.begun_s


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
BACK = "time_to_server_recovery_s"
FAULT_FIGURES: tuple[FaultFigure, ...] = (
    FaultFigure(
        "time_to_detect_s",
        "s",
        "time to detect",
        "From a planned fault until the first operation failed because of it; none where all operations only waited.",
        _of_effect(lambda effect: effect.detect_s),
    ),
    FaultFigure(
        "time_without_writes_s",
        "s",
        "time without writes",
        "The longest time around a planned fault without a successful write, to 0.1 s; where a workload only reads,"
        " without a successful operation.",
        _of_effect(without_writes_s),
    ),
    FaultFigure(
        "time_without_reads_s",
        "s",
        "time without reads",
        "The longest time around a planned fault without a successful read, to 0.1 s; 0 where it was no longer than"
        " before the first fault.",
        _of_effect(lambda effect: effect.without_reads_s),
    ),
    FaultFigure(
        FULL_RATE,
        "s",
        "time to full throughput",
        "From a planned fault until throughput was back at its earlier level and stayed there.",
        _of_effect(full_rate_s),
    ),
    FaultFigure(
        "second_drop_s",
        "s",
        "time of a second drop",
        "How long throughput dropped again after it had recovered from a planned fault: the longest of several drops;"
        " 0: it did not drop.",
        _of_effect(lambda effect: effect.second_drop_for_s),
    ),
    FaultFigure(
        BACK,
        "s",
        "time to serve again",
        "From a planned fault until the affected server served again.",
        lambda fault: None if fault.begun_s is None or fault.back_s is None else fault.back_s - fault.begun_s,
    ),
    FaultFigure(
        "rejoin_s",
        "s",
        "rejoin time",
        "From the restart of a server that a planned fault had ended until it served again.",
        lambda fault: fault.rejoin_s if fault.planned.ends_server else None,
    ),
    FaultFigure(
        "longest_wait_s",
        "s",
        "longest wait at a fault",
        "The longest response time while a planned fault had an effect; operations that did not end within the window"
        " count with the time that they had waited.",
        _of_effect(lambda effect: effect.longest_wait_s),
    ),
    FaultFigure(
        "fault_errors",
        "count",
        "number of errors at faults",
        "Operations that failed, or whose outcome is unknown, in the seconds in which planned faults had an effect.",
        _of_effect(lambda effect: float(effect.failed + effect.unknown)),
        sum,
    ),
)
