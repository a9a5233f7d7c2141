"""What the names next to figures mean, and what to do: the page docs/reference/messages.md, and whatever explains a
word to a user."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Meaning:
    """name: as reports print it. says: what was found. do: what a user can do; "" where there is nothing to do."""

    name: str
    says: str
    do: str = ""


#: By severity, in the order of how much they endanger an answer.
CHECKS = {
    "invalid: the run counts against its system": (
        Meaning(
            "completed", "The run was interrupted, or a client did not report.", "Continue the bundle with `--resume`."
        ),
        Meaning("run failed", "The system could not complete the run.", "Read the server's log in the bundle."),
        Meaning(
            "run lost",
            "A load machine, the network or a disk failed in every attempt. It is no fault of the system.",
            "Mend the cause, then `--resume`.",
        ),
        Meaning("server", "The server died or froze during the run.", "Read the server's log in the bundle."),
        Meaning("planned faults", "A fault was not injected as planned.", "The message names the reason."),
        Meaning(
            "operations",
            "No operation that counts ended in the window.",
            "Raise the offered rate, or make the window longer.",
        ),
        Meaning(
            "errors",
            "More operations failed than `error_budget` allows.",
            "See First errors in the report. If failures are part of the work, raise `error_budget` and `--resume`:"
            " finished runs are judged again.",
        ),
        Meaning(
            "integrity",
            "A check of the data failed after the run: rows are missing, or values are wrong.",
            "The report lists the check with its evidence. Believe no figure of this system before you know why.",
        ),
        Meaning(
            "wrong answers",
            "The server acknowledged operations with a wrong answer. No budget allows that.",
            "As for integrity.",
        ),
    ),
    "disturbed: something else slowed the run, which is no evidence and is repeated": (
        Meaning(
            "other processes", "Other programs used the cores of the run.", "Stop them, or use `--wait-until-quiet`."
        ),
        Meaning("hypervisor", "The hypervisor gave CPU time to other virtual machines.", "Use a machine of your own."),
        Meaning("swapping", "The machine swapped.", "Free memory, or give the servers smaller caches."),
        Meaning("throttling", "Others in the control group used up its CPU time.", "Give the group more, or leave it."),
        Meaning(
            "stall", "The whole machine stood still.", "Find what suspends it: a snapshot, a frozen virtual machine."
        ),
        Meaning("another run", "Another bakeoff run measured on the same cores.", "Let one end before the next."),
    ),
    "warning: the run counts, and the words go with its figure": (
        Meaning(
            "client",
            "The load generator may have been the limit: its threads hardly ever waited for answers.",
            "Give it its own cores or machines (`placement`, `clients`, `--fleet`). The figure is a lower bound.",
        ),
        Meaning("clients", "One of several load machines was slower than the others.", "Look at that machine."),
        Meaning("clients to a core", "Several clients shared a core.", "Start fewer clients on that machine."),
        Meaning("clocks", "The clock of a load machine is not known well enough.", "Use a nearer machine, or NTP/PTP."),
        Meaning(
            "offered rate",
            "Overloaded: the system did not keep up with the offered rate.",
            "Percentiles are not stated. Offer less.",
        ),
        Meaning(
            "lateness",
            "Operations began later than they were due. The response time includes that.",
            "Give the client its own cores.",
        ),
        Meaning("steady state", "The throughput still changed in the window.", "Warm up for longer."),
        Meaning("connections", "Connections were lost during the run.", "Read the server's log in the bundle."),
        Meaning(
            "nodes", "A node of the cluster did not answer for a while, and no fault was planned.", "Read its log."
        ),
        Meaning(
            "quiet disk",
            "The disk was still busy with earlier writes when the run began.",
            "Nothing: figures of the first seconds may be low.",
        ),
        Meaning(
            "write-back debt",
            "The server still had writes to flush when the wait for them ended.",
            "The bytes written are too low.",
        ),
        Meaning(
            "event log", "Some operations are missing in the log of single operations.", "Write it to a faster disk."
        ),
        Meaning(
            "watching",
            "Server or machine were not watched to the end of the run.",
            "Figures of CPU and memory are incomplete.",
        ),
        Meaning("engine", "The measuring process gave a warning.", "The message says which."),
    ),
    "note: worth knowing": (
        Meaning("unknown outcomes", "Operations timed out or lost their connection: perhaps applied, perhaps not."),
        Meaning("revoked", "Operations were rolled back, because their transaction did not commit."),
        Meaning("range", "A time longer than an hour is recorded as one hour."),
        Meaning("latency probe", "No latency probe ran alongside the load, so its times could not be compared."),
    ),
}

VERDICTS = (
    Meaning("baseline", "The contestant that the others are compared with: the first, or `[compare] baseline`."),
    Meaning(
        "faster, slower, higher, lower",
        "A difference was shown. The chance that any difference claimed in a bundle is false is at most 5 %.",
    ),
    Meaning("equivalent", "The two differ by less than `[compare] matters`."),
    Meaning(
        "undecided",
        "These runs do not decide which is better. The interval says how large a difference could be.",
        "Set `[compare] matters` to learn how many repetitions would decide it, then `--resume --repetitions +N`.",
    ),
    Meaning("too few runs", "There are too few repetitions to judge.", "Add repetitions."),
    Meaning("invalid runs", "One side failed in some of its runs. Its other runs are no evidence.", "See its checks."),
    Meaning("too few operations", "A percentile needs more operations.", "Make the window longer."),
    Meaning("not comparable", "The two did not do the same work, or not with the same durability."),
)

CERTAINTIES = (
    Meaning("shown", "Every comparison has a verdict."),
    Meaning("shown in 5 of 8 comparisons", "The others are undecided."),
    Meaning("undecided", "No comparison has a verdict."),
    Meaning("measured; nothing is compared", "Figures of one system: there is nothing to compare them with."),
    Meaning("not trustworthy", "Disturbed runs count, or too few runs are left.", "Measure again on a quiet machine."),
)
