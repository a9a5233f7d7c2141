"""The clients of a bundle's runs as a table."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from ..analysis.response_times import Distribution, decode
from ..findings.source import Source
from ..model.clients import ClientRecord
from .table import named_columns, of_runs, table_of

if TYPE_CHECKING:
    import pyarrow as pa


def _response_ms(quantile: float) -> Callable[[ClientRecord], float | None]:
    def of(client: ClientRecord) -> float | None:
        found = Distribution(decode(client.headline), client.failures).percentile(quantile)
        return None if found.value_ns is None else found.value_ns / 1e6

    return of


def _cpu_us_per_op(client: ClientRecord) -> float | None:
    ended = client.ok + sum(client.errors.values())
    return client.cpu_s * 1e6 / ended if ended else None


def _clock(value_ns: Callable[[ClientRecord], int], per_unit: float) -> Callable[[ClientRecord], float | None]:
    """None of a client that reads the controller's."""
    return lambda client: value_ns(client) / per_unit if client.clock_bound_ns else None


def _in_ms(value_ns: int | None) -> float | None:
    return None if value_ns is None else value_ns / 1e6


#: Name of the column, unit, and the client's value; None: not known, or it does not arise.
_VALUES: tuple[tuple[str, str, Callable[[ClientRecord], float | None]], ...] = (
    ("rate_ops_per_s", "ops/s", lambda client: client.rate_ops_per_s),
    ("due", "", lambda client: client.due),
    ("completed", "", lambda client: client.completed),
    ("ok", "", lambda client: client.ok),
    ("errors", "", lambda client: sum(client.errors.values())),
    ("p50_ms", "ms", _response_ms(0.5)),
    ("p99_ms", "ms", _response_ms(0.99)),
    ("cpu_s", "s", lambda client: client.cpu_s),
    ("cpu_us_per_op", "µs/op", _cpu_us_per_op),
    ("memory_peak_bytes", "bytes", lambda client: client.memory_peak_bytes),
    ("busy_ratio", "ratio", lambda client: max(client.workers_busy_ratio, default=None)),
    ("no_core_ratio", "ratio", lambda client: max(client.workers_run_queue_delay_ratio, default=None)),
    ("steal_ratio", "ratio", lambda client: client.steal_ratio),
    ("start_late_ms", "ms", lambda client: _in_ms(client.start_late_ns)),
    ("server_round_trip_ms", "ms", lambda client: _in_ms(client.server_round_trip_ns_max)),
    ("controller_round_trip_ms", "ms", lambda client: _in_ms(client.round_trip_ns)),
    ("clock_offset_s", "s", _clock(lambda client: client.clock_offset_ns, 1e9)),
    ("clock_bound_ms", "ms", _clock(lambda client: client.clock_bound_ns, 1e6)),
)


def clients_table(bundle: Source, columns: Collection[str] = ()) -> pa.Table:
    """One row a client of a run with several, or with one on another machine. machine: "this machine" where bakeoff
    ran; load_machine: as the fleet calls it. behind: by what it was slower than the others, in words. columns: of its
    values, all unless named; UnknownMetric for one that there is not."""
    named_columns(columns, [name for name, _, _ in _VALUES], "there is no column")
    seen = [(run, client) for run in bundle.runs for client in run.clients]
    about = {
        **of_runs(bundle, [run for run, _ in seen]),
        "client_number": [client.number for _, client in seen],
        "machine": [client.machine for _, client in seen],
        "load_machine": [client.load_machine or client.machine for _, client in seen],
        "cores": [client.cores for _, client in seen],
        "behind": [client.behind for _, client in seen],
    }
    wanted = [value for value in _VALUES if not columns or value[0] in columns]
    values = {name: [of(client) for _, client in seen] for name, _, of in wanted}
    return table_of(about, values, {name: {"unit": unit} for name, unit, _ in wanted})
