"""Was the client the limit: would one that works faster, or has cores of its own, have got notably more answers?

A closed loop cannot tell from inside, because what queues in the client lies inside the time it measures. What tells
is what a worker does while it does not work: one that waits for answers is not the limit, whatever it costs. One that
never waits is, unless it shares its cores with the server and the server is what took them: then both wait for a
machine that is full, and a client that cost nothing could add no more than its own share. The bounds were judged by
runs whose answer is known (benches/verdict.py; docs/method/client-verdict.md has what came out).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..wording import percent_words

#: Of the window: a worker worked, or had work to do and no core. Beyond it answers wait for the worker.
WANTED_RATIO_MAX = 0.9
#: Of the window: a worker had work to do and no core. On cores of its own it is not the server that keeps it from them.
NO_CORE_RATIO_MAX = 0.3
#: Of the time of cores that client and server share: cores lie idle while a worker has work to do.
IDLE_RATIO_MAX = 0.2
#: Of the CPU time that client and server used on the cores they share.
SHARE_RATIO_MAX = 0.5
#: Of the time of the client's threads, where the system is embedded in them: outside of operations.
HARNESS_RATIO_MAX = 0.1
#: Of the machine's CPU time: other processes kept the threads from their cores, which is a finding of its own.
OTHERS_RATIO_MAX = 0.1


@dataclass(frozen=True, slots=True)
class WorkerNumbers:
    """Shares of the window: at work; with work to do, but without a core (waiting for others, or held back by a limit
    of its control group)."""

    busy_ratio: float
    run_queue_delay_ratio: float

    @property
    def wanted_ratio(self) -> float:
        return self.busy_ratio + self.run_queue_delay_ratio


@dataclass(frozen=True, slots=True)
class ClientNumbers:
    """What is known of the client over the window of one run, all its processes together. None: not known.

    workers: none where the system is embedded in the client's threads, whose work is the system's. shares_cores: the
    server may run where the client does. idle_ratio: of the time of those cores. harness_ratio: of an embedded system
    in a closed loop, the share of its threads' time outside of operations. others_ratio: of the machine's CPU time,
    what other processes used.
    """

    workers: Sequence[WorkerNumbers] = ()
    shares_cores: bool = False
    idle_ratio: float | None = None
    client_cpu_s: float = 0.0
    server_cpu_s: float | None = None
    harness_ratio: float | None = None
    others_ratio: float | None = None


def signs(client: ClientNumbers) -> list[str]:
    """Why the client may have been the limit, each with its figure and its bound; none: no sign of it."""
    return [words for words in (_harness(client), _workers(client)) if words]


def _harness(client: ClientNumbers) -> str:
    if client.harness_ratio is None or client.harness_ratio <= HARNESS_RATIO_MAX:
        return ""
    if (client.others_ratio or 0.0) > OTHERS_RATIO_MAX:
        return ""
    bound = percent_words(HARNESS_RATIO_MAX)
    return (
        f"its threads spent {percent_words(client.harness_ratio)} of the window outside of operations (bound {bound})"
    )


def _workers(client: ClientNumbers) -> str:
    worker = max(client.workers, key=lambda worker: worker.wanted_ratio, default=None)
    if worker is None:
        return ""
    never_waited = worker.wanted_ratio > WANTED_RATIO_MAX
    held_back = worker.run_queue_delay_ratio > NO_CORE_RATIO_MAX
    words = f"a worker worked {percent_words(worker.busy_ratio)} of the window"
    if worker.run_queue_delay_ratio > 0.01:
        words += f" and had work but no core for {percent_words(worker.run_queue_delay_ratio)}"
    if worker.busy_ratio > WANTED_RATIO_MAX or (not client.shares_cores and (never_waited or held_back)):
        return words
    if never_waited and client.idle_ratio is not None and client.idle_ratio > IDLE_RATIO_MAX:
        idle, bound = percent_words(client.idle_ratio), percent_words(IDLE_RATIO_MAX)
        return f"{words}, while {idle} of the time of the cores lay idle (bound {bound})"
    share = cpu_share(client.client_cpu_s, client.server_cpu_s)
    if never_waited and share is not None and share > SHARE_RATIO_MAX:
        bound = percent_words(SHARE_RATIO_MAX)
        return f"{words}, and the client took {percent_words(share)} of the CPU time of both (bound {bound})"
    return ""


def cpu_share(client_cpu_s: float, server_cpu_s: float | None) -> float | None:
    """The client's share of what client and server used; None: the server was not watched, or neither used any."""
    both_s = client_cpu_s + (server_cpu_s or 0.0)
    return None if server_cpu_s is None or both_s <= 0 else client_cpu_s / both_s
