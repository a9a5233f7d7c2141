"""What of a run's surroundings speaks against it: the machines that it ran on, what else they did, how well their
clocks are known. Questions of `validity`."""

from bakeoff.analysis.finding import Finding, RunNumbers
from bakeoff.analysis.wording import duration_words

#: Beyond it what clients of several machines did in one second is not what they did at the same time.
CLOCK_BOUND_NS_MAX = 10_000_000
#: What the series tells apart at best: tenths of a second.
TENTH_NS = 100_000_000


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
