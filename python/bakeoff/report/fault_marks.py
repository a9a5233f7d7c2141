"""What was done to servers in a setting's runs, and what became of them, on the time axis that charts have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from ..charts.marks import Mark
from ..model.faults import FaultRecord
from ..model.records import RunRecord

#: A server that was back so soon needs no mark of its own for that.
_AT_ONCE_S = 0.5


def marks_of(runs: Sequence[RunRecord], warm_up_s: float) -> list[Mark]:
    """Each once, at the time that is typical of these runs."""
    planned: dict[tuple[int, str], list[float]] = {}
    unplanned: dict[str, list[float]] = {}
    for run in runs:
        for number, fault in enumerate(run.faults):
            for words, at_s in _of_fault(fault):
                planned.setdefault((number, words), []).append(at_s)
        for words, at_s in _of_silences(run):
            unplanned.setdefault(words, []).append(at_s)
    return [
        *(Mark(warm_up_s + median(times), words) for (_, words), times in planned.items()),
        *(Mark(warm_up_s + median(times), words, planned=False) for words, times in unplanned.items()),
    ]


def _of_fault(fault: FaultRecord) -> Iterator[tuple[str, float]]:
    if fault.begun_s is not None:
        yield fault.planned.label, fault.begun_s
    if fault.ended_s is None or fault.after_load:
        return
    if fault.planned.do != "restart":
        yield fault.planned.end_label, fault.ended_s
    if fault.back_s is not None and fault.back_s - fault.ended_s > _AT_ONCE_S:
        yield f"{fault.planned.node} back", fault.back_s


def _of_silences(run: RunRecord) -> Iterator[tuple[str, float]]:
    for silence in run.silences:
        if not silence.planned:
            yield f"{silence.node} silent", silence.from_s
            if silence.to_s is not None:
                yield f"{silence.node} answers", silence.to_s
