"""Where load came from and where it went: what each client of a cell did and on which machine it ran, and what came
from each node of a system of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..analysis.histograms import merge
from ..analysis.percentiles import Distribution, decode, merge_documents
from ..analysis.validity.slow_clients import by_machine, least_known_clock, slower
from ..analysis.wording import counted
from ..model.boundary import Document
from ..model.clients import THIS_MACHINE, ClientRecord
from ..model.records.run import RunRecord
from .contestants import Contest, setting_words
from .runs import used_runs


class NodeAnswer(Document):
    """What came from one node in one cell, over all runs that are shown. share: of the operations of all nodes. errors:
    by outcome. reconnects: sessions that were opened there again. silent_s: for how long it did not answer in all those
    runs, and how often."""

    contestant: str
    setting_words: str
    node: str
    role: str
    operations: int
    share: float | None
    p50_ms: float | None
    p99_ms: float | None
    errors: dict[str, int]
    reconnects: int
    runs: int = 1
    silences: int
    silent_s: float


class ClientAnswer(Document):
    """What one client of a cell did, or all those on one machine, over all runs that are shown. client: in words.
    rate_ops_per_s: of all of them, in the mean run. share: of the operations of all clients. is_behind: all of them
    were slower than the other clients in most runs. CPU is theirs together; memory, ratios, round trip and clock those
    of the one that has most, None where nobody knows. clock: how far it is ahead of the controller's, and to within
    what that is known."""

    contestant: str
    setting_words: str
    client: str
    machine: str
    clients: int
    is_behind: bool
    rate_ops_per_s: float
    share: float | None
    p99_ms: float | None
    errors: dict[str, int]
    cpu_us_per_op: float | None
    memory_peak_bytes: int
    busy_ratio: float | None
    no_core_ratio: float | None
    steal_ratio: float
    server_round_trip_ms: float | None
    clock_offset_s: float | None
    clock_bound_ms: float | None
    start_late_ms: float | None


#: If there are more, they are listed by machine.
CLIENTS_MAX = 8


#: Slower clients that are listed next to their machines.
SLOWER_NAMED_MAX = 5


#: A client of one of the runs, by the run's place among those that are shown.
Seen = tuple[int, ClientRecord]


def client_answers(contest: Contest, runs: Mapping[str, Sequence[RunRecord]]) -> list[ClientAnswer]:
    """Setting by setting; of each cell with several clients, or with one on another machine."""
    found = []
    for cell in contest.cells:
        used = used_runs(runs[cell.id])
        where = contest.contestant(cell), setting_words(contest.setting(cell))
        seen = [(place, client) for place, run in enumerate(used) for client in _told_apart(run.clients)]
        found += [_client_answer(words, same, seen, *where) for words, same in _client_rows(seen)]
    return found


def _told_apart(clients: Sequence[ClientRecord]) -> list[ClientRecord]:
    """Of a run in which most fell behind the rest, none is called slower."""
    if slower(clients):
        return list(clients)
    return [client.model_copy(update={"behind": "", "signs": []}) for client in clients]


def _client_rows(seen: Sequence[Seen]) -> Iterator[tuple[str, list[Seen]]]:
    """What a row is called, and what it is of: each client, or of many each machine and the slower ones beneath."""
    each: dict[str, list[Seen]] = {}
    machines: dict[str, list[Seen]] = {}
    for one in sorted(seen, key=lambda one: one[1].number):
        each.setdefault(one[1].words, []).append(one)
        machines.setdefault(one[1].machine_words, []).append(one)
    if len(each) <= CLIENTS_MAX:
        yield from each.items()
        return
    mixed = {machine for machine, there in machines.items() if not _is_behind(there)}
    slow = [words for words, same in each.items() if same[0][1].machine_words in mixed and _is_behind(same)][
        :SLOWER_NAMED_MAX
    ]
    for machine, there in machines.items():
        yield f"{counted(_clients_in_a_run(there), 'client', 'clients')} on {machine}", there
        yield from ((words, each[words]) for words in slow if each[words][0][1].machine_words == machine)


def _clients_in_a_run(same: Sequence[Seen]) -> int:
    """How many there were in a run; the most, where they were not always as many."""
    return max(Counter(run for run, _ in same).values())


def _is_behind(same: Sequence[Seen]) -> bool:
    """All of them, in most of the runs."""
    runs = {run for run, _ in same}
    kept_up = {run for run, client in same if not client.behind}
    return 2 * len(kept_up) < len(runs)


def _client_answer(
    words: str, same: Sequence[Seen], seen: Sequence[Seen], contestant: str, setting: str
) -> ClientAnswer:
    runs = {run for run, _ in same}
    clients = [client for _, client in same]
    errors = Counter[str]()
    for client in clients:
        errors.update(client.errors)
    operations = sum(client.ok for client in clients) + errors.total()
    every = sum(client.ok + sum(client.errors.values()) for run, client in seen if run in runs)
    waited = merge([decode(client.headline) for client in clients])
    p99 = Distribution(waited, sum(client.failures for client in clients)).percentile(0.99)
    round_trips_ns = [ns for client in clients if (ns := client.server_round_trip_ns_max) is not None]
    late_ns = [client.start_late_ns for client in clients if client.start_late_ns is not None]
    clock = least_known_clock(clients)
    return ClientAnswer(
        contestant=contestant,
        setting_words=setting,
        client=words,
        machine=clients[0].machine_words,
        clients=_clients_in_a_run(same),
        is_behind=_is_behind(same),
        rate_ops_per_s=sum(client.rate_ops_per_s for client in clients) / len(runs),
        share=operations / every if every else None,
        p99_ms=None if p99.value_ns is None else p99.value_ns / 1e6,
        errors={outcome: count for outcome, count in errors.items() if count},
        cpu_us_per_op=sum(client.cpu_s for client in clients) * 1e6 / operations if operations else None,
        memory_peak_bytes=max(client.memory_peak_bytes for client in clients),
        busy_ratio=max((part for client in clients for part in client.workers_busy_ratio), default=None),
        no_core_ratio=max((part for client in clients for part in client.workers_run_queue_delay_ratio), default=None),
        steal_ratio=max(client.steal_ratio for client in clients),
        server_round_trip_ms=max(round_trips_ns) / 1e6 if round_trips_ns else None,
        clock_offset_s=clock.clock_offset_ns / 1e9 if clock else None,
        clock_bound_ms=clock.clock_bound_ns / 1e6 if clock else None,
        start_late_ms=max(late_ns) / 1e6 if late_ns else None,
    )


def node_answers(contest: Contest, runs: Mapping[str, Sequence[RunRecord]]) -> list[NodeAnswer]:
    """Setting by setting, each cell's nodes in their order; none of a system of one."""
    found = []
    for cell in contest.cells:
        used = used_runs(runs[cell.id])
        where = contest.contestant(cell), setting_words(contest.setting(cell))
        names = dict.fromkeys(node.name for run in used for node in run.nodes)
        found += [_node_answer(name, used, *where) for name in names]
    return found


def _node_answer(name: str, runs: Sequence[RunRecord], contestant: str, setting: str) -> NodeAnswer:
    same = [node for run in runs for node in run.nodes if node.name == name]
    every = sum(node.operations for run in runs for node in run.nodes)
    times = merge_documents([node.response for node in same])
    outcomes = Counter[str]()
    for node in same:
        outcomes.update(node.outcomes)
    silent_s = [
        (run.window_s if silence.to_s is None else silence.to_s) - silence.from_s
        for run in runs
        for silence in run.silences
        if silence.node == name
    ]
    operations = sum(node.operations for node in same)
    return NodeAnswer(
        contestant=contestant,
        setting_words=setting,
        node=name,
        role=same[0].role,
        operations=operations,
        share=operations / every if every else None,
        p50_ms=times.p50_ns / 1e6 if times.count else None,
        p99_ms=times.p99_ns / 1e6 if times.count else None,
        errors={outcome: count for outcome, count in outcomes.items() if outcome != "ok" and count},
        reconnects=sum(node.reconnects or 0 for node in same),
        runs=len(runs),
        silences=len(silent_s),
        silent_s=sum(silent_s),
    )


#: Machines that are named.
NAMED_MAX = 5


def machines_of(run: RunRecord) -> list[str]:
    """Of a run that tells nothing of its clients, it was this one."""
    return list(by_machine(run.clients)) or [THIS_MACHINE]


def machines_words(runs: Iterable[RunRecord]) -> str:
    """ "load1, load2"; "load1, load2 | load1" where it was not the same in all."""
    done = (run for run in runs if run.state == "done")
    return " | ".join(sorted({", ".join(sorted(machines_of(run))) for run in done}))


def named_words(machines: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = [f"{len(machines) - NAMED_MAX} more"] if len(machines) > NAMED_MAX else []
    return ", ".join([*machines[:NAMED_MAX], *more])


def elsewhere(runs: Sequence[RunRecord]) -> list[str]:
    """The other machines, where no client was on this one in any run; else none."""
    machines = dict.fromkeys(machine for run in runs if run.state == "done" for machine in machines_of(run))
    return [] if THIS_MACHINE in machines else list(machines)
