"""What the names next to figures mean, and what to do: the page docs/reference/messages.md, and whatever explains a
word to a user."""

from __future__ import annotations

from dataclasses import dataclass

from ...model.records.verification import Verdict
from ...verify.isolation import MEANINGS as PROMISED


@dataclass(frozen=True)
class Meaning:
    """name: as reports print it. says: what was found. do: what a user can do; "" where there is nothing to do.
    example: a sentence of a report; "" where the words differ from cause to cause."""

    name: str
    says: str
    do: str = ""
    example: str = ""


#: By severity, in the order of how much they endanger an answer.
CHECKS = {
    "invalid: the run counts against its system": (
        Meaning(
            "completed",
            "The run was interrupted, or a client did not report.",
            "Continue the bundle with `--resume`.",
            example="only 3 of 4 clients reported",
        ),
        Meaning("run failed", "The system could not complete the run.", "Read the server's log in the bundle."),
        Meaning(
            "run lost",
            "A load machine, the network or a disk failed in every attempt. It is no fault of the system.",
            "Mend the cause, then `--resume`.",
        ),
        Meaning(
            "server",
            "The server died or froze during the run.",
            "Read the server's log in the bundle.",
            example="the server died or froze during the run",
        ),
        Meaning(
            "planned faults",
            "A fault was not injected as planned.",
            "The message names the reason.",
            example="a fault was not carried out as planned: kill n3 at 20 s: n3 had ended before",
        ),
        Meaning(
            "operations",
            "No operation that counts ended in the window.",
            "Raise the offered rate, or make the window longer.",
            example="no operation that counts ended in the window",
        ),
        Meaning(
            "errors",
            "More operations failed than `error_budget` allows.",
            "See First errors in the report. If failures are part of the work, raise `error_budget` and `--resume`:"
            " finished runs are judged again.",
            example="2.5 % of the operations did not end ok; the budget is 0.1 %",
        ),
        Meaning(
            "integrity",
            "A check of the data failed after the run: rows are missing, or values are wrong.",
            "The report lists the check with its evidence. Believe no figure of this system before you know why.",
            example="1 of 4 checks of the data failed, first orders: expected 3,000, found 2,999",
        ),
        Meaning(
            "wrong answers",
            "The server acknowledged operations with a wrong answer. No budget allows that.",
            "As for integrity.",
            example="3 operations were acknowledged with a wrong answer; no budget allows for that",
        ),
    ),
    "disturbed: something else slowed the run, which is no evidence and is repeated": (
        Meaning(
            "other processes",
            "Other programs used the cores of the run.",
            "Stop them, or use `--wait-until-quiet`.",
            example=(
                "85 % of the CPU time went to other processes, most to cc1plus, pid 7 (from 10 % on a run is disturbed)"
            ),
        ),
        Meaning(
            "hypervisor",
            "The hypervisor gave CPU time to other virtual machines.",
            "Use a machine of your own.",
            example="7.1 % of the CPU time was taken by the hypervisor (from 5.0 % on a run is disturbed)",
        ),
        Meaning(
            "swapping",
            "The machine swapped.",
            "Free memory, or give the servers smaller caches.",
            example="the machine swapped 300 MiB",
        ),
        Meaning(
            "throttling",
            "Others in the control group used up its CPU time.",
            "Give the group more, or leave it.",
            example="the control group's share of the CPU was used up for 2.50 s",
        ),
        Meaning(
            "stall",
            "The whole machine stood still.",
            "Find what suspends it: a snapshot, a frozen virtual machine.",
            example=(
                "2.3 s in which everything stood still: client, server and controller (from 1 s on a run is disturbed)"
            ),
        ),
        Meaning(
            "another run",
            "Another bakeoff run measured on the same cores.",
            "Let one end before the next.",
            example='measured next to another bakeoff run (pid 7, "second"): each slowed the other',
        ),
    ),
    "warning: the run counts, and the words go with its figure": (
        Meaning(
            "client",
            "Client limited: the load generator may have been the limit, not the database.",
            "Give it its own cores or machines (`placement`, `clients`, `--fleet`). The figure is a lower bound.",
            example=(
                "the client may have been the limit (its threads spent 41 % of the window outside of operations"
                " (bound 10 %)): the figure shows what this client could send at most"
            ),
        ),
        Meaning(
            "clients",
            "One of several load machines was slower than the others.",
            "Look at that machine.",
            example="client 2 on load3 was slower than the other 3 (75 % of the throughput of the others)",
        ),
        Meaning(
            "clients to a core",
            "Several clients shared a core.",
            "Start fewer clients on that machine.",
            example=(
                "8 clients kept 97 % of 4 cores of load2 busy, and a worker had work but no core for 30 % of the window"
            ),
        ),
        Meaning(
            "clocks",
            "The clock of a load machine is not known well enough.",
            "Use a nearer machine, or NTP/PTP.",
            example="the clock of load2 is known to within 12.0 ms (bound 10.0 ms)",
        ),
        Meaning(
            "offered rate",
            "Overloaded: the system did not keep up with the offered rate.",
            "Percentiles are not stated. Offer less.",
            example=(
                "overloaded: 8,100 operations ended while 10,000 fell due (81.0 %); 20 unfinished, 1,880 not"
                " begun when the window ended; percentiles are not stated"
            ),
        ),
        Meaning(
            "lateness",
            "Operations began later than they were due. The response time includes that.",
            "Give the client its own cores.",
            example=(
                "the client began 1 in 100 operations at least 3.00 ms late (40 % of the p99 response time, which"
                " counts from when they were due)"
            ),
        ),
        Meaning(
            "steady state",
            "The throughput still changed in the window.",
            "Warm up for longer.",
            example="the rate still fell by 12 % over the window",
        ),
        Meaning(
            "connections",
            "Connections were lost during the run.",
            "Read the server's log in the bundle.",
            example="4 connections were lost",
        ),
        Meaning(
            "nodes",
            "A node of the cluster did not answer for a while, and no fault was planned.",
            "Read its log.",
            example="n2 did not answer from second 12 of the window to second 20, and nobody had planned that",
        ),
        Meaning(
            "quiet disk",
            "The disk was still busy with earlier writes when the run began.",
            "Nothing: figures of the first seconds may be low.",
            example="the disk was still busy with earlier writes when the wait for them ended",
        ),
        Meaning(
            "write-back debt",
            "The server still had writes to flush when the wait for them ended.",
            "The bytes written are too low.",
            example="work was still owed to the disk when waiting for it ended: the bytes written are too low",
        ),
        Meaning(
            "event log",
            "Some operations are missing in the log of single operations.",
            "Write it to a faster disk.",
            example=(
                "900,000 operations were written to the event log one by one, and 1,200 were not: it could not"
                " keep up, or the disk was full"
            ),
        ),
        Meaning(
            "watching",
            "Server or machine were not watched to the end of the run.",
            "Figures of CPU and memory are incomplete.",
            example=(
                "server and machine were not watched to the end (permission denied): their figures are incomplete"
            ),
        ),
        Meaning(
            "engine",
            "The measuring process gave a warning.",
            "The message says which.",
            example="the engine warned: began late",
        ),
    ),
    "note: worth knowing": (
        Meaning(
            "unknown outcomes",
            "Operations timed out or lost their connection: perhaps applied, perhaps not.",
            example="2 operations timed out or lost their connection: perhaps applied, perhaps not",
        ),
        Meaning(
            "revoked",
            "Operations were rolled back, because their transaction did not commit.",
            example="12 operations were taken back: their transaction did not commit",
        ),
        Meaning(
            "range",
            "A time longer than an hour is recorded as one hour.",
            example="1 time was longer than an hour and is recorded as one hour",
        ),
        Meaning(
            "latency probe",
            "No latency probe ran alongside the load, so its times could not be compared.",
            example="not tested: no latency probe ran alongside the load",
        ),
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
    Meaning(
        "not comparable",
        "The two did not do the same work, or not with the same durability.",
        'Write `durability = "full"` (or another level) at the top of the plan, or one in each system.',
    ),
    Meaning("not compared", "The values are shown, and no claim is made about them."),
    Meaning(
        "as shown before",
        "An earlier analysis of this bundle showed a difference. The claim stands, but the interval of all runs now"
        " includes equality.",
        "Find out what changed between the runs.",
    ),
    Meaning("not valid", "No run of this row counts.", "See its checks."),
    Meaning("not run", "The row has no run yet.", "Continue the bundle with `--resume`."),
)

OTHER_ROWS = (
    Meaning("highest, lowest", "The best level of a sweep."),
    Meaning(
        "highest measured, lowest measured",
        "The best level in these runs. Others cannot be distinguished from it.",
        "Add repetitions.",
    ),
    Meaning(
        "all operations due",
        "In place of an interval: every run did all operations that fell due, so the throughput is what was offered.",
    ),
    Meaning("holds, missed", "The limit is kept at this level, or it is not."),
    Meaning("holds up to it", "The limit is kept at this level and at all below it."),
    Meaning("holds in part", "The limit is kept at some levels, and missed at one between them.", "See each level."),
    Meaning("found", "A search ended: this is the highest load that keeps the limit."),
    Meaning(
        "above the range", "What is sought lies above the highest level that was tried.", "Search at higher levels."
    ),
    Meaning("below the range", "What is sought lies below the lowest level that was tried.", "Search at lower levels."),
    Meaning("no write lost", "After the fault the checks found every acknowledged write."),
    Meaning("loss not excluded", "Some kinds of writes are not checked: a lost one could pass unseen."),
    Meaning("writes lost", "Acknowledged writes are missing or wrong after the fault.", "See the checks."),
)


def _says(verdict: Verdict) -> str:
    return f"{PROMISED[verdict][:1].upper()}{PROMISED[verdict][1:]}."


#: Of a plan with `[verify]`.
PROMISES = (
    Meaning("VIOLATED", _says("VIOLATED"), "The report shows what each session did."),
    Meaning("INCONCLUSIVE", _says("INCONCLUSIVE"), "Raise `seconds` in `[verify]`."),
    Meaning("HELD", _says("HELD")),
    Meaning("OBSERVED", _says("OBSERVED")),
    Meaning("N/A", "No database, an emulator, or paid requests."),
    Meaning("not checked", "The checks did not end.", "`--resume` makes them."),
)

#: Next to the certainty, where no single run is the reason.
DOUBTS = (
    Meaning(
        "disturbed runs count",
        "`--allow-disturbed` lets runs count that something else slowed.",
        "Measure again without it.",
        "disturbed runs count (8 of 8 runs)",
    ),
    Meaning(
        "too busy to measure",
        "Too few undisturbed runs are left.",
        "Stop the cause that is named, then `--resume --wait-until-quiet`.",
        "this machine was too busy to measure (other processes, at worst 85 %)",
    ),
    Meaning(
        "results are missing",
        "A run's files are damaged or incomplete.",
        "`--resume` repeats the run.",
        "results are missing: result.json is cut off",
    ),
    Meaning(
        "differs between the systems",
        "A setting that often decides the result is not the same, and the plan does not name it as a factor.",
        "Set it alike, or make it a factor.",
        "memory differs between the systems, which the plan does not declare",
    ),
    Meaning(
        "the peak may lie beyond, below",
        "The best level is the last or the first of the range.",
        "Extend the range.",
        "the peak may lie beyond 128 threads",
    ),
    Meaning(
        "nothing was measured between",
        "The level that the answer names may lie between two measured ones.",
        "Add levels there, or use a search.",
        "nothing was measured between 8 and 32 threads",
    ),
    Meaning(
        "demonstration",
        "Short runs on a shared machine: no figures to quote.",
        "Write a plan: `bakeoff init my.toml`.",
        "this is a demonstration: short runs on a shared machine",
    ),
)

CERTAINTIES = (
    Meaning("shown", "Every comparison has a verdict."),
    Meaning("shown in 5 of 8 comparisons", "The others are undecided.", "Add repetitions."),
    Meaning("shown in part", "Some levels or limits are undecided, or runs could not be read.", "See the rows."),
    Meaning("undecided", "No comparison has a verdict."),
    Meaning("measured; nothing is compared", "Figures of one system: there is nothing to compare them with."),
    Meaning("not trustworthy", "Disturbed runs count, or too few runs are left.", "Measure again on a quiet machine."),
)
