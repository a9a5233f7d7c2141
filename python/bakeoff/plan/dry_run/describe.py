"""What a run of a plan would do and cost: the dry run. A plain structure: `bakeoff run --dry-run` prints it as a
table or as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ...analysis.limit import parse
from ...analysis.registry import metric
from ...analysis.wording import bytes_words, counted, rate_words, seconds_words
from ...errors import PlanError
from ...fleet.engine_program import resolve
from ...fleet.spec import spread_words
from ...model.boundary import OperationsLimit
from ...model.levels import PORTABLE
from ...model.peers import peer_words
from ...model.prices import Priced
from ...model.records.plan import CellRecord, PlanRecord, SearchRecord, price_words
from ...model.resolve import Preview, Previewed, PreviewRequest, Rate, Refused
from ...provision.files import can_hold_files
from ...systems import SYSTEMS
from ..costs import Cost, as_json, costs_of
from ..data import by_system
from ..document.tables import OpenLoop
from ..document.units import RATE_MAX_OPS_PER_S
from ..existing_tables import TablesLine
from ..machines import disk_free_bytes, installation
from ..resolved import OPERATIONS_PER_S, Cell, ResolvedPlan
from ..verify import subjects
from .estimates import _load_s, bundle_bytes, disk_bytes, estimate_run_s, loads, tables_bytes, troubles, verify_s

LIMITS = (
    "Times and sizes are estimates: machines differ, and repeats of disturbed runs come on top. You can stop at any run"
    " and resume later."
)


#: Of the plan's and its cells' records, what is not shown.
_PLAN_NOT_SHOWN = {
    *("format", "seed", "error_budget_ratio", "placement", "search"),
    *("cells", "resolved", "only", "repeat_disturbed", "fleet"),
}
#: What `fail_if` does where a change is undecided.
_UNDECIDED = {
    "separate": "exit code 4 if it is undecided",
    "pass": "undecided passes",
    "fail": "undecided fails, too",
}
_CELL_NOT_SHOWN = {"kind", "dataset", "reset", "rates", "limits", "nodes", "faults", "work", "content"}


@dataclass(frozen=True)
class CellLine:
    record: CellRecord
    runs: int
    run_s: float  # one run, restore included


@dataclass(frozen=True)
class LoadLine:
    key: str
    system: str
    dataset: str
    workload: str
    rows: int
    size_bytes: int
    load_s: float
    cells: list[str]


@dataclass(frozen=True)
class DryRun:
    """cells, loads, tables: a line each."""

    record: PlanRecord
    part: str  # "only mariadb or threads=8"; empty: the whole plan
    cells: list[CellLine]
    loads: list[LoadLine]
    #: What a search looks for and where; empty: the plan is no search.
    search_words: str
    runs: int
    #: Of the bundle that is continued; `runs`, each cell's and the time are of what is left to do.
    runs_there: int
    data: str
    time_s: float
    time_words: str
    disk_bytes: int  # data while running, and the bundle
    disk_words: str
    bundle_bytes: int  # what stays
    disk_free_bytes: int
    skipped: dict[str, str]
    #: How the offered rate changes, in words; empty: it does not.
    stages: str
    #: Of public services.
    costs: list[Cost]
    #: Whose figures these are not, a clause each.
    peers: list[str]
    #: Where clients run, other than as processes of this machine alone; empty: there.
    fleet: list[str]
    #: By system: "MariaDB server 10.11.19 (PATH)", or that bakeoff connects to it.
    servers: dict[str, str]
    #: Durability and isolation that all cells of a system have, because they are no factors: "durability full".
    constants: str
    #: By system of several nodes: their names, and the routes of those who use it.
    routes: dict[str, str]
    #: By system: what is done to its servers in each run.
    faults: dict[str, list[str]]
    #: What is checked of the systems after the runs, a line each with its time; empty: nothing.
    verify: list[str]
    #: Of the plan, on existing systems.
    tables: list[TablesLine]
    previews: list[WorkloadPreview]
    #: Of existing data: what is read of them besides what users ask.
    reads: list[str]
    warnings: list[str]
    limits: str = LIMITS

    @property
    def limit_words(self) -> str:
        """How long a run is: "window 30 s", "1,000 operations"."""
        if self.record.window_s is not None:
            return f"window {seconds_words(self.record.window_s)}"
        if self.record.operations is not None:
            return counted(self.record.operations, "operation", "operations")
        return "windows of several lengths"

    @property
    def comparison_words(self) -> list[str]:
        """What is compared or judged, a sentence each."""
        plan = self.record
        factor, objective = plan.compare_factor, f"{metric(plan.objective, plan.rates).label} ({plan.objective})"
        if plan.search is not None:
            found = []
        elif len(plan.factors[factor]) > 1:
            found = [f"compares {objective} over {factor}"]
        else:
            found = [f"judges {objective}; nothing is compared, because the plan has one {factor}"]
        if plan.matters_ratio is not None:
            found.append(f"differences of {100 * plan.matters_ratio:.10g} % or more matter")
        if plan.limits:
            found.append(f"limits: {'; '.join(parse(text, plan.rates).words for text in plan.limits)}")
        if plan.fail_if:
            found.append(f"exit code 1 if {' or '.join(plan.fail_if)}; {_UNDECIDED[plan.undecided]}")
        return found + price_words(plan.cells)

    def to_json(self) -> dict[str, Any]:
        lines = [
            {**line.record.model_dump(exclude=_CELL_NOT_SHOWN), "runs": line.runs, "run_s": line.run_s}
            for line in self.cells
        ]
        previews = [
            {"workload": one.workload, "operations": [operation.model_dump() for operation in one.operations]}
            for one in self.previews
        ]
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "record"}
        shown = {**self.record.model_dump(exclude=_PLAN_NOT_SHOWN), **own}
        loads, tables = map(asdict, self.loads), map(asdict, self.tables)
        shown["costs"] = as_json(self.costs)
        return {**shown, "cells": lines, "loads": [*loads], "tables": [*tables], "previews": previews}


def describe(
    plan: ResolvedPlan,
    results: Path,
    tables: Sequence[TablesLine] = (),
    previews: Sequence[WorkloadPreview] = (),
    there: Mapping[str, int] = MappingProxyType({}),
    machines: Sequence[str] = (),
) -> DryRun:
    """The plan's cells, repetitions, estimated time and disk. results: the folder that bundles go to. tables: what was
    seen on existing systems. previews: what users will ask first. there: by cell, the runs of a bundle that is
    continued. machines: of the plan's cluster, where that was asked."""
    record = plan.record
    cells = [
        CellLine(
            cell.record,
            runs=max(0, record.repetitions - there.get(cell.record.id, 0)),
            run_s=round(estimate_run_s(plan, cell), 2),
        )
        for cell in plan.cells
    ]
    runs_there = sum(there.get(cell.record.id, 0) for cell in plan.cells)
    lines = [_load_line(cells) for cells in loads(plan.cells) if cells[0].data == "load"]
    time_s = sum(line.load_s for line in lines) + sum(line.runs * line.run_s for line in cells)
    checks = _verify_words(plan)
    time_s += sum(seconds for _, seconds in checks)
    bundle = bundle_bytes(plan)
    disk = disk_bytes(plan)
    free = disk_free_bytes(results)
    warnings = [*plan.warnings, *troubles(plan)]
    if not can_hold_files(results):
        warnings.append(f"nothing can be written in {results}: run will refuse")
    elif disk > free:
        warnings.append(
            f"about {bytes_words(disk)} of disk are needed and {bytes_words(free)} are free: run will refuse"
        )
    if any(isinstance(cell.limit, OperationsLimit) and cell.record.rate_ops_per_s is None for cell in plan.cells):
        warnings.append(f"the time of a run limited by operations is a guess ({OPERATIONS_PER_S:,}/s per client)")
    return DryRun(
        record=record,
        part=record.part_words,
        cells=cells,
        loads=lines,
        runs=max(0, record.runs_max - runs_there),
        runs_there=runs_there,
        search_words=_search_words(record.search, record.rates) if record.search else "",
        data=by_system(plan.cells, lambda cell: cell.data),
        time_s=round(time_s, 1),
        time_words=seconds_words(time_s),
        disk_bytes=disk,
        disk_words=bytes_words(disk),
        bundle_bytes=bundle,
        disk_free_bytes=free,
        skipped=dict(plan.skipped),
        stages=_stages_words(plan.measure.pacing),
        costs=costs_of(plan),
        peers=peer_words(record.cells),
        fleet=_fleet_words(plan, machines),
        servers=_servers_words(plan),
        constants=_constants_words(plan),
        routes={name: _route_words(cells) for name, cells in _of_several_nodes(plan.cells).items()},
        faults={
            cell.record.system: [fault.words for fault in cell.record.faults]
            for cell in plan.cells
            if cell.record.faults
        },
        verify=[words for words, _ in checks],
        tables=list(tables),
        previews=list(previews),
        reads=_reads_words(plan, tables),
        warnings=warnings,
    )


def _servers_words(plan: ResolvedPlan) -> dict[str, str]:
    """By system that is a server."""
    found: dict[str, dict[str, None]] = {}
    for cell in plan.cells:
        start = cell.system_options.get("start")
        one = installation(SYSTEMS[cell.record.kind], start) if isinstance(start, dict) else None
        if one is not None:
            words = f"{cell.record.kind} {one.version} ({one.described})"
        elif cell.place is not None:
            words = "an existing server"
        else:
            continue
        found.setdefault(cell.record.system, {})[words] = None
    return {name: "; ".join(words) for name, words in found.items()}


def _constants_words(plan: ResolvedPlan) -> str:
    """Without those that are factors, or that no system has."""
    cells = plan.cells
    said = [name for name in PORTABLE if not any(name in cell.record.levels for cell in cells)]
    words = [by_system(cells, lambda cell: str(cell.portable[name] or "default")) for name in said]  # noqa: B023
    return ", ".join(f"{name} {word}" for name, word in zip(said, words, strict=True) if word != "default")


def _of_several_nodes(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.record.nodes:
            found.setdefault(cell.record.system, []).append(cell)
    return found


def _route_words(cells: Sequence[Cell]) -> str:
    """Of one system: 'primary, replica1; routing "split"'."""
    most = max((cell.record.nodes for cell in cells), key=len)
    routes = dict.fromkeys(f'"{cell.routing}"' for cell in cells)
    return f"{', '.join(most)}; routing {', '.join(routes)}"


def _verify_words(plan: ResolvedPlan) -> list[tuple[str, float]]:
    """What is checked of each system, and how long that takes, s."""
    said = plan.verify
    found = []
    for subject in subjects(plan) if said is not None else []:
        assert said is not None
        time_s, most_s = verify_s(plan, subject, said)
        how = f"N/A: {subject.why_not}" if subject.why_not else f"about {seconds_words(time_s)}"
        if most_s > time_s:
            how += f", at most {seconds_words(most_s)}"
        found.append((f"{subject.label} at {subject.level or 'its own level'}: {how}", time_s))
    return found


def _fleet_words(plan: ResolvedPlan, asked: Sequence[str]) -> list[str]:
    """Where clients run, and how many on each machine: "3 clients are 2 on load1, 1 on load2"."""
    if plan.fleet is None:
        return []
    machines = plan.fleet.machines or asked
    if not machines:
        return [f"clients run on {plan.fleet.words}, distributed over them in turn"]
    return [
        f"clients run on {plan.fleet.words}",
        *(
            f"{counted(clients, 'client', 'clients')}: {spread_words(clients, machines)}"
            for clients in sorted({cell.clients for cell in plan.cells})
        ),
    ]


def _reads_words(plan: ResolvedPlan, tables: Sequence[TablesLine]) -> list[str]:
    """By system with existing data: what warming and checks read, and how much that is."""
    found = []
    for name in dict.fromkeys(cell.record.system for cell in plan.cells if cell.data == "existing"):
        cells = [cell for cell in plan.cells if cell.record.system == name]
        sizes = [line.size_bytes for line in tables if line.system == name and line.size_bytes is not None]
        size = f", {bytes_words(sum(sizes))}" if sizes else ""
        tables_read = len({table for cell in cells for table in cell.workload.tables})
        every = counted(tables_read, "table", "tables")
        verb = "is" if tables_read == 1 else "are"
        checks = "their check counts rows and reads a sample of rows, before the first run and after each run"
        if cells[0].workload.spec["kind"] == "sql":
            checks = "their check runs only the queries under `checks`"
            if not cells[0].workload.spec.get("checks"):
                checks = "nothing checks them, because the plan has no `checks`"
        if plan.record.cache == "warm":
            runs = counted(len(cells) * plan.record.repetitions, "run", "runs")
            words = f'{every}{size} {verb} read completely before each of {runs} (cache = "warm")'
            words += ", which evicts other data of this server from its cache"
        else:
            words = f"{every}{size} {verb} not read before a run"
        found.append(f"existing data of {name}: {words}; {checks}")
    return found


def _stages_words(pacing: OpenLoop | None) -> str:
    """ "rate from day.csv (24 times as fast, rates times 0.5): 1,440 points over 1 h, from 10/s to 500/s, 120/s on
    average"."""
    if pacing is None or not pacing.stages:
        return ""
    recorded, stages, length_s = pacing.recorded, pacing.stages, pacing.stages_s
    rates = [rate for stage in stages for rate in stage.rate]
    lowest, highest, mean = map(rate_words, (min(rates), max(rates), pacing.mean_ops_per_s))
    points = counted(len(stages), "stage", "stages")
    if recorded is not None:
        played = [f"{recorded.speed:g} times as fast"] if recorded.speed != 1 else []
        played += [f"rates times {recorded.scale:g}"] if recorded.scale != 1 else []
        how = f" ({', '.join(played)})" if played else ""
        points = f"rate from {recorded.file}{how}: {counted(len(stages), 'point', 'points')}"
    return f"{points} over {seconds_words(length_s)}, from {lowest} to {highest}, {mean} on average"


def _search_words(search: SearchRecord, rates: Sequence[Rate | Priced]) -> str:
    question = search.question_words(parse(text, rates).words for text in search.limits)
    most = f", at most {search.high:,.10g}" if search.high < RATE_MAX_OPS_PER_S else ""
    return f"a search for {question}: starts at {search.first:,.10g}{most}"


def _load_line(cells: list[Cell]) -> LoadLine:
    first = cells[0]
    return LoadLine(
        key=first.load_key,
        system=first.record.system,
        dataset=first.record.dataset,
        workload=_few(list(dict.fromkeys(cell.record.workload for cell in cells))),
        rows=first.workload.loaded_rows,
        size_bytes=tables_bytes(first),
        load_s=round(_load_s(first), 2),
        cells=[cell.record.id for cell in cells],
    )


def _few(workloads: Sequence[str]) -> str:
    return workloads[0] + (f" and {len(workloads) - 1} more on the same data" if len(workloads) > 1 else "")


OPERATIONS = 5


@dataclass(frozen=True)
class WorkloadPreview:
    workload: str
    operations: list[Previewed]


def previews(plan: ResolvedPlan) -> list[WorkloadPreview]:
    """Of each workload once, of those that can tell. Raises PlanError, EngineError."""
    cells: dict[str, Cell] = {}
    for cell in plan.cells:
        cells.setdefault(json.dumps(cell.workload.spec, sort_keys=True), cell)
    seed = plan.seed_of_block(1)
    found: list[WorkloadPreview] = []
    requests = [PreviewRequest(workload=cell.workload.spec, seed=seed, count=OPERATIONS) for cell in cells.values()]
    for cell, answer in zip(cells.values(), resolve(requests), strict=True):
        if isinstance(answer, Refused):
            raise PlanError(answer.what, where=answer.where, hint=answer.hint)
        assert isinstance(answer, Preview)
        if answer.operations and all(answer.operations != one.operations for one in found):
            found.append(WorkloadPreview(cell.record.workload, answer.operations))
    return found
