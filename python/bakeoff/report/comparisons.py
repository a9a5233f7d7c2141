"""The comparisons of one bundle: every contestant against the baseline in every setting, judged together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..analysis import compare
from ..analysis.objective import Objective
from ..analysis.wording import counted
from ..model.records import CellRecord, RunRecord
from .answer import ComparisonAnswer
from .contest import Contest, Setting, setting_words
from .no_valid_run import no_valid_run_words
from .two_bundles import value

Runs = Mapping[str, Sequence[RunRecord]]

#: A stream's hash covers its first 10,000 operations; runs with so few that some stream may have ended earlier have
#: different hashes for the same work.
_HASHED_OPERATIONS = 10_000


def compare_all(contest: Contest, runs: Runs) -> list[ComparisonAnswer]:
    """In the order of the settings. One call for all, so that the chance of any false claim is bounded."""
    objective = Objective.parse(contest.plan.objective)
    pairs = list(_pairs(contest))
    estimates = [_estimate(contest, objective, base, other, runs) for _, base, other in pairs]
    judged = compare.judge(estimates)
    return [
        _answer(setting, found, _notes(base, other, runs))
        for (setting, base, other), found in zip(pairs, judged, strict=True)
    ]


def _pairs(contest: Contest) -> list[tuple[Setting, CellRecord, CellRecord]]:
    pairs = []
    for setting in contest.settings:
        base = contest.cell(contest.baseline, setting)
        for name in contest.contestants:
            other = contest.cell(name, setting)
            if base is not None and other is not None and other is not base:
                pairs.append((setting, base, other))
    return pairs


def _estimate(
    contest: Contest, objective: Objective, base: CellRecord, other: CellRecord, runs: Runs
) -> compare.Estimate:
    words = setting_words(contest.setting(other))
    names = contest.contestant(base), contest.contestant(other)
    if base.dataset != other.dataset:
        obstacle = compare.Obstacle("not comparable", "not compared: their data sets differ")
        return compare.Estimate(words, objective, *names, "paired", 0, None, None, obstacle)
    values = [{run.block: value(run, objective) for run in runs[cell.id] if run.valid} for cell in (base, other)]
    estimate = compare.paired(words, objective, *names, *values)
    absent = [name for name, cell in zip(names, (base, other), strict=True) if no_valid_run_words(runs[cell.id])]
    if absent:
        obstacle = compare.Obstacle("not comparable", f"not compared: no valid run of {' or '.join(absent)}")
        return replace(estimate, finding=obstacle)
    return estimate


def _notes(base: CellRecord, other: CellRecord, runs: Runs) -> list[str]:
    notes = []
    for cell in (base, other):
        out = sum(not run.valid for run in runs[cell.id])
        if out:
            one = f"run of {cell.label} is not valid and was left out"
            many = f"runs of {cell.label} are not valid and were left out"
            notes.append(f"{out} of {counted(len(runs[cell.id]), one, many)}")
    if _different_work(base, other, runs):
        notes.append("the two were not asked for the same operations: their streams' hashes differ")
    return notes


def _different_work(base: CellRecord, other: CellRecord, runs: Runs) -> bool:
    """Only where both were asked for the same work and every stream had its hash complete, as far as can be told."""
    if (base.threads, base.clients, base.workload) != (other.threads, other.clients, other.workload):
        return False
    theirs = {run.block: run for run in runs[other.id]}
    pairs = [(run, theirs[run.block]) for run in runs[base.id] if run.block in theirs]
    return any(a.stream_hashes != b.stream_hashes for a, b in pairs if _hashes_complete(a) and _hashes_complete(b))


def _hashes_complete(run: RunRecord) -> bool:
    """Streams of one run do not differ by a factor of four."""
    return run.state == "done" and run.ok > 4 * _HASHED_OPERATIONS * max(len(run.stream_hashes), 1)


def _answer(setting: Setting, found: compare.Comparison, notes: list[str]) -> ComparisonAnswer:
    return ComparisonAnswer(
        setting=dict(setting),
        setting_words=setting_words(setting),
        base=found.base,
        other=found.other,
        base_value=found.base_value,
        other_value=found.other_value,
        verdict=found.verdict,
        better=found.better,
        words=found.words,
        ratio=found.ratio,
        low=found.low,
        high=found.high,
        level=found.level,
        p_value=found.p_value,
        p_adjusted=found.p_adjusted,
        detectable_ratio=found.detectable_ratio,
        repetitions=found.repetitions,
        notes=[*found.notes, *notes],
    )
