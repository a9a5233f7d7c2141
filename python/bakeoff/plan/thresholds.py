"""Thresholds of a plan that could never be judged are refused: a check that cannot see must not run for an hour."""

from __future__ import annotations

from ..analysis.fail_if import Condition, parse_threshold
from ..errors import PlanError
from ..findings.contestants import Contest
from .resolved import ResolvedPlan

#: By the unit of the metric.
_EXAMPLES = {"ms": "2ms", "s": "2s", "ops/s": "5000/s", "1/s": "5000/s", "rows/s": "5000/s", "ratio": "1%"}


def refuse_unjudged(plan: ResolvedPlan) -> None:
    """Of a whole plan, with all that is run side by side. Not where a part of it was chosen, or a system is missing on
    this machine: that is no mistake of the plan's, and the thresholds are told as not judged."""
    record = plan.record
    why = "" if plan.skipped or record.only else _no_pairs(plan)
    for text in record.fail_if if why else []:
        fails = parse_threshold(text, record.rates)
        if isinstance(fails, Condition):
            value = _EXAMPLES.get(fails.objective.unit, "100")
            hint = f'write a value, such as "{fails.objective.name} {fails.sign} {value}"'
            raise PlanError(f'"{text}" is a change against a baseline, and {why}', where=_where(plan, text), hint=hint)


def _no_pairs(plan: ResolvedPlan) -> str:
    """Why nothing is compared with a baseline; "" where something is."""
    record = plan.record
    if record.search is not None:
        return "a search compares no pairs"
    if record.baseline is None:
        return "this plan compares nothing with another"
    if Contest(record).is_sweep:
        return f"the levels of {record.compare_factor} are answered by their shape, without pairs"
    return ""


def _where(plan: ResolvedPlan, text: str) -> str:
    name = str(plan.path or "the plan")
    own = plan.record.resolved.get("compare", {}).get("fail_if", [])
    return f"{name}, {'[compare] fail_if' if text in own else '--fail-if'}"
