"""What a plan takes: its data on disk while it runs, the bundle that stays, and the time of its runs. Estimates, from
what was measured of each system (systems/size_on_disk.py) and of bundles (`benches/sizes.py`, docs/method/sizes.md)."""

from __future__ import annotations

from ...systems import SYSTEMS
from ...systems.size_on_disk import SizeOnDisk
from ..resolved import Cell, ResolvedPlan

_BUNDLE_BYTES = 400_000  # plan, machine and report
_SERVERS_CHART_BYTES = 110_000  # of what the servers said, second by second
_BUNDLE_BYTES_PER_CELL = 100_000  # facts, and its part of the report and of the charts
_BUNDLE_BYTES_PER_OPERATION = 18_000  # of a cell's workload, beyond the first
_RUN_BYTES = 50_000
_RUN_BYTES_OF_A_SERVER = 38_000  # its counters, and what its log said
_BYTES_PER_S = 650
_BYTES_PER_S_OF_A_SERVER = 850


def disk_bytes(plan: ResolvedPlan) -> int:
    """The most there is at one time: data as loaded and as kept, a copy that is being put back, and the bundle."""
    folders = [(cells, folder_bytes(cells[0])) for cells in loads(plan.cells) if cells[0].place is None]
    put_back = [size for cells, size in folders if _keeps_a_copy(cells)]
    data = sum(size * (_systems(cells) + _keeps_a_copy(cells)) for cells, size in folders)
    return data + max(put_back, default=0) + bundle_bytes(plan)


def bundle_bytes(plan: ResolvedPlan) -> int:
    runs = sum(_run_bytes(plan, cell) for cell in plan.cells) * plan.record.repetitions
    chart = 0 if all(map(_embedded, plan.cells)) else _SERVERS_CHART_BYTES
    operations = sum(len(cell.workload.operations) - 1 for cell in plan.cells)
    parts = _BUNDLE_BYTES_PER_CELL * len(plan.cells) + _BUNDLE_BYTES_PER_OPERATION * operations
    return round(_BUNDLE_BYTES + chart + parts + runs)


def tables_bytes(cell: Cell) -> int:
    """Of the loaded tables."""
    workload = cell.workload
    kind = workload.spec["kind"]
    name = "pgbench" if kind == "sql" and workload.spec["script"] else kind
    rows, value_bytes, tables = workload.loaded_rows, workload.size_estimate_bytes, len(workload.tables)
    return _storage(cell).tables_bytes(name, rows, value_bytes, tables, workload.spec.get("partitions", 1))


def folder_bytes(cell: Cell) -> int:
    """Of a private system with its tables."""
    return _storage(cell).folder_bytes(tables_bytes(cell))


def loads(cells: list[Cell]) -> list[list[Cell]]:
    """The cells of each data set."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.load_key, []).append(cell)
    return list(groups.values())


def _storage(cell: Cell) -> SizeOnDisk:
    return SYSTEMS[cell.record.kind].storage


def _embedded(cell: Cell) -> bool:
    return SYSTEMS[cell.record.kind].capabilities().embedded


def _systems(cells: list[Cell]) -> int:
    return len({cell.instance_key for cell in cells})


def _keeps_a_copy(cells: list[Cell]) -> bool:
    """To be put back, or to be shared by several systems."""
    reset = cells[0].reset
    return reset == "restore" or (reset != "reload" and _systems(cells) > 1)


def _run_bytes(plan: ResolvedPlan, cell: Cell) -> float:
    watched_s = plan.warm_up_s + cell.expected_window_s
    of_server = 0 if _embedded(cell) else _RUN_BYTES_OF_A_SERVER + _BYTES_PER_S_OF_A_SERVER * watched_s
    return _RUN_BYTES + _BYTES_PER_S * watched_s + of_server


# Times, from runs of plans/quickstart.toml on a two-core machine (2026-11).
_LOAD_ROWS_PER_S = 15_000


_SCAN_ROWS_PER_S = 250_000


_COPY_BYTES_PER_S = 200e6


_DRAIN_S = 2.0  # after work that writes, until a server has written back what it owes


_ENGINE_START_S = 0.1  # start, connect and end, for each engine process in turn


_CHECK_S = 0.1


def estimate_run_s(plan: ResolvedPlan, cell: Cell) -> float:
    """One run: the data put back, warmed, warm-up, window, checks."""
    rows = cell.workload.loaded_rows
    total_s = _ENGINE_START_S * cell.clients + _CHECK_S + plan.warm_up_s + cell.expected_window_s
    if cell.workload.writes and _has_server(cell):
        total_s += _DRAIN_S
    if cell.reset == "restore":
        total_s += _restore_s(cell)
    elif cell.reset == "reload":
        total_s += _load_s(cell)
    elif _by_turns(plan, cell):
        total_s += _restart_s(cell)
    if plan.record.cache == "cold":
        total_s += _restart_s(cell)
    elif plan.record.cache == "warm":
        total_s += _ENGINE_START_S + rows / _SCAN_ROWS_PER_S
    return total_s


def _load_s(cell: Cell) -> float:
    return _ENGINE_START_S + cell.workload.loaded_rows / _LOAD_ROWS_PER_S + _restart_s(cell)


def _restore_s(cell: Cell) -> float:
    return _restart_s(cell) + folder_bytes(cell) / _COPY_BYTES_PER_S


def _restart_s(cell: Cell) -> float:
    """Its servers, which wait for each other."""
    return SYSTEMS[cell.record.kind].restart_s * max(1, len(cell.record.nodes)) if _has_server(cell) else 0.0


def _by_turns(plan: ResolvedPlan, cell: Cell) -> bool:
    """One private system runs at a time: where there are others, this one is stopped for them."""
    return _has_server(cell) and any(_has_server(c) and c.instance_key != cell.instance_key for c in plan.cells)


def _has_server(cell: Cell) -> bool:
    return "start" in cell.system_options
