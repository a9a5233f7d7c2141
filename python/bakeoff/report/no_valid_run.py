"""Why a cell has no run that counts, in the words of the headline."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.records import RunRecord


def no_valid_run_words(runs: Sequence[RunRecord]) -> str:
    """ "31 of 31 operations failed"; "" where a run is valid, or where there is none at all."""
    if not runs or any(run.valid for run in runs):
        return ""
    if all("errors" in _reasons(run) for run in runs):
        failed = sum(sum(run.errors.values()) for run in runs)
        return f"{failed:,} of {failed + sum(run.ok for run in runs):,} operations failed"
    return next((words for run in runs for words in [run.failure, *_reasons(run).values()] if words), "")


def _reasons(run: RunRecord) -> dict[str, str]:
    """What made the run invalid: words by the name of the check."""
    return {v.name: v.words for v in run.validity if v.severity == "invalid" and v.ok is False}
