"""Every combination of factor levels, as a cell with all that is needed to run it. A thing is said once: what is a
factor cannot also stand in [systems.NAME], [workload] or [measure]."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
    ResolvedDriver,
    Retry,
    RunnerName,
    TimeLimit,
)
from ..model.records import EXISTING_PREFIX, CellRecord, Scalar
from ..systems.base import Capabilities, System
from ..systems.driver import decided, request
from ..systems.table_format import only_plain
from ..workloads.base import Workload
from .check import placed
from .data import data_of
from .document import PlanDocument
from .factors import Factor, put_option
from .grid import Combination, Grid, varying, words_of_levels
from .resolved import Cell
from .routing import Routing
from .source import Source
from .workload import PlanWorkloads, Question

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
        name, load = combination.system, self._load(combination)
        isolation = self._portable("isolation", self.document.systems[name].isolation, load, name)
        options = self.system_options(combination)
        driver = request(self.kinds[name].driver, options, runner=load.get("runner"), isolation=isolation)
        return Question(combination.workload, name, driver, levels)

    def sessions(self, combination: Combination) -> int:
        """Of one client, as far as levels say."""
        load = self._load(combination)
        return _count(load, "sessions", 0) or _count(load, "threads", 1)

    def _load(self, combination: Combination) -> dict[str, Scalar]:
        return self.constants | {factor.path[0]: level for factor, level in self._chosen(combination, "load")}

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
        table, kind = self.document.systems[name], self.kinds[name]
        load = self._load(combination)
        driver = self._driver(question)
        workload = self.workloads.resolve(question)
        options = self.system_options(combination)
        clients = _count(load, "clients", 1)
        threads = _count(load, "threads", workload.hints.threads or 1)
        durability = self._portable("durability", table.durability, load, name)
        rate = self.rate_ops_per_s(load.get("rate"), workload, clients)
        shown = {factor: level for factor, level in combination.all_levels.items() if factor in several - {"system"}}
        data = data_of(self.document, name)
        origin = EXISTING_PREFIX if data == "existing" else ""
        dataset = origin + workload.dataset
        record = CellRecord(
            id="",  # see identity.py: a cell is whole when its reset (data.py) and the cache are decided, too
            system=name,
            kind=kind.kind,
            label=words_of_levels({"system": name, **shown}),
            levels={"system": name, **shown},
            threads=threads,
            clients=clients,
            rate_ops_per_s=rate,
            workload=workload.label,
            dataset=dataset,
            durability=durability,
            isolation=question.driver.isolation,
            rates=workload.rates,
            limits=workload.limits,
            content=origin + workload.content,
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
            pacing=self._pacing(rate, clients, from_file="rate" not in load),
            limit=self._limit(workload, clients),
            retry=self._retry(workload),
            durability=durability,
            isolation=question.driver.isolation,
            data=data,
            instance_key=_key(name, kind.kind, options, durability, dataset),
            load_key=_key(name, kind.kind, kind.shaping_options(options, durability), dataset),
            place=kind.place(options),
        )

    def _portable(self, kind: str, said: str | None, load: dict[str, Scalar], system: str) -> str | None:
        level = load.get(kind)
        if level is not None and said is not None:
            raise self.source.error(
                f"`{kind}` is said twice, for every system and in [systems.{system}]",
                *("systems", system, kind),
                hint=f'remove one of them; a factor for one system only is "{system}.{kind}"',
            )
        return str(level) if level is not None else said

    def rate_ops_per_s(self, level: Scalar | None, workload: Workload, clients: int) -> float | None:
        """Offered over all clients; None: closed loop."""
        measure = self.document.measure
        pacing, said = measure.pacing, "pacing" in measure.model_fields_set
        if level is not None:
            if said and (pacing is None or pacing.rate is not None):
                already = "a closed loop" if pacing is None else "a rate of its own"
                hint = 'beside `rate` write pacing = { arrival = "poisson" }, or leave it out'
                raise self.source.error(
                    f"the plan says `rate`, but `pacing` says {already}", "measure", "pacing", hint=hint
                )
            return float(level)
        if pacing is not None:
            if pacing.rate is None:
                hint = "write pacing = { rate = 5000 }, or rate = 5000 at the top of the plan"
                raise self.source.error("an open loop needs a rate", "measure", "pacing", hint=hint)
            return pacing.rate
        # The original's `target` is per process.
        return None if said or workload.hints.rate_ops_per_s is None else workload.hints.rate_ops_per_s * clients

    def _pacing(self, rate_ops_per_s: float | None, clients: int, *, from_file: bool) -> Pacing:
        if rate_ops_per_s is None:
            return Closed()
        pacing = self.document.measure.pacing
        # A rate that only a property file gives is paced as the original does it: evenly.
        arrival = pacing.arrival if pacing else "constant" if from_file else "poisson"
        return Open(rate_ops_per_s=rate_ops_per_s / clients, arrival=arrival)

    def _limit(self, workload: Workload, clients: int) -> Limit:
        measure, hints = self.document.measure, workload.hints
        if measure.operations is not None:
            # At least one, so that a check of the whole can say that this is too few.
            return OperationsLimit(operations=max(1, measure.operations // clients), max_s=measure.window)
        if measure.window is not None:
            return TimeLimit(window_s=measure.window)
        if hints.operations is not None:  # per process, as in the original
            return OperationsLimit(operations=hints.operations, max_s=hints.window_s)
        return TimeLimit(window_s=hints.window_s or DEFAULT_WINDOW_S)

    def _retry(self, workload: Workload) -> Retry:
        said = self.document.measure.retry
        if "retry" not in self.document.measure.model_fields_set and workload.retry is not None:
            return workload.retry
        return Retry(retries=said.retries, on=list(said.on), on_codes=list(said.on_codes), backoff_s=said.backoff)


def _key(name: str, *parts: Any) -> str:
    """Of what belongs to a system of this name and is told apart by these parts."""
    text = json.dumps([name, *parts], sort_keys=True, default=str)
    return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def _count(load: dict[str, Scalar], name: str, default: int) -> int:
    return int(load.get(name, default))
