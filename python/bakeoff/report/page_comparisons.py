"""Comparisons and levels as rows of the page, each with its picture."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from ..analysis.metric import Metric
from ..analysis.registry import metric
from ..analysis.wording import interval_words
from ..charts.interval import interval, reach_of
from ..findings.run_values import Spread
from .answer import Answer, ComparisonAnswer
from .pair_words import value_words
from .shape_words import finding_words


def comparison_rows(answer: Answer) -> list[dict[str, Any]]:
    found, objective = [*answer.comparisons, *answer.over_all], metric(answer.objective, answer.rates)
    reach = reach_of([r for c in found for r in (c.low, c.high, c.ratio) if r is not None])
    rows = []
    for before, c in zip([None, *found], found, strict=False):
        rows.append(
            {
                "found": c,
                "first": before is None or before.setting_words != c.setting_words,
                "series": answer.contestants.index(c.other),
                "other_value": "" if c in answer.over_all else value_words(c.other_value, objective, c.other_why),
                "base_value": "" if c in answer.over_all else value_words(c.base_value, objective, c.base_why),
                "picture": _picture(c, answer.contestants.index(c.other), reach),
            }
        )
    return rows


def shape_rows(answer: Answer) -> list[dict[str, Any]]:
    """Level by level. All lines share the axis of their pictures."""
    objective = metric(answer.objective, answer.rates)
    against = [level.against for shape in answer.shapes for level in shape.levels if level.against]
    reach = reach_of([r for c in against for r in (c.low, c.high, c.ratio) if r is not None])
    return [
        {
            "contestant": shape.contestant,
            "series": answer.contestants.index(shape.contestant),
            "setting": shape.setting_words,
            "levels": [
                {
                    "words": level.level_words,
                    "value": value_words(level.value.value if level.value else None, objective),
                    "interval": _interval_words(level.value, objective),
                    "finding": finding_words(shape, level, objective),
                    "may_be_best": level.level in shape.best,
                    "picture": _picture(level.against, answer.contestants.index(shape.contestant), reach),
                }
                for level in shape.levels
            ],
        }
        for shape in answer.shapes
    ]


def _interval_words(spread: Spread | None, objective: Metric) -> str:
    if spread is None or spread.low is None or spread.high is None:
        return ""
    return interval_words(spread.low, spread.high, objective.words, " – ")


def _picture(c: ComparisonAnswer | None, series: int, reach: float) -> Markup | None:
    if c is None or c.ratio is None or c.low is None or c.high is None:
        return None
    canvas = interval(c.ratio, c.low, c.high, series=series, reach=reach, words=c.words)
    return Markup(canvas.inline(c.words))  # the canvas escapes
