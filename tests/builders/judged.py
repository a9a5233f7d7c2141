"""Runs under judgement, made of the facts that a test is about, each named as its record names it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from bakeoff.analysis.validity.judged_run import JudgedRun
from bakeoff.model.boundary import HistogramDoc, Series
from bakeoff.model.records.run import ClientVerdict, MachineSide, RunRecord, ServerSide

OF_RUN = {"id": "b01-c", "block": 1, "cell": "c", "order": 0, "started": "", "state": "done", "seed": 1}
_PARTS = {"machine": MachineSide, "server": ServerSide, "verdict": ClientVerdict}


def judged(**facts: Any) -> JudgedRun:
    """A fact is one of the judged run, of its record, or of that record's machine, server or verdict. counted:
    operations in the figures. p99_ns, late_p99_ns: of the response times and of how late operations began."""
    own = {field.name for field in fields(JudgedRun)}
    counted = facts.pop("counted", 1)
    times, late = times_of(facts.pop("p99_ns", 0), facts.pop("out_of_range", 0)), times_of(facts.pop("late_p99_ns", 0))
    series = [Series(operation="read", part_of=None, outcome="ok", count=counted, response=times, service=times)]
    record: dict[str, Any] = {"series": series if counted else [], "headline": times, "lateness": late}
    for part, model in _PARTS.items():
        record[part] = model(**{name: facts.pop(name) for name in list(facts) if name in model.model_fields})
    judging = {name: facts.pop(name) for name in list(facts) if name in own}
    return JudgedRun(RunRecord(**OF_RUN | record | facts), **{"error_budget_ratio": 0.001} | judging)


def times_of(p99_ns: int, out_of_range: int = 0) -> HistogramDoc:
    return HistogramDoc.empty().model_copy(
        update={"count": 1 if p99_ns else 0, "p99_ns": p99_ns, "out_of_range": out_of_range}
    )
