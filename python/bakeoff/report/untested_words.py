"""What was not tested, in the headline's last sentence: "valid" says that nothing spoke against a run, not that all was
looked at."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.steady import SECONDS_MIN
from ..analysis.wording import counted
from ..model.records import PlanRecord, RunRecord

#: By the name of the check; of those that a reader takes for granted.
_WORDS = {
    "steady state": "steady state could not be judged",
    "integrity": "the data were not checked",
    "other processes": "whether other processes slowed it was not judged",
    "client": "whether the client was the limit was not judged",
}


def untested_words(plan: PlanRecord, runs: Sequence[RunRecord]) -> list[str]:
    """ "Steady state could not be judged (windows of 20 s; 30 s are needed)." """
    valid = [run for run in runs if run.valid]
    counts = {name: sum(v.name == name and v.ok is None for run in valid for v in run.validity) for name in _WORDS}
    clauses = [_clause(name, count, len(valid), plan) for name, count in counts.items() if count]
    words = "; ".join(clauses)
    return [f"{words[:1].upper()}{words[1:]}."] if words else []


def _clause(name: str, count: int, runs: int, plan: PlanRecord) -> str:
    window_s = plan.window_s
    if name == "steady state" and window_s is not None and window_s < SECONDS_MIN:
        return f"{_WORDS[name]} (windows of {window_s:g} s; {SECONDS_MIN} s are needed)"
    return _WORDS[name] if count == runs else f"{_WORDS[name]} in {count} of {counted(runs, 'run', 'runs')}"
