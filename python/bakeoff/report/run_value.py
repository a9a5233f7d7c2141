"""What one run says to a comparison."""

from __future__ import annotations

from ..analysis.estimate import Invalid, RunValue
from ..analysis.objective import Objective
from ..model.records import RunRecord
from .distribution import is_overloaded, merged_distribution
from .invalid_runs import causes

#: A stream's hash covers its first 10,000 operations; runs with so few that some stream may have ended earlier have
#: different hashes for the same work.
_HASHED_OPERATIONS = 10_000


def run_value(run: RunRecord, objective: Objective) -> RunValue:
    """The rate in operations/s, a response time in ms; None where it is not defined, Invalid where the run does not
    count. Any percentile can be had: it comes from the run's histogram."""
    if not run.valid:
        return Invalid(causes(run))
    if objective.name == "rate":
        return run.rate_ops_per_s
    if objective.quantile is None:
        return run.response.mean_ms if objective.name == "latency_mean" else run.response.max_ms
    if is_overloaded(run):
        return None
    value_ns = merged_distribution([run]).percentile(objective.quantile).value_ns
    return None if value_ns is None else value_ns / 1e6


def same_operations(a: RunRecord, b: RunRecord) -> bool:
    """Whether two runs asked for the same, as far as can be told: only of runs that were long enough for all of their
    hashes to be complete."""
    return a.stream_hashes == b.stream_hashes or not (_hashes_complete(a) and _hashes_complete(b))


def _hashes_complete(run: RunRecord) -> bool:
    """Streams of one run do not differ by a factor of four."""
    return run.state == "done" and run.ok > 4 * _HASHED_OPERATIONS * max(len(run.stream_hashes), 1)
