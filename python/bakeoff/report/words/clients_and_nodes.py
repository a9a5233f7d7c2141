"""Clients, their machines, nodes and how far replicas were behind, in sentences and as rows of tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ...analysis.validity.slow_clients import behind_words, by_machine, crowded_words, least_known_clock
from ...analysis.wording import counted, duration_words, grouped, milliseconds_words, percent_words, seconds_words
from ...bundle.read import Bundle
from ...findings.clients_and_nodes import NAMED_MAX, ClientAnswer, NodeAnswer, named_words
from ...findings.contestants import Contest, at_words, setting_words
from ...findings.run_values import lags_s
from ...findings.runs import of_runs, used_runs
from ...model.clients import ClientRecord
from ...model.records.run import RunRecord

#: Of more clients than this the least and the most are reported.
SHARES_MAX = 4


def client_sentences(contest: Contest, runs: Mapping[str, Sequence[RunRecord]]) -> list[str]:
    """Of the first cell in which some client differed from the others in most of the runs, and of how many more; else
    of all cells with several clients together."""
    several, found = [], []
    for cell in contest.plan.cells:
        used = used_runs(runs[cell.id])
        if not any(len(run.clients) > 1 for run in used):
            continue
        several.append(used)
        behind = sorted((run for run in used if _tells_apart(run)), key=lambda run: run.rate_ops_per_s)
        if 2 * len(behind) <= len(used):
            continue
        where = ", ".join(filter(None, (contest.contestant(cell), setting_words(contest.setting(cell)))))
        often = "" if len(used) == 1 else f", in {of_runs(len(behind), len(used))}"
        found.append(f"{where}{often}: {_of_one_run(behind[len(behind) // 2], several=len(used) > 1)}.")
    if not found:
        return [_even_words(several)] if several else []
    if len(found) < 2:
        return found
    cells = counted(len(found) - 1, "other cell", "other cells")
    return [found[0], f"In {cells} some client differed from the others, too: see the table of clients."]


def _tells_apart(run: RunRecord) -> bool:
    return any(client.behind for client in run.clients)


def _of_one_run(run: RunRecord, *, several: bool) -> str:
    whose = f"block {run.block}'s" if several else "this run's"
    return behind_words(run.clients, server_is_here=run.server_is_here, whose=whose)


def _even_words(cells: Sequence[Sequence[RunRecord]]) -> str:
    """Of cells in which no client differed from the others in most of the runs."""
    every = [run for used in cells for run in used]
    apart = sum(map(_tells_apart, every))
    differed = f"in {of_runs(apart, len(every))} some client differed from the others"
    slower = differed if apart else "none was clearly slower than the others"
    return f"{_shares_words(cells)}; {slower}, and {_limit_words(every)}."


def _limit_words(runs: Sequence[RunRecord]) -> str:
    """Whether a client was the limit, or all of them waited for the cores of a machine that is full of them."""
    if limited := sum(run.verdict.client_limited for run in runs):
        return f"in {of_runs(limited, len(runs))} a client was the limit"
    if crowded := sum(bool(crowded_words(run.clients)) for run in runs):
        return f"in {of_runs(crowded, len(runs))} clients waited for each other's cores"
    return "none was the limit"


def _shares_words(cells: Sequence[Sequence[RunRecord]]) -> str:
    """ "3 clients on 3 machines had 33.9, 33.2 and 32.9 % of the throughput"; several cells: how far from even."""
    shares = [_shares(used) for used in cells]
    if len(cells) > 1:
        even = [share * len(own) for own in shares for share in own]
        return (
            f"In {len(cells)} cells with several clients each had {_from_to(even)} of an even share of the throughput"
        )
    (own,), where = shares, where_words(cells[0][0].clients)
    if len(own) > SHARES_MAX:
        return f"{len(own)} clients {where} had {_from_to(own)} of the throughput each"
    *most, last = (percent_words(share, digits=3).removesuffix(" %") for share in own)
    return f"{len(own)} clients {where} had {', '.join(most)} and {last} % of the throughput"


def _from_to(shares: Sequence[float]) -> str:
    least, most = percent_words(min(shares), digits=3), percent_words(max(shares), digits=3)
    return least if least == most else f"{least.removesuffix(' %')} to {most}"


def _shares(used: Sequence[RunRecord]) -> list[float]:
    """Each client's share of the throughput of all, over the runs together."""
    rates: dict[int, float] = {}
    for client in (client for run in used for client in run.clients):
        rates[client.number] = rates.get(client.number, 0.0) + client.rate_ops_per_s
    whole = sum(rates.values())
    return [rate / whole if whole else 0.0 for _, rate in sorted(rates.items())]


CLIENT_HEADS = (
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


def client_row(answer: ClientAnswer) -> list[str]:
    """As CLIENT_HEADS names them."""
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


def places_words(run: RunRecord) -> str:
    """How many clients were where: "2 clients on each of load1, load2, load3", "3 clients on load1, 2 clients on
    load2"; "" if nothing is known of them."""
    counts = Counter(client.machine_words for client in run.clients)
    if not counts:
        return ""
    if len(set(counts.values())) > 1 and len(counts) <= NAMED_MAX:
        return ", ".join(f"{counted(count, 'client', 'clients')} on {machine}" for machine, count in counts.items())
    least, most = min(counts.values()), max(counts.values())
    each = counted(most, "client", "clients") if least == most else f"{least} to {most} clients"
    return f"{each} on {'each of ' if len(counts) > 1 else ''}{named_words(list(counts))}"


def where_words(clients: Sequence[ClientRecord]) -> str:
    """ "on 3 machines", "on load1", "on this machine (load1, load2)"."""
    machines = by_machine(clients)
    if len(machines) > 1:
        return f"on {len(machines)} machines"
    (machine,) = machines
    names = list(dict.fromkeys(client.load_machine for client in clients if client.load_machine))
    return f"on {machine} ({named_words(names)})" if names else f"on {machine}"


def places_differ_words(contest: Contest, runs: Mapping[str, Sequence[RunRecord]]) -> list[str]:
    """Cells whose runs were not all made from the same machines."""
    found = []
    for cell in contest.plan.cells:
        places = Counter(words for run in runs[cell.id] if (words := places_words(run)))
        if len(places) > 1:
            told = "; ".join(f"{counted(count, 'run', 'runs')} with {words}" for words, count in places.items())
            found.append(f"the load machines were not always the same: {cell.label}: {told}")
    return found


def machines_and_clocks_words(runs: Sequence[RunRecord]) -> str:
    """For the page's list of facts: each placement of the clients, and what is known of the clocks."""
    spreads = list(dict.fromkeys(words for run in runs if (words := places_words(run))))
    clocks = least_known_clock([client for run in runs for client in run.clients])
    bound = f"; clocks known to within {duration_words(clocks.clock_bound_ns)}" if clocks else ""
    more = f" and {len(spreads) - NAMED_MAX} other placements" if len(spreads) > NAMED_MAX else ""
    return f"{' | '.join(spreads[:NAMED_MAX])}{more}{bound}"


NODE_HEADS = ("node", "operations", "share", "p50", "p99", "errors", "sessions opened again", "did not answer")


def _silent_words(answer: NodeAnswer) -> str:
    if not answer.silences:
        return "-"
    if answer.runs < 2:
        return f"{answer.silences} x, {seconds_words(answer.silent_s)}"
    often = f"{answer.silences / answer.runs:.2g} x in each run"
    return f"{often}, {seconds_words(answer.silent_s / answer.silences)} each"


def node_row(answer: NodeAnswer) -> list[str]:
    """As NODE_HEADS names them."""
    times = ["-" if value is None else milliseconds_words(value) for value in (answer.p50_ms, answer.p99_ms)]
    return [
        f"{answer.node} ({answer.role})",
        f"{answer.operations:,}",
        "-" if answer.share is None else percent_words(answer.share, digits=3),
        *times,
        ", ".join(f"{outcome} {count:,}" for outcome, count in answer.errors.items()) or "0",
        f"{answer.reconnects:,}",
        _silent_words(answer),
    ]


#: Below it a replica is as good as level: it is asked once a second.
LEVEL_S = 0.5
#: Still falling behind: so much further at the end than halfway.
GROWING_RATIO = 1.2


def lag_sentences(contest: Contest, bundle: Bundle, runs: Mapping[str, Sequence[RunRecord]]) -> list[str]:
    """At the middle setting."""
    where = at_words(setting_words(contest.middle))
    told = [
        (name, _lag_words(bundle, used_runs(runs[cell.id]))) for name, cell in contest.cells_at(contest.middle).items()
    ]
    return [f"{name}{where}: {words}." for name, words in told if words]


def _lag_words(bundle: Bundle, runs: Sequence[RunRecord]) -> str:
    """Of the replica that was furthest behind in any run, as a clause; "" where there is none."""
    found = [(lags[-1], node, lags, run) for run in runs for node, lags in lags_s(bundle, run).items()]
    if not found:
        return ""
    furthest_s = max(max(lags) for _, _, lags, _ in found)
    if furthest_s < LEVEL_S:
        silent = {silence.node for run in runs for silence in run.silences}
        away = sorted(silent & {node for _, node, _, _ in found})
        known = f" while it answered; {' and '.join(away)} did not always answer" if away else ""
        return f"no replica was more than {seconds_words(furthest_s)} behind{known}"
    end_s, node, lags, run = max(found, key=lambda one: one[0])
    often = " in the worst repetition" if len(runs) > 1 else ""
    if end_s < LEVEL_S:
        return f"replicas were up to {seconds_words(furthest_s)} behind{often}, and not at the end"
    growing = ", and still falling behind" if end_s > GROWING_RATIO * lags[len(lags) // 2] else ""
    stale = "; reads there were that stale" if any(n.name == node and n.operations for n in run.nodes) else ""
    most = f" (at most {seconds_words(furthest_s)})" if furthest_s > GROWING_RATIO * end_s else ""
    return f"{node} was {seconds_words(end_s)} behind at the end{often}{most}{growing}{stale}"
