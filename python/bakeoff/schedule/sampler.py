"""Samples the servers once a second, on the run's own time axis, from the outside (operating system) and the inside
(their own counters: node_watch). Threads of the controller: the measuring process knows nothing of them.

A server reports hundreds of counters. So samples that are some minutes old become rows of the bundle and are dropped,
except for those around the window's ends."""

from __future__ import annotations

import math
import os
import statistics
import threading
import time
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from heapq import merge
from itertools import chain, count, groupby, pairwise

from ..bundle.run_files import EACH_SECOND_S, LATER_S, LongTable
from ..model.records.run import MachineSide, NodeSilence, ServerSide
from ..provision import other_processes
from ..provision.os_metrics import cores_idle_s, sample_machine, sample_processes, swapped_out_bytes
from ..systems.base import System
from .nodes import Look, NodeWatch, Processes, highest

#: In a shorter one the kernel's ticks are too coarse to say who used the processor.
_SHARE_WINDOW_MIN_S = 0.5
#: An engine may end with the window, and then its time can no longer be distinguished from that of others.
_BEFORE_END_S = 0.1
#: How late a sample for the window's end may be.
_LATE_MAX_S = 0.5
#: How long we wait for the last sample: as long as for any answer of a server; and for a node known not to answer.
_LAST_LOOK_S = 6.0
_EXCUSED_LOOK_S = 0.5
_PRESSURES = ("cpu", "memory", "io")
_OTHERS = "machine.others_cpu_s"
_OTHERS_RATE = f"{_OTHERS}_per_s"
_IDLE = "machine.cores_idle_s"
_SWAPPED = "machine.swapped_bytes"
_OWN_SWAPPED = "machine.own_swapped_bytes"
_GROUP = "machine.group_cpu_s"
_OURS = "machine.ours_cpu_s"
#: Between two samples. A later one was delayed.
_LOOK_EVERY_S = 1.0
_LATE_S = 0.5
#: The samples that are always kept: a node may answer late, and operations alone may limit the window, whose end is
#: then known some seconds after it.
_KEPT = 120


class Sampler:
    """Samples at every whole second since the epoch and at both ends of the window, until `stop`.

    Watches the server's processes; for an embedded system, which has none, the engine's (its CPU time is reported as
    the client's, so only memory and I/O are reported here). And the machine: what else ran on `cores`.
    """

    def __init__(
        self,
        system: System,
        engine_pids: Sequence[int],
        epoch_unix_ns: int,
        warm_up_s: float,
        window_s: float | None,
        cores: Sequence[int],
        table: LongTable | None = None,
    ) -> None:
        """table: where rows go; without one, all samples are kept for `rows`."""
        #: Why it ended early, in words.
        self.failure = ""
        #: The row of the last second but one, for whoever watches: of the last a node may still owe its answer.
        self.latest: dict[str, float] = {}
        self._system = system
        self._cores = list(cores)
        self._server_unseen = system.may_run_here_unseen()
        self._servers: list[int] = []  # their processes at the latest sample
        self._servers_used = Processes()
        self._tables: list[other_processes.Table] = []  # the first of the window and the latest
        self._embedded = system.capabilities().embedded
        self._engine_pids = list(engine_pids)
        self._epoch_s = epoch_unix_ns / 1e9
        self._watches = [NodeWatch(node, self._epoch_s) for node in system.nodes()]
        self._processes = {watch.node.name: Processes() for watch in self._watches}
        self._start_s = warm_up_s
        self._end_s = None if window_s is None else warm_up_s + window_s
        #: When the machine was read, and the servers' processes after it: either may take long on a busy machine.
        self._looks: list[Look] = []
        self._process_looks: list[Look] = []
        #: Those of them that are older than `_looks`, and around an end of the window.
        self._old_looks: list[Look] = []
        self._old_process_looks: list[Look] = []
        self._tick = 0
        self._table = table
        self._memory_peak = 0.0  # of samples that were dropped
        self._ours: tuple[array[float], array[float]] = (array("d"), array("d"))  # of those: at_s, CPU time
        self._own_swap: tuple[float, int] | None = None  # pages of the machine, and what of ours is out, when last read
        self._own_swapped = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="sampler", daemon=True)

    def start(self) -> None:
        for watch in self._watches:
            watch.start()
        self._thread.start()

    def stop(self, excused: Collection[str] = ()) -> None:
        """excused: nodes known not to answer: their last sample gets a short wait."""
        self._over.set()
        self._thread.join()
        for watch in self._watches:
            name = watch.node.name
            answered = watch.stop(_EXCUSED_LOOK_S if name in excused else _LAST_LOOK_S)
            self.failure = self.failure or watch.failure
            if not answered and name not in excused:
                self.failure = self.failure or f"{self._named(name)} did not answer the last sample"

    def silent_s(self) -> dict[str, float]:
        """By node, how long it has not answered; 0.0 where it has never answered, or is not sampled."""
        return {watch.node.name: watch.silent_s() for watch in self._watches}

    def silences(self) -> list[NodeSilence]:
        """When stopped: of each node, when it did not answer."""
        found = [silence for watch in self._watches for silence in watch.silences(self._start_s)]
        return sorted(found, key=lambda silence: silence.from_s)

    def _named(self, node: str) -> str:
        return node if len(self._watches) > 1 else "the server"

    @property
    def nodes(self) -> list[str]:
        """Names of several servers; of one, none."""
        names = [watch.node.name for watch in self._watches]
        return names if len(names) > 1 else []

    def window_ended(self, end_s: float) -> None:
        """The window's true end, seconds since the epoch: not known before where operations limit it."""
        self._end_s = end_s

    def last_look(self) -> None:
        """One more, when everything has ended, for what was written until then."""
        self._note_failure(self._look_at_machine)

    def finish(self) -> None:
        """Writes what is not yet in the table."""
        self._write(self.rows())

    def rows(self) -> list[dict[str, float]]:
        """Per second, or minute: counters as rates (`os.write_bytes_per_s`, `db.Com_select_per_s`), gauges at their
        highest."""
        return self._rows(self._looks, self._process_looks)

    def _rows(self, looks: Sequence[Look], process_looks: Sequence[Look]) -> list[dict[str, float]]:
        kept = self._kept(looks)
        if looks and kept[-1] < len(looks) - 1:
            kept.append(len(looks) - 1)
        rows = []
        for first, last in pairwise(kept):
            before, earlier, after, later = looks[first], process_looks[first], looks[last], process_looks[last]
            length_s = after.at_s - before.at_s
            if length_s < 0.2:
                continue  # the extra samples at the window's ends are too close for a rate
            row = {"second": before.at_s, "length_s": length_s}
            row |= after.rates(before) | later.rates(earlier)
            row |= highest(look.gauges for look in [*looks[first + 1 : last + 1], *process_looks[first + 1 : last + 1]])
            if _OTHERS_RATE in row:  # what is left of two counts of the kernel, which do not agree to the tick
                row[_OTHERS_RATE] = max(0.0, row[_OTHERS_RATE])
            for watch in self._watches:
                row |= self._of_node(watch, before.tick, after.tick)
            rows.append(dict(sorted(row.items())))
        return rows

    def _kept(self, looks: Sequence[Look]) -> list[int]:
        """Between which of them rows are: all in the first hour, then the first of each minute and the first after an
        end of the window."""
        ends = [self._start_s, *([] if self._end_s is None else [self._end_s])]

        def keeps(before: Look, look: Look) -> bool:
            of_a_minute = before.at_s // LATER_S != look.at_s // LATER_S
            return look.at_s <= EACH_SECOND_S or of_a_minute or any(before.at_s < at_s <= look.at_s for at_s in ends)

        return [place for place, look in enumerate(looks) if place == 0 or keeps(looks[place - 1], look)]

    def _write(self, rows: Sequence[dict[str, float]]) -> None:
        if self._table is not None:
            for row in rows:
                self._table.add(row)

    def _drop_old(self) -> None:
        """All but the latest; what happened between the last of those dropped and the first kept is still to come."""
        old = self._kept(self._looks[: len(self._looks) - _KEPT + 1])[-1]
        if old == 0:
            return
        self._write(self._rows(self._looks[: old + 1], self._process_looks[: old + 1]))
        for look in self._looks[:old]:
            if _OURS in look.counters:
                self._ours[0].append(look.at_s)
                self._ours[1].append(look.counters[_OURS])
        self._memory_peak = self._memory_peak_of(self._process_looks[:old])
        self._old_looks = self._around_ends([*self._old_looks, *self._looks[: old + 1]])
        self._old_process_looks = self._around_ends([*self._old_process_looks, *self._process_looks[: old + 1]])
        for watch in self._watches:
            watch.forget(self._looks[old].tick)
        del self._looks[:old], self._process_looks[:old]

    def _around_ends(self, looks: Sequence[Look]) -> list[Look]:
        """Of all but the last those right before and after an end of the window, the very first, and the last of
        these."""
        ends = [self._start_s, *([] if self._end_s is None else [self._end_s, self._end_s + _LATE_MAX_S])]
        kept = {0, len(looks) - 2}
        for place, (before, after) in enumerate(pairwise(looks)):
            if any(before.at_s <= at_s <= after.at_s for at_s in ends):
                kept |= {place, place + 1}
        return [looks[place] for place in sorted(kept - {len(looks) - 1})]

    def _of_node(self, watch: NodeWatch, before: int, after: int) -> dict[str, float]:
        """Of a node between two samples. A counter that fell has restarted, so its rate is unknown."""
        looks = {look.tick: look for look in watch.looks if before <= look.tick <= after}
        prefix = f"db.{watch.node.name}." if len(self._watches) > 1 else "db."
        rates = looks[after].rates(looks[before], prefix) if before in looks and after in looks else {}
        grown = {name: rate for name, rate in rates.items() if rate >= 0}
        gauges = highest(look.gauges for tick, look in looks.items() if tick > before)
        return grown | {f"{prefix}{name}": value for name, value in gauges.items()}

    def window_usage(self) -> ServerSide:
        """The server processes over the window; None: not watched."""
        return ServerSide(
            cpu_s=None if self._embedded else self._cpu_s(),
            memory_peak_bytes=None if self._embedded or not self._system.pids() else self._memory_peak_bytes(),
            io_read_bytes=_whole(self._grown("os.read_bytes")),
            io_write_bytes=_whole(self._grown("os.write_bytes")),
        )

    def _memory_peak_bytes(self) -> int | None:
        return _whole(self._memory_peak_of(self._process_looks))

    def _memory_peak_of(self, looks: Sequence[Look]) -> float:
        return max([self._memory_peak, *(look.gauges.get("os.rss_bytes", 0.0) for look in looks)])

    def machine(self) -> MachineSide:
        """What other processes on the machine did in the window."""
        length_s = (self._end_s or 0.0) - self._start_s
        pressure_s = {what: self._grown(f"machine.pressure_{what}_s") for what in _PRESSURES}
        tables, ours = self._tables, [*self._engine_pids, *self._servers]
        return MachineSide(
            cores=self._cores,
            server_not_distinguished=self._server_unseen,
            other_cpu_ratio=self._other_cpu_ratio(),
            other_process=other_processes.busiest_other(tables[0], tables[-1], ours) if tables else "",
            idle_ratio=self._idle_ratio(length_s),
            swapped_bytes=_whole(self._grown(_SWAPPED)),
            own_swapped_bytes=_whole(self._grown(_OWN_SWAPPED)),
            throttled_s=self._grown("machine.throttled_s"),
            throttled_others_ratio=self._throttled_others_ratio(),
            stalled_s=self._stalled_s(),
            pressure_ratio={
                what: value / length_s for what, value in pressure_s.items() if value is not None and length_s > 0
            },
        )

    def _throttled_others_ratio(self) -> float | None:
        """Of what the control group used, between the first and the last sample in which all of ours lived."""
        points = [look.counters for look in self._looks_in_window() if {_GROUP, _OURS} <= look.counters.keys()]
        if len(points) < 2 or (all_s := points[-1][_GROUP] - points[0][_GROUP]) <= 0:
            return None
        return max(0.0, 1.0 - (points[-1][_OURS] - points[0][_OURS]) / all_s)

    def _stalled_s(self) -> float | None:
        """The longest time in the window without a sample, in which client and server used no CPU time either: else
        only our thread had to wait."""
        end_s = math.inf if self._end_s is None else self._end_s
        kept = [(look.at_s, look.counters[_OURS]) for look in self._looks if _OURS in look.counters]
        known = chain(zip(*self._ours, strict=True), kept)
        steps = [(a_s, b_s, b_s - a_s, b_used - a_used) for (a_s, a_used), (b_s, b_used) in pairwise(known)]
        if not steps:
            return None
        usual = [used_s / length_s for _, _, length_s, used_s in steps if 0.5 < length_s <= _LOOK_EVERY_S + _LATE_S]
        per_s = statistics.median(usual) if usual else 0.0
        stalls = [0.0]
        for before_s, after_s, length_s, used_s in steps:
            late_s = length_s - _LOOK_EVERY_S
            inside = before_s < end_s and after_s > self._start_s
            # With more than half of the usual CPU time in the missing time, only our thread was late.
            if inside and late_s > _LATE_S and used_s <= per_s * (_LOOK_EVERY_S + late_s / 2):
                stalls.append(late_s)
        return max(stalls)

    def _looks_in_window(self) -> list[Look]:
        end_s = math.inf if self._end_s is None else self._end_s + _LATE_MAX_S
        return [look for look in chain(self._old_looks, self._looks) if self._start_s <= look.at_s <= end_s]

    def _idle_ratio(self, length_s: float) -> float | None:
        idle_s = self._grown(_IDLE)
        return None if idle_s is None or length_s <= 0 else min(1.0, idle_s / length_s / len(self._cores))

    def _other_cpu_ratio(self) -> float | None:
        """Between the first and the last sample of the window in which all engines and servers lived."""
        inside = self._looks_in_window()
        points = [(look.at_s, look.counters[_OTHERS]) for look in inside if _OTHERS in look.counters]
        if not points or points[-1][0] - points[0][0] < _SHARE_WINDOW_MIN_S:
            return None
        (from_s, before_s), (to_s, after_s) = points[0], points[-1]
        return min(1.0, max(0.0, after_s - before_s) / (to_s - from_s) / len(self._cores))

    def written_since_window_start(self) -> int | None:
        """Bytes written to storage from the window's start to the last sample, debt included."""
        start = self._value("os.write_bytes", self._start_s)
        points = self._points("os.write_bytes")
        return None if start is None or not points else _whole(points[-1][1] - start)

    def _cpu_s(self) -> float | None:
        user, system = self._grown("os.cpu_user_s"), self._grown("os.cpu_system_s")
        return None if user is None or system is None else user + system

    def _grown(self, name: str) -> float | None:
        """Growth of a counter over the window."""
        end_s = self._end_s if self._end_s is not None else (self._looks[-1].at_s if self._looks else 0.0)
        start, end = self._value(name, self._start_s), self._value(name, end_s)
        return None if start is None or end is None else max(0.0, end - start)

    def _value(self, name: str, at_s: float) -> float | None:
        """A counter at a time, interpolated between the samples around it."""
        points = self._points(name)
        if not points:
            return None
        if at_s <= points[0][0]:
            return points[0][1]
        for (t0, v0), (t1, v1) in pairwise(points):
            if t0 <= at_s <= t1:
                return v0 + (v1 - v0) * (at_s - t0) / (t1 - t0) if t1 > t0 else v1
        return points[-1][1]

    def _points(self, name: str) -> list[tuple[float, float]]:
        """A counter by time, from all kept samples that have it."""
        looks = chain(self._old_looks, self._looks, self._old_process_looks, self._process_looks)
        return [(look.at_s, look.counters[name]) for look in looks if name in look.counters]

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
            if len(self._looks) >= 2 * _KEPT and self._table is not None:
                self._drop_old()
        self._look()

    def _look(self) -> None:
        for watch in self._watches:
            watch.ask(self._tick)
        self._look_at_machine()
        for row in self._rows(self._looks[-3:-1], self._process_looks[-3:-1]):
            self.latest = row

    def _times(self) -> Iterator[float]:
        """When to sample, seconds since the epoch: whole seconds, and the window's ends between them, the last one also
        while the engines still live."""
        ends = {self._start_s} | ({self._end_s - _BEFORE_END_S, self._end_s} if self._end_s is not None else set())
        return (at_s for at_s, _ in groupby(merge(map(float, count()), sorted(ends))))

    def _look_at_machine(self) -> None:
        pids = {watch.node.name: watch.node.pids() for watch in self._watches}
        look = self._new_look()
        machine = sample_machine()
        look.counters |= {f"machine.{name}": value for name, value in machine.counters.items()}
        look.gauges |= {f"machine.{name}": value for name, value in machine.gauges.items()}
        look.counters[_IDLE] = cores_idle_s(self._cores)
        servers = [pid for those in pids.values() for pid in those]
        table = self._look_at_others(look, servers)
        self._look_at_own_swap(look, servers, table)
        of_processes = self._look_at_processes(pids, table)
        self._looks.append(look)
        self._process_looks.append(of_processes)
        self._tick += 1

    def _new_look(self) -> Look:
        return Look(time.time() - self._epoch_s, tick=self._tick)

    def _look_at_others(self, look: Look, servers: list[int]) -> other_processes.Table:
        """All processes, and the CPU time of those that are not ours."""
        table, all_s = other_processes.look(self._cores, self._engine_pids)
        ours_s = self._servers_used.counted(servers, {"cpu_s": other_processes.used_s(servers, table)})["cpu_s"]
        if all_s is not None:
            used = other_processes.used_s(self._engine_pids, table) + table[os.getpid()].cpu_s
            look.counters[_OURS] = used + ours_s
        if all_s is not None and not self._server_unseen:
            look.counters[_OTHERS] = all_s - ours_s
            self._servers = servers
            if look.at_s >= self._start_s:
                self._tables = [*self._tables[:1], table]
        return table

    def _look_at_own_swap(self, look: Look, servers: list[int], table: other_processes.Table) -> None:
        """How much our swapped memory changed, either way, since the first sample. Read only if the machine has swapped
        since: a server may have a hundred processes."""
        if (all_of_it := look.counters.get(_SWAPPED)) is None:
            return
        if self._own_swap is None or all_of_it > self._own_swap[0]:
            now = swapped_out_bytes([*self._engine_pids, *servers], table)
            self._own_swapped += abs(now - self._own_swap[1]) if self._own_swap else 0
            self._own_swap = all_of_it, now
        look.counters[_OWN_SWAPPED] = self._own_swapped

    def _look_at_processes(self, pids: dict[str, list[int]], table: other_processes.Table) -> Look:
        """Of each node, if there are several, and of all. A restarted server has other processes."""
        look = self._new_look()
        if self._embedded:
            pids = dict.fromkeys(pids, self._engine_pids)
        every = sample_processes([pid for those in pids.values() for pid in those], table)
        look.gauges |= {f"os.{name}": value for name, value in every.gauges.items()}
        for node, those in pids.items():
            sample = every if len(pids) == 1 else sample_processes(those, table)
            counted = self._processes[node].counted(those, sample.counters)
            for name, value in counted.items():
                look.counters[f"os.{name}"] = look.counters.get(f"os.{name}", 0.0) + value
            if len(pids) > 1:
                look.counters |= {f"os.{node}.{name}": value for name, value in counted.items()}
                look.gauges |= {f"os.{node}.{name}": value for name, value in sample.gauges.items()}
        return look


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
