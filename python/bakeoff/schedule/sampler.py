"""Looking at the server once a second, on the run's own time axis, from the outside (operating system) and the inside
(its own counters). A thread of the controller: the measuring process knows nothing of it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ..errors import BakeoffError
from ..model.records import MachineSide
from ..provision import neighbours
from ..provision.os_metrics import cores_idle_s, process_table, sample_machine, sample_processes
from ..systems.base import System
from .nodes import by_node

#: In a shorter one the kernel's ticks are too coarse to say who used the processor.
_SHARE_WINDOW_MIN_S = 1.0
#: A look meant for the window's end may be so late.
_LATE_MAX_S = 0.5
#: How long the last look is waited for: as long as a server's answer is.
_LAST_LOOK_S = 6.0
_PRESSURES = ("cpu", "memory", "io")
_OTHERS = "machine.others_cpu_s"
_IDLE = "machine.cores_idle_s"


@dataclass
class Look:
    """One sample. `at_s` since the epoch; counters only grow."""

    at_s: float
    counters: dict[str, float] = field(default_factory=dict)
    gauges: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Usage:
    """The server processes over the window; None: not watched."""

    cpu_s: float | None = None
    memory_peak_bytes: int | None = None
    io_read_bytes: int | None = None
    io_write_bytes: int | None = None


class Sampler:
    """Samples at every whole second since the epoch and at both ends of the window, until `stop`.

    Watches the server's processes; for an embedded system, which has none, the engine's (its CPU is then the client's
    and stands there, so only memory and I/O are told here). And the machine: what else ran on `cores`.
    """

    def __init__(
        self,
        system: System,
        engine_pids: Sequence[int],
        epoch_unix_ns: int,
        warm_up_s: float,
        window_s: float | None,
        cores: Sequence[int],
    ) -> None:
        #: Why it ended early, in words.
        self.failure = ""
        self._system = system
        self._cores = list(cores)
        self._server_unseen = system.may_run_here_unseen()
        self._ours = [*engine_pids, *system.pids()]
        self._tables: list[neighbours.Table] = []  # the first of the window and the latest
        self._embedded = system.capabilities().embedded
        self._pids = list(engine_pids) if self._embedded else system.pids()
        nodes = system.nodes()
        self._pids_of_nodes = {node.name: node.pids() for node in nodes} if len(nodes) > 1 else {}
        self._epoch_s = epoch_unix_ns / 1e9
        self._start_s = warm_up_s
        self._end_s = None if window_s is None else warm_up_s + window_s
        self._answered_at: float | None = None  # monotonic; None: the server has never told of anything
        self._looks: list[Look] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="sampler", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, *, frozen: bool = False) -> None:
        """frozen: the server answers nobody, so its last look is not waited for."""
        self._over.set()
        self._thread.join(timeout=0.5 if frozen else _LAST_LOOK_S)
        if self._thread.is_alive():
            self.failure = "the server did not answer the last look"

    def server_silent_s(self) -> float:
        """How long the server has not answered; 0.0 where it never tells of anything, or nobody asks."""
        asked = self._answered_at is not None and self._thread.is_alive()
        return time.monotonic() - (self._answered_at or 0.0) if asked else 0.0

    def window_ended(self, end_s: float) -> None:
        """The window's true end, seconds since the epoch: not known before where operations limit it."""
        self._end_s = end_s

    def last_look(self) -> None:
        """One more, when everything has ended, for what was written until then."""
        self._note_failure(self._look)

    def rows(self) -> list[dict[str, float]]:
        """Per second: counters as rates (`os.write_bytes_per_s`, `db.Com_select_per_s`), gauges as they were."""
        rows = []
        for before, after in pairwise(self._looks):
            length_s = after.at_s - before.at_s
            if length_s < 0.2:
                continue  # the extra looks at the window's ends are too close for a rate
            row = {"second": before.at_s, "length_s": length_s}
            for name in before.counters.keys() & after.counters.keys():
                row[f"{name}_per_s"] = (after.counters[name] - before.counters[name]) / length_s
            rows.append({**row, **after.gauges})
        return [dict(sorted(row.items())) for row in rows]

    def window_usage(self) -> Usage:
        return Usage(
            cpu_s=None if self._embedded else self._cpu_s(),
            memory_peak_bytes=None if self._embedded or not self._pids else self._memory_peak_bytes(),
            io_read_bytes=_whole(self._grown("os.read_bytes")),
            io_write_bytes=_whole(self._grown("os.write_bytes")),
        )

    def _memory_peak_bytes(self) -> int | None:
        return _whole(max((look.gauges.get("os.rss_bytes", 0.0) for look in self._looks), default=0.0))

    def machine(self) -> MachineSide:
        """What the machine did in the window beside client and server."""
        length_s = (self._end_s or 0.0) - self._start_s
        pressure_s = {what: self._grown(f"machine.pressure_{what}_s") for what in _PRESSURES}
        tables = self._tables
        return MachineSide(
            cores=self._cores,
            server_not_told_apart=self._server_unseen,
            other_cpu_ratio=self._other_cpu_ratio(),
            other_process=neighbours.busiest_other(tables[0], tables[-1], self._ours) if tables else "",
            idle_ratio=self._idle_ratio(length_s),
            swapped_bytes=_whole(self._grown("machine.swapped_bytes")),
            throttled_s=self._grown("machine.throttled_s"),
            pressure_ratio={
                what: value / length_s for what, value in pressure_s.items() if value is not None and length_s > 0
            },
        )

    def _idle_ratio(self, length_s: float) -> float | None:
        idle_s = self._grown(_IDLE)
        return None if idle_s is None or length_s <= 0 else min(1.0, idle_s / length_s / len(self._cores))

    def _other_cpu_ratio(self) -> float | None:
        """Between the first and the last look in the window at which all engines and servers lived."""
        end_s = math.inf if self._end_s is None else self._end_s + _LATE_MAX_S
        inside = [look for look in self._looks if self._start_s <= look.at_s <= end_s]
        points = [(look.at_s, look.counters[_OTHERS]) for look in inside if _OTHERS in look.counters]
        if not points or points[-1][0] - points[0][0] < _SHARE_WINDOW_MIN_S:
            return None
        (from_s, before_s), (to_s, after_s) = points[0], points[-1]
        return max(0.0, after_s - before_s) / (to_s - from_s) / len(self._cores)

    def written_since_window_start(self) -> int | None:
        """Bytes written to storage from the window's start to the last look, debt included."""
        start = self._value("os.write_bytes", self._start_s)
        looks = [look.counters["os.write_bytes"] for look in self._looks if "os.write_bytes" in look.counters]
        return None if start is None or not looks else _whole(looks[-1] - start)

    def _cpu_s(self) -> float | None:
        user, system = self._grown("os.cpu_user_s"), self._grown("os.cpu_system_s")
        return None if user is None or system is None else user + system

    def _grown(self, name: str) -> float | None:
        """Growth of a counter over the window."""
        end_s = self._end_s if self._end_s is not None else (self._looks[-1].at_s if self._looks else 0.0)
        start, end = self._value(name, self._start_s), self._value(name, end_s)
        return None if start is None or end is None else max(0.0, end - start)

    def _value(self, name: str, at_s: float) -> float | None:
        """A counter at a time, on the straight line between the looks around it."""
        points = [(look.at_s, look.counters[name]) for look in self._looks if name in look.counters]
        if not points:
            return None
        if at_s <= points[0][0]:
            return points[0][1]
        for (t0, v0), (t1, v1) in pairwise(points):
            if t0 <= at_s <= t1:
                return v0 + (v1 - v0) * (at_s - t0) / (t1 - t0) if t1 > t0 else v1
        return points[-1][1]

    def _watch(self) -> None:
        self._note_failure(self._look_until_over)

    def _note_failure(self, watch: Callable[[], None]) -> None:
        try:
            watch()
        except Exception as error:  # whatever it was: the run goes on, and its record says what it lacks
            self.failure = f"{type(error).__name__}: {error}"

    def _look_until_over(self) -> None:
        for at_s in self._times():
            if self._over.wait(max(0.0, self._epoch_s + at_s - time.time())):
                break
            self._look()
        self._look()

    def _times(self) -> list[float]:
        """When to look, seconds since the epoch: a day of whole seconds, and the window's ends between them."""
        ends = {self._start_s} | ({self._end_s} if self._end_s is not None else set())
        return sorted({float(s) for s in range(86_400)} | ends)

    def _look(self) -> None:
        look = Look(time.time() - self._epoch_s)
        table = process_table()
        processes, machine = sample_processes(self._pids, table), sample_machine()
        others_cpu_s = neighbours.look(self._cores, self._ours, table)
        if others_cpu_s is not None and not self._server_unseen:
            look.counters[_OTHERS] = others_cpu_s
            if look.at_s >= self._start_s:
                self._tables = [*self._tables[:1], table]
        watched = {"os": processes}
        watched |= {f"os.{node}": sample_processes(pids, table) for node, pids in self._pids_of_nodes.items() if pids}
        for what, sample in watched.items():
            look.counters |= {f"{what}.{name}": value for name, value in sample.counters.items()}
            look.gauges |= {f"{what}.{name}": value for name, value in sample.gauges.items()}
        look.counters |= {f"machine.{name}": value for name, value in machine.counters.items()}
        look.counters[_IDLE] = cores_idle_s(self._cores)
        look.gauges |= {f"machine.{name}": value for name, value in machine.gauges.items()}
        try:
            nodes = self._system.nodes()
            told = by_node(nodes, lambda node: node.counters())
            self._answered_at = time.monotonic() if told else self._answered_at
            look.counters |= {f"db.{name}": value for name, value in told.items()}
            look.gauges |= {f"db.{name}": value for name, value in by_node(nodes, lambda node: node.gauges()).items()}
        except BakeoffError:
            pass  # a frozen or dead server tells nothing; that its figures are absent shows it
        self._looks.append(look)


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
