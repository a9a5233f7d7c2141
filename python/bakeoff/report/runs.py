"""The runs of a cell together: which of them are shown, what made their load, what speaks against them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from ..analysis.estimate import REPETITIONS_MIN
from ..analysis.wording import counted
from ..model.records import CellRecord, RunRecord, Validity
from .invalid_runs import causes, failure_words
from .worst import median_words, worst_words

_WORST_FIRST = ("invalid", "disturbed", "warning")


def runs_by_cell(runs: Iterable[RunRecord]) -> dict[str, list[RunRecord]]:
    """Ordered by block; a cell without runs has an empty list."""
    grouped: dict[str, list[RunRecord]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.block):
        grouped[run.cell].append(run)
    return grouped


def used_runs(runs: Sequence[RunRecord]) -> list[RunRecord]:
    """Those whose figures are shown: the valid ones, or all finished ones if none is valid."""
    return [run for run in runs if run.valid] or [run for run in runs if run.state == "done"]


def that_count(runs: Iterable[RunRecord], hit: Collection[int] = ()) -> list[RunRecord]:
    """Those that say something of the system, well or ill; a disturbed run says nothing. hit: blocks that are left
    out, see `hit_together`."""
    return [run for run in runs if run.block not in hit and (run.valid or run.standing != "disturbed")]


def hit_together(cells: Iterable[CellRecord], runs: Mapping[str, Sequence[RunRecord]]) -> set[int]:
    """Blocks in which every run is invalid for the same cause, whatever the system: that was something else than any of
    them. With a single system it may have been the system."""
    systems = {cell.id: cell.system for cell in cells}
    if len(set(systems.values())) < 2:
        return set()
    by_block: dict[int, list[RunRecord]] = defaultdict(list)
    for run in (run for made in runs.values() for run in made):
        by_block[run.block].append(run)
    return {
        block
        for block, made in by_block.items()
        if not any(run.valid for run in made)
        and len({causes(run) for run in made}) == 1
        and len({systems[run.cell] for run in made}) > 1
    }


def too_few_undisturbed(runs: Sequence[RunRecord]) -> bool:
    """Of one cell: whether disturbance left it fewer runs than a claim needs."""
    return len(that_count(runs)) < min(len(runs), REPETITIONS_MIN)


def clients_of(runs: Iterable[RunRecord]) -> list[str]:
    """What spoke to the system, each way once: "wire, reactor, io_uring". Sorted: runs come in an order of chance."""
    ways = (", ".join(filter(None, (run.client, run.runner, run.io))) for run in runs)
    return sorted({way for way in ways if way})


def findings_of(runs: Sequence[RunRecord]) -> list[str]:
    """What speaks against the runs of a cell, each kind once with the words of the run that has it worst."""
    found: dict[tuple[str, str], list[Validity]] = defaultdict(list)
    for run in runs:
        if run.state == "failed":
            name = "run lost" if run.was_lost else "run failed"
            found["invalid", name].append(Validity(name=name, severity="invalid", ok=False, words=failure_words(run)))
        for v in run.validity:
            if v.ok is False and v.severity != "note":
                found[v.severity, v.name].append(v)
    return [
        f"{severity}: {name} ({_how_often(of_kind, len(runs))}): {worst_words(of_kind)}"
        for (severity, name), of_kind in sorted(found.items(), key=lambda item: _WORST_FIRST.index(item[0][0]))
    ]


def _how_often(found: Sequence[Validity], runs: int) -> str:
    """ "3 of 5 runs", "all 5 runs, the worst of them; the median is 11 %"."""
    often = of_runs(len(found), runs)
    if len(found) < 2 or all(one.words == found[0].words for one in found):
        return often
    if all(one.value is None for one in found):
        return f"{often}, one of them"
    median = median_words(found)
    return f"{often}, the worst of them{f'; the median is {median}' if median else ''}"


def of_runs(count: int, runs: int) -> str:
    """ "1 of 5 runs", "all 5 runs"."""
    return f"all {runs} runs" if count == runs > 1 else f"{count} of {counted(runs, 'run', 'runs')}"
