"""On which machines the clients of runs were, and how well their clocks are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ..analysis.slow_clients import by_machine, least_known_clock
from ..analysis.wording import counted, duration_words
from ..findings.contestants import Contest
from ..model.clients import THIS_MACHINE, ClientRecord
from ..model.records import RunRecord

#: So many machines are named.
NAMED_MAX = 5


def machines_of(run: RunRecord) -> list[str]:
    """Of a run that tells nothing of its clients, it was this one."""
    return list(by_machine(run.clients)) or [THIS_MACHINE]


def machines_words(runs: Iterable[RunRecord]) -> str:
    """ "load1, load2"; "load1, load2 | load1" where it was not the same in all."""
    done = (run for run in runs if run.state == "done")
    return " | ".join(sorted({", ".join(sorted(machines_of(run))) for run in done}))


def places_words(run: RunRecord) -> str:
    """How many clients were where: "2 clients on each of load1, load2, load3", "3 clients on load1, 2 clients on
    load2"; "" where nothing is told of them."""
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


def named_words(machines: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = [f"{len(machines) - NAMED_MAX} more"] if len(machines) > NAMED_MAX else []
    return ", ".join([*machines[:NAMED_MAX], *more])


def places_differ_words(contest: Contest, runs: Mapping[str, Sequence[RunRecord]]) -> list[str]:
    """Cells whose runs were not all made from the same machines."""
    found = []
    for cell in contest.plan.cells:
        places = Counter(words for run in runs[cell.id] if (words := places_words(run)))
        if len(places) > 1:
            told = "; ".join(f"{counted(count, 'run', 'runs')} with {words}" for words, count in places.items())
            found.append(f"the load machines were not always the same: {cell.label}: {told}")
    return found


def row_words(runs: Sequence[RunRecord]) -> str:
    """For the page's list of facts: each way the clients were spread, and what is known of the clocks."""
    spreads = list(dict.fromkeys(words for run in runs if (words := places_words(run))))
    clocks = least_known_clock([client for run in runs for client in run.clients])
    bound = f"; clocks known to within {duration_words(clocks.clock_bound_ns)}" if clocks else ""
    more = f" and {len(spreads) - NAMED_MAX} other ways" if len(spreads) > NAMED_MAX else ""
    return f"{' | '.join(spreads[:NAMED_MAX])}{more}{bound}"


def elsewhere(runs: Sequence[RunRecord]) -> list[str]:
    """The other machines, where no client was on this one in any run; else none."""
    machines = dict.fromkeys(machine for run in runs if run.state == "done" for machine in machines_of(run))
    return [] if THIS_MACHINE in machines else list(machines)
