"""What the operating system says about servers and about the machine. Linux; what cannot be read is absent, not zero.

`counters` only grow, and the caller makes rates of them; `gauges` are of the moment. Names end with their unit.
A process's share is its own and that of its living descendants.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_PROC = "/proc"
#: Below this much in the kernel's write-back queues the disk counts as quiet: other programs always dirty a little.
WRITEBACK_QUIET_BYTES = 8 << 20
SWITCHES_THREADS_MAX = 300


@dataclass
class Sample:
    counters: dict[str, float] = field(default_factory=dict)
    gauges: dict[str, float] = field(default_factory=dict)


def sample_processes(pids: list[int]) -> Sample:
    """CPU, memory, I/O and switches of the processes and their descendants, summed.

    counters: cpu_user_s, cpu_system_s, read_bytes and write_bytes (to storage), read_calls, write_calls,
    context_switches_voluntary, context_switches_involuntary. gauges: rss_bytes, threads, processes.
    Switches are counted for processes of up to SWITCHES_THREADS_MAX threads. A figure that one of the processes
    withholds (another user's /proc/PID/io) is left out for all.
    """
    samples = [one for pid in with_descendants(pids) if (one := _sample_process(pid)) is not None]
    total = Sample(
        counters=_sum([one.counters for one in samples]),
        gauges=_sum([one.gauges for one in samples]),
    )
    if samples:
        total.gauges["processes"] = float(len(samples))
    return total


def sample_machine() -> Sample:
    """counters: cpu_busy_s, cpu_iowait_s, cpu_steal_s (all cores). gauges: load_1min, runnable, memory_available_bytes,
    dirty_bytes and writeback_bytes (the kernel's, waiting for the disk)."""
    sample = Sample()
    _read_cpu(sample)
    _read_load(sample)
    for name, label in (("memory_available", "MemAvailable"), ("dirty", "Dirty"), ("writeback", "Writeback")):
        value = meminfo_bytes().get(label)
        if value is not None:
            sample.gauges[f"{name}_bytes"] = float(value)
    return sample


def with_descendants(pids: list[int]) -> list[int]:
    """The processes and all their descendants, each once."""
    children = _children_by_parent()
    found: dict[int, None] = {}
    queue = list(pids)
    while queue:
        pid = queue.pop()
        if pid not in found:
            found[pid] = None
            queue.extend(children.get(pid, ()))
    return list(found)


def wait_for_writeback(timeout_s: float, quiet_bytes: int = WRITEBACK_QUIET_BYTES) -> bool:
    """Asks the kernel to write back all dirty pages and waits until next to none are left. False: not in time."""
    deadline = time.monotonic() + timeout_s
    os.sync()
    while True:
        memory = meminfo_bytes()
        if memory.get("Dirty", 0) + memory.get("Writeback", 0) <= quiet_bytes:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)


def pin(pid: int, cores: list[int]) -> None:
    """Binds all threads of a process to `cores`; threads it starts later inherit that."""
    for task in _listing(f"{_PROC}/{pid}/task"):
        try:
            os.sched_setaffinity(int(task), cores)
        except ProcessLookupError:
            continue


def meminfo_bytes() -> dict[str, int]:
    entries = (line.split() for line in _text(f"{_PROC}/meminfo").splitlines())
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in entries if len(words) == 3}


def _sum(parts: list[dict[str, float]]) -> dict[str, float]:
    """Sums by name, of the names that all of them have."""
    names = set.intersection(*(set(part) for part in parts)) if parts else set()
    return {name: sum(part[name] for part in parts) for name in sorted(names)}


def _sample_process(pid: int) -> Sample | None:
    stat = _text(f"{_PROC}/{pid}/stat").rpartition(")")[2].split()
    if len(stat) < 22 or stat[0] == "Z":
        return None
    sample = Sample(
        counters={"cpu_user_s": int(stat[11]) / _TICKS_PER_S, "cpu_system_s": int(stat[12]) / _TICKS_PER_S},
        gauges={"rss_bytes": float(int(stat[21]) * _PAGE_BYTES), "threads": float(stat[17])},
    )
    _read_io(pid, sample)
    _read_switches(pid, sample)
    return sample


def _read_io(pid: int, sample: Sample) -> None:
    pairs = dict(line.split(": ") for line in _text(f"{_PROC}/{pid}/io").splitlines())
    names = {"read_bytes": "read_bytes", "write_bytes": "write_bytes", "syscr": "read_calls", "syscw": "write_calls"}
    sample.counters.update({ours: float(pairs[theirs]) for theirs, ours in names.items() if theirs in pairs})


def _read_switches(pid: int, sample: Sample) -> None:
    """Summed over threads, because /proc/PID/status has the main thread's only. Left out where that is too many files
    to read every second beside a load."""
    if sample.gauges["threads"] > SWITCHES_THREADS_MAX:
        return
    voluntary = involuntary = 0
    for task in _listing(f"{_PROC}/{pid}/task"):
        status = _text(f"{_PROC}/{pid}/task/{task}/status")
        voluntary += _number_after(status, "\nvoluntary_ctxt_switches:")
        involuntary += _number_after(status, "\nnonvoluntary_ctxt_switches:")
    sample.counters["context_switches_voluntary"] = float(voluntary)
    sample.counters["context_switches_involuntary"] = float(involuntary)


def _number_after(text: str, label: str) -> int:
    words = text.partition(label)[2].split(maxsplit=1)
    return int(words[0]) if words else 0


def _children_by_parent() -> dict[int, list[int]]:
    """One pass over all processes: cheaper than asking each thread of a server with thousands."""
    found: dict[int, list[int]] = {}
    for name in _listing(_PROC):
        if name.isdigit():
            words = _text(f"{_PROC}/{name}/stat").rpartition(")")[2].split(maxsplit=2)
            if len(words) == 3:
                found.setdefault(int(words[1]), []).append(int(name))
    return found


def _read_cpu(sample: Sample) -> None:
    first = _text(f"{_PROC}/stat").partition("\n")[0].split()
    if len(first) >= 9:
        user, nice, system, _, iowait, irq, softirq, steal = (int(word) / _TICKS_PER_S for word in first[1:9])
        sample.counters["cpu_busy_s"] = user + nice + system + irq + softirq
        sample.counters["cpu_iowait_s"] = iowait
        sample.counters["cpu_steal_s"] = steal


def _read_load(sample: Sample) -> None:
    words = _text(f"{_PROC}/loadavg").split()
    if len(words) >= 4:
        sample.gauges["load_1min"] = float(words[0])
        sample.gauges["runnable"] = float(words[3].partition("/")[0])


def _listing(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _text(path: str) -> str:
    """The first 64 KiB; empty where it cannot be read: the process has gone, or it is another user's.

    Bare system calls, because a sample reads hundreds of files: 13 ms with Path.read_text for 74 threads.
    """
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return ""
    try:
        return os.read(handle, 65536).decode(errors="replace")
    except OSError:
        return ""
    finally:
        os.close(handle)
