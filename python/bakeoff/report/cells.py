"""One contestant in one setting: its figures over the repetitions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ..analysis.summary import summarise
from ..model.records import CellRecord, FactsRecord, RunRecord
from .answer import CellAnswer, Spread
from .contest import Contest, setting_words
from .distribution import by_operation, merged_percentiles, percentile_ranges
from .invalid_runs import invalid_runs_words, no_valid_run_words
from .runs import clients_of, findings_of, used_runs
from .statements import statement_figures


def cell_answers(
    contest: Contest, runs: Mapping[str, Sequence[RunRecord]], facts: Mapping[str, FactsRecord]
) -> list[CellAnswer]:
    """Setting by setting, so that what is compared stands together."""
    places = [(name, setting) for setting in contest.settings for name in contest.contestants]
    cells = [cell for place in places if (cell := contest.cell(*place)) is not None]
    return [_cell_answer(contest, cell, runs[cell.id], facts.get(cell.id)) for cell in cells]


def _cell_answer(
    contest: Contest, cell: CellRecord, runs: Sequence[RunRecord], facts: FactsRecord | None
) -> CellAnswer:
    used = used_runs(runs)
    ok = sum(run.ok for run in used)
    errors = Counter[str]()
    for run in used:
        errors.update(run.errors)
    operations = ok + errors.total()
    setting = contest.setting(cell)
    findings = findings_of(runs)
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
        repetitions_planned=contest.plan.repetitions,
        repetitions_finished=sum(run.state == "done" for run in runs),
        repetitions_valid=sum(run.valid for run in runs),
        valid=any(run.valid for run in runs),
        no_valid_run=no_valid_run_words(runs),
        invalid_runs=invalid_runs_words(runs),
        rate_ops_per_s=_spread([run.rate_ops_per_s for run in used]),
        response=merged_percentiles(used),
        response_ranges=percentile_ranges(used),
        operations=operations,
        by_operation=by_operation(used),
        errors=dict(errors),
        error_ratio=errors.total() / operations if operations else 0.0,
        retries=sum(run.retries for run in used),
        statements=statement_figures(used),
        client=" | ".join(clients_of(runs)),
        client_cpu_us_per_op=_per_operation([run.client_cpu_s for run in used], ok),
        server_cpu_us_per_op=_per_operation([run.server.cpu_s for run in used], ok),
        client_memory_peak_bytes=_largest(run.client_memory_peak_bytes for run in used),
        server_memory_peak_bytes=_largest(run.server.memory_peak_bytes for run in used),
        size_on_disk_bytes=_largest(run.server.size_on_disk_bytes for run in used),
        data_to_cache_ratio=_data_to_cache(used, facts),
        write_bytes_per_user_byte=_written_per_user_byte(used),
        validity=_validity_of(contest.plan.repetitions, runs, findings),
        findings=findings,
    )


def _spread(rates: Sequence[float]) -> Spread | None:
    """The typical repetition is the geometric mean and its interval that of the logarithms, because comparisons are of
    ratios: what is printed of two cells is then the ratio that is printed of their comparison."""
    plain = summarise(rates)
    if plain is None:
        return None
    value, low, high = plain.mean, plain.low, plain.high
    if plain.minimum > 0 and (logs := summarise([math.log(rate) for rate in rates])):
        value = math.exp(logs.mean)
        low, high = (None if edge is None else math.exp(edge) for edge in (logs.low, logs.high))
    return Spread(
        value=value,
        low=None if low is None else max(0.0, low),
        high=high,
        minimum=plain.minimum,
        maximum=plain.maximum,
        cv=plain.cv,
    )


def _per_operation(cpu_s: Sequence[float | None], operations: int) -> float | None:
    known = [value for value in cpu_s if value is not None]
    return sum(known) * 1e6 / operations if known and len(known) == len(cpu_s) and operations else None


def _largest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value), default=None)


def _data_to_cache(runs: Sequence[RunRecord], facts: FactsRecord | None) -> float | None:
    size = _largest(run.server.size_on_disk_bytes for run in runs)
    cache = facts.portable.get("memory_bytes", "") if facts else ""
    return size / int(cache) if size and cache.isdecimal() and int(cache) else None


def _written_per_user_byte(runs: Sequence[RunRecord]) -> float | None:
    """Of all the runs together: bytes that reached the disk over bytes that users wrote."""
    known = [run for run in runs if run.server.write_bytes_with_debt is not None and run.state_report.bytes_written]
    written = sum(run.server.write_bytes_with_debt or 0 for run in known)
    return written / sum(run.state_report.bytes_written for run in known) if known else None


def _validity_of(planned: int, runs: Sequence[RunRecord], findings: Sequence[str]) -> str:
    valid = sum(run.valid for run in runs)
    if not runs:
        return "not run"
    if valid == 0:
        return "NOT VALID"
    if valid < planned:
        return f"{valid} of {planned} valid"
    kinds = list(dict.fromkeys(words.split(": ")[1].split(" (")[0] for words in findings))
    return f"valid; see {', '.join(kinds)}" if kinds else "valid"
