"""What of a run's surroundings speaks against it: the machines that it ran on, what else they did, how well their
clocks are known. Questions of `validity`."""

from bakeoff.analysis.finding import Finding, RunNumbers
from bakeoff.analysis.wording import count_words, duration_words, percent_words, significant

#: Beyond it what clients of several machines did in one second is not what they did at the same time.
CLOCK_BOUND_NS_MAX = 10_000_000
#: What the series tells apart at best: tenths of a second.
TENTH_NS = 100_000_000
STEAL_RATIO_MAX = 0.01
OTHER_CPU_RATIO_MAX = 0.10


def crowded(run: RunNumbers) -> Finding | None:
    return Finding("clients to a core", False, "warning", run.crowded) if run.crowded else None


def clocks(run: RunNumbers) -> Finding | None:
    bound_ns = run.clock_bound_ns
    if bound_ns is None:
        return None
    most = duration_words(CLOCK_BOUND_NS_MAX)
    words = f"the clock of {run.clock_of} is known to within {duration_words(bound_ns)} (bound {most})"
    if bound_ns > TENTH_NS:
        words += ": tenths of a second cannot be told apart, and are not kept"
    return Finding("clocks", bound_ns <= CLOCK_BOUND_NS_MAX, "warning", words)


def swap(run: RunNumbers) -> Finding | None:
    if run.swapped_bytes is None:
        return None
    if run.swapped_bytes == 0:
        return Finding("swap", True, "warning", "no swapping")
    return Finding("swap", False, "warning", f"the machine swapped {count_words(run.swapped_bytes)} bytes")


def steal(run: RunNumbers) -> Finding | None:
    where = f" of {run.steal_of}" if run.steal_of else ""
    return _share(run.steal_ratio, STEAL_RATIO_MAX, "steal", f"of the CPU time{where} was taken by the hypervisor")


def neighbours(run: RunNumbers) -> Finding | None:
    if run.server_not_told_apart:
        words = (
            "not tested: the server seems to run on this machine, and its CPU time cannot be told from that of others"
        )
        return Finding("neighbours", None, "note", words)
    most_of_it = f", most to {run.other_process}" if run.other_process else ""
    what = f"of the CPU time went to other processes{most_of_it}"
    return _share(run.other_cpu_ratio, OTHER_CPU_RATIO_MAX, "neighbours", what)


def beside(run: RunNumbers) -> Finding | None:
    if not run.beside:
        return None
    words = f"measured beside another bakeoff run ({'; '.join(run.beside)}): each slowed the other"
    return Finding("another run", False, "warning", words)


def throttling(run: RunNumbers) -> Finding | None:
    if run.throttled_s is None:
        return None
    words = "no CPU throttling"
    if run.throttled_s > 0:
        words = f"the control group's share of the CPU was used up for {significant(run.throttled_s, 3)} s"
    return Finding("throttling", run.throttled_s <= 0, "warning", words)


def quiet_disk(run: RunNumbers) -> Finding | None:
    if run.disk_was_quiet is None:
        return None
    if run.disk_was_quiet:
        return Finding("quiet disk", True, "warning", "all that was written before the run had reached the disk")
    words = "what was written before the run was still on its way to the disk when waiting for it ended"
    return Finding("quiet disk", False, "warning", words)


def watching(run: RunNumbers) -> Finding | None:
    if not run.watching_failure:
        return None
    words = f"server and machine were not watched to the end ({run.watching_failure}): their figures are incomplete"
    return Finding("watching", False, "warning", words)


def _share(ratio: float | None, most: float, name: str, of_what: str) -> Finding | None:
    if ratio is None:
        return None
    words = f"{percent_words(ratio)} {of_what} (at most {percent_words(most)} is quiet)"
    return Finding(name, ratio <= most, "warning", words)
