"""The runs of a cell together: which of them are shown, what made their load, what speaks against them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ..analysis.wording import counted
from ..model.records import RunRecord


def runs_by_cell(runs: Iterable[RunRecord]) -> dict[str, list[RunRecord]]:
    """Ordered by block; a cell without runs has an empty list."""
    grouped: dict[str, list[RunRecord]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.block):
        grouped[run.cell].append(run)
    return grouped


def used_runs(runs: Sequence[RunRecord]) -> list[RunRecord]:
    """Those whose figures are shown: the valid ones, or all finished ones if none is valid."""
    return [run for run in runs if run.valid] or [run for run in runs if run.state == "done"]


def clients_of(runs: Iterable[RunRecord]) -> list[str]:
    """What spoke to the system, each way once: "wire, reactor, io_uring". Sorted: runs come in an order of chance."""
    ways = (", ".join(filter(None, (run.client, run.runner, run.io))) for run in runs)
    return sorted({way for way in ways if way})


def findings_of(runs: Sequence[RunRecord]) -> list[str]:
    """What speaks against the runs of a cell, each kind once with the words of the first run that has it."""
    found: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        if run.state == "failed":
            found["invalid: run failed"].append(run.failure)
        for v in run.validity:
            if v.ok is False and v.severity != "note":
                found[f"{v.severity}: {v.name}"].append(v.words)
    return [
        f"{name} ({of_runs(len(words), len(runs))}): {words[0]}"
        for name, words in sorted(found.items(), key=lambda item: not item[0].startswith("invalid"))
    ]


def of_runs(count: int, runs: int) -> str:
    """ "1 of 5 runs", "all 5 runs"."""
    return f"all {runs} runs" if count == runs > 1 else f"{count} of {counted(runs, 'run', 'runs')}"
