"""One contestant in one setting: its figures over the repetitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ..analysis.metric import Metric
from ..analysis.registry import metric
from ..analysis.response_times import operation_summaries
from ..findings.contestants import Contest, setting_words
from ..findings.run_values import Spread, observed, spread_of, typical_response
from ..findings.runs import (
    clients_of,
    findings_of,
    hit_together,
    invalid_runs_words,
    no_valid_run_words,
    that_count,
    too_few_undisturbed,
    used_runs,
)
from ..findings.source import Source
from ..model.records import CellRecord, FactsRecord, RunRecord
from .answer import CellAnswer
from .response_limits import limit_answers
from .statements import statement_figures

#: Of the typical repetition, as hints at why one is faster are.
_COSTS = tuple(
    map(
        metric,
        (
            "client_cpu_us_per_op",
            "server_cpu_us_per_op",
            "client_memory_peak_bytes",
            "server_memory_peak_bytes",
            "size_on_disk_bytes",
            "write_amplification",
            "abort_ratio",
        ),
    )
)
#: Of what fell due in a window: some of it is under way when it ends.
_AT_THE_EDGE = 0.005


def cell_answers(
    contest: Contest, bundle: Source, runs: Mapping[str, Sequence[RunRecord]], metrics: Sequence[Metric]
) -> list[CellAnswer]:
    """Setting by setting, so that what is compared stands together. metrics: beside those of every report."""
    places = [(name, setting) for setting in contest.settings for name in contest.contestants]
    hit = hit_together(contest.plan.cells, runs)
    cells = [cell for place in places if (cell := contest.cell(*place)) is not None]
    return [
        _cell_answer(
            contest,
            cell,
            runs[cell.id],
            bundle.facts.get(cell.id),
            metric_spreads(bundle, used_runs(runs[cell.id]), _COSTS),
            hit,
        ).model_copy(update={"metrics": metric_spreads(bundle, used_runs(runs[cell.id]), metrics)})
        for cell in cells
    ]


def metric_spreads(bundle: Source, runs: Sequence[RunRecord], metrics: Sequence[Metric]) -> dict[str, Spread]:
    """Of one cell's runs, by the metrics' names; one that is not defined in every run is left out."""
    found = {}
    for shown in metrics:
        values = [shown.of(observed(bundle, run)) for run in (runs[:1] if shown.per == "load" else runs)]
        known = [value for value in values if value is not None]
        if len(known) == len(values) and (spread := spread_of(known)):
            found[shown.name] = spread
    return found


def _cell_answer(
    contest: Contest,
    cell: CellRecord,
    runs: Sequence[RunRecord],
    facts: FactsRecord | None,
    costs: Mapping[str, Spread],
    hit: set[int],
) -> CellAnswer:
    used = used_runs(runs)
    counted = that_count(runs, hit)
    ok = sum(run.ok for run in used)
    finished = [run for run in runs if run.state == "done"]
    errors = Counter[str]()
    for run in finished:
        errors.update(run.errors)
    asked = sum(run.ok for run in finished) + errors.total()
    setting = contest.setting(cell)
    planned = len(runs) if contest.plan.search else contest.plan.repetitions
    findings = findings_of(runs)
    rate = spread_of([run.rate_ops_per_s for run in used])
    response, spreads = typical_response(used)
    return CellAnswer(
        cell=cell.id,
        contestant=contest.contestant(cell),
        setting=dict(setting),
        setting_words=setting_words(setting),
        system=cell.system,
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
        data_to_cache_ratio=_data_to_cache(used, facts),
        write_bytes_per_user_byte=_value(costs.get("write_amplification")),
        validity=_validity_of(planned, runs, findings),
        findings=findings,
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


def _largest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value), default=None)


def _data_to_cache(runs: Sequence[RunRecord], facts: FactsRecord | None) -> float | None:
    size = _largest(run.server.size_on_disk_bytes for run in runs)
    cache = facts.portable.get("memory_bytes", "") if facts else ""
    return size / int(cache) if size and cache.isdecimal() and int(cache) else None


def _validity_of(planned: int, runs: Sequence[RunRecord], findings: Sequence[str]) -> str:
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
    kinds = list(dict.fromkeys(words.split(": ")[1].split(" (")[0] for words in findings))
    return "; ".join(["valid", *made, *([f"see {', '.join(kinds)}"] if kinds else [])])
