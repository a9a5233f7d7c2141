"""The headline's sentence about an answer that is not the first of its bundle, or that could not be recorded."""

from __future__ import annotations

from ..analysis.compare import ALPHA
from ..analysis.statistics import alpha_at
from ..model.records import PlanRecord
from .comparisons import Compared, value_thresholds


def look_words(compared: Compared) -> list[str]:
    """What it costs to have analysed the bundle before; nothing at the first analysis."""
    if compared.alpha is None:
        return [
            "This analysis could not be recorded in the bundle (it cannot be written to), so it claims nothing that was"
            " not claimed before: copy the bundle to a folder of your own, and report on the copy."
        ]
    if not compared.before or not compared.by_setting:
        return []
    return [
        f"This bundle was analysed before{_repetitions(compared)}: a difference is now claimed at"
        f" {_chance_words(compared.alpha)}. Verdicts that were given stand."
    ]


def value_look_words(plan: PlanRecord, compared: Compared) -> list[str]:
    """Of limits, and of a `fail_if` on values: their verdicts are of the latest runs, each time."""
    asked = [*(["`fail_if`"] if value_thresholds(plan) else []), *(["`limit`"] if plan.limits else [])]
    if compared.alpha is None or not compared.before or not asked:
        return []
    return [
        f"Values were compared with {' and '.join(asked)} before. They are judged again, over all runs, at"
        f" {_chance_words(compared.alpha)}. What was said of a value before does not stand."
    ]


def _chance_words(alpha: float) -> str:
    now, first, together = (f"{100 * one:.2g} %" for one in (alpha, alpha_at(1, ALPHA), ALPHA))
    return f"a chance of error of {now}, not {first}, so that all analyses together keep {together}"


def _repetitions(compared: Compared) -> str:
    made = [max((v.repetitions for v in one.verdicts), default=0) for one in compared.before]
    known = [str(count) for count in dict.fromkeys(made) if count]
    return f", with {' and with '.join(known)} repetitions" if known else ""
