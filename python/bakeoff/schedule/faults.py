"""A run's planned faults: carrying them out on its own time axis, and what they did to its load.

Each has a thread, so that no wait of one delays another, or the reading of the engines' events. (A server that one of
them starts lives on when it ends, see provision/process.py.)
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from ..analysis import faults as analysis
from ..errors import BakeoffError, ServerError
from ..fleet.engine_program import engine_path
from ..model import faults as model
from ..model.boundary import RunResult
from ..model.faults import FaultRecord, PlannedFault
from ..provision.between import BetweenServers
from ..provision.delay import Delay
from ..provision.partition import Partition
from ..provision.process import wait_until
from ..provision.server import ManagedServer

TOO_LATE = "the run had already ended"
#: Between two attempts to end a server that is starting but no longer needed.
_INSISTS_EVERY_S = 0.1


class Faults:
    """The faults of one run. One thread calls all methods; `end` is always called, and leaves nothing frozen or cut
    off.

    rejoin: restarts a node while others run, and returns how it got the missed data. mark: informs the clients.
    """

    def __init__(
        self,
        planned: Sequence[PlannedFault],
        servers: Mapping[str, ManagedServer],
        rejoin: Callable[[str], str],
        mark: Callable[[int], None],
        window_unix_s: float,
    ) -> None:
        self.records = [FaultRecord(planned=fault) for fault in planned]
        self._servers = servers
        self._rejoin = rejoin
        self._mark = mark
        self._window_unix_s = window_unix_s
        self._over = threading.Event()
        self._hurries = False
        self._turns = {fault.node: threading.Lock() for fault in planned}
        self._away: set[str] = set()
        self._starting: set[str] = set()
        self._between: dict[str, BetweenServers] = {}
        self._threads = [
            threading.Thread(target=self._carry_out, args=(number, record), name="fault", daemon=True)
            for number, record in enumerate(self.records)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def away(self) -> set[str]:
        """Nodes from which nobody expects an answer."""
        return set(self._away)

    def marked(self, number: int, at_s: float) -> None:
        """A client wrote a fault down, seconds since the window's start."""
        self.records[number].marked_s.append(at_s)

    def end(self, *, at_once: bool = False) -> None:
        """Begins no further fault, and leaves nothing frozen or cut off. at_once: kills servers that are starting,
        instead of waiting for them."""
        self._hurries = at_once
        self._over.set()
        for thread in self._threads:
            while thread.is_alive():
                thread.join(_INSISTS_EVERY_S if at_once else None)
                if at_once:
                    for node in set(self._starting):
                        self._servers[node].kill()
        self._make_whole(lambda planned: not planned.ends_server)

    def heal(self) -> None:
        """Restarts nodes that are still away when the load has ended: the data are checked on all nodes. One may have
        to wait for another, so all are tried again as long as any comes back."""
        left = None
        while left != self.away():
            left = self.away()
            self._make_whole(lambda planned: True)
        for record in self.records:
            if record.begun_s is None:
                record.failure = record.failure or TOO_LATE

    def _make_whole(self, meant: Callable[[PlannedFault], bool]) -> None:
        for record in self.records:
            left = record.begun_s is not None and record.back_s is None
            if left and record.planned.node in self._away and meant(record.planned):
                record.after_load = True
                self._undo(record)

    def _carry_out(self, number: int, record: FaultRecord) -> None:
        planned = record.planned
        if self._ended_before(planned.at_s):
            return
        with self._turns[planned.node]:
            if self._over.is_set():
                return
            try:
                self._do(number, record)
            except (BakeoffError, OSError) as error:
                record.failure = str(error)
                if not planned.ends_server:  # then it is as it was
                    record.begun_s = None
                    self._away.discard(planned.node)
                return
            away_s = 0.0 if planned.do == "restart" else planned.for_s
            if away_s is not None and not self._ended_before(planned.at_s + away_s):
                self._undo(record)

    def _do(self, number: int, record: FaultRecord) -> None:
        server = self._servers[record.planned.node]
        self._away.add(record.planned.node)
        record.begun_s = self._now_s()
        self._mark(number)
        match record.planned.do:
            case "kill":
                server.kill()
            case "freeze":
                server.freeze()
            case "partition" | "delay":
                others = [other for name, other in self._servers.items() if name != record.planned.node]
                self._between[record.planned.node] = between = _between(record.planned, server, others)
                between.begin()
            case "skew":
                server.skew_clock(record.planned.by_s or 0.0)
            case "stop" | "restart":
                server.stop()

    def _undo(self, record: FaultRecord) -> None:
        node = record.planned.node
        record.ended_s = self._now_s()
        if record.planned.ends_server:
            self._starting.add(node)
        try:
            match record.planned.do:
                case "freeze":
                    self._servers[node].thaw()
                case "partition" | "delay":
                    self._between[node].end()
                    self._wait_for(node)
                case "skew":
                    self._servers[node].skew_clock(0.0)
                case _:
                    record.rejoined = self._rejoin(node)
        except (BakeoffError, OSError) as error:
            record.failure = f"{node} did not come back: {error}"
            return
        finally:
            self._starting.discard(node)
        record.back_s, record.failure = self._now_s(), ""
        self._away.discard(node)

    def _wait_for(self, node: str) -> None:
        """What was cut off may first have to be taken back by the others. Raises ServerError."""
        server = self._servers[node]
        if not wait_until(lambda: self._hurries or server.answers(), server.start_timeout_s):
            raise ServerError(f"it did not serve within {server.start_timeout_s:.0f} s after it was reconnected")

    def _ended_before(self, at_s: float) -> bool:
        """Waits until then, since the window's start; True: the run ended first."""
        return self._over.wait(max(0.0, at_s - self._now_s()))

    def _now_s(self) -> float:
        return time.time() - self._window_unix_s


def _between(planned: PlannedFault, server: ManagedServer, others: Sequence[ManagedServer]) -> BetweenServers:
    if planned.do == "delay":
        return Delay(server, others, planned.by_s or 0.0, engine_path())
    return Partition(server, others)


def with_effects(
    records: Sequence[FaultRecord],
    tenths: analysis.Tenths,
    seconds: Sequence[analysis.Second],
    results: Sequence[RunResult],
    warm_up_s: float,
) -> list[FaultRecord]:
    """records: in the order of time. The first fault of an event that was carried out in the window has the event's
    effect. tenths: empty where they are not known."""
    window_s = max(result.window_end_s for result in results) - warm_up_s
    records = [_late(record) if _began(record) >= window_s else record for record in records]
    numbered = model.events([record.planned for record in records])
    carried_out = [[n for n in numbers if _began(records[n]) < window_s] for numbers in numbered]
    events = [numbers for numbers in carried_out if numbers]
    if not events or not len(tenths.start_s):
        return records
    failures_s = [sample.at_s - warm_up_s for result in results for sample in result.errors]
    begun_s = [min(_began(records[n]) for n in numbers) for numbers in events]
    oldest_s = max((_oldest_s(result) for result in results), default=0.0)
    effects = {
        numbers[0]: analysis.effect(
            analysis.Fault(at_s, _over_s([records[n] for n in numbers]), window_s, next_s),
            begun_s[0],
            tenths,
            seconds,
            failures_s,
            oldest_s,
        )
        for numbers, at_s, next_s in zip(events, begun_s, [*begun_s[1:], None], strict=True)
    }
    return [record.model_copy(update={"effect": effects.get(n)}) for n, record in enumerate(records)]


def _began(record: FaultRecord) -> float:
    """Seconds since the window's start; never is later than any end."""
    return math.inf if record.begun_s is None else record.begun_s


def _over_s(event: Sequence[FaultRecord]) -> float | None:
    """When all of its servers served again; None: not while the load was watched."""
    back_s = [None if record.after_load else record.back_s for record in event]
    return None if None in back_s else max(at_s for at_s in back_s if at_s is not None)


def _late(record: FaultRecord) -> FaultRecord:
    """Unchanged, if it never began."""
    failure = record.failure or "the window ended before it was done"
    return record if record.begun_s is None else record.model_copy(update={"failure": failure})


def _oldest_s(result: RunResult) -> float:
    """For a fault that had not ended when the window did."""
    return max(result.unfinished.max_ns, result.backlog.max_ns) / 1e9


def error_ratio_outside_faults(records: Sequence[FaultRecord], seconds: Sequence[analysis.Second]) -> float | None:
    """None: no fault touched a server."""
    felt = [(r.begun_s, r.begun_s + r.effect.felt_s) for r in records if r.begun_s is not None and r.effect is not None]
    return analysis.error_ratio_outside_faults(felt, seconds) if felt else None
