"""Which of a run's clients fell behind the others, although all were given the same work; why, what all would have
had without them, whether a machine had more of them than cores, and how well the clocks are known.

The others are the better half of the clients: where three of six are slow, the three that are not say what was
possible. A client is behind where it lacks more of their rate than three things explain: what is worth telling
(`LACK_MIN`), how much the better clients themselves differ, and chance. Chance is known from parts of the window in
which all are seen side by side, so that what slows every client for a while (a checkpoint) sets none apart.

benches/clients.py counts how often equal clients are called different, and how often one with half the CPU is found.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...model.clients import THIS_MACHINE, ClientRecord
from ..statistics import t_critical
from ..wording import counted, duration_words, percent_words, rate_words, significant
from .client_limit import WANTED_RATIO_MAX
from .disturbance import STEAL

FloatArray = NDArray[np.float64]

#: Of the others' rate: less than that is what equal clients differ by from run to run.
LACK_MIN = 0.2
#: In scatters of the clients, if the better half has at least the number below.
SCATTERS_MIN = 3.0
_TELL_SCATTER = 5
#: The better half of what is normally distributed scatters by so much of the whole, and its middle lies so far above
#: the middle of all, in scatters.
_BETTER_SCATTER, _BETTER_MIDDLE = 0.603, 0.674
#: Of the others' mean response time, in an open loop. Nothing is far from nothing: that much must lie between, too.
EXCESS_MIN = 0.5
EXCESS_NS_MIN = 100_000
#: Of runs of equal clients, those in which chance alone may set one apart.
ALPHA = 0.05
#: Of the window; each long enough that little of what happens by chance reaches into the next.
PARTS_MAX = 10
PARTS_MIN = 3
TENTHS_OF_A_PART_MIN = 3


@dataclass(frozen=True, slots=True)
class Behind:
    """client: its place among them. ratio: of the others' rate (below 1) or mean response time (above 1)."""

    client: int
    ratio: float
    words: str


def behind_in_rate(ended: FloatArray) -> list[Behind]:
    """ended: operations that ended ok, of each client (rows) in each tenth of a second of the window (columns)."""
    parts = _parts(ended, ended.shape[1] // TENTHS_OF_A_PART_MIN)
    return [
        Behind(client, ratio, f"{percent_words(ratio)} of the throughput of the others")
        for client, ratio in _apart(parts, LACK_MIN)
    ]


def behind_in_response(ended: FloatArray, mean_ns: FloatArray) -> list[Behind]:
    """Of an open loop, where all have the rate that they are asked for. Both of each client (rows) in each second of
    the window; a mean of nothing counts for nothing, and may be NaN."""
    counts = _parts(ended, seconds := ended.shape[1])
    if not counts.size or (counts == 0).any():
        return []
    means = _parts(np.where(ended > 0, ended * np.nan_to_num(mean_ns), 0.0), seconds) / counts
    least_ns = EXCESS_NS_MIN / float(np.median(_better(-means).mean(axis=1)))
    return [
        Behind(client, ratio, f"{significant(ratio, 2)} times the mean response time of the others")
        for client, ratio in _apart(-means, max(EXCESS_MIN, -least_ns))
    ]


def _parts(values: FloatArray, count: int) -> FloatArray:
    """The sums of `count` parts of the window, or of PARTS_MAX; of none where these are too few, or there is but one
    client."""
    if len(values) < 2 or count < PARTS_MIN:
        return np.empty((len(values), 0))
    return np.stack([part.sum(axis=1) for part in np.array_split(values, min(PARTS_MAX, count), axis=1)], axis=1)


def _better(values: FloatArray) -> FloatArray:
    """The better half of the clients by all of the window, more than half of an odd number. More is better."""
    order = np.argsort(-values.sum(axis=1), kind="stable")
    return values[order[: math.ceil(len(values) / 2)]]


def _apart(values: FloatArray, least: float) -> list[tuple[int, float]]:
    """Clients that differ for the worse from the others, and the ratio in which they do. values: of each client (rows)
    in each part, all of one sign; more is better. least: the difference from 1 that is worth telling."""
    clients, parts = values.shape
    if not parts or not values.any():
        return []
    better = _better(values)
    middle = float(np.median(better.sum(axis=1)))
    others = better.mean(axis=0) * (middle / better.sum(axis=1).mean())
    ratios = values.sum(axis=1) / middle
    own_noise = values - ratios[:, None] * others
    freedom = (clients - 1) * (parts - 1)
    error = math.sqrt(float((own_noise**2).sum()) / freedom * parts) / abs(middle)
    chance = (t_critical(ALPHA / clients, freedom) + _BETTER_MIDDLE) * error
    scatter = float(np.std(better.sum(axis=1))) / abs(middle) / _BETTER_SCATTER if len(better) >= _TELL_SCATTER else 0.0
    bound = math.hypot(max(least, SCATTERS_MIN * scatter), chance)
    worse = np.sign(middle) * (1 - ratios)
    return [(client, float(ratio)) for client, ratio in enumerate(ratios) if worse[client] > bound]


#: Of the window, in which a worker had work to do and no core: more than that is felt.
NO_CORE_RATIO_MAX = 0.1
#: Of the cores of a machine with more clients than cores: from here on it is each other that they wait for.
OWN_BUSY_RATIO_MAX = 0.5
#: A round trip this much longer than the others', in times and in ns, is one to another place.
FAR_RATIO_MIN = 2.0
FAR_NS_MIN = 50_000
LATE_NS_MAX = 10_000_000
#: Clients that are named.
NAMED_MAX = 3


def signs(client: ClientRecord, others: Sequence[ClientRecord]) -> list[str]:
    """What may have made it slower than the others, in words; none: nothing of what is known."""
    return [words for words in _signs(client, others) if words]


def _signs(client: ClientRecord, others: Sequence[ClientRecord]) -> Iterator[str]:
    busy, no_core = _most(client.workers_busy_ratio), _most(client.workers_run_queue_delay_ratio)
    if busy > WANTED_RATIO_MAX:
        yield f"a worker worked {percent_words(busy)} of the window"
    elsewhere = max((_most(other.workers_run_queue_delay_ratio) for other in others), default=0.0)
    if no_core > elsewhere + NO_CORE_RATIO_MAX:
        yield f"a worker had work but no core for {percent_words(no_core)} of the window"
    if client.steal_ratio > max([STEAL.quiet, *(other.steal_ratio for other in others)]):
        yield f"{percent_words(client.steal_ratio)} of its machine's CPU time was taken by the hypervisor"
    yield _far(client, others)
    if client.start_late_ns is not None and client.start_late_ns > LATE_NS_MAX:
        yield f"it began {duration_words(client.start_late_ns)} late"
    failed = error_ratio(client)
    if failed > 2 * max((error_ratio(other) for other in others), default=0.0) and failed > 0.01:
        yield f"{percent_words(failed)} of its operations did not end ok"


def _most(ratios: Sequence[float]) -> float:
    return max(ratios, default=0.0)


def _far(client: ClientRecord, others: Sequence[ClientRecord]) -> str:
    own_ns = client.server_round_trip_ns_max
    known_ns = [ns for other in others if (ns := other.server_round_trip_ns_max) is not None]
    if own_ns is None or not known_ns:
        return ""
    typical_ns = float(np.median(known_ns))
    if own_ns < FAR_RATIO_MIN * typical_ns or own_ns - typical_ns < FAR_NS_MIN:
        return ""
    return f"{duration_words(own_ns)} to the server and back, the others {duration_words(typical_ns)}"


def error_ratio(client: ClientRecord) -> float:
    failed = sum(client.errors.values())
    return failed / (client.ok + failed) if failed else 0.0


def slower(clients: Sequence[ClientRecord]) -> list[ClientRecord]:
    """Those that fell behind the others, the slowest first; none where they are the most of them: then it is the rest
    that were faster."""
    behind = sorted((client for client in clients if client.behind), key=lambda client: client.rate_ops_per_s)
    return behind if 2 * len(behind) <= len(clients) else []


def behind_words(clients: Sequence[ClientRecord], *, server_is_here: bool, whose: str = "this run's") -> str:
    """Those that fell behind, why, and what all would have had without them; "": none did. whose: of the rate, where
    those of other runs are next to it."""
    behind = slower(clients)
    if not behind:
        return _faster_words(clients)
    why = _why(slowest := behind[0])
    if len(behind) == 1:
        left = len(clients) - 1
        others = "other" if left == 1 else f"other {left}"
        words = f"{slowest.words} was slower than the {others} ({slowest.behind}{why})"
    else:
        words = (
            f"{len(behind)} of {len(clients)} clients were slower than the others: {named(behind, clients)}"
            f" (the slowest, {slowest.words}: {slowest.behind}{why})"
        )
    have, could = sum(client.rate_ops_per_s for client in clients), without_behind(clients)
    if could > have * 1.01 and _is_apart(behind, clients, server_is_here=server_is_here):
        more = percent_words(could / have - 1)
        limit = f"{rate_words(could)}, {more} more"
        words += f"; at the throughput of the others {whose} {rate_words(have)} would be at most {limit}"
    return words


def _faster_words(clients: Sequence[ClientRecord]) -> str:
    """Of a run in which most fell behind the rest; "": none did."""
    behind = [client for client in clients if client.behind]
    if not behind:
        return ""
    rest = [client for client in clients if not client.behind]
    slowest = min(behind, key=lambda client: client.rate_ops_per_s)
    were = "was" if len(rest) == 1 else "were"
    return (
        f"{named(rest, clients)} {were} faster than the other {len(behind)}"
        f" (the slowest, {slowest.words}: {slowest.behind}{_why(slowest)})"
    )


def _why(client: ClientRecord) -> str:
    return f"; {', '.join(client.signs)}" if client.signs else ""


def _is_apart(behind: Sequence[ClientRecord], clients: Sequence[ClientRecord], *, server_is_here: bool) -> bool:
    """Whether the slower ones share their machines with no other client and no server: what they are given more of is
    then taken from nobody."""
    machines = {client.machine for client in behind}
    shared = {client.machine for client in clients if client not in behind}
    return machines.isdisjoint(shared) and not (server_is_here and THIS_MACHINE in machines)


def named(some: Sequence[ClientRecord], clients: Sequence[ClientRecord]) -> str:
    """ "client 3 on load2, client 4 on load2", "all 10 on load2, 3 of 10 on load3"; the first of them."""
    if len(some) <= NAMED_MAX:
        return ", ".join(client.words for client in sorted(some, key=lambda client: client.number))
    parts, chosen = [], by_machine(some)
    for machine, there in by_machine(clients).items():
        if count := len(chosen.get(machine, [])):
            parts.append(f"{f'all {count}' if count == len(there) else f'{count} of {len(there)}'} on {machine}")
    more = f" and more on {counted(len(parts) - NAMED_MAX, 'machine', 'machines')}" if len(parts) > NAMED_MAX else ""
    return f"{', '.join(parts[:NAMED_MAX])}{more}"


def without_behind(clients: Sequence[ClientRecord]) -> float:
    """What all would have had together, ops/s, with the mean rate of those that kept up. A server that is asked for
    more may not have given it."""
    kept_up = [client.rate_ops_per_s for client in clients if not client.behind]
    return len(clients) * sum(kept_up) / len(kept_up) if kept_up else 0.0


def crowded_words(clients: Sequence[ClientRecord]) -> str:
    """Of the machine with more clients than cores whose clients had to wait most for one; "": none had to."""
    found: list[tuple[float, str]] = []
    for machine, theirs in by_machine(clients).items():
        cores = theirs[0].cores
        if not cores or len(theirs) <= cores:
            continue
        busy = sum(sum(client.workers_busy_ratio) for client in theirs) / cores
        no_core = max(_most(client.workers_run_queue_delay_ratio) for client in theirs)
        if busy > OWN_BUSY_RATIO_MAX and no_core > NO_CORE_RATIO_MAX:
            words = (
                f"{len(theirs)} clients kept {percent_words(min(1.0, busy))} of {counted(cores, 'core', 'cores')} of"
                f" {machine} busy, and a worker had work but no core for {percent_words(no_core)} of the window"
            )
            found.append((no_core, words))
    return max(found)[1] if found else ""


def by_machine(clients: Sequence[ClientRecord]) -> dict[str, list[ClientRecord]]:
    """In the order of their first clients."""
    found: dict[str, list[ClientRecord]] = {}
    for client in clients:
        found.setdefault(client.machine, []).append(client)
    return found


def least_known_clock(clients: Sequence[ClientRecord]) -> ClientRecord | None:
    """The client whose machine's clock is known least; None: all read the controller's."""
    return max((c for c in clients if c.clock_bound_ns), key=lambda client: client.clock_bound_ns, default=None)
