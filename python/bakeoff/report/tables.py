"""A bundle as tables: runs x metrics, cells x metrics, seconds, and what server and machine were watched by.

Each has one row for each thing, what it is first and then its values. The field of a column of values says in its
metadata the `unit` (empty: a plain number) and, of a metric, which way is `better`; the fields of columns that say what
a row is about have no metadata. Null: not defined, or not known, as is everything of a run that failed.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..analysis.metric import Metric
from ..analysis.percentiles import Distribution, decode
from ..analysis.registry import UnknownMetric, all_metrics, is_watched, metric, of_operations
from ..analysis.wording import significant
from ..bundle.read import Bundle, Pick
from ..findings.cells import metric_spreads, metric_values
from ..findings.promises import promises_by_cell
from ..findings.runs import runs_by_cell, used_runs
from ..findings.stages import STAGE_QUANTILES, response_times, service_times
from ..model.clients import ClientRecord
from ..model.records.plan import CellRecord, Scalar
from ..model.records.run import RunRecord, StageRecord
from ..suggestions import meant

if TYPE_CHECKING:
    import pyarrow as pa


Columns = dict[str, list[Scalar | None]]
Tables = Callable[[str, Pick | None], "pa.Table | None"]
#: How a unit ends a name, the longest first.
_ENDINGS = {
    "_bytes_per_s": "bytes/s",
    "_ops_per_s": "ops/s",
    "_s_per_s": "s/s",
    "_per_s": "1/s",
    "_bytes": "bytes",
    "_ms": "ms",
    "_s": "s",
}
#: What a row is about, besides the levels of factors.
_ABOUT = ("run", "cell", "block", "started", "valid", "standing", "promise", "second", "length_s", "warm_up")
#: What a row of a second is about, rather than what was seen in it.
_OF_A_SECOND = ("second", "length_s", "warm_up")
#: Of a cell's spread, what is added to the metric's name for each.
_FIGURES = {"": "value", **{f"_{name}": name for name in ("low", "high", "minimum", "maximum", "cv")}}


def runs_table(bundle: Bundle, metrics: Sequence[Metric]) -> pa.Table:
    """One row a run, in the order in which they were made; one column a metric."""
    about = of_runs(bundle, bundle.runs)
    done = [run for run in bundle.runs if run.state == "done"]
    ids = [run.id for run in done]
    columns = [dict(zip(ids, values, strict=True)) for values in metric_values(bundle, done, metrics)]
    values: Columns = {
        m.name: [column.get(run.id) for run in bundle.runs] for m, column in zip(metrics, columns, strict=True)
    }
    return table_of(about, values, {m.name: _told(m) for m in metrics})


def cells_table(bundle: Bundle, metrics: Sequence[Metric]) -> pa.Table:
    """One row a cell: of every metric the typical valid repetition (the geometric mean); next to it its 95 % CI
    (`_low`, `_high`), the least and the most (`_minimum`, `_maximum`) and the standard deviation over the mean (`_cv`).
    Null where some repetition has no value, an interval also where there is only one."""
    grouped = runs_by_cell(bundle.runs)
    runs = [grouped[cell.id] for cell in bundle.plan.cells]
    about = _of_cells(bundle, bundle.plan.cells)
    about["repetitions_planned"] = [bundle.plan.repetitions] * len(runs)
    about["repetitions_finished"] = [sum(run.state == "done" for run in of_cell) for of_cell in runs]
    about["repetitions_valid"] = [sum(run.valid for run in of_cell) for of_cell in runs]
    about["repetitions_marked"] = [sum(run.is_marked for run in of_cell) for of_cell in runs]
    about |= _promises(bundle, [cell.id for cell in bundle.plan.cells])
    found = [metric_spreads(bundle, used_runs(of_cell), metrics) for of_cell in runs]
    values: Columns = {}
    told: dict[str, dict[str, str]] = {}
    for one in metrics:
        of_each = [spread.get(one.name) for spread in found]
        for name, figure in _FIGURES.items():
            values[one.name + name] = [getattr(spread, figure) if spread else None for spread in of_each]
            told[one.name + name] = {"unit": "ratio", "better": "lower"} if figure == "cv" else _told(one)
    return table_of(about, values, told)


def seconds_table(bundle: Bundle, columns: Collection[str] = ()) -> pa.Table:
    """One row a second of every run, as its clients saw it; second: since the warm-up began. columns: of what was seen,
    all unless named; UnknownMetric for one that no run has."""
    return _of_seconds(bundle, bundle.intervals, columns)


def samples_table(bundle: Bundle, columns: Collection[str] = ()) -> pa.Table:
    """One row a sample of server and machine in every run; second: when, since the warm-up began; length_s: since the
    sample before. columns: as of `seconds_table`."""
    return _of_seconds(bundle, bundle.server, columns)


def stages_table(bundle: Bundle, columns: Collection[str] = ()) -> pa.Table:
    """One row a stage of a run whose rate changes, or a part of one: `from_s`, `to_s` since the window's start, of what
    is measured in the whole seconds within it. kept: whether it kept its rate; null where it has no whole second.
    columns: of its values, all unless named; UnknownMetric for one that there is not."""
    named_columns(columns, [name for name, _, _ in _OF_STAGES], "there is no column")
    seen = [(run, stage) for run in bundle.runs for stage in run.stages]
    about = {
        **of_runs(bundle, [run for run, _ in seen]),
        "stage": [stage.name for _, stage in seen],
        "from_s": [stage.from_s for _, stage in seen],
        "to_s": [stage.to_s for _, stage in seen],
        "kept": [None if not stage.length_s else not stage.overloaded for _, stage in seen],
    }
    wanted = [value for value in _OF_STAGES if not columns or value[0] in columns]
    values = {name: [of(stage) if stage.length_s else None for _, stage in seen] for name, _, of in wanted}
    return table_of(about, values, {name: {"unit": unit} for name, unit, _ in wanted})


def every_metric(bundle: Bundle) -> list[Metric]:
    """Of all operations and of each one, and the means of all that server and machine were watched by."""
    operations = dict.fromkeys(series.operation for run in bundle.runs for series in run.series)
    watched = (metric(name) for name in _columns_of(bundle, bundle.server) if is_watched(name))
    return [*all_metrics(bundle.plan.rates), *of_operations(operations), *watched]


def without_empty(table: pa.Table) -> pa.Table:
    """Without the values that no row has."""
    return table.drop_columns([name for name in _values(table) if table.column(name).null_count == table.num_rows])


def long(table: pa.Table) -> pa.Table:
    """One row for each value that there is: what it is about, then `metric`, `value` and `unit`."""
    import pyarrow as pa

    about = [name for name in table.column_names if not told_of(table, name)]
    parts = []
    for name in _values(table):
        there = table.filter(table.column(name).is_valid())
        value = {"metric": [name] * len(there), "value": there.column(name).cast("double")}
        unit = [told_of(table, name)["unit"]] * len(there)
        parts.append(pa.table({**{each: there.column(each) for each in about}, **value, "unit": unit}))
    return pa.concat_tables(parts, promote_options="permissive")


def told_of(table: pa.Table, column: str) -> dict[str, str]:
    """`unit` and `better` of a column of values; nothing of one that says what a row is about."""
    metadata = table.schema.field(column).metadata or {}
    return {key.decode(): value.decode() for key, value in metadata.items()}


def _values(table: pa.Table) -> list[str]:
    return [name for name in table.column_names if told_of(table, name)]


def _told(metric: Metric) -> dict[str, str]:
    return {"unit": metric.unit, "better": metric.better}


def of_runs(bundle: Bundle, runs: Sequence[RunRecord]) -> Columns:
    cells = {cell.id: cell for cell in bundle.plan.cells}
    return {
        "run": [run.id for run in runs],
        "cell": [run.cell for run in runs],
        "block": [run.block for run in runs],
        "started": [run.started for run in runs],
        **_of_cells(bundle, [cells[run.cell] for run in runs]),
        "valid": [run.valid for run in runs],
        "standing": [run.standing for run in runs],
        **_promises(bundle, [run.cell for run in runs]),
    }


def _promises(bundle: Bundle, cells: Sequence[str]) -> Columns:
    """Whether the system keeps what its level promises, where the plan asks for checks."""
    found = promises_by_cell(bundle)
    return {"promise": [found[cell].verdict for cell in cells]} if found else {}


def _of_cells(bundle: Bundle, cells: Sequence[CellRecord]) -> Columns:
    factors = dict.fromkeys(name for cell in bundle.plan.cells for name in cell.levels if name != "system")
    return {
        "cell": [cell.id for cell in cells],
        "system": [cell.system for cell in cells],
        **({"peer_of": [cell.peer_of for cell in cells]} if any(cell.peer_of for cell in bundle.plan.cells) else {}),
        "workload": [cell.workload for cell in cells],
        **{_named_apart(bundle, name): [cell.levels.get(name) for cell in cells] for name in factors},
    }


def _named_apart(bundle: Bundle, factor: str) -> str:
    """The offered `rate` is not the metric of that name, nor a factor `block` what a row is about."""
    if factor in _ABOUT:
        return f"factor.{factor}"
    try:
        metric(factor, bundle.plan.rates)
    except UnknownMetric:
        return factor
    return f"factor.{factor}"


def _of_seconds(bundle: Bundle, tables: Tables, columns: Collection[str]) -> pa.Table:
    import pyarrow as pa

    named_columns(columns, _columns_of(bundle, tables) if columns else [], "no run has a column")

    def pick(names: list[str]) -> list[str]:
        return [name for name in names if not columns or name in columns or name in _OF_A_SECOND]

    runs = [(run, found) for run in bundle.runs if (found := tables(run.id, pick)) is not None and found.num_rows]
    about = of_runs(bundle, [run for run, found in runs for _ in range(found.num_rows)])
    seconds = pa.concat_tables([found for _, found in runs], promote_options="permissive") if runs else pa.table({})
    own = {name: seconds.column(name) for name in _OF_A_SECOND if name in seconds.column_names}
    values = {name: seconds.column(name) for name in seconds.column_names if name not in own}
    return table_of({**about, **own}, values, {name: {"unit": _unit(name)} for name in values})


def named_columns(columns: Collection[str], known: Sequence[str], what: str) -> None:
    """Raises UnknownMetric for one that is not known. what: is said before its name."""
    for name in columns:
        if name not in known:
            raise UnknownMetric(f"{what} `{name}`", meant(name, known))


def _columns_of(bundle: Bundle, tables: Tables) -> list[str]:
    """Of the tables of all runs, each name once."""
    names: dict[str, None] = {}

    def note(of_run: list[str]) -> list[str]:
        names.update(dict.fromkeys(of_run))
        return []

    for run in bundle.runs:
        tables(run.id, note)
    return list(names)


def _unit(column: str) -> str:
    return next((unit for ending, unit in _ENDINGS.items() if column.endswith(ending)), "")


def table_of(about: Mapping[str, Any], values: Mapping[str, Any], told: Mapping[str, Mapping[str, str]]) -> pa.Table:
    import pyarrow as pa

    arrays = [*map(_array, about.values()), *map(_array, values.values())]
    fields = [pa.field(name, array.type) for name, array in zip(about, arrays, strict=False)]
    fields += [
        pa.field(name, array.type, metadata=told[name])
        for name, array in zip(values, arrays[len(about) :], strict=True)
    ]
    return pa.table(arrays, schema=pa.schema(fields))


def _array(values: Any) -> Any:
    """Levels of one factor may be words and numbers: then all are words."""
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        return values
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values])


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


def clients_table(bundle: Bundle, columns: Collection[str] = ()) -> pa.Table:
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


def _stage_ms(name: str, *, service: bool = False) -> Callable[[StageRecord], float | None]:
    def of(stage: StageRecord) -> float | None:
        found = service_times(stage) if service else response_times(stage)
        value_ns = None if found is None else found.percentile(STAGE_QUANTILES[name]).value_ns
        return None if value_ns is None else value_ns / 1e6

    return of


#: Name of the column, unit, and the stage's value.
_OF_STAGES: tuple[tuple[str, str, Callable[[StageRecord], float | None]], ...] = (
    ("planned_from_ops_per_s", "ops/s", lambda stage: stage.from_ops_per_s),
    ("planned_to_ops_per_s", "ops/s", lambda stage: stage.to_ops_per_s),
    ("offered_ops_per_s", "ops/s", lambda stage: stage.due / stage.length_s),
    ("rate_ops_per_s", "ops/s", lambda stage: stage.ok / stage.length_s),
    ("due", "", lambda stage: stage.due),
    ("ok", "", lambda stage: stage.ok),
    ("errors", "", lambda stage: sum(stage.errors.values())),
    ("backlog", "", lambda stage: stage.backlog),
    *((name, "ms", _stage_ms(name)) for name in STAGE_QUANTILES),
    *((f"service_{name}", "ms", _stage_ms(name, service=True)) for name in STAGE_QUANTILES),
)


#: What a spreadsheet takes for the beginning of a formula, as a name may have one: CWE-1236.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(table: pa.Table, *, units: bool = False) -> str:
    """Nothing between two commas: no value. units: in the head, as in Markdown. What a spreadsheet would take for
    a formula has an apostrophe before it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_harmless(name) for name in _head(table, units=units)])
    for row in _rows(table):
        writer.writerow([_harmless(value) if isinstance(value, str) else _text(value) for value in row])
    return text.getvalue()


def as_markdown(table: pa.Table) -> str:
    """For people: units are in the head, and numbers that are not whole have four significant digits."""
    lines = [_head(table, units=True), ["---"] * table.num_columns]
    lines += [[_rounded(value) for value in row] for row in _rows(table)]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def _head(table: pa.Table, *, units: bool) -> list[str]:
    """ "latency_p99 (ms)"; only the name where it ends in its unit, or has none."""
    told = {name: told_of(table, name).get("unit") if units else None for name in table.column_names}
    return [f"{name} ({unit})" if unit and not name.endswith(f"_{unit}") else name for name, unit in told.items()]


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    for batch in table.to_batches(max_chunksize=4096):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _rounded(value: Any) -> str:
    return significant(value, 4) if isinstance(value, float) else _text(value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
