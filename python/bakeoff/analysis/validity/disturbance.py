"""What outside of the system and its client can slow a run, and from where on a run is disturbed: no evidence.

Every kind is judged from what the machine did, never from the run's rate, response times or errors: dropping runs by
their results would bias what is left. And what the system or the client causes itself is no disturbance but part of
what is measured. docs/method/disturbance.md has the reasons, and the same table.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...model.clients import THIS_MACHINE
from ...model.records.run import Severity, Validity
from ..wording import bytes_words, percent_words, seconds_words, significant
from .judged_run import JudgedRun, finding


@dataclass(frozen=True, slots=True)
class Kind:
    """measured: what `bound` is a bound of. A run beyond `bound` is disturbed; one beyond `quiet` says so."""

    name: str
    measured: str
    quiet: float
    bound: float
    unit: str  # ratio, s, bytes/s, runs
    source: str

    def row(self) -> str:
        """Of the table in docs/method/disturbance.md."""
        quiet, bound = self.words(self.quiet), self.words(self.bound)
        return f"| {self.name} | {self.measured} | {quiet} | {bound} | {self.source} |"

    def words(self, value: float) -> str:
        if self.unit == "ratio":
            return percent_words(value)
        if self.unit == "bytes/s":
            return f"{bytes_words(round(value))}/s"
        return seconds_words(value) if self.unit == "s" else significant(value, 3)


OTHER_PROCESSES = Kind(
    "other processes",
    "CPU time of the cores in use that went to processes other than client, server and bakeoff itself; threads of the"
    " kernel are not counted",
    0.10,
    0.10,
    "ratio",
    "our simulation on recorded runs: below it the errors of comparisons stay within their level",
)
STEAL = Kind(
    "hypervisor",
    "CPU time that the hypervisor gave to other virtual machines, on the machine where that was most (`st` of top)",
    0.01,
    0.05,
    "ratio",
    "a choice: half of the bound for other processes, because stolen time hits a thread in the middle of its work",
)
SWAPPING = Kind(
    "swapping",
    "bytes that the machine swapped in or out, over the window's length, unless a tenth of them or more were the"
    " system's or the client's own",
    0.0,
    1 << 20,
    "bytes/s",
    "a choice: 256 pages a second; each costs a read or a write of the disk",
)
THROTTLING = Kind(
    "throttling",
    "where a control group had used up its CPU time: the part of the group's CPU time that went to processes other"
    " than client, server and bakeoff itself",
    0.0,
    0.10,
    "ratio",
    "the bound for other processes: they took CPU time that would have been ours",
)
STALL = Kind(
    "stall",
    "the longest time in which the controller, the clients and the servers all used no CPU time and answered nothing"
    " (a frozen virtual machine, SIGSTOP of all)",
    1.0,
    1.0,
    "s",
    "the shortest that looking once a second can tell from a late look",
)
ANOTHER_RUN = Kind(
    "another run",
    "other bakeoff runs that measured on the same cores at some time of the run",
    0,
    0,
    "runs",
    "each measures the other: no amount of it is small",
)
KINDS = (OTHER_PROCESSES, STEAL, SWAPPING, THROTTLING, STALL, ANOTHER_RUN)
#: Of what was swapped: from here on it counts as the system's or the client's own.
OWN_SWAP_RATIO = 0.1


def other_processes(run: JudgedRun) -> Validity | None:
    machine = run.machine
    if machine.server_not_distinguished:
        words = (
            "not tested: the server seems to run on this machine, and its CPU time cannot be separated from that of"
            " other processes"
        )
        return finding(OTHER_PROCESSES.name, None, "note", words)
    if machine.other_cpu_ratio is None:
        if not machine.cores:
            return None
        words = "not tested: the window was too short to tell whose CPU time was used"
        return finding(OTHER_PROCESSES.name, None, "note", words)
    most_of_it = f", most to {machine.other_process}" if machine.other_process else ""
    return _found(OTHER_PROCESSES, machine.other_cpu_ratio, f"of the CPU time went to other processes{most_of_it}")


def steal(run: JudgedRun) -> Validity:
    most = max(run.record.clients, key=lambda client: client.steal_ratio, default=None)
    where = f" of {most.machine}" if most and most.machine != THIS_MACHINE else ""
    return _found(STEAL, run.record.steal_ratio, f"of the CPU time{where} was taken by the hypervisor")


def swapping(run: JudgedRun) -> Validity | None:
    swapped, own = run.machine.swapped_bytes, run.machine.own_swapped_bytes
    if swapped is None:
        return None
    if swapped == 0:
        return finding(SWAPPING.name, True, "warning", "no swapping", 0.0, "0 B")
    words = f"the machine swapped {bytes_words(swapped)}"
    if own is not None and own >= OWN_SWAP_RATIO * swapped:
        words += f", {bytes_words(min(own, swapped))} of it {run.system} or its client: that is part of the result"
        return finding(SWAPPING.name, False, "warning", words, float(swapped), bytes_words(swapped))
    per_s = swapped / run.record.window_s if run.record.window_s > 0 else 0.0
    return _found(SWAPPING, per_s, f"swapped by other processes ({words})")


def throttling(run: JudgedRun) -> Validity | None:
    """A group that only client and server fill is the environment that the plan chose: leaving out the runs in which
    they were throttled would favour whoever uses less CPU time."""
    throttled_s, others = run.machine.throttled_s, run.machine.throttled_others_ratio
    if throttled_s is None:
        return None
    if throttled_s <= 0:
        return finding(THROTTLING.name, True, "warning", "no CPU throttling", 0.0, "0 s")
    words = f"the control group's share of the CPU was used up for {significant(throttled_s, 3)} s"
    if others is None or others <= THROTTLING.bound:
        words += ", by client and server themselves" if others is not None else ""
        return finding(THROTTLING.name, False, "warning", words, throttled_s, f"{significant(throttled_s, 3)} s")
    return _found(THROTTLING, others, f"of the control group's CPU time went to other processes, and {words}")


def stall(run: JudgedRun) -> Validity | None:
    stalled_s = run.machine.stalled_s
    if stalled_s is None:
        return None
    return _found(STALL, stalled_s, "in which everything stood still: client, server and controller")


def another_run(run: JudgedRun) -> Validity | None:
    others = run.record.concurrent_runs if run.is_measured_here else []
    if not others:
        return None
    words = f"measured next to another bakeoff run ({'; '.join(others)}): each slowed the other"
    return finding(ANOTHER_RUN.name, False, "disturbed", words, float(len(others)), str(len(others)))


def _found(kind: Kind, value: float, of_what: str) -> Validity:
    said = kind.words(value)
    bound = f"at most {kind.words(kind.quiet)} is quiet"
    if value > kind.quiet:
        bound = f"from {kind.words(kind.bound)} on a run is disturbed"
    severity: Severity = "disturbed" if value > kind.bound else "warning"
    return finding(kind.name, value <= kind.quiet, severity, f"{said} {of_what} ({bound})", value, said)
