"""Kinds of tests, by their names in a document: from a test and what was measured to its parts. A file a family."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..document import Trend
from ..measured import Measured, Part
from . import levels, over_time, ratios


def _trend(test: Trend, measured: Measured) -> Iterator[Part]:
    return over_time.trend(test, measured) if test.over == "time" else levels.trend(test, measured)


KINDS: Mapping[str, Callable[[Any, Measured], Iterator[Part]]] = {
    "difference": ratios.difference,
    "ratio": ratios.ratio,
    "equivalent": ratios.equivalent,
    "level": ratios.level,
    "variability": ratios.variability,
    "order": levels.order,
    "trend": _trend,
    "peak": levels.peak,
    "independent": levels.independent,
    "change": over_time.change,
    "law": over_time.law,
}
