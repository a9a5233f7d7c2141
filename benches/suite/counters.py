"""What the kernel counts of a process, read from outside it: CPU time, peak memory, system calls."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from bakeoff.errors import BakeoffError
from bakeoff.provision.os_metrics import family, process_table


def process_cpu_s(pid: int) -> float:
    """User + system time of a process since its start, all threads, ended ones too. Resolution: ns.

    The sum that /proc/PID/stat gives in ticks of 10 ms. Raises BakeoffError when there is no such process.
    """
    clock = ctypes.c_int()
    if ctypes.CDLL(None).clock_getcpuclockid(ctypes.c_int(pid), ctypes.byref(clock)):
        raise BakeoffError(f"process {pid} has ended before it was measured")
    return time.clock_gettime(clock.value)


def family_cpu_s(pid: int) -> float:
    """The same of a process and all that it has started; of those that have ended, to 10 ms."""
    table = process_table()
    total_s = process_cpu_s(pid)
    for member in family([pid], table):
        total_s += table[member].ended_children_cpu_s
        with suppress(BakeoffError):  # it has just ended
            total_s += process_cpu_s(member) if member != pid else 0.0
    return total_s


def memory_peak_bytes(pid: int) -> int:
    """Largest resident memory so far."""
    found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def syscalls_per_s(pid: int, seconds: float) -> float | str:
    """System calls entered by the threads a process has now, by perf's counter; in words why there is none."""
    if shutil.which("perf") is None:
        return "perf is not on the PATH"
    argv = ["perf", "stat", "-x,", "-e", "raw_syscalls:sys_enter", "-p", str(pid), "--", "sleep", str(seconds)]
    done = subprocess.run(argv, env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True, check=False)
    return read_perf(done.stderr, seconds)


def read_perf(output: str, seconds: float) -> float | str:
    """Of `perf stat -x,`: count, unit, event, ..."""
    for line in output.splitlines():
        fields = line.split(",")
        if len(fields) > 2 and fields[2] == "raw_syscalls:sys_enter" and fields[0].isdigit():
            return int(fields[0]) / seconds
    return "perf may not count system calls here (root is needed, or kernel.perf_event_paranoid = -1)"
