"""The list of metrics. An entry here is all that a new one needs: objectives, thresholds, exports, columns, charts and
docs/reference/metrics.md know it from then on.

A name may end in an operation's (`latency_p99.read`) where the metric has `of_operation`. Any percentile can be asked
for (`latency_p97`), and any column that the server or the machine was watched by (`db.Threads_running`). What a
workload counts of its own (`Rate`), and the currency of a plan's prices (`Priced`), come to the list from outside: from
the plan, or from a bundle.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from ..model.prices import COST, Priced
from ..model.reads import StaleReads
from ..model.records.bundle import LoadRecord
from ..model.resolve import Rate
from ..suggestions import unknown
from .cost import cost_metric
from .faults import FAULT_FIGURES, FULL_RATE, was_not_seen_back
from .metric import Metric, Observed, OfOperation, OfRun, Unit
from .percentiles import Bound, Distribution, Percentile


class UnknownMetric(ValueError):
    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


def metric(name: str, rates: Iterable[Rate | Priced] = ()) -> Metric:
    """By its name; rates: those that the plan has of its own. UnknownMetric, with what may have been meant."""
    base, dot, rest = name.partition(".")
    if is_watched(name) and _COLUMN.fullmatch(rest):
        return _watched(name)
    own = {rate.name: rate for rate in rates}
    listed = _BY_NAME.get(base) or _percentile(base)
    found = _of_plan(own[base]) if base in own and (listed is None or base == COST) else listed
    if found is None or bool(dot) != bool(rest):
        by_label = {one.label.lower(): one.name for one in METRICS}
        if (meant := by_label.get(base.lower())) is not None:
            raise UnknownMetric(f"unknown metric `{name}`", f"it is called `{meant}`")
        raise UnknownMetric(*unknown(f"unknown metric `{name}`", base, [*_BY_NAME, *own]))
    if rest and found.of_operation is None:
        hint = f"metrics of single operations: {', '.join(one.name for one in METRICS if one.of_operation)}"
        raise UnknownMetric(f"`{found.name}` is not available for single operations", hint)
    return found.of_one(rest) if rest else found


def all_metrics(rates: Iterable[Rate | Priced]) -> list[Metric]:
    """Those of the list, and the plan's own."""
    return list({one.name: one for one in (*METRICS, *map(_of_plan, rates))}.values())


def of_operations(operations: Iterable[str]) -> list[Metric]:
    """Each metric of these operations."""
    return [one.of_one(operation) for operation in operations for one in METRICS if one.of_operation]


def _operation_rate(seen: Observed, operation: str) -> float | None:
    series = seen.operation(operation)
    ok = sum(each.count for each in series if each.outcome == "ok")
    return ok / seen.run.window_s if series and seen.run.window_s > 0 else None


def _operation_error_ratio(seen: Observed, operation: str) -> float | None:
    series = seen.operation(operation)
    ended = sum(each.count for each in series)
    return sum(each.count for each in series if each.outcome != "ok") / ended if ended else None


def _outcome_ratio(*outcomes: str) -> OfRun:
    def of(seen: Observed) -> float | None:
        ended = seen.run.ok + sum(seen.run.errors.values())
        return sum(seen.run.errors.get(outcome, 0) for outcome in outcomes) / ended if ended else None

    return of


def _abort_ratio(seen: Observed) -> float | None:
    """Of all attempts: each operation's last, and those that were tried again."""
    retried = seen.run.retries_after_conflict if seen.run.retries else 0
    attempts = seen.run.ok + sum(seen.run.errors.values()) + seen.run.retries
    if retried is None or not attempts:
        return None
    return (retried + seen.run.errors.get("fail_conflict", 0)) / attempts


def _operation_outcome_ratio(*outcomes: str) -> OfOperation:
    def of(seen: Observed, operation: str) -> float | None:
        series = seen.operation(operation)
        ended = sum(each.count for each in series)
        return sum(each.count for each in series if each.outcome in outcomes) / ended if ended else None

    return of


def _response(
    name: str,
    label: str,
    about: str,
    bound: Callable[[Distribution], Bound | Percentile],
    quantile: float | None = None,
) -> Metric:
    """A time out of the distribution of response times."""

    def value_ms(spread: Distribution | None) -> float | None:
        value_ns = None if spread is None else bound(spread).value_ns
        return None if value_ns is None else value_ns / 1e6

    return Metric(
        name,
        "ms",
        "lower",
        label,
        about,
        lambda seen: value_ms(seen.response),
        lambda seen, operation: value_ms(seen.response_of(operation)),
        quantile=quantile,
        bound=bound,
    )


def _load(of: Callable[[LoadRecord], float | None]) -> OfRun:
    return lambda seen: None if seen.load is None else of(seen.load)


def _queries(seen: Observed) -> float | None:
    counts, window_s = seen.run.queries, seen.run.window_s
    total = counts.read + counts.write + counts.other
    return total / window_s if total and window_s > 0 else None


def _units(kind: Literal["read", "write"]) -> OfRun:
    def of(seen: Observed) -> float | None:
        units = seen.run.capacity_units
        return None if units is None else seen.per_op(getattr(units, kind))

    return of


def _server_transactions(seen: Observed) -> float | None:
    mean_per_s = seen.server_mean("db.transactions_per_s")
    return None if mean_per_s is None else 60 * mean_per_s


def _furthest(of: Callable[[Sequence[float]], float]) -> OfRun:
    """Of the replica for which it is most."""
    return lambda seen: max(map(of, seen.lags_s().values()), default=None)


def _staleness(of: Callable[[StaleReads], float | None]) -> OfRun:
    """Of what the judge reports of the reads next to the load."""

    def of_run(seen: Observed) -> float | None:
        probe = seen.run.staleness_probe
        return None if probe is None or probe.report is None else of(probe.report.staleness)

    return of_run


def _sum(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a + b


_PERCENTILE = re.compile(r"latency_p(\d{1,2}|99\d{1,3})")


def _percentile(name: str) -> Metric | None:
    """`latency_p99`, `latency_p999` for 99.9 %; None for a name of another form."""
    match = _PERCENTILE.fullmatch(name)
    if match is None or int(match[1]) == 0:
        return None
    quantile = int(match[1]) / 10 ** max(2, len(match[1]))
    percent = f"{quantile * 100:.10g}"
    about = f"Response time that {percent} % of the operations did not exceed; failed operations rank above it."
    return _response(name, f"p{percent}", about, lambda spread: spread.percentile(quantile), quantile)


_PER_S: dict[str, float] = {"second": 1, "minute": 60}
_PER_UNIT: dict[str, Unit] = {"second": "1/s", "minute": "1/min"}


def _of_plan(rate: Rate | Priced) -> Metric:
    """Of a workload's own figure, the definition is that of each run's own workload."""
    if isinstance(rate, Priced):
        return cost_metric(rate.currency)

    def of(seen: Observed) -> float | None:
        own = next((each for each in seen.rates if each.name == rate.name), None)
        return (
            None if own is None or seen.run.window_s <= 0 else _PER_S[own.per] * _right(seen, own) / seen.run.window_s
        )

    return Metric(rate.name, _PER_UNIT[rate.per], "higher", rate.label, rate.about, of)


def _right(seen: Observed, rate: Rate) -> int:
    ended = [each for name in rate.operations for each in seen.operation(name)]
    return sum(each.count for each in ended if each.outcome == "ok")


_WATCHED = ("db", "os", "machine")
_COLUMN = re.compile(r"[\w.]+")


def is_watched(name: str) -> bool:
    """Whether a metric is a column of the records of server and machine."""
    return name.partition(".")[0] in _WATCHED


def _watched(name: str) -> Metric:
    return Metric(name, "", "neither", name, "Mean over the window.", lambda seen: seen.server_mean(name), part=name)


METRICS: tuple[Metric, ...] = (
    Metric(
        "rate",
        "ops/s",
        "higher",
        "throughput",
        "Correct operations per second of the window.",
        lambda seen: seen.run.rate_ops_per_s,
        _operation_rate,
    ),
    *(found for name in ("p50", "p90", "p95", "p99", "p999") if (found := _percentile(f"latency_{name}"))),
    _response(
        "latency_mean",
        "mean response time",
        "Mean response time. Operations that failed or timed out count with the time that they took, so the mean is"
        " a lower bound then; not defined where more than 1 % failed.",
        Distribution.mean,
    ),
    _response(
        "latency_max",
        "longest response time",
        "The longest response time; a lower bound where operations failed or timed out.",
        Distribution.longest,
    ),
    Metric(
        "error_ratio",
        "ratio",
        "lower",
        "error ratio",
        "Share of the operations that did not end correctly.",
        lambda seen: seen.run.error_ratio,
        _operation_error_ratio,
    ),
    Metric(
        "abort_ratio",
        "ratio",
        "lower",
        "abort ratio",
        "Share of the attempts that ended in a conflict with other transactions (deadlock, serialization failure, lock"
        " timeout), retried or not.",
        _abort_ratio,
    ),
    Metric(
        "unknown_ratio",
        "ratio",
        "lower",
        "ratio of unknown outcomes",
        "Share of the operations that timed out, or were writes and lost their connection.",
        _outcome_ratio("unknown"),
        _operation_outcome_ratio("unknown"),
    ),
    Metric(
        "retries_per_op",
        "count",
        "lower",
        "retries per operation",
        "Attempts after the first one, per operation.",
        lambda seen: seen.per_op(seen.run.retries),
    ),
    Metric(
        "pool_wait_mean",
        "ms",
        "lower",
        "mean wait for a session",
        "Mean time that users waited for a session of the pool; only for runs with a pool.",
        lambda seen: seen.run.pool_wait.mean_ns / 1e6 if seen.run.pool_wait.count else None,
    ),
    Metric(
        "queries_per_s",
        "1/s",
        "higher",
        "statement throughput",
        "Statements of the counted operations per second; only for workloads that count them.",
        _queries,
    ),
    Metric(
        "server_transactions_per_minute",
        "1/min",
        "higher",
        "transactions per minute by the server's counters",
        "Commits and rollbacks of all clients by the server's own counters; MariaDB and MySQL count only the"
        " statements COMMIT and ROLLBACK. Only for a single server.",
        _server_transactions,
    ),
    *(
        Metric(
            f"{kind}_units_per_op",
            "count",
            "lower",
            f"{kind} capacity units per operation",
            f"{kind.capitalize()} capacity units that the service said it consumed, per operation; only for DynamoDB.",
            _units(kind),
        )
        for kind in ("read", "write")
    ),
    Metric(
        "client_cpu_us_per_op",
        "µs/op",
        "lower",
        "client CPU per operation",
        "CPU time of the client processes (the engine) in the window, per operation.",
        lambda seen: seen.run.client_cpu_us_per_op,
    ),
    Metric(
        "server_cpu_us_per_op",
        "µs/op",
        "lower",
        "server CPU per operation",
        "CPU time of the server's processes in the window, per operation; not for embedded systems.",
        lambda seen: seen.run.server_cpu_us_per_op,
    ),
    Metric(
        "cpu_us_per_op",
        "µs/op",
        "lower",
        "CPU of client and server per operation",
        "Sum of both, because work can move between client and server.",
        lambda seen: _sum(seen.run.client_cpu_us_per_op, seen.run.server_cpu_us_per_op),
    ),
    Metric(
        "client_rate_min",
        "ops/s",
        "higher",
        "throughput of the slowest client",
        "Correct operations per second of the slowest client; only for runs with several.",
        lambda seen: min((client.rate_ops_per_s for client in seen.run.clients), default=None),
    ),
    Metric(
        "clock_bound",
        "ms",
        "lower",
        "uncertainty of the clocks",
        "Largest possible error of a load machine's clock, of the machine whose clock is known least.",
        lambda seen: max((client.clock_bound_ns / 1e6 for client in seen.run.clients), default=0.0) or None,
    ),
    Metric(
        "client_memory_peak_bytes",
        "bytes",
        "lower",
        "client memory",
        "Peak memory of the client processes (the engine).",
        lambda seen: seen.run.client_memory_peak_bytes or None,
    ),
    Metric(
        "server_memory_peak_bytes",
        "bytes",
        "lower",
        "server memory",
        "Peak memory of the server's processes.",
        lambda seen: seen.run.server.memory_peak_bytes,
    ),
    Metric(
        "size_on_disk_bytes",
        "bytes",
        "lower",
        "size on disk",
        "The system's data on disk after the run, when deferred work (flushes, compactions) is done.",
        lambda seen: seen.run.server.size_on_disk_bytes,
    ),
    Metric(
        "write_bytes_per_op",
        "bytes/op",
        "lower",
        "bytes written per operation",
        "Bytes written to disk from the window's start until deferred work was done, per operation.",
        lambda seen: seen.per_op(seen.run.server.write_bytes_with_debt),
    ),
    Metric(
        "write_amplification",
        "count",
        "lower",
        "write amplification",
        "Bytes written to disk divided by bytes that users wrote.",
        lambda seen: seen.run.server.write_bytes_per_user_byte,
    ),
    cost_metric(),
    Metric(
        "load_s",
        "s",
        "lower",
        "load time",
        "Time to load the run's data.",
        _load(lambda load: load.elapsed_s or None),
        per="load",
    ),
    Metric(
        "load_rate",
        "rows/s",
        "higher",
        "load throughput",
        "Rows loaded per second.",
        _load(lambda load: load.rows_per_s or None),
        per="load",
    ),
    Metric(
        "lag_s_max",
        "s",
        "lower",
        "longest lag of a replica",
        "Longest lag behind the primary in the window, of the replica with the longest one.",
        _furthest(max),
    ),
    Metric(
        "lag_s_end",
        "s",
        "lower",
        "lag of a replica at the end",
        "Lag behind the primary at the end of the window, of the replica with the longest one.",
        _furthest(lambda lags_s: lags_s[-1]),
    ),
    Metric(
        "stale_read_ratio",
        "ratio",
        "lower",
        "share of stale reads",
        "Share of the reads next to the load for which a newer value had been acknowledged before they began; half of"
        " them begin within 50 ms after a write of their key. Only with `probe = true` in `[verify]`.",
        _staleness(lambda found: found.stale / found.reads if found.reads else None),
    ),
    Metric(
        "stale_age_p99",
        "ms",
        "lower",
        "p99 of the age of stale reads",
        "How long the value of a stale read had been replaced when the read began, which 99 % of the stale reads did"
        " not exceed; not defined without stale reads.",
        _staleness(lambda found: found.age_ns.p99 / 1e6 if found.stale else None),
    ),
    *(
        Metric(
            one.name,
            one.unit,
            "lower",
            one.label,
            one.about,
            one.of_run,
            is_least=was_not_seen_back if one.name == FULL_RATE else None,
        )
        for one in FAULT_FIGURES
    ),
)

_BY_NAME = {one.name: one for one in METRICS}
