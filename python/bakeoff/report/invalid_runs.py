"""Runs that do not count, in the words of the headline, and why they do not."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.wording import counted
from ..model.records import RunRecord


def causes(run: RunRecord) -> frozenset[str]:
    """Names of the checks that make the run invalid; "run failed" where it could not be completed."""
    return frozenset(_reasons(run)) or frozenset({"run failed"})


def no_valid_run_words(runs: Sequence[RunRecord]) -> str:
    """ "31 of 31 operations failed"; "" where a run is valid, or where there is none at all."""
    if not runs or any(run.valid for run in runs):
        return ""
    if all("errors" in _reasons(run) for run in runs):
        failed = sum(sum(run.errors.values()) for run in runs)
        return f"{failed:,} of {failed + sum(run.ok for run in runs):,} operations failed"
    return _why(runs)


def invalid_runs_words(runs: Sequence[RunRecord]) -> str:
    """ "3 of 10 runs were invalid (the server died or froze during the run)"; "" where all are valid."""
    invalid = [run for run in runs if not run.valid]
    if not invalid:
        return ""
    were = "was" if len(invalid) == 1 else "were"
    return f"{len(invalid)} of {counted(len(runs), 'run', 'runs')} {were} invalid ({_why(invalid)})"


def _why(runs: Sequence[RunRecord]) -> str:
    """The first run's reason."""
    return next((words for run in runs for words in [run.failure, *_reasons(run).values()] if words), "no reason kept")


def _reasons(run: RunRecord) -> dict[str, str]:
    """What made the run invalid: words by the name of the check."""
    return {v.name: v.words for v in run.validity if v.severity == "invalid" and v.ok is False}
