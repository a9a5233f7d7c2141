"""Runs that do not count, in the words of the headline, and why they do not."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ..analysis.validity import ERRORS
from ..analysis.wording import counted, percent_words
from ..model.records import RunRecord
from .worst import worst_words

#: Of all operations, or of those that failed.
_MOSTLY = 0.5
#: Of a server's words in a sentence of ours.
_MESSAGE_CHARS = 160


def causes(run: RunRecord) -> frozenset[str]:
    """Names of the checks that make the run invalid; "run failed" where it could not be completed."""
    return frozenset(_reasons(run)) or frozenset({"run failed"})


def failure_words(run: RunRecord) -> str:
    """Of a run that could not be completed. run: its last attempt."""
    if not run.was_lost:
        return run.failure
    times = f", in all {run.attempt} attempts; the last time" if run.attempt > 1 else ""
    return f"infrastructure failed, not the system{times}: {run.failure}"


def no_valid_run_words(runs: Sequence[RunRecord], error_budget_ratio: float, abort_ratio: float | None) -> str:
    """ "31 of 31 operations failed"; "" where a run is valid, or where there is none at all. abort_ratio: of the
    typical repetition's attempts."""
    if not runs or any(run.valid for run in runs):
        return ""
    if disturbed := [run for run in runs if run.standing == "disturbed"]:
        rest = [run for run in runs if run.standing != "disturbed"]
        return "; ".join([disturbed_words(disturbed), *([_why(rest)] if rest else [])])
    if not all(ERRORS in _reasons(run) for run in runs):
        return _why(runs)
    others = {cause: words for run in reversed(runs) for cause, words in _reasons(run).items() if cause != ERRORS}
    if others:
        return "; ".join([*others.values(), _reasons(runs[0])[ERRORS]]) + _first_error(runs, ERRORS)
    return _beyond_budget_words(runs, error_budget_ratio, abort_ratio) + _first_error(runs, ERRORS)


def _beyond_budget_words(runs: Sequence[RunRecord], budget_ratio: float, abort_ratio: float | None) -> str:
    """Where most of the work was done, what the plan can say of the rest, too."""
    failed = sum(sum(run.errors.values()) for run in runs)
    conflicts = sum(run.errors.get("fail_conflict", 0) for run in runs)
    asked = failed + sum(run.ok for run in runs)
    faults = any(run.error_ratio_beside_faults is not None for run in runs)
    if failed > asked * _MOSTLY and not faults:
        return f"{failed:,} of {asked:,} operations failed"
    in_conflict = conflicts > failed * _MOSTLY
    retried = " after retries" if any(run.retries for run in runs) else ""
    ended = f"ended in conflict{retried}" if in_conflict else "failed"
    if faults:  # what ended while they were felt is in the counts, and not judged
        ended = "outside of the planned faults did not end ok"
    aborted = f"; {percent_words(abort_ratio)} of the attempts were aborted" if in_conflict and abort_ratio else ""
    cure = "raise error_budget and --resume" + (", or retry more" if in_conflict else " if that is part of the work")
    budget = percent_words(budget_ratio)
    return f"{_share_words(runs)} of the operations {ended}, the budget is {budget}: {cure}{aborted}"


def _share_words(runs: Sequence[RunRecord]) -> str:
    """Of operations that did not end ok, as each run's own validity says it: from the least to the most."""
    ratios = [run.budgeted_error_ratio for run in runs]
    return " to ".join(dict.fromkeys(map(percent_words, (min(ratios), max(ratios)))))


def disturbed_words(runs: Sequence[RunRecord]) -> str:
    """ "85 % of the CPU time went to other processes, most to cc1plus, pid 7 (from 10 % on a run is disturbed)": of the
    run that was disturbed most."""
    return worst_words([v for run in runs for v in run.disturbances])


def invalid_runs_words(runs: Sequence[RunRecord]) -> str:
    """ "3 of 10 runs were invalid (the server died or froze during the run)"; "" where all are valid or disturbed."""
    invalid = [run for run in runs if run.standing == "invalid"]
    if not invalid:
        return ""
    were = "was" if len(invalid) == 1 else "were"
    return f"{len(invalid)} of {counted(len(runs), 'run', 'runs')} {were} invalid ({_why(invalid)})"


def _why(runs: Sequence[RunRecord]) -> str:
    """The first run's reason."""
    for run in runs:
        if run.failure:
            return failure_words(run)
        for cause, words in _reasons(run).items():
            return words + _first_error([run], cause)
    return "no reason kept"


def _first_error(runs: Sequence[RunRecord], cause: str) -> str:
    """ "; the first: order: Deadlock found (1213)", where operations are the cause and one was kept."""
    if cause not in (ERRORS, "wrong answers"):
        return ""
    samples = [sample for run in runs for sample in run.error_samples]
    wrong = [sample for sample in samples if (sample.outcome == "wrong") == (cause == "wrong answers")]
    if not wrong:
        return ""
    first = wrong[0]
    message = textwrap.shorten(first.message, _MESSAGE_CHARS, placeholder=" ...")
    code = f" ({first.code})" if first.code else ""
    return f"; the first: {first.operation}: {message}{code}"


def _reasons(run: RunRecord) -> dict[str, str]:
    """What made the run invalid: words by the name of the check."""
    return {v.name: v.words for v in run.validity if v.severity == "invalid" and v.ok is False}
