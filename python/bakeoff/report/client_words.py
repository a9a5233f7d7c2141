"""What each client of a cell did, over its repetitions, as rows of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ..analysis.histograms import merge
from ..analysis.response_times import Distribution, decode
from ..analysis.slow_clients import least_known_clock, slower
from ..analysis.wording import counted, duration_words, grouped, milliseconds_words, percent_words
from ..findings.contestants import Contest, setting_words
from ..findings.runs import used_runs
from ..model.clients import ClientRecord
from ..model.records import RunRecord
from .answer import ClientAnswer

HEADS = (
    "client",
    "ops/s",
    "share",
    "p99",
    "errors",
    "CPU µs/op",
    "worker busy",
    "no core",
    "steal",
    "to server",
    "clock ahead by",
)
#: More of them are told machine by machine.
CLIENTS_MAX = 8
#: Of those that were slower than the others, told beside their machines.
NAMED_MAX = 5


#: A client of one of the runs, by the run's place among those that are shown.
Seen = tuple[int, ClientRecord]


def client_answers(contest: Contest, runs: Mapping[str, Sequence[RunRecord]]) -> list[ClientAnswer]:
    """Setting by setting; of each cell with several clients, or with one on another machine."""
    places = [(name, setting) for setting in contest.settings for name in contest.contestants]
    found = []
    for cell in (cell for place in places if (cell := contest.cell(*place)) is not None):
        used = used_runs(runs[cell.id])
        where = contest.contestant(cell), setting_words(contest.setting(cell))
        seen = [(place, client) for place, run in enumerate(used) for client in _told_apart(run.clients)]
        found += [_answer(words, same, seen, *where) for words, same in _rows(seen)]
    return found


def _told_apart(clients: Sequence[ClientRecord]) -> list[ClientRecord]:
    """Of a run in which most fell behind the rest, none is called slower."""
    if slower(clients):
        return list(clients)
    return [client.model_copy(update={"behind": "", "signs": []}) for client in clients]


def _rows(seen: Sequence[Seen]) -> Iterator[tuple[str, list[Seen]]]:
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
    slow = [words for words, same in each.items() if same[0][1].machine_words in mixed and _is_behind(same)][:NAMED_MAX]
    for machine, there in machines.items():
        yield f"{counted(_count(there), 'client', 'clients')} on {machine}", there
        yield from ((words, each[words]) for words in slow if each[words][0][1].machine_words == machine)


def _count(same: Sequence[Seen]) -> int:
    """How many there were in a run; the most, where they were not always as many."""
    return max(Counter(run for run, _ in same).values())


def _is_behind(same: Sequence[Seen]) -> bool:
    """All of them, in most of the runs."""
    runs = {run for run, _ in same}
    kept_up = {run for run, client in same if not client.behind}
    return 2 * len(kept_up) < len(runs)


def _answer(words: str, same: Sequence[Seen], seen: Sequence[Seen], contestant: str, setting: str) -> ClientAnswer:
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
        clients=_count(same),
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


def row_words(answer: ClientAnswer) -> list[str]:
    """As HEADS names them."""
    shares = (answer.busy_ratio, answer.no_core_ratio, answer.steal_ratio)
    return [
        f"{answer.client}, slower" if answer.is_behind else answer.client,
        grouped(answer.rate_ops_per_s),
        "-" if answer.share is None else percent_words(answer.share, digits=3),
        "-" if answer.p99_ms is None else milliseconds_words(answer.p99_ms),
        ", ".join(f"{outcome} {count:,}" for outcome, count in answer.errors.items()) or "0",
        "-" if answer.cpu_us_per_op is None else grouped(answer.cpu_us_per_op),
        *("-" if share is None else percent_words(share) for share in shares),
        "-" if answer.server_round_trip_ms is None else milliseconds_words(answer.server_round_trip_ms),
        _clock_words(answer),
    ]


def _clock_words(answer: ClientAnswer) -> str:
    """ "36,000 s ± 120 µs"; between two machines it says when each was started."""
    if answer.clock_offset_s is None or answer.clock_bound_ms is None:
        return "-"
    size_s = abs(answer.clock_offset_s)
    size = f"{size_s:,.0f} s" if size_s >= 1 else duration_words(size_s * 1e9)
    return f"{'-' if answer.clock_offset_s < 0 else ''}{size} ± {milliseconds_words(answer.clock_bound_ms)}"
