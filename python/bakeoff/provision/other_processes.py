"""Who else used the processor: what ran on a run's cores, less client, server, controller and the kernel's threads.

The whole comes from the kernel's count per core, so that processes that nobody here can see (another container's) are
in it. What we used on other cores is subtracted all the same, so with a placement the share comes out too low.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.provision.os_metrics import Process, cores_busy_s, family, process_table, sample_machine

Table = dict[int, Process]


def look(cores: Sequence[int], clients: Sequence[int]) -> tuple[Table, float | None]:
    """All processes, and the processor time of all but the clients since boot, s, up to a constant: only its growth
    means something. None if one of them has ended: its time can no longer be distinguished from that of others."""
    # The whole is of the moment in the middle of reading the processes, which takes long on a busy machine.
    before_s = cores_busy_s(cores)
    table = process_table()
    busy_s = (before_s + cores_busy_s(cores)) / 2
    return table, others_cpu_s(busy_s, clients, os.getpid(), table)


@dataclass(frozen=True)
class Heard:
    """Of some cores over a short time. other_ratio: of their time, used by processes that are neither ours nor the
    kernel's, most by `process`. steal_ratio: of the whole machine, taken by the hypervisor."""

    other_ratio: float
    process: str
    steal_ratio: float


def listen(cores: Sequence[int], listen_s: float) -> Heard:
    """What others do on these cores now. Ours are this process and all its descendants."""
    began, stolen_s, busy_s, before = time.monotonic(), _stolen_s(), cores_busy_s(cores), process_table()
    time.sleep(listen_s)
    busy_s, after = cores_busy_s(cores) - busy_s, process_table()
    stolen_s, length_s = _stolen_s() - stolen_s, time.monotonic() - began
    not_others = {pid for pid, process in after.items() if process.kernel} | {*family([os.getpid()], after)}
    ours_s = sum(after[pid].cpu_s - before[pid].cpu_s for pid in not_others if pid in before)
    return Heard(
        max(0.0, busy_s - ours_s) / length_s / max(1, len(cores)),
        busiest_other(before, after, [os.getpid()]),
        stolen_s / length_s / (os.cpu_count() or 1),
    )


def _stolen_s() -> float:
    return sample_machine().counters.get("cpu_steal_s", 0.0)


def used_s(pids: Sequence[int], table: Table) -> float:
    """Processor time of these and their descendants, and of the children of theirs that have ended, because a server
    that starts a process for each connection keeps their time."""
    found = [table[pid] for pid in family(list(pids), table) if pid in table]
    return sum(process.cpu_s + process.ended_children_cpu_s for process in found)


def others_cpu_s(busy_s: float, ours: Sequence[int], controller: int, table: Table) -> float | None:
    if any(pid not in table for pid in (*ours, controller)):
        return None
    kernel_s = sum(process.cpu_s for process in table.values() if process.kernel)
    return busy_s - used_s(ours, table) - kernel_s - table[controller].cpu_s


def busiest_other(before: Table, after: Table, ours: Sequence[int]) -> str:
    """Name and pid of the process of others that used most between two looks; empty if none did that lives still."""
    excluded = {os.getpid(), *family(list(ours), after)}

    def grown_s(pid: int) -> float:
        earlier = before.get(pid)
        return after[pid].cpu_s - (earlier.cpu_s if earlier and earlier.name == after[pid].name else 0.0)

    others = [pid for pid, process in after.items() if pid not in excluded and not process.kernel]
    busiest = max(others, key=grown_s, default=None)
    return f"{after[busiest].name}, pid {busiest}" if busiest is not None and grown_s(busiest) > 0 else ""
