"""One contestant in one setting: its figures over the repetitions, its statements per second where the workload counts
them, and how it met the response times that the workload's rules ask for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pydantic import Field

from ..analysis.histograms import Histogram
from ..analysis.metric import Metric
from ..analysis.percentiles import Distribution, is_overloaded, operation_distribution, operation_summaries
from ..analysis.registry import metric
from ..analysis.wording import milliseconds_words, percent_words
from ..bundle.read import Bundle
from ..model.boundary import Document
from ..model.records.bundle import FactsRecord
from ..model.records.plan import CellRecord, Scalar
from ..model.records.run import OperationSummary, Percentiles, RunRecord
from ..model.resolve import ResponseLimit
from .contestants import Contest, setting_words
from .promises import promises_by_cell
from .run_values import Spread, is_shared, observed, spread_of, typical_response
from .runs import (
    Doubt,
    clients_of,
    doubts_about,
    hit_together,
    invalid_runs_words,
    no_valid_run_words,
    that_count,
    too_few_undisturbed,
    used_runs,
)


class CellAnswer(Document):
    """One contestant in one setting. Figures are over the valid repetitions; where there are none, over all that were
    finished. valid: every run that was made counts: what a system did in the runs that it survived is no valid figure.
    Rates and response times are those of the typical repetition."""

    cell: str
    contestant: str
    setting: dict[str, Scalar]
    setting_words: str
    system: str
    #: The product whose protocol it speaks, without being it; "" of a product.
    peer_of: str = ""
    label: str
    workload: str
    threads: int
    clients: int
    offered_ops_per_s: float | None
    #: What fell due in an open loop, where every repetition did all of it: arrivals are drawn, so it is not what was
    #: offered, and a rate that follows from them has no interval.
    due_and_done_ops_per_s: float | None = None
    repetitions_planned: int
    repetitions_finished: int
    repetitions_valid: int
    valid: bool
    #: Repetitions of which every attempt was disturbed, whether they count or not; and whether these are too
    #: many to claim anything of this cell.
    repetitions_disturbed: int = 0
    too_few_undisturbed: bool = False
    #: Why no run is valid, in words: "31 of 31 operations failed"; "" where one is, or where none was made.
    no_valid_run: str = ""
    #: "3 of 10 runs were invalid (...)"; "" where all are valid.
    invalid_runs: str = ""
    #: Whether its system keeps what its level promises: VIOLATED, HELD ...; "" where the plan does not ask.
    promise: str = ""
    rate_ops_per_s: Spread | None
    response: Percentiles
    #: How the repetitions' own times lie, ms, by the names in `response`; without those that `response` lacks.
    response_spreads: dict[str, Spread] = Field(default_factory=dict)
    operations: int
    #: Over the operations of all those repetitions together.
    by_operation: list[OperationSummary]
    #: Response times that the workload's rules ask for.
    limits: list[LimitAnswer] = Field(default_factory=list)
    #: By outcome, of all finished runs: those of an invalid one are what speaks against it.
    errors: dict[str, int] = Field(default_factory=dict)
    error_ratio: float
    retries: int
    #: None where the workload does not say what its operations consist of.
    statements: StatementFigures | None
    #: "wire, reactor, io_uring": the client library, its runner, its way of asking the kernel.
    client: str
    client_cpu_us_per_op: float | None
    server_cpu_us_per_op: float | None
    client_memory_peak_bytes: int | None
    server_memory_peak_bytes: int | None
    size_on_disk_bytes: int | None
    #: Data on disk over the system's own cache (buffer pool); None where it does not tell. Below 1 everything fits.
    data_to_cache_ratio: float | None = None
    write_bytes_per_user_byte: float | None
    #: What is shown besides these, by the metric's name; one that is not defined in every run is left out.
    metrics: dict[str, Spread] = Field(default_factory=dict)
    #: "valid", or the doubts next to the figure, each kind once.
    validity: str
    doubts: list[Doubt] = Field(default_factory=list)


#: Of the typical repetition, as hints at why one is faster are.
_COSTS = [
    *map(metric, ("client_cpu_us_per_op", "server_cpu_us_per_op", "client_memory_peak_bytes")),
    *map(metric, ("server_memory_peak_bytes", "size_on_disk_bytes", "write_amplification", "abort_ratio")),
]
#: Of what fell due in a window: some of it is under way when it ends.
_AT_THE_EDGE = 0.005


def cell_answers(
    contest: Contest, bundle: Bundle, runs: Mapping[str, Sequence[RunRecord]], metrics: Sequence[Metric]
) -> list[CellAnswer]:
    """metrics: besides those of every report."""
    hit = hit_together(contest.plan.cells, runs)
    found = [_cell_answer(contest, cell, bundle, runs[cell.id], metrics, hit) for cell in contest.cells]
    promises = promises_by_cell(bundle)
    return [
        cell.model_copy(update={"promise": promises[cell.cell].verdict}) if cell.cell in promises else cell
        for cell in found
    ]


def metric_values(
    bundle: Bundle, runs: Sequence[RunRecord], metrics: Sequence[Metric]
) -> list[tuple[float | None, ...]]:
    """Of each metric one value a run. Run by run, because a run's histograms are decoded for all metrics at once, and
    those of all runs would fill the memory."""
    by_run = [[metric.of(seen) for metric in metrics] for seen in (observed(bundle, run) for run in runs)]
    return list(zip(*by_run, strict=True)) if runs else [()] * len(metrics)


def metric_spreads(bundle: Bundle, runs: Sequence[RunRecord], metrics: Sequence[Metric]) -> dict[str, Spread]:
    """Of one cell's runs, by the metrics' names; one that is not defined in every run is left out."""
    found = {}
    for shown, values in zip(metrics, metric_values(bundle, runs, metrics), strict=True):
        values = values[:1] if is_shared(shown, runs) else values
        known = [value for value in values if value is not None]
        if len(known) == len(values) and (spread := spread_of(known)):
            found[shown.name] = spread
    return found


def _cell_answer(
    contest: Contest,
    cell: CellRecord,
    bundle: Bundle,
    runs: Sequence[RunRecord],
    metrics: Sequence[Metric],
    hit: set[int],
) -> CellAnswer:
    used = used_runs(runs)
    costs = metric_spreads(bundle, used, _COSTS)
    counted = that_count(runs, hit)
    ok = sum(run.ok for run in used)
    finished = [run for run in runs if run.state == "done"]
    errors = Counter[str]()
    for run in finished:
        errors.update(run.errors)
    asked = sum(run.ok for run in finished) + errors.total()
    setting = contest.setting(cell)
    planned = len(runs) if contest.plan.search else contest.plan.repetitions
    doubts = doubts_about(runs)
    rate = spread_of([run.rate_ops_per_s for run in used])
    response, spreads = typical_response(used)
    return CellAnswer(
        cell=cell.id,
        contestant=contest.contestant(cell),
        setting=dict(setting),
        setting_words=setting_words(setting),
        system=cell.system,
        peer_of=cell.peer_of,
        label=cell.label,
        workload=cell.workload,
        threads=cell.threads,
        clients=cell.clients,
        offered_ops_per_s=cell.rate_ops_per_s,
        due_and_done_ops_per_s=_due_and_done(used),
        repetitions_planned=planned,
        repetitions_finished=sum(run.state == "done" for run in runs),
        repetitions_valid=sum(run.valid for run in runs),
        valid=bool(counted) and all(run.valid for run in counted),
        repetitions_disturbed=sum(run.standing == "disturbed" for run in runs),
        too_few_undisturbed=too_few_undisturbed(runs),
        no_valid_run=no_valid_run_words(runs, contest.plan.error_budget_ratio, _value(costs.get("abort_ratio"))),
        invalid_runs=invalid_runs_words(runs),
        rate_ops_per_s=rate,
        response=response,
        response_spreads=spreads,
        operations=ok + sum(sum(run.errors.values()) for run in used),
        by_operation=operation_summaries(used),
        limits=limit_answers(cell.limits, used),
        errors=dict(errors),
        error_ratio=errors.total() / asked if asked else 0.0,
        retries=sum(run.retries for run in used),
        statements=statement_figures(used, rate.value if rate else 0.0),
        client=" | ".join(clients_of(runs)),
        client_cpu_us_per_op=_value(costs.get("client_cpu_us_per_op")),
        server_cpu_us_per_op=_value(costs.get("server_cpu_us_per_op")),
        client_memory_peak_bytes=_whole(costs.get("client_memory_peak_bytes")),
        server_memory_peak_bytes=_whole(costs.get("server_memory_peak_bytes")),
        size_on_disk_bytes=_whole(costs.get("size_on_disk_bytes")),
        data_to_cache_ratio=_data_to_cache(used, bundle.facts.get(cell.id)),
        write_bytes_per_user_byte=_value(costs.get("write_amplification")),
        metrics=metric_spreads(bundle, used, metrics),
        validity=_validity_of(planned, runs, doubts),
        doubts=doubts,
    )


def _due_and_done(runs: Sequence[RunRecord]) -> float | None:
    due = [run.offered_ops_per_s for run in runs if run.offered_ops_per_s]
    done = len(due) == len(runs) and all(
        run.rate_ops_per_s >= (1 - _AT_THE_EDGE) * rate for run, rate in zip(runs, due, strict=True)
    )
    return _value(spread_of(due)) if done else None


def _value(spread: Spread | None) -> float | None:
    return None if spread is None else spread.value


def _whole(spread: Spread | None) -> int | None:
    return None if spread is None else round(spread.value)


def _data_to_cache(runs: Sequence[RunRecord], facts: FactsRecord | None) -> float | None:
    size = max((run.server.size_on_disk_bytes or 0 for run in runs), default=0)
    cache = facts.portable.get("memory_bytes", "") if facts else ""
    return size / int(cache) if size and cache.isdecimal() and int(cache) else None


def _validity_of(planned: int, runs: Sequence[RunRecord], doubts: Sequence[Doubt]) -> str:
    valid = sum(run.valid for run in runs)
    if not runs:
        return "not run"
    disturbed = sum(run.standing == "disturbed" for run in runs)
    if valid == 0:
        return "DISTURBED" if disturbed == len(runs) else "NOT VALID"
    if valid < len(runs):
        return f"{valid} of {len(runs)} valid" + (f", {disturbed} disturbed" if disturbed else "")
    if disturbed:  # it was allowed
        return f"DISTURBED: {disturbed} of {len(runs)}" if disturbed < len(runs) else "DISTURBED"
    made = [f"{len(runs)} of {planned} made"] if len(runs) < planned else []
    kinds = list(dict.fromkeys(doubt.name for doubt in doubts))
    return "; ".join(["valid", *made, *([f"see {', '.join(kinds)}"] if kinds else [])])


class StatementFigures(Document):
    """Of one cell, per second of the typical run: its rate, and what its runs did for each operation."""

    transactions_per_s: float
    queries_per_s: float
    reads_per_s: float
    writes_per_s: float
    #: Begin, commit, and writes that touched no row.
    others_per_s: float
    #: Attempts after an error that the plan (or sysbench's `mysql_ignore_errors`) passes over.
    ignored_errors_per_s: float
    reconnects_per_s: float
    #: The fastest operation. Mean, p95 and max stand with the cell.
    min_ms: float | None


def statement_figures(runs: Sequence[RunRecord], rate_ops_per_s: float) -> StatementFigures | None:
    """rate_ops_per_s: the typical run's. None where nothing was counted: the workload does not say what its operations
    consist of."""
    ok = sum(run.ok for run in runs)
    read, write, other = (sum(getattr(run.queries, kind) for run in runs) for kind in ("read", "write", "other"))
    if not (read or write or other) or not ok:
        return None
    per_s = rate_ops_per_s / ok
    timed = [fastest for run in runs if (fastest := fastest_ns(run)) is not None]
    return StatementFigures(
        transactions_per_s=rate_ops_per_s,
        queries_per_s=(read + write + other) * per_s,
        reads_per_s=read * per_s,
        writes_per_s=write * per_s,
        others_per_s=other * per_s,
        ignored_errors_per_s=sum(run.retries for run in runs) * per_s,
        reconnects_per_s=sum(run.reconnects for run in runs) * per_s,
        min_ms=min(timed) / 1e6 if timed else None,
    )


def fastest_ns(run: RunRecord) -> int | None:
    """Of the operations that ended well. The headline's minimum may be the age of one that the window's end cut off."""
    ended = [s.response.min_ns for s in run.series if s.part_of is None and s.outcome == "ok" and s.count]
    return min(ended, default=None)


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
        met = False  # too many failed
    return LimitAnswer(
        operation=limit.operation,
        share=limit.percentile,
        most_ms=limit.most_s * 1e3,
        value_ms=value_ms,
        words=words,
        met=met,
    )
