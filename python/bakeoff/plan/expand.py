"""Every combination of factor levels, as a cell with all that is needed to run it.

A grid multiplies the levels of [factors]; [[cells]] gives them one by one. "system" is always a factor. A thing is said
once: what is a factor cannot also stand in [systems.NAME], [workload] or [measure].
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Protocol, cast

from ..model.boundary import Closed, IoName, Limit, Open, OperationsLimit, Pacing, Retry, RunnerName, TimeLimit
from ..model.records import CellRecord, Scalar
from ..systems.base import Capabilities, System
from ..workloads.base import Workload
from .data import EXISTING_PREFIX
from .document import PlanDocument
from .factors import Factor, Source, find_factor, put_option, read_level
from .resolved import Cell

CELLS_MAX = 10_000
DEFAULT_WINDOW_S = 30.0


class Workloads(Protocol):
    """What expansion asks of the workload of a plan."""

    def options(self) -> Collection[str]:
        """Names that [workload] may hold, and that may be factors."""

    def resolve(self, levels: dict[str, Scalar]) -> Workload:
        """The plan's workload with these options added."""


@dataclass(frozen=True)
class Combination:
    """A system, and a level for each factor that applies to it."""

    system: str
    levels: dict[str, Scalar]


@dataclass(frozen=True)
class Grid:
    factors: dict[str, Factor]
    combinations: list[Combination]


def read_grid(document: PlanDocument, workload_options: Collection[str], source: Source) -> Grid:
    """All combinations of the plan, systems outermost, in the order of the file."""
    if document.cells is None:
        return _read_factors(document, workload_options, source)
    if document.factors:
        raise source.error(
            "the plan has both [factors] and [[cells]]", "factors", hint="a grid or a list: keep one of them"
        )
    return _read_list(document, document.cells, workload_options, source)


def _read_factors(document: PlanDocument, workload_options: Collection[str], source: Source) -> Grid:
    if "system" in document.factors:
        hint = "its levels are the tables [systems.NAME]; to run some combinations only, list them in [[cells]]"
        raise source.error("`system` is always a factor", "factors", "system", hint=hint)
    factors = {name: find_factor(name, document.systems, workload_options, source) for name in document.factors}
    levels = {name: _levels(factor, document.factors[name], source) for name, factor in factors.items()}
    _said_once(document, factors, source)
    combinations: list[Combination] = []
    for system in document.systems:
        names = [name for name, factor in factors.items() if factor.applies_to(system)]
        _check_size(len(combinations) + prod(len(levels[name]) for name in names), source)
        for chosen in product(*(levels[name] for name in names)):
            combinations.append(Combination(system, dict(zip(names, chosen, strict=True))))
    return Grid(factors, combinations)


def _levels(factor: Factor, written: list[Any], source: Source) -> list[Scalar]:
    levels = [read_level(factor, level, source) for level in written]
    if twice := first_repeated(levels):
        raise source.error(f"`{factor.name}` has the level {twice[0]} twice", "factors", factor.name)
    return levels


def first_repeated(values: list[Any]) -> list[Any]:
    """The first value that stands twice, in a list; empty if there is none. true is not 1."""
    seen: set[str] = set()
    for value in values:
        key = json.dumps(value, sort_keys=True)
        if key in seen:
            return [value]
        seen.add(key)
    return []


def _read_list(
    document: PlanDocument, tables: list[dict[str, Any]], workload_options: Collection[str], source: Source
) -> Grid:
    if not tables:
        raise source.error("[[cells]] is empty", "cells", hint="give at least one table of levels, or use [factors]")
    names = list(dict.fromkeys(name for table in tables for name in table if name != "system"))
    factors = {name: find_factor(name, document.systems, workload_options, source, "cells") for name in names}
    _said_once(document, factors, source)
    _same_keys(tables, factors, source)
    combinations: list[Combination] = []
    for number, table in enumerate(tables, 1):
        for system in _systems_of(document, table, number, source):
            combinations += _listed(system, table, number, factors, combinations, source)
    _check_size(len(combinations), source)
    order = list(document.systems)
    return Grid(factors, sorted(combinations, key=lambda c: order.index(c.system)))


def _systems_of(document: PlanDocument, table: dict[str, Any], number: int, source: Source) -> list[str]:
    if "system" not in table:
        return list(document.systems)
    if table["system"] not in document.systems:
        known = ", ".join(document.systems)
        raise source.error(
            f'cell {number} names the unknown system "{table["system"]}"', "cells", hint=f"known: {known}"
        )
    return [table["system"]]


def _listed(
    system: str,
    table: dict[str, Any],
    number: int,
    factors: dict[str, Factor],
    before: list[Combination],
    source: Source,
) -> list[Combination]:
    """This table's combination for one system. A table that differs from an earlier one only in what belongs to
    another system adds nothing here."""
    applying = {name: factors[name] for name in table if name != "system" and factors[name].applies_to(system)}
    levels = {name: read_level(factor, table[name], source, "cells") for name, factor in applying.items()}
    one = Combination(system, levels)
    if one not in before:
        return [one]
    if len(applying) == len(table.keys() - {"system"}):
        raise source.error(f"cell {number} repeats an earlier one: {words_of_levels(system, levels)}", "cells")
    return []


def _same_keys(tables: list[dict[str, Any]], factors: dict[str, Factor], source: Source) -> None:
    shared = [name for name, factor in factors.items() if factor.only is None]
    for number, table in enumerate(tables, 1):
        for name in shared:
            if name not in table:
                hint = "every table of [[cells]] gives a level to the same keys"
                raise source.error(f"cell {number} does not say `{name}`", "cells", hint=hint)


def _said_once(document: PlanDocument, factors: dict[str, Factor], source: Source) -> None:
    for system in document.systems:
        seen: dict[tuple[str, tuple[str, ...]], str] = {}
        for name, factor in factors.items():
            if not factor.applies_to(system):
                continue
            other = seen.setdefault((factor.target, factor.path), name)
            if other != name:
                raise source.error(f"`{name}` and `{other}` are the same thing for {system}", "factors", name)


def _check_size(cells: int, source: Source) -> None:
    if cells > CELLS_MAX:
        hint = "fewer levels, or the combinations that matter in [[cells]]"
        raise source.error(f"the plan has {cells:,} cells; at most {CELLS_MAX:,} are allowed", "factors", hint=hint)


def words_of_levels(system: str, levels: Mapping[str, Scalar]) -> str:
    """ "sqlite / preset=a / threads=4"."""
    return " / ".join([system, *(f"{name}={_level_words(level)}" for name, level in levels.items())])


def _level_words(level: Scalar) -> str:
    if isinstance(level, bool):
        return "true" if level else "false"
    return f"{level:g}" if isinstance(level, float) else str(level)


def varying(combinations: list[Combination]) -> dict[str, list[Scalar]]:
    """Every factor with the levels that occur, "system" first."""
    found: dict[str, list[Scalar]] = {"system": []}
    for combination in combinations:
        for name, level in [("system", combination.system), *combination.levels.items()]:
            levels = found.setdefault(name, [])
            if not any(level == known and type(level) is type(known) for known in levels):
                levels.append(level)
    return found


@dataclass(frozen=True)
class Builder:
    """Makes cells out of combinations."""

    document: PlanDocument
    grid: Grid
    kinds: Mapping[str, type[System]]  # by the system's name in the plan
    workloads: Workloads
    source: Source

    def system_options(self, combination: Combination) -> dict[str, Any]:
        """The table of the system with this combination's levels in their places."""
        name = combination.system
        options = self.document.systems[name].options()
        for factor, level in self._chosen(combination, "system"):
            options = put_option(options, factor, level, kind=self.kinds[name], source=self.source, system=name)
        return options

    def capabilities(self, system: str) -> Capabilities:
        return self.kinds[system].capabilities()

    def cells(self, combinations: list[Combination]) -> Iterator[Cell]:
        several = {name for name, levels in varying(combinations).items() if len(levels) > 1}
        for combination in combinations:
            yield self._cell(combination, several)

    def workload(self, combination: Combination) -> Workload:
        return self.workloads.resolve({f.name: level for f, level in self._chosen(combination, "workload")})

    def _chosen(self, combination: Combination, target: str) -> list[tuple[Factor, Scalar]]:
        pairs = [(self.grid.factors[name], level) for name, level in combination.levels.items()]
        return [(factor, level) for factor, level in pairs if factor.target == target]

    def _cell(self, combination: Combination, several: set[str]) -> Cell:
        name = combination.system
        table, kind = self.document.systems[name], self.kinds[name]
        load = {factor.path[0]: level for factor, level in self._chosen(combination, "load")}
        workload = self.workload(combination)
        options = self.system_options(combination)
        clients = _count(load, "clients", 1)
        threads = _count(load, "threads", workload.hints.threads or 1)
        durability = self._portable("durability", table.durability, load, name)
        isolation = self._portable("isolation", table.isolation, load, name)
        rate = self.rate_ops_per_s(load.get("rate"), workload, clients)
        shown = {factor: level for factor, level in combination.levels.items() if factor in several}
        dataset = workload.data_identity(self.document.seed)
        if self.document.measure.data == "existing":
            dataset = EXISTING_PREFIX + dataset
        record = CellRecord(
            id="",  # see identity.py: a cell is whole when the reset and the cache are decided, too
            system=name,
            kind=kind.kind,
            label=words_of_levels(name, shown),
            levels={"system": name, **shown},
            threads=threads,
            clients=clients,
            rate_ops_per_s=rate,
            workload=workload.label,
            dataset=dataset,
            durability=durability,
            isolation=isolation,
        )
        return Cell(
            record=record,
            system_options=options,
            workload=workload,
            threads=threads,
            sessions=_count(load, "sessions", 0) or None,
            clients=clients,
            workers=_count(load, "workers", 0),
            runner=cast(RunnerName | None, load.get("runner")),  # names are checked where levels are read
            io=cast(IoName | None, load.get("io")),
            pacing=self._pacing(rate, clients, from_file="rate" not in load),
            limit=self._limit(workload, clients),
            retry=self._retry(workload),
            durability=durability,
            isolation=isolation,
            instance_key=_key(name, kind.kind, options, durability, dataset),
            load_key=_key(name, kind.kind, kind.shaping_options(options, durability), dataset),
            place=kind.place(options),
        )

    def _portable(self, kind: str, said: str | None, load: dict[str, Scalar], system: str) -> str | None:
        level = load.get(kind)
        if level is not None and said is not None:
            raise self.source.error(
                f"`{kind}` is said twice, as a factor and in [systems.{system}]",
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
                hint = 'with `rate` as a factor write pacing = { arrival = "poisson" }, or leave it out'
                raise self.source.error(
                    f"`rate` is a factor, but `pacing` says {already}", "measure", "pacing", hint=hint
                )
            return float(level)
        if pacing is not None:
            if pacing.rate is None:
                hint = "write pacing = { rate = 5000 }, or make rate a factor"
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
        if "retry" not in self.document.measure.model_fields_set and workload.hints.retry is not None:
            return workload.hints.retry
        return Retry(retries=said.retries, on=list(said.on), on_codes=list(said.on_codes), backoff_s=said.backoff)


def _key(name: str, *parts: Any) -> str:
    """Of what belongs to a system of this name and is told apart by these parts."""
    text = json.dumps([name, *parts], sort_keys=True, default=str)
    return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def _count(load: dict[str, Scalar], name: str, default: int) -> int:
    return int(load.get(name, default))
