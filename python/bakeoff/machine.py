"""What this machine is, and whether it is fit for measuring. Unknown facts stay empty."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .analysis.validity.disturbance import OTHER_PROCESSES, STEAL
from .analysis.wording import bytes_words
from .errors import EngineError
from .fleet.engine_program import engine_list
from .model.records.bundle import MachineFacts
from .provision import other_processes
from .provision.files import MEMORY_FILE_SYSTEMS, can_hold_files, file_system

LOAD_PER_CORE_MAX = 0.2
#: How long `fitness` samples other processes.
LISTEN_S = 1.0


def read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def machine_facts(work: Path) -> MachineFacts:
    """Facts for a bundle. `work`: the folder where data will live (its file system is named)."""
    memory = _meminfo()
    return MachineFacts(
        hostname=platform.node(),
        os=_os_name(),
        kernel=platform.release(),
        cpu_model=_cpu_model(),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=memory.get("MemTotal", 0),
        clock_source=read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        filesystem=file_system(work),
        swap_bytes=memory.get("SwapTotal", 0),
        virtualisation=_virtualisation(),
        cpu_governor=read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        python=platform.python_version(),
        engine=_engine_version(),
        warnings=[f.words for f in fitness(work, listen_s=0.0) if f.state == "warning"],
    )


@dataclass(frozen=True)
class Finding:
    """One check of the machine. `hint`: what to do about it."""

    name: str
    state: Literal["good", "warning", "missing"]
    words: str
    hint: str = ""


def fitness(work: Path, *, listen_s: float = LISTEN_S) -> list[Finding]:
    """Whether results from this machine can be trusted. Samples other processes for `listen_s` (0: not)."""
    findings = [_cores(), _clock(), _swap(), _governor(), _disk(work), _load()]
    if listen_s > 0:
        findings += _others(listen_s)
    return findings


def _cores() -> Finding:
    cores = len(os.sched_getaffinity(0))
    if cores >= 4:
        return Finding("cores", "good", f"{cores} cores")
    return Finding(
        "cores",
        "warning",
        f"{cores} cores: client and server compete for them",
        "compare CPU per operation as well as throughput, or pin both with measure.placement on a larger machine",
    )


def _clock() -> Finding:
    source = read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    if source in ("tsc", "kvm-clock", "arch_sys_counter"):
        return Finding("clock source", "good", f"{source}: reading the time costs tens of nanoseconds")
    return Finding(
        "clock source",
        "warning",
        f"{source or 'unknown'}: reading the time may cost a system call",
        "boot with clocksource=tsc if the processor has a stable one",
    )


def _swap() -> Finding:
    memory = _meminfo()
    used = memory.get("SwapTotal", 0) - memory.get("SwapFree", 0)
    if memory.get("SwapTotal", 0) == 0:
        return Finding("swap", "good", "no swap")
    if used == 0:
        return Finding("swap", "good", "swap exists and is unused")
    return Finding("swap", "warning", f"{bytes_words(used)} swapped out", "free memory, or `swapoff -a`")


def _governor() -> Finding:
    governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if not governor:
        return Finding("frequency", "good", "not scaled by the kernel (usual in virtual machines)")
    if governor == "performance":
        return Finding("frequency", "good", "governor performance")
    return Finding(
        "frequency",
        "warning",
        f"governor {governor}: the clock frequency changes with the load",
        "`cpupower frequency-set -g performance`",
    )


def _disk(work: Path) -> Finding:
    kind = file_system(work)
    if not can_hold_files(work):
        return Finding("disk", "missing", f"nothing can be written in {work}", "choose another folder with --work-dir")
    if kind in MEMORY_FILE_SYSTEMS:
        return Finding(
            "disk",
            "warning",
            f"{work} is in memory ({kind}): durability costs nothing there",
            "choose a folder on a disk with --work-dir",
        )
    return Finding("disk", "good", f"{work} is on {kind or 'an unknown file system'}")


def _load() -> Finding:
    load = os.getloadavg()[0]
    if words := busy_words(load, len(os.sched_getaffinity(0))):
        return Finding("load", "warning", words, "wait until it ends, or stop it")
    return Finding("load", "good", f"load average {load:.2f}")


def busy_words(load_average: float, cores: int) -> str:
    """Why a machine is too busy for measurements; "": it is quiet."""
    return (
        f"load average {load_average:.2f}: other processes are running"
        if load_average > LOAD_PER_CORE_MAX * cores
        else ""
    )


def _others(listen_s: float) -> list[Finding]:
    heard = other_processes.listen(sorted(os.sched_getaffinity(0)), listen_s)
    most = f", most by {heard.process}" if heard.process else ""
    used = f"{OTHER_PROCESSES.words(heard.other_ratio)} of the CPU time is used by other processes{most}"
    taken = f"{STEAL.words(heard.steal_ratio)} of the CPU time is used by other virtual machines"
    return [
        Finding(OTHER_PROCESSES.name, "good", used)
        if heard.other_ratio <= OTHER_PROCESSES.quiet
        else Finding(OTHER_PROCESSES.name, "warning", used, "stop them, or use --wait-until-quiet"),
        Finding(STEAL.name, "good", taken)
        if heard.steal_ratio <= STEAL.quiet
        else Finding(STEAL.name, "warning", taken, "use more repetitions, or a machine of your own"),
    ]


def _meminfo() -> dict[str, int]:
    """Bytes by name."""
    rows = (line.split() for line in read("/proc/meminfo").splitlines())
    return {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows if len(row) >= 2}


def _cpu_model() -> str:
    for line in read("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.system()


def _virtualisation() -> str:
    vendor = read("/sys/class/dmi/id/sys_vendor")
    flags = "hypervisor" in read("/proc/cpuinfo")
    return f"virtual machine ({vendor})" if flags and vendor else "virtual machine" if flags else vendor


def _engine_version() -> str:
    try:
        return str(engine_list()["engine_version"])
    except (EngineError, KeyError):
        return ""
