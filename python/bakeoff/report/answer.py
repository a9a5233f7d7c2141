"""The answer of a bundle as plain data: every figure with its spread, its cost and its validity; every comparison in
words; what was left out, and what none of it shows. The terminal's table, --json and the page are views of it."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from pydantic import Field

from ..analysis.wording import counted
from ..model.boundary import Document
from ..model.records import CellRecord, FactsRecord, Objective, OperationSummary, Percentiles, RunRecord, Scalar
from .contest import Contest, setting_words
from .distribution import by_operation, merged_percentiles, percentile_ranges
from .invalid_runs import invalid_runs_words, no_valid_run_words
from .source import Source
from .statements import StatementFigures, statement_figures

OBJECTIVES: dict[str, str] = {
    "rate": "rate (right operations per second; more is better)",
    "latency_mean": "mean response time (less is better)",
    "latency_p50": "p50 of response time (less is better)",
    "latency_p95": "p95 of response time (less is better)",
    "latency_p99": "p99 of response time (less is better)",
    "latency_p999": "p99.9 of response time (less is better)",
}
_STATES = {"interrupted": "it was interrupted", "failed": "it was stopped by an error", "running": "it still runs"}
DEMONSTRATION = (
    "This is a demonstration: its runs are short and its machine is shared. It shows how a comparison is made and read,"
    " not which of these systems is faster for you."
)


class Spread(Document):
    """Of one figure over the valid repetitions: value: geometric mean; low, high: its 95 % interval, None below two."""

    value: float
    low: float | None
    high: float | None
    minimum: float
    maximum: float
    cv: float | None


class CellAnswer(Document):
    """One contestant in one setting. Figures are over the valid repetitions; where there are none, over all that were
    finished, and `valid` is False. Percentiles are of all those repetitions' operations together."""

    cell: str
    contestant: str
    setting: dict[str, Scalar]
    setting_words: str
    system: str
    label: str
    workload: str
    threads: int
    clients: int
    offered_ops_per_s: float | None
    repetitions_planned: int
    repetitions_finished: int
    repetitions_valid: int
    valid: bool
    #: Why no run is valid, in words: "31 of 31 operations failed"; "" where one is, or where none was made.
    no_valid_run: str = ""
    #: "3 of 10 runs were invalid (...)"; "" where all are valid.
    invalid_runs: str = ""
    rate_ops_per_s: Spread | None
    response: Percentiles
    #: Lowest and highest of the repetitions' own percentiles, ms, by the names in `response`.
    response_ranges: dict[str, tuple[float, float]] = Field(default_factory=dict)
    operations: int
    by_operation: list[OperationSummary]
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
    #: "valid", or what stands beside the figure, each kind once.
    validity: str
    findings: list[str] = Field(default_factory=list)


class ComparisonAnswer(Document):
    """What is said about `other` against `base` in one setting. Ratios are other / base."""

    setting: dict[str, Scalar]
    setting_words: str
    base: str
    other: str
    base_value: float | None
    other_value: float | None
    verdict: str  # of the value: higher, lower, no difference, too few, invalid runs, not comparable
    better: str | None
    words: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    detectable_ratio: float | None = None
    repetitions: int
    notes: list[str] = Field(default_factory=list)


class Answer(Document):
    title: str
    description: str
    created: str
    #: "", or why the bundle is not the whole plan.
    incomplete: str
    demonstration: str
    objective: Objective
    objective_words: str
    pacing: str
    measured: str  # warm-up, window and repetitions in words
    headline: list[str]
    comparisons: list[ComparisonAnswer]
    cells: list[CellAnswer]
    #: The factor whose levels the contestants are: "system", "threads", ...
    compared: str
    contestants: list[str]
    #: How far the figures may be believed, the worst first.
    validity: list[str]
    runs_finished: int
    runs_valid: int
    runs_planned: int
    skipped: dict[str, str]
    messages: list[str]
    limits: list[str]
    command: str
    bakeoff_version: str


def answer_of(bundle: Source) -> Answer:
    from .comparisons import compare_all
    from .headline import headline_words
    from .limits import limits_of

    plan, info = bundle.plan, bundle.info
    contest = Contest(plan)
    runs = runs_by_cell(bundle.runs)
    cells = [_cell_answer(contest, cell, runs[cell.id], bundle.facts.get(cell.id)) for cell in _ordered(contest)]
    comparisons = compare_all(contest, runs, bundle.facts)
    return Answer(
        title=plan.title,
        description=plan.description,
        created=info.created,
        incomplete=_incomplete(bundle),
        demonstration=DEMONSTRATION if plan.demonstration or info.demonstration else "",
        objective=plan.objective,
        objective_words=OBJECTIVES[plan.objective],
        pacing=plan.pacing,
        measured=_measured_words(bundle),
        headline=headline_words(contest, comparisons, cells),
        comparisons=comparisons,
        cells=cells,
        compared=contest.factor,
        contestants=contest.contestants,
        validity=_validity_words(bundle.runs),
        runs_finished=len(bundle.runs),
        runs_valid=sum(run.valid for run in bundle.runs),
        runs_planned=len(plan.cells) * plan.repetitions,
        skipped=dict(info.skipped),
        messages=list(info.messages),
        limits=limits_of(bundle, cells),
        command=info.command,
        bakeoff_version=info.bakeoff_version,
    )


def render_text(answer: Answer) -> str:
    """For a terminal or a pipe: plain text, at most as wide as its widest row."""
    from .text import render

    return render(answer)


def runs_by_cell(runs: Iterable[RunRecord]) -> dict[str, list[RunRecord]]:
    """Ordered by block; a cell without runs has an empty list."""
    grouped: dict[str, list[RunRecord]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.block):
        grouped[run.cell].append(run)
    return grouped


def used_runs(runs: Sequence[RunRecord]) -> list[RunRecord]:
    """Those whose figures are shown: the valid ones, or all finished ones if none is valid."""
    return [run for run in runs if run.valid] or [run for run in runs if run.state == "done"]


def clients_of(runs: Iterable[RunRecord]) -> list[str]:
    """What spoke to the system, each way once: "wire, reactor, io_uring"."""
    ways = (", ".join(filter(None, (run.client, run.runner, run.io))) for run in runs)
    return list(dict.fromkeys(way for way in ways if way))


def _ordered(contest: Contest) -> list[CellRecord]:
    """Setting by setting, so that what is compared stands together."""
    places = [(name, setting) for setting in contest.settings for name in contest.contestants]
    return [cell for place in places if (cell := contest.cell(*place)) is not None]


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
    findings = _findings(runs)
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
    from ..analysis.summary import summarise

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


def _findings(runs: Sequence[RunRecord]) -> list[str]:
    """What speaks against the runs of a cell, each kind once with the words of the first run that has it."""
    found: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        if run.state == "failed":
            found["invalid: run failed"].append(run.failure)
        for v in run.validity:
            if v.ok is False and v.severity != "note":
                found[f"{v.severity}: {v.name}"].append(v.words)
    return [
        f"{name} ({len(words)} of {counted(len(runs), 'run', 'runs')}): {words[0]}"
        for name, words in sorted(found.items(), key=lambda item: not item[0].startswith("invalid"))
    ]


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


def _validity_words(runs: Sequence[RunRecord]) -> list[str]:
    """Of the whole bundle: how many runs count, and each kind of doubt with the number of runs it touches."""
    valid = sum(run.valid for run in runs)
    all_of = counted(len(runs), "run is", "runs are")
    first = (
        f"{all_of if len(runs) == 1 else f'all {all_of}'} valid" if valid == len(runs) else f"{valid} of {all_of} valid"
    )
    return [first if runs else "no run was finished", *_findings(runs)]


def _incomplete(bundle: Source) -> str:
    planned = len(bundle.plan.cells) * bundle.plan.repetitions
    missing = planned - len(bundle.runs)
    if missing <= 0 and bundle.info.state == "complete":
        return ""
    reason = _STATES.get(bundle.info.state, "some results are missing")
    return f"Not the whole plan: {reason}; {len(bundle.runs)} of {counted(planned, 'run is', 'runs are')} here."


def _measured_words(bundle: Source) -> str:
    plan = bundle.plan
    window = f"{plan.window_s:g} s window" if plan.window_s is not None else f"{plan.operations or 0:,} operations"
    return f"{counted(plan.repetitions, 'repetition', 'repetitions')}, {plan.warm_up_s:g} s warm-up, {window}"
