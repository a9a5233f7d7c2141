"""Every combination of factor levels, as a cell with all that is needed to run it, and its id. A thing is said once:
a factor cannot also be in [systems.NAME], [workload] or [measure].

A cell's id is a hash of what the cell is: all that makes its runs what they are, and nothing else. Not in it: the
cell's place in the plan, which other cells there are, how many repetitions, how runs are judged and cells compared,
and passwords (where one comes from says nothing about a run). So a plan can grow and its old cells keep their runs.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from ..errors import PlanError
from ..fleet.engine_program import resolve
from ..model.boundary import (
    Closed,
    IoName,
    Limit,
    Open,
    OperationsLimit,
    Pacing,
    Retry,
    RunnerName,
    Stage,
    Thinking,
    TimeLimit,
)
from ..model.faults import PlannedFault
from ..model.levels import LOAD, PORTABLE
from ..model.peers import marked
from ..model.records.plan import EXISTING_PREFIX, CellRecord, Scalar
from ..model.resolve import DriverRequest, ResolvedDriver
from ..systems.access import only_sql
from ..systems.base import Capabilities, System
from ..systems.consistency import KEY as CONSISTENCY
from ..systems.consistency import with_consistency
from ..systems.options import decided, request
from ..systems.table_format import only_plain
from ..workloads.base import Workload
from .check import placed
from .data import data_of
from .document.source import Source
from .document.tables import PlanDocument
from .factors import Factor, Routing, put_option
from .grid import Combination, Grid, varying, words_of_levels
from .prices import prices_of
from .resolved import Cell
from .workload import PlanWorkloads, Question

#: Of [measure], what is no part of a run, or is in the cell already, resolved. (`data` is in the data set's name.)
_NOT_IN_A_RUN = {
    *LOAD, "repetitions", "objective", "pacing", "window", "operations", "retry", "data", "reset", "cache",
    "error_budget", "on_node_failure", "repeat_disturbed", "think_time",
}  # fmt: skip
#: 40 bits: two of 10,000 cells share one by chance in 5 of 100,000 plans.
_DIGITS = 8


def with_ids(cells: Sequence[Cell], document: PlanDocument, cache: str, source: Source) -> list[Cell]:
    """The cells with their ids. PlanError where two are the same: their runs could not be distinguished."""
    measure = document.measure.model_dump(mode="json", exclude=_NOT_IN_A_RUN)
    measure["witness"] = measure.pop("latency_probe")  # its first name: a cell keeps its id
    if document.verify and document.verify.probe:
        measure["staleness_probe"] = True
    found: dict[str, Cell] = {}
    for cell in cells:
        measured = {**measure, "event_log": cell.event_log}
        identity = _hash([[document.seed, cell.reset, cache, measured], _content(cell)])
        if twin := found.get(identity):
            raise source.error(
                f"{twin.record.label} and {cell.record.label} are the same cell: same system, workload and load",
                "cells" if document.cells else "factors",
                hint="leave one out; to compare a system with itself, give it two names in [systems]",
            )
        named = {"id": identity, "work": _hash(_work(cell))}
        found[identity] = replace(cell, record=cell.record.model_copy(update=named))
    return list(found.values())


def of_plan(name: str, cell: str) -> str:
    """Of a cell of this id that belongs to one of several plans."""
    return _hash([name, cell])


def _content(cell: Cell) -> dict[str, Any]:
    return {
        "system": cell.record.system,
        "kind": cell.record.kind,
        "options": {key: value for key, value in cell.system_options.items() if key != "password"},
        **_portable(cell),
        "workload": _work(cell),
        "data": cell.record.dataset,
        **{name: getattr(cell, name) for name in LOAD if name not in (*PORTABLE, "routing", "rate", "event_log")},
        **({} if cell.routing == Routing("any") else {"routing": str(cell.routing)}),
        "pacing": _pacing_parts(cell.pacing),
        "limit": cell.limit.model_dump(),
        "retry": cell.retry.model_dump(),
        **({"faults": [_fault_parts(fault) for fault in cell.record.faults]} if cell.record.faults else {}),
    }


def _pacing_parts(pacing: Pacing) -> dict[str, Any]:
    """Without stages where there are none: cells of before there were any keep their ids."""
    return {name: value for name, value in pacing.model_dump().items() if name != "stages" or value}


def _fault_parts(fault: PlannedFault) -> dict[str, Any]:
    """Without a size where it has none, as above."""
    return {name: value for name, value in fault.model_dump().items() if name != "by_s" or value is not None}


def _portable(cell: Cell) -> dict[str, Any]:
    """Consistency is in the options already; its name only distinguishes cells to which two names mean
    the same."""
    known = (None, cell.system_options.get(CONSISTENCY))
    return {name: level for name, level in cell.portable.items() if name != CONSISTENCY or level not in known}


def _work(cell: Cell) -> Any:
    """Without a form that was once the only one: such a cell keeps its id."""
    spec = cell.workload.spec
    return _wherever({key: value for key, value in spec.items() if (key, value) != ("form", "record")})


def _wherever(said: Any) -> Any:
    """A file whose content is known by its hash is the same wherever it lies."""
    if isinstance(said, dict):
        known = {"path"} if "sha256" in said else set()
        return {key: _wherever(value) for key, value in said.items() if key not in known}
    return [_wherever(one) for one in said] if isinstance(said, list) else said


def _hash(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, default=str)
    return "c" + base64.b32encode(hashlib.sha256(text.encode()).digest()).decode().lower()[:_DIGITS]


DEFAULT_WINDOW_S = 30.0


@dataclass(frozen=True)
class Builder:
    """Makes cells out of combinations."""

    document: PlanDocument
    grid: Grid
    kinds: Mapping[str, type[System]]  # by the system's name in the plan
    workloads: PlanWorkloads
    source: Source
    #: Load parameters that do not vary.
    constants: dict[str, Scalar]
    #: The factor of a search, which is always one of the cell's levels.
    sought: str | None = None

    def system_options(self, combination: Combination) -> dict[str, Any]:
        """The table of the system with this combination's levels in their places."""
        name = combination.system
        kind, where = self.kinds[name], f"systems.{name}"
        with placed(name, kind.kind, self.source):
            options = kind.in_one_spelling(self.document.systems[name].options(), where)
            for factor, level in self._chosen(combination, "system"):
                options = put_option(options, factor, level, kind=kind, source=self.source, system=name)
            options = kind.in_one_spelling(options, where)
            asked = self._whole_load(combination).get(CONSISTENCY)
            place = self.source.where(self.source.place_of_option(name, CONSISTENCY))
            options = with_consistency(kind, options, None if asked is None else str(asked), place)
            options = only_sql(options, kind, where)
            return options if kind.has_table_formats else only_plain(options, kind.kind, where)

    def capabilities(self, system: str) -> Capabilities:
        return self.kinds[system].capabilities()

    def cells(self, combinations: list[Combination]) -> Iterator[Cell]:
        several = {name for name, levels in varying(combinations).items() if len(levels) > 1 or name == self.sought}
        questions = [self._question(combination) for combination in combinations]
        asked = [question.driver for question in questions]
        # A system that is configured asks again, whatever runs it.
        resolve([*asked, *(one.model_copy(update={"runner": None}) for one in asked)])
        self.workloads.ask(questions)
        for combination, question in zip(combinations, questions, strict=True):
            yield self._cell(combination, question, several)

    def _question(self, combination: Combination) -> Question:
        levels = {factor.path[0]: level for factor, level in self._chosen(combination, "workload")}
        name, load = combination.system, self._whole_load(combination)
        asked = {key: load.get(key) for key in LOAD if key in DriverRequest.model_fields}
        options = self.system_options(combination)
        if not self.kinds[name].driver:
            what = f"no workload runs on {self.kinds[name].kind}: the engine has no driver for it"
            raise self.source.error(what, "systems", name, hint="leave this system out")
        driver = request(self.kinds[name].driver, options, **asked)
        return Question(combination.workload, name, self.kinds[name].kind, driver, levels)

    def sessions(self, combination: Combination) -> int:
        """Of one client, as far as levels say."""
        load = self._load(combination)
        return _count(load, "sessions", 0) or _count(load, "threads", 1)

    def _load(self, combination: Combination) -> dict[str, Scalar]:
        return self.constants | {factor.path[0]: level for factor, level in self._chosen(combination, "load")}

    def _whole_load(self, combination: Combination) -> dict[str, Scalar]:
        """With what the system's table says of portable levels."""
        load, system = self._load(combination), combination.system
        table = self.document.systems[system]
        said = {name: level for name in PORTABLE if (level := getattr(table, name)) is not None}
        for name in said.keys() & load.keys():
            raise self.source.error(
                f"`{name}` is set twice, for every system and in [systems.{system}]",
                *("systems", system, name),
                hint=f'remove one of them; a factor for one system only is "{system}.{name}"',
            )
        return load | said

    def _driver(self, question: Question) -> ResolvedDriver:
        try:
            return decided(question.driver, "")
        except PlanError as error:
            place = self.source.place_of_option(question.system, error.where.removeprefix("."))
            raise self.source.error(error.what, *place, hint=error.hint) from None

    def _chosen(self, combination: Combination, target: str) -> list[tuple[Factor, Scalar]]:
        pairs = [(self.grid.factors[name], level) for name, level in combination.levels.items()]
        return [(factor, level) for factor, level in pairs if factor.target == target]

    def _cell(self, combination: Combination, question: Question, several: set[str]) -> Cell:
        name = combination.system
        kind, load = self.kinds[name], self._whole_load(combination)
        portable: dict[str, Any] = {level: load.get(level) for level in PORTABLE}
        driver = self._driver(question)
        workload = self.workloads.resolve(question)
        options = self.system_options(combination)
        clients = _count(load, "clients", 1)
        threads = _count(load, "threads", workload.hints.threads or 1)
        rate = self.rate_ops_per_s(load.get("rate"), workload, clients)
        shown = {factor: level for factor, level in combination.all_levels.items() if factor in several - {"system"}}
        data = data_of(self.document, name)
        origin = EXISTING_PREFIX if data == "existing" else ""
        dataset = origin + workload.dataset
        record = CellRecord(
            id="",  # see `with_ids`: a cell is whole when its reset (data.py) and the cache are decided, too
            system=name,
            kind=kind.kind,
            label=words_of_levels({"system": marked(name, kind.peer_of), **shown}),
            levels={"system": name, **shown},
            threads=threads,
            clients=clients,
            rate_ops_per_s=rate,
            workload=workload.label,
            dataset=dataset,
            **portable,
            rates=workload.rates,
            limits=workload.limits,
            content=origin + workload.content,
            peer_of=kind.peer_of,
            writes=workload.writes,
            prices=prices_of(self.document, name, kind.driver, self.source),
        )
        return Cell(
            record=record,
            system_options=options,
            driver=driver,
            workload=workload,
            threads=threads,
            sessions=_count(load, "sessions", 0) or None,
            routing=Routing.parse(load["routing"]) if "routing" in load else Routing(),
            clients=clients,
            workers=_count(load, "workers", 0),
            runner=cast(RunnerName | None, load.get("runner")),  # names are checked where levels are read
            io=cast(IoName | None, load.get("io")),
            pacing=self._pacing(rate, clients, workload, from_file="rate" not in load),
            limit=self._limit(workload, clients),
            retry=self._retry(workload),
            event_log=bool(load.get("event_log")),
            data=data,
            instance_key=_key(name, kind.kind, options, record.durability, dataset),
            load_key=_key(name, kind.kind, kind.shaping_options(options, record.durability), dataset),
            place=kind.place(options),
        )

    def rate_ops_per_s(self, level: Scalar | None, workload: Workload, clients: int) -> float | None:
        """Offered over all clients; None: closed loop."""
        measure = self.document.measure
        pacing, said = measure.pacing, "pacing" in measure.model_fields_set
        if level is not None:
            if said and (pacing is None or pacing.rate is not None or pacing.stages):
                already = "a closed loop" if pacing is None else "stages" if pacing.stages else "a rate of its own"
                hint = 'with `rate`, write pacing = { arrival = "poisson" }, or leave it out'
                raise self.source.error(
                    f"the plan has `rate`, but `pacing` is {already}", "measure", "pacing", hint=hint
                )
            return float(level)
        if pacing is not None and pacing.stages:
            return pacing.mean_ops_per_s
        if pacing is not None:
            if pacing.rate is None:
                hint = "write pacing = { rate = 5000 }, or rate = 5000 at the top of the plan"
                raise self.source.error("an open loop needs a rate", "measure", "pacing", hint=hint)
            return pacing.rate
        # The original's `target` is per process.
        return None if said or workload.hints.rate_ops_per_s is None else workload.hints.rate_ops_per_s * clients

    def _pacing(self, rate_ops_per_s: float | None, clients: int, workload: Workload, *, from_file: bool) -> Pacing:
        pacing, think = self.document.measure.pacing, self.document.measure.think_time
        if think and workload.pauses:
            hint = "leave out `think_time`"
            raise self.source.error(
                "users of this workload pause as it says itself", "measure", "think_time", hint=hint
            )
        if rate_ops_per_s is None:
            return Thinking(mean_s=think.mean, distribution=think.distribution) if think else Closed()
        if think:
            hint = (
                "leave out `think_time`, or the rate: N users who think for Z seconds ask at most N / Z times a second"
            )
            raise self.source.error(
                "users think in a closed loop alone, and the plan has a rate", "measure", "think_time", hint=hint
            )
        # A rate that only a property file gives is paced as the original does it: evenly.
        arrival = pacing.arrival if pacing else "constant" if from_file else "poisson"
        stages = [
            Stage(for_s=stage.for_, from_ops_per_s=stage.rate[0] / clients, to_ops_per_s=stage.rate[-1] / clients)
            for stage in (pacing.stages if pacing else [])
        ]
        return Open(rate_ops_per_s=rate_ops_per_s / clients, arrival=arrival, stages=stages)

    def _limit(self, workload: Workload, clients: int) -> Limit:
        measure, hints = self.document.measure, workload.hints
        if measure.pacing and measure.pacing.stages:
            return TimeLimit(window_s=measure.pacing.stages_s)
        if measure.operations is not None:
            # At least one, so that a check of the whole can say that this is too few.
            return OperationsLimit(operations=max(1, measure.operations // clients), max_s=measure.window)
        if measure.window is not None:
            return TimeLimit(window_s=measure.window)
        if hints.operations is not None:  # per process, as in the original
            return OperationsLimit(operations=hints.operations, max_s=hints.window_s)
        if workload.operations_max is not None:
            return OperationsLimit(operations=max(1, workload.operations_max // clients))
        return TimeLimit(window_s=hints.window_s or DEFAULT_WINDOW_S)

    def _retry(self, workload: Workload) -> Retry:
        said = self.document.measure.retry
        if "retry" not in self.document.measure.model_fields_set and workload.retry is not None:
            return workload.retry
        return Retry(retries=said.retries, on=list(said.on), on_codes=list(said.on_codes), backoff_s=said.backoff)


def _key(name: str, *parts: Any) -> str:
    """An id for what belongs to a system of this name and has these parts."""
    text = json.dumps([name, *parts], sort_keys=True, default=str)
    return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def _count(load: dict[str, Scalar], name: str, default: int) -> int:
    return int(load.get(name, default))
