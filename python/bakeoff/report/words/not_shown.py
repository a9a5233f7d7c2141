"""What the figures of a bundle do not show. A report without this section is an advertisement."""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis.validity.client_limit import cpu_share
from ...analysis.wording import bytes_words, counted, percent_words, significant
from ...bundle.read import Bundle
from ...findings.cells import CellAnswer
from ...findings.clients_and_nodes import elsewhere
from ...findings.configuration import packagers
from ...model.levels import STORAGE, TABLE_FORMAT, is_own_sql, work_of
from ...model.peers import peer_words
from ...model.records.bundle import CONTINUED
from ...model.records.plan import EXISTING_PREFIX, PlanRecord, price_words
from ...model.records.run import RunRecord
from ...provision.powerloss import SLOWED

#: Below this a window is shorter than the slow rhythms of a database: checkpoints, purge, compaction.
WINDOW_LONG_S = 60.0
#: Smaller tables are mostly room to grow.
_VALUES_LEAST_BYTES = 64 << 20
#: Names of checks in a sentence.
CHECKS_MAX = 6


def limits_of(bundle: Bundle, cells: Sequence[CellAnswer]) -> list[str]:
    plan = bundle.plan
    found = [
        *(f"{words}." for words in peer_words(plan.cells)),
        _workload(bundle.plan, cells),
        _machine(bundle),
        _packagers(bundle),
        _slowed(bundle),
        _loop(plan.pacing),
        _window(plan.window_s),
        _memory(bundle, cells),
        _caches(cells),
        _compression(bundle),
        _history(plan),
        _prices(plan),
        _found(bundle),
        _sessions(bundle),
        _search(bundle),
        "No system was tuned beyond the settings listed under Configuration; an expert could make each faster.",
        _repetitions(plan.repetitions),
        _damaged(bundle),
    ]
    return [words for words in found if words]


def _workload(plan: PlanRecord, cells: Sequence[CellAnswer]) -> str:
    names = list(dict.fromkeys(cell.workload for cell in cells))
    listed = "; ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    own = [is_own_sql(work_of(plan, cell)) for cell in plan.cells]
    work = "your own SQL" if all(own) else "in part your own SQL, else synthetic" if any(own) else "synthetic"
    return f"The work is {work} ({listed}): other queries, data and access patterns may give another order."


def _prices(plan: PlanRecord) -> str:
    words = "; ".join(price_words(plan.cells))
    return words and (
        f"Cost has only what the plan has prices for ({words}): backups, traffic and people are not in it, nor the"
        " machines of the clients unless the plan counted them."
    )


def _sessions(bundle: Bundle) -> str:
    continued = sum(words.startswith(CONTINUED) for words in bundle.info.messages)
    if not continued:
        return (
            f"Repetitions were made in one session on {_same(bundle)}: the intervals cover its noise, not that of other"
            " machines, days or data."
        )
    return (
        f"Repetitions were made in {continued + 1} sessions on {_same(bundle)}, because the bundle was continued: the"
        " intervals cover their noise, not that of other machines, days or data."
    )


def _search(bundle: Bundle) -> str:
    if bundle.plan.search is None:
        return ""
    return (
        "The interval of a search is about the state that the machine had while it searched. Where that varies by 5 %"
        " from minute to minute, intervals held the capacity in 69 of 100 simulated searches: search again at another"
        " time."
    )


def _machine(bundle: Bundle) -> str:
    if bundle.facts and all(facts.embedded for facts in bundle.facts.values()):
        return "The database ran inside the client's process, and its CPU time is the client's: no server was between."
    if machines := elsewhere(bundle.runs):
        return (
            f"Clients ran on {counted(len(machines), 'other machine', 'other machines')}, of which only cores, clocks,"
            " steal and the way to the server are recorded; the network between is not."
        )
    if any(run.machine.server_not_distinguished for run in bundle.runs):
        return (
            "A server ran on the client's machine, and its processes may not be looked at (they are another user's):"
            " what CPU time it took is not known. Run bakeoff as that user, or as root, to see it."
        )
    told = [facts for facts in bundle.facts.values() if not facts.embedded]
    if any(facts.managed for facts in told) or any(run.server.cpu_s is not None for run in bundle.runs):
        competed = "they competed for CPU"
        if {"client", "server"} <= bundle.plan.placement.keys():
            competed = "`placement` gave each its cores"
        return (
            f"Client and server shared one machine of {bundle.machine.cores} cores: {competed}"
            f"{_client_share(bundle.runs)}, and no network lay between them. Compare the sum of client and server CPU"
            " per operation."
        )
    return "Network and server machine are outside of what was recorded; only the client's machine is described."


def _packagers(bundle: Bundle) -> str:
    """Of what is compared."""
    if not (found := packagers(bundle.facts.values())):
        return ""
    return (
        f"The builds come from different packagers: {', '.join(found)}. Their compilers and options differ as well as"
        " what the plan varies; builds of one source differ in that alone."
    )


def _slowed(bundle: Bundle) -> str:
    """Of servers whose storage bakeoff slows."""
    slowed = (facts.portable[STORAGE] for facts in bundle.facts.values() if STORAGE in facts.portable)
    words = dict.fromkeys(one.removeprefix(SLOWED) for one in slowed)
    if not words:
        return ""
    return (
        f"Storage was {SLOWED}{'; '.join(words)}. The library that slows it takes up to a microsecond of each write"
        " itself, and nothing slows reads: the figures show what waiting for a sync costs, not what a device would do."
    )


def _client_share(runs: Sequence[RunRecord]) -> str:
    """Said once for all runs: that client and server take turns is no finding about one of them."""
    shares = [share for run in runs if (share := cpu_share(run.client_cpu_s, run.server.cpu_s)) is not None]
    if not shares:
        return ""
    least, most = percent_words(min(shares)), percent_words(max(shares))
    return f" (the client took {least if least == most else f'{least} to {most}'} of what both used)"


def _same(bundle: Bundle) -> str:
    return "one set of machines" if elsewhere(bundle.runs) else "one machine"


def _loop(pacing: str) -> str:
    if pacing.startswith("closed"):
        return (
            "The load is a closed loop: each user waits for an answer before the next request, so a slow system gets"
            " fewer. For response times at a given load, set `rate`."
        )
    return ""


def _window(window_s: float | None) -> str:
    if window_s is None or window_s >= WINDOW_LONG_S:
        return ""
    return f"Windows of {window_s:g} s: rarer events (checkpoints, purge, compaction, full caches) hardly show."


def _memory(bundle: Bundle, cells: Sequence[CellAnswer]) -> str:
    sizes = [cell.size_on_disk_bytes for cell in cells if cell.size_on_disk_bytes]
    if not sizes or max(sizes) >= bundle.machine.memory_bytes:
        return ""
    return (
        f"The largest data set takes {bytes_words(max(sizes))}, the machine has"
        f" {bytes_words(bundle.machine.memory_bytes)} of memory: reads come from caches, storage is hardly tested."
    )


def _caches(cells: Sequence[CellAnswer]) -> str:
    ratios: dict[str, float] = {}
    for cell in cells:
        if cell.data_to_cache_ratio is not None:
            ratios[cell.contestant] = max(cell.data_to_cache_ratio, ratios.get(cell.contestant, 0.0))
    if not ratios:
        return ""
    listed = ", ".join(f"{name} {significant(ratio, 2)}" for name, ratio in ratios.items())
    return f"Data on disk over the system's own cache: {listed}. Below 1 everything fits, and storage is hardly tested."


def _compression(bundle: Bundle) -> str:
    """Of compressed tables that take as much as the values in them."""
    for load in bundle.loads:
        taken, values = load.size_on_disk_bytes, load.values_bytes
        facts = [bundle.facts[cell] for cell in load.cells if cell in bundle.facts]
        compressed = any("COMPRESS" in one.portable.get(TABLE_FORMAT, "") for one in facts)
        if compressed and taken and values and taken >= values >= _VALUES_LEAST_BYTES:
            return (
                f"The compressed tables of {load.system} take {bytes_words(taken)} on disk, and the values in them"
                f" {bytes_words(values)}: compression found nothing in the values. Most workloads write random ones,"
                " which do not compress. Rows of your own may, and sysbench's digits and LinkBench's payload do."
            )
    return ""


def _history(plan: PlanRecord) -> str:
    if not any((cell.reset or plan.reset) == "none" for cell in plan.cells):
        return ""
    return (
        "Nothing was put back between runs: each began where the last one ended on its data, so repetitions are not"
        " independent of their order. What wears the data steadily hits all cells alike, because blocks balance their"
        " order; what one cell leaves to the next is in the figures."
    )


def _found(bundle: Bundle) -> str:
    """Of data that existed before: what was checked of them, by the records of it."""
    names = {cell.system for cell in bundle.plan.cells if cell.dataset.startswith(EXISTING_PREFIX)}
    if not names:
        return ""
    done = [load for load in bundle.loads if load.system in names and load.dataset.startswith(EXISTING_PREFIX)]
    rests = "That all systems hold the same rows rests on who loaded them."
    if unchecked := sorted(names - {load.system for load in done if load.checks}):
        where = "" if set(unchecked) == names else f" on {', '.join(unchecked)}"
        return f"The data existed before, and no row of them was checked{where}. {rests}"
    checks = list(dict.fromkeys(check.name for load in done for check in load.checks))
    listed = ", ".join(checks[:CHECKS_MAX]) + (
        f" and {len(checks) - CHECKS_MAX} more" if len(checks) > CHECKS_MAX else ""
    )
    return f"The data existed before. What was checked of them before the first run: {listed}; not every value. {rests}"


def _repetitions(repetitions: int) -> str:
    if repetitions >= 5:
        return ""
    have = "1 repetition is" if repetitions == 1 else f"{repetitions} repetitions are"
    return f"{have} too few to compare: values are shown, differences are not judged."


def _damaged(bundle: Bundle) -> str:
    damage = list(bundle.damage)
    return f"Parts of the bundle could not be read: {'; '.join(damage)}" if damage else ""
