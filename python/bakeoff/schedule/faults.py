"""Carrying out a run's planned faults, on its own time axis: a thread for each, so that no wait of one delays another,
or the reading of the engines' events. (A server that one of them starts lives on when it ends, see
provision/process.py.)"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence

from ..errors import BakeoffError
from ..model.faults import FaultRecord, PlannedFault
from ..provision.server import PrivateServer

#: Between two attempts to end what is being started when nobody wants it any more.
_INSISTS_EVERY_S = 0.1


class Faults:
    """Of one run. All is called from one thread; whatever happens, `end` is, and leaves nothing frozen.

    rejoin: starts a node again beside those that run, and says how it got what it had missed. mark: tells the clients.
    """

    def __init__(
        self,
        planned: Sequence[PlannedFault],
        servers: Mapping[str, PrivateServer],
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
        self._turns = {fault.node: threading.Lock() for fault in planned}
        self._away: set[str] = set()
        self._starting: set[str] = set()
        self._threads = [
            threading.Thread(target=self._carry_out, args=(number, record), name="fault", daemon=True)
            for number, record in enumerate(self.records)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def away(self) -> set[str]:
        """Nodes of which nobody expects an answer."""
        return set(self._away)

    def marked(self, number: int, at_s: float) -> None:
        """A client wrote a fault down, seconds since the window's start."""
        self.records[number].marked_s.append(at_s)

    def end(self, *, at_once: bool = False) -> None:
        """Nothing more is begun, and nothing stays frozen. at_once: what is being started is killed; else it is waited
        for."""
        self._over.set()
        for thread in self._threads:
            while thread.is_alive():
                thread.join(_INSISTS_EVERY_S if at_once else None)
                if at_once:
                    for node in set(self._starting):
                        self._servers[node].kill()
        self._make_whole(lambda planned: planned.do == "freeze")

    def heal(self) -> None:
        """Starts again what is still away, when the load has ended: the data are to be checked on all nodes. One may
        have to wait for another, so all are tried again as long as any comes back."""
        left = None
        while left != self.away():
            left = self.away()
            self._make_whole(lambda planned: True)
        for record in self.records:
            if record.begun_s is None:
                record.failure = record.failure or "the run had ended before"

    def _make_whole(self, meant: Callable[[PlannedFault], bool]) -> None:
        for record in self.records:
            if record.begun_s is not None and record.planned.node in self._away and meant(record.planned):
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
            case "stop" | "restart":
                server.stop()

    def _undo(self, record: FaultRecord) -> None:
        node = record.planned.node
        record.ended_s = self._now_s()
        self._starting.add(node)
        try:
            if record.planned.do == "freeze":
                self._servers[node].thaw()
            else:
                record.rejoined = self._rejoin(node)
        except (BakeoffError, OSError) as error:
            record.failure = f"{node} did not come back: {error}"
            return
        finally:
            self._starting.discard(node)
        record.back_s, record.failure = self._now_s(), ""
        self._away.discard(node)

    def _ended_before(self, at_s: float) -> bool:
        """Waits until then, since the window's start; True: the run ended first."""
        return self._over.wait(max(0.0, at_s - self._now_s()))

    def _now_s(self) -> float:
        return time.time() - self._window_unix_s
