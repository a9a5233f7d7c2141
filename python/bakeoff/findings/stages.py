"""How each stage of an offered rate that changes went, over the repetitions of each cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pydantic import Field

from ..analysis.percentiles import Distribution, decode
from ..model.boundary import Document
from ..model.records.plan import Scalar
from ..model.records.run import RunRecord, StageRecord
from .contestants import Contest, setting_words
from .run_values import Spread, spread_of
from .runs import used_runs

#: Of response times and of service times.
STAGE_QUANTILES = {"p50_ms": 0.5, "p99_ms": 0.99, "p999_ms": 0.999}
OVERLOADED = "not stated (overloaded)"


class StageAnswer(Document):
    """One stage (or a part of one) in one cell, over the runs that are shown. from_s, to_s: since the window's start;
    from_ops_per_s, to_ops_per_s: as planned. offered_ops_per_s: what fell due; rate_ops_per_s: what ended ok."""

    cell: str
    contestant: str
    setting: dict[str, Scalar]
    setting_words: str
    stage: str
    from_s: float
    to_s: float
    from_ops_per_s: float
    to_ops_per_s: float
    #: Of the whole seconds in it, which the figures are of; 0: there were none.
    length_s: float
    runs: int
    offered_ops_per_s: Spread | None = None
    rate_ops_per_s: Spread | None = None
    #: Of what ended in it, over all of those runs.
    error_ratio: float = 0.0
    #: More than the plan's error budget.
    over_budget: bool = False
    #: By name ("p99_ms"), without those that not every run has; in `words`, why.
    response: dict[str, Spread] = Field(default_factory=dict)
    service: dict[str, Spread] = Field(default_factory=dict)
    words: dict[str, str] = Field(default_factory=dict)
    #: Response times that operations which timed out reach down to: lower bounds.
    at_least: list[str] = Field(default_factory=list)
    #: Runs whose queue grew in it: they did not keep its rate.
    overloaded: int = 0
    #: The mean of those runs: operations that waited to be begun when it began, and when it ended.
    backlog_before: float = 0.0
    backlog: float = 0.0

    @property
    def broke(self) -> bool:
        return self.overloaded > 0 or self.over_budget

    @property
    def highest_ops_per_s(self) -> float:
        return max(self.from_ops_per_s, self.to_ops_per_s)


def stage_answers(contest: Contest, runs: Mapping[str, Sequence[RunRecord]]) -> list[StageAnswer]:
    """Cell by cell, in the order of time; none in a bundle from before stages were kept."""
    found = []
    for cell in contest.cells:
        used = [run for run in used_runs(runs[cell.id]) if run.stages]
        setting = contest.setting(cell)
        for same in zip(*(run.stages for run in used), strict=False):
            first = same[0]
            answer = StageAnswer(
                cell=cell.id,
                contestant=contest.contestant(cell),
                setting=dict(setting),
                setting_words=setting_words(setting),
                stage=first.name,
                **{name: getattr(first, name) for name in ("from_s", "to_s", "from_ops_per_s", "to_ops_per_s")},
                length_s=first.length_s,
                runs=len(same),
            )
            if all(one.length_s for one in same):
                answer = _with_figures(answer, same, contest.plan.error_budget_ratio)
            found.append(answer)
    return found


def _with_figures(answer: StageAnswer, same: Sequence[StageRecord], budget: float) -> StageAnswer:
    """same: the stage in each run."""
    ended = sum(one.ok + sum(one.errors.values()) for one in same)
    failed = sum(sum(one.errors.values()) for one in same)
    error_ratio = failed / ended if ended else 0.0
    response, words = _percentiles(same, response_times)
    service, _ = _percentiles(same, service_times)
    return answer.model_copy(
        update={
            "offered_ops_per_s": spread_of([one.due / one.length_s for one in same]),
            "rate_ops_per_s": spread_of([one.ok / one.length_s for one in same]),
            "error_ratio": error_ratio,
            "over_budget": error_ratio > budget,
            "response": response,
            "service": service,
            "words": words,
            "at_least": _bounds(same),
            "overloaded": sum(one.overloaded for one in same),
            "backlog_before": sum(one.backlog_before for one in same) / len(same),
            "backlog": sum(one.backlog for one in same) / len(same),
        }
    )


def _bounds(same: Sequence[StageRecord]) -> list[str]:
    spreads = [spread for one in same if (spread := response_times(one)) is not None]
    return [name for name, q in STAGE_QUANTILES.items() if any(one.percentile(q).at_least for one in spreads)]


def response_times(stage: StageRecord) -> Distribution | None:
    """None where it may not be stated: of a queue that grows it says only how long the stage was."""
    return None if stage.overloaded else Distribution(decode(stage.response), stage.failures, unknown=stage.unknown)


def service_times(stage: StageRecord) -> Distribution:
    return Distribution(decode(stage.service))


def _percentiles(
    same: Sequence[StageRecord], spread: Callable[[StageRecord], Distribution | None]
) -> tuple[dict[str, Spread], dict[str, str]]:
    """Over the runs; and why one is not stated, in words."""
    found: dict[str, Spread] = {}
    words: dict[str, str] = {}
    of_runs = [spread(one) for one in same]
    for name, quantile in STAGE_QUANTILES.items():
        stated = [None if one is None else one.percentile(quantile) for one in of_runs]
        values = [one.value_ns / 1e6 for one in stated if one is not None and one.value_ns is not None]
        if len(values) == len(same) and (over_runs := spread_of(values)):
            found[name] = over_runs
        else:
            words[name] = next((one.words for one in stated if one is not None and one.value_ns is None), OVERLOADED)
    return found, words
