"""Response times that a workload's rules ask for, beside what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..analysis.histograms import Histogram
from ..analysis.response_times import Distribution, is_overloaded, operation_distribution
from ..analysis.wording import milliseconds_words, percent_words
from ..model.boundary import Document, ResponseLimit
from ..model.records import RunRecord


class LimitAnswer(Document):
    """One rule, and how an operation stood to it over all repetitions."""

    operation: str
    #: The share of the operation that is to end right within `most_ms`.
    share: float
    most_ms: float
    #: How long that share took; None where it may not be stated: `words` say why.
    value_ms: float | None
    words: str
    #: None: not known.
    met: bool | None

    @property
    def rule_words(self) -> str:
        """ "90 % within 5.00 s"."""
        return f"{percent_words(self.share)} within {milliseconds_words(self.most_ms)}"

    @property
    def verdict(self) -> str:
        return "not known" if self.met is None else "met" if self.met else "not met"


def limit_answers(limits: Iterable[ResponseLimit], runs: Sequence[RunRecord]) -> list[LimitAnswer]:
    """runs: of one cell. What fails ranks above every time."""
    if not runs:
        return []
    return [_limit_answer(limit, runs) for limit in limits]


def _limit_answer(limit: ResponseLimit, runs: Sequence[RunRecord]) -> LimitAnswer:
    spread = operation_distribution(runs, limit.operation) or Distribution(Histogram.empty())
    found = spread.percentile(limit.percentile)
    value_ms, words, met = None, found.words, None
    if any(map(is_overloaded, runs)):
        words = "not stated (overloaded)"
    elif found.value_ns is not None:
        value_ms = found.value_ns / 1e6
        too_long = value_ms > limit.most_s * 1e3
        met = None if found.at_least and not too_long else not too_long
    elif spread.can_state(limit.percentile):
        met = False  # so many failed
    return LimitAnswer(
        operation=limit.operation,
        share=limit.percentile,
        most_ms=limit.most_s * 1e3,
        value_ms=value_ms,
        words=words,
        met=met,
    )
