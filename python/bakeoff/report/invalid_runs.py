"""Runs that do not count, in the words of the headline, and why they do not."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ..analysis.wording import counted
from ..model.records import RunRecord

#: Of a server's words in a sentence of ours.
_MESSAGE_CHARS = 160


def causes(run: RunRecord) -> frozenset[str]:
    """Names of the checks that make the run invalid; "run failed" where it could not be completed."""
    return frozenset(_reasons(run)) or frozenset({"run failed"})


def no_valid_run_words(runs: Sequence[RunRecord]) -> str:
    """ "31 of 31 operations failed"; "" where a run is valid, or where there is none at all."""
    if not runs or any(run.valid for run in runs):
        return ""
    if all("errors" in _reasons(run) for run in runs):
        failed = sum(sum(run.errors.values()) for run in runs)
        words = f"{failed:,} of {failed + sum(run.ok for run in runs):,} operations failed"
        return words + _first_error(runs, "errors")
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
    for run in runs:
        if run.failure:
            return run.failure
        for cause, words in _reasons(run).items():
            return words + _first_error([run], cause)
    return "no reason kept"


def _first_error(runs: Sequence[RunRecord], cause: str) -> str:
    """ "; the first: order: Deadlock found (1213)", where operations are the cause and one was kept."""
    if cause not in ("errors", "wrong answers"):
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
