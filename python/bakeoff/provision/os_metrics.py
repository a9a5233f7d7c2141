"""What the operating system says about servers and about the machine. Linux; what cannot be read is absent, not zero.

`counters` only grow, and the caller makes rates of them; `gauges` are of the moment. Names end with their unit.
A process's share is its own and that of its descendants, of those that have ended as well: a server may have a process
for each connection.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from bakeoff.provision.process import wait_until

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_PROC = "/proc"
_CGROUP = "/sys/fs/cgroup"
#: Below this much in the kernel's write-back queues the disk counts as quiet: other programs always dirty a little.
WRITEBACK_QUIET_BYTES = 8 << 20
SWITCHES_THREADS_MAX = 300
#: A gauge that goes into `rss_bytes`.
_SHARED = "shared_bytes"
#: Flag of a process that is the kernel's own (include/linux/sched.h).
_PF_KTHREAD = 0x200000


@dataclass
class Sample:
    counters: dict[str, float] = field(default_factory=dict)
    gauges: dict[str, float] = field(default_factory=dict)


def sample_processes(pids: list[int], table: dict[int, Process] | None = None) -> Sample:
    """CPU, memory, I/O and switches of the processes and their descendants (by `table`, or as of now), summed.

    counters: cpu_user_s, cpu_system_s, read_bytes and write_bytes (to storage), read_calls, write_calls,
    context_switches_voluntary, context_switches_involuntary. gauges: rss_bytes, threads, processes.
    Switches are counted for processes of up to SWITCHES_THREADS_MAX threads. A figure that one of the processes
    withholds (another user's /proc/PID/io) is left out for all. Memory that may be shared is counted once, as much as
    the process has that has most of it: a cache that all have would be counted for each.
    """
    found = [one for pid in family(pids, table or process_table()) if (one := _sample_process(pid)) is not None]
    samples = [one for one in found if one.gauges]
    total = Sample(
        counters=_sum([one.counters for one in samples]),
        gauges=_sum([one.gauges for one in samples]),
    )
    if samples:
        for ended in (one for one in found if not one.gauges):
            total.counters |= {name: total.counters[name] + value for name, value in ended.counters.items()}
        total.gauges["processes"] = float(len(samples))
        total.gauges["rss_bytes"] -= total.gauges.pop(_SHARED) - max(one.gauges[_SHARED] for one in samples)
    return total


def sample_machine() -> Sample:
    """counters: cpu_busy_s, cpu_iowait_s, cpu_steal_s (all cores), swapped_bytes (in and out), pressure_cpu_s,
    pressure_memory_s, pressure_io_s (time in which some task waited for it), throttled_s (our own control groups had
    used up what they may of the processor), group_cpu_s (of all in the outermost of these that has such a limit).
    gauges: load_1min, runnable, memory_available_bytes, dirty_bytes and writeback_bytes (the kernel's, waiting for the
    disk)."""
    sample = Sample()
    _read_cpu(sample)
    _read_load(sample)
    _read_swap(sample)
    _read_pressure(sample)
    _read_throttling(sample)
    for name, label in (("memory_available", "MemAvailable"), ("dirty", "Dirty"), ("writeback", "Writeback")):
        value = meminfo_bytes().get(label)
        if value is not None:
            sample.gauges[f"{name}_bytes"] = float(value)
    return sample


@dataclass(frozen=True)
class Process:
    """One of the process table. cpu_s: its own. ended_children_cpu_s: of those it has waited for."""

    parent: int
    name: str
    kernel: bool
    cpu_s: float
    ended_children_cpu_s: float


def process_table() -> dict[int, Process]:
    """All processes, by pid, in one pass: asking each thread of a server with thousands for its children costs more."""
    texts = {int(name): _text(f"{_PROC}/{name}/stat") for name in _listing(_PROC) if name.isdigit()}
    return {pid: found for pid, text in texts.items() if (found := parse_process(text)) is not None}


def parse_process(stat: str) -> Process | None:
    """A line of /proc/PID/stat; None for half a one."""
    head, _, tail = stat.rpartition(")")
    words = tail.split(maxsplit=15)
    if len(words) < 15:
        return None
    user, system, children_user, children_system = (int(word) / _TICKS_PER_S for word in words[11:15])
    return Process(
        parent=int(words[1]),
        name=head.partition("(")[2],
        kernel=bool(int(words[6]) & _PF_KTHREAD),
        cpu_s=user + system,
        ended_children_cpu_s=children_user + children_system,
    )


def family(pids: list[int], table: dict[int, Process]) -> list[int]:
    """The processes and all their descendants, each once."""
    children: dict[int, list[int]] = {}
    for pid, process in table.items():
        children.setdefault(process.parent, []).append(pid)
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
    os.sync()

    def quiet() -> bool:
        memory = meminfo_bytes()
        return memory.get("Dirty", 0) + memory.get("Writeback", 0) <= quiet_bytes

    return wait_until(quiet, timeout_s, 0.05)


def swapped_out_bytes(pids: list[int], table: dict[int, Process]) -> int:
    """Of the processes and their descendants, what is in the swap space now."""
    texts = (_text(f"{_PROC}/{pid}/status") for pid in family(pids, table))
    return sum(_number_after(text, "\nVmSwap:") for text in texts) * 1024


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
    """Of one that has ended its CPU time alone, which its parent takes over only when it has waited for it."""
    stat = _text(f"{_PROC}/{pid}/stat").rpartition(")")[2].split()
    if len(stat) < 22:
        return None
    user, system, ended_user, ended_system = (int(word) / _TICKS_PER_S for word in stat[11:15])
    sample = Sample(counters={"cpu_user_s": user + ended_user, "cpu_system_s": system + ended_system})
    if stat[0] == "Z":
        return sample
    sample.gauges = {
        "rss_bytes": float(int(stat[21]) * _PAGE_BYTES),
        _SHARED: _shared_bytes(pid),
        "threads": float(stat[17]),
    }
    _read_io(pid, sample)
    _read_switches(pid, sample)
    return sample


def _shared_bytes(pid: int) -> float:
    """Resident pages of files and of shared memory."""
    words = _text(f"{_PROC}/{pid}/statm").split()
    return float(int(words[2]) * _PAGE_BYTES) if len(words) > 2 else 0.0


def _read_io(pid: int, sample: Sample) -> None:
    pairs = dict(line.split(": ") for line in _text(f"{_PROC}/{pid}/io").splitlines())
    names = {"read_bytes": "read_bytes", "write_bytes": "write_bytes", "syscr": "read_calls", "syscw": "write_calls"}
    sample.counters.update({ours: float(pairs[theirs]) for theirs, ours in names.items() if theirs in pairs})


def _read_switches(pid: int, sample: Sample) -> None:
    """Summed over threads, because /proc/PID/status has the main thread's only. Left out where that is too many files
    to read every second alongside a load."""
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


def _read_cpu(sample: Sample) -> None:
    first = _text(f"{_PROC}/stat").partition("\n")[0].split()
    if len(first) >= 9:
        user, nice, system, _, iowait, irq, softirq, steal = (int(word) / _TICKS_PER_S for word in first[1:9])
        sample.counters["cpu_busy_s"] = user + nice + system + irq + softirq
        sample.counters["cpu_iowait_s"] = iowait
        sample.counters["cpu_steal_s"] = steal


def cores_busy_s(cores: Iterable[int]) -> float:
    """Processor time of these cores that went to processes, since boot. Without interrupts, which are nobody's."""
    return sum(sum(ticks[:3]) for ticks in _ticks(cores)) / _TICKS_PER_S


def cores_idle_s(cores: Iterable[int]) -> float:
    """Time in which these cores had nothing to run, since boot, waiting for a disk included."""
    return sum(sum(ticks[3:5]) for ticks in _ticks(cores)) / _TICKS_PER_S


def _ticks(cores: Iterable[int]) -> list[list[int]]:
    """Of each core: user, nice, system, idle, waiting for a disk, ..."""
    wanted = {f"cpu{core}" for core in cores}
    lines = (line.split() for line in _text(f"{_PROC}/stat").splitlines())
    return [[int(word) for word in words[1:]] for words in lines if words and words[0] in wanted]


def _read_swap(sample: Sample) -> None:
    pages = dict(line.split() for line in _text(f"{_PROC}/vmstat").splitlines() if line.startswith("pswp"))
    if pages:
        sample.counters["swapped_bytes"] = float(sum(map(int, pages.values())) * _PAGE_BYTES)


def _read_pressure(sample: Sample) -> None:
    for what in ("cpu", "memory", "io"):
        total_us = _text(f"{_PROC}/pressure/{what}").partition("\n")[0].partition("total=")[2]
        if total_us:
            sample.counters[f"pressure_{what}_s"] = int(total_us) / 1e6


def _read_throttling(sample: Sample) -> None:
    """Of our control group and those around it: servers and engines that we start are in it, too."""
    folders = _cpu_groups(_text(f"{_PROC}/self/cgroup"))
    found = [throttled_s(_text(f"{folder}/cpu.stat")) for folder in folders]
    if known := [value for value in found if value is not None]:
        sample.counters["throttled_s"] = sum(known)
    for folder in folders:
        limit = _text(f"{folder}/cpu.max")
        used_us = _number_after(f"\n{_text(f'{folder}/cpu.stat')}", "\nusage_usec")
        if used_us and limit and not limit.startswith("max"):
            sample.counters["group_cpu_s"] = used_us / 1e6
            return  # the outermost that has a limit


def _cpu_groups(membership: str) -> list[str]:
    """Folders of the control groups that may limit our processor time, from /proc/self/cgroup: "0::/a/b" where there is
    one hierarchy (v2), "3:cpu,cpuacct:/a/b" where each controller has its own (v1)."""
    folders = []
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        root = f"{_CGROUP}/{controllers}" if controllers else _CGROUP
        parts = [part for part in path.split("/") if part]
        folders += ["/".join([root, *parts[:depth]]) for depth in range(len(parts) + 1)]
    return folders


def throttled_s(cpu_stat: str) -> float | None:
    """From a control group's cpu.stat, of either version; None where it has no limit."""
    values = dict(line.split() for line in cpu_stat.splitlines())
    if "throttled_usec" in values:
        return int(values["throttled_usec"]) / 1e6
    return int(values["throttled_time"]) / 1e9 if "throttled_time" in values else None


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
