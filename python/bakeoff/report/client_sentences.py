"""Whether each of several clients got its share, and whether one was the limit, as the headline says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..analysis.slow_clients import behind_words, crowded_words
from ..analysis.wording import counted, percent_words
from ..findings.contestants import Contest, setting_words
from ..findings.runs import of_runs, used_runs
from ..model.records import RunRecord
from .client_places import where_words

#: More clients than so many are told by the least and the most of them.
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
    """ "3 clients on 3 machines had 33.9, 33.2 and 32.9 % of the rate"; of several cells how far from an even share."""
    shares = [_shares(used) for used in cells]
    if len(cells) > 1:
        even = [share * len(own) for own in shares for share in own]
        return f"In {len(cells)} cells with several clients each had {_from_to(even)} of an even share of the rate"
    (own,), where = shares, where_words(cells[0][0].clients)
    if len(own) > SHARES_MAX:
        return f"{len(own)} clients {where} had {_from_to(own)} of the rate each"
    *most, last = (percent_words(share, digits=3).removesuffix(" %") for share in own)
    return f"{len(own)} clients {where} had {', '.join(most)} and {last} % of the rate"


def _from_to(shares: Sequence[float]) -> str:
    least, most = percent_words(min(shares), digits=3), percent_words(max(shares), digits=3)
    return least if least == most else f"{least.removesuffix(' %')} to {most}"


def _shares(used: Sequence[RunRecord]) -> list[float]:
    """Of the rate of all, by client, over the runs together."""
    rates: dict[int, float] = {}
    for client in (client for run in used for client in run.clients):
        rates[client.number] = rates.get(client.number, 0.0) + client.rate_ops_per_s
    whole = sum(rates.values())
    return [rate / whole if whole else 0.0 for _, rate in sorted(rates.items())]
