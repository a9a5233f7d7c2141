"""From a plan's text to a ResolvedPlan: read, check, expand. Everything that can be refused is refused here, with one
sentence; nothing starts, and nothing is written."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..analysis.wording import counted
from ..errors import PlanError
from ..fleet.engine_program import refuse_other_build
from ..fleet.spec import FleetSpec
from ..input_files import read_text
from ..model.boundary import Open, OperationsLimit, Thinking, TimeLimit
from ..model.peers import refuse_meeting
from ..model.records.plan import PlanRecord, Scalar, SearchRecord
from ..suggestions import meant
from ..systems.base import System
from ..systems.survey import why_absent
from . import check, data, machines
from .cells import Builder, with_ids
from .check import Kinds, with_faults
from .comparison import advice, check_limits, check_objective, check_thresholds, rates_of, read_comparison
from .document.read import note, read_document
from .document.source import Source
from .document.tables import PlanDocument, plan_tree
from .factors import read_constants
from .grid import Combination, choose, read_grid, varying
from .machines import SourcesOf, alike_sources, check_fleet, packager_words, with_source
from .prices import refuse_currencies
from .resolved import Cell, ResolvedPlan
from .search import Sought, read_search, refuse_pointless
from .workload import PlanWorkloads


def read_plan(
    path: Path,
    *,
    kinds: Kinds | None = None,
    must_run: bool = True,
    said: Sequence[str] = (),
    only: Sequence[str] = (),
    fail_if: Sequence[str] = (),
) -> ResolvedPlan:
    """The plan in this file. said: overrides KEY=VALUE. only: the wanted part of it. fail_if: thresholds in addition to
    its own. Raises PlanError, or ServerError when this machine lacks a system that is not optional (`must_run = False`,
    for a dry run: then it is a warning)."""
    try:
        text = read_text(path, encoding="utf-8-sig")  # editors on Windows begin a file with a mark
    except FileNotFoundError:
        example = Path("plans/quickstart.toml")
        hint = f"try {example}" if example.is_file() else f"`bakeoff init {path}` writes one"
        raise PlanError("the plan does not exist", where=str(path), hint=hint) from None
    except IsADirectoryError:
        raise PlanError("this is a folder, not a plan", where=str(path), hint="name the .toml file") from None
    except OSError as error:
        raise PlanError(f"cannot read the plan: {error.strerror}", where=str(path)) from None
    except UnicodeDecodeError:
        raise PlanError("the plan is not UTF-8 text", where=str(path), hint="plans are TOML files") from None
    return resolve(text, path.parent, path=path, kinds=kinds, must_run=must_run, said=said, only=only, fail_if=fail_if)


def resolve(
    text: str,
    base_dir: Path,
    *,
    path: Path | None = None,
    kinds: Kinds | None = None,
    must_run: bool = True,
    said: Sequence[str] = (),
    only: Sequence[str] = (),
    fail_if: Sequence[str] = (),
) -> ResolvedPlan:
    """The plan with this text; relative paths in it start at `base_dir`. `kinds`: for tests, instead of SYSTEMS."""
    text_with_notes = note(note(note(text, said), only, "--only"), fail_if, "--fail-if")
    source = Source(path, text_with_notes, base_dir)
    document, source = read_document(text, source, said)
    if kinds is None:
        from ..systems import SYSTEMS

        kinds = SYSTEMS
    by_name = _kinds_by_name(document, kinds, source)
    refuse_other_build()
    check.check_measure(document.measure, source)
    warnings = machines.check_placement(document, source)
    workloads = PlanWorkloads(document, source)
    grid = read_grid(document, workloads.works, source)
    search = read_search(document, grid.factors, source)
    constants = read_constants(document.measure, grid.factors.values(), source, sought=search.factor if search else "")
    builder = Builder(document, grid, by_name, workloads, source, constants, search.factor if search else None)
    chosen = choose(grid, constants, only, source)
    systems = {one.system for one in chosen}
    options = _options(builder, chosen)
    sources = alike_sources([(by_name[name], said) for name, said in options])
    missing_of = [(name, with_source(by_name[name], said, sources)) for name, said in options]
    skipped = machines.find_missing(missing_of, by_name, source)
    if must_run:
        machines.require(document, systems, skipped, source)
    else:
        warnings += [f"{name} cannot run on this machine: {why}" for name, why in skipped.items()]
        skipped = {name: why for name, why in skipped.items() if document.systems[name].optional}
        if skipped.keys() >= systems:
            skipped = {}
    combinations = [one for one in chosen if one.system not in skipped]
    sought = Sought(search, combinations) if search else None
    reading = _Reading(document, builder, sources, skipped, warnings, only, fail_if, sought, must_run)
    plan = reading.searching() if search else reading.finish(combinations)
    if must_run:
        machines.check_passwords(plan.cells, by_name, source)
    return plan


#: Products that are no kinds of their own, by a part of their names.
_SPEAKS_AS = {"percona": "mysql"}


def _kinds_by_name(document: PlanDocument, kinds: Kinds, source: Source) -> dict[str, type[System]]:
    found: dict[str, type[System]] = {}
    for name, table in document.systems.items():
        kind = table.kind or name
        if kind not in kinds:
            if why := why_absent(kind):
                raise source.error(why, "systems", name, "kind", hint="`bakeoff systems` lists those that have one")
            like = next((one for product, one in _SPEAKS_AS.items() if product in kind.lower() and one in kinds), None)
            hint = f'write kind = "{like}"' if like else meant(kind, kinds)
            if table.kind is None and not like:
                hint = f'{hint} (a system of another name says its kind: kind = "{next(iter(kinds), "")}")'
            raise source.error(f"unknown kind of system `{kind}`", "systems", name, "kind", hint=hint)
        found[name] = kinds[kind]
    return found


def _options(builder: Builder, combinations: list[Combination]) -> list[tuple[str, dict[str, Any]]]:
    """Of each combination's system, with its name."""
    options = [(one.system, builder.system_options(one)) for one in combinations]
    for name, said in options:
        check.check_access(name, said, builder.kinds[name], builder.source)
    return options


@dataclass(frozen=True)
class _Reading:
    """What is known of a plan before its combinations are cells."""

    document: PlanDocument
    builder: Builder
    sources: SourcesOf
    skipped: dict[str, str]
    warnings: list[str]
    only: Sequence[str]
    fail_if: Sequence[str]
    sought: Sought | None
    must_run: bool

    def searching(self, tried: Mapping[str, Sequence[Scalar]] | None = None) -> ResolvedPlan:
        """A search's plan with the levels that were tried. At first what could not be run at the ends of its range is
        refused, before anything starts."""
        assert self.sought is not None
        if tried is None:
            try:
                self._cells(self.sought.ends())
            except PlanError as error:
                hint = f"{error.hint}; or set `from` and `to` to a range in which all levels can run"
                raise self.builder.source.error(error.what, "search", hint=hint) from None
        return self.finish(self.sought.tried(tried or {}))

    def _cells(self, combinations: list[Combination]) -> list[Cell]:
        """Refuses those that no system could run."""
        cells = list(self.builder.cells(combinations))
        for cell in cells:
            check.check_cell(cell, self.builder.capabilities(cell.record.system), self.builder.source)
            check.check_io(cell, self.builder.source)
            check.check_format(cell, self.builder.source)
            check.check_end(cell, self.document.measure.warm_up, self.builder.source)
        return cells

    def finish(self, combinations: list[Combination]) -> ResolvedPlan:
        document, builder, search = self.document, self.builder, self.sought.record if self.sought else None
        source, measure, warnings = builder.source, document.measure, list(self.warnings)
        cells = with_faults(self._cells(combinations), document, builder.kinds, source)
        refuse_meeting(
            [cell.record for cell in cells], demonstration=document.demonstration, where=source.where(("systems",))
        )
        refuse_currencies(cells, source)
        warnings += check_objective(measure.objective, cells, source)
        warnings += check_limits(document.compare.limit, cells, source, "compare", "limit")
        check_thresholds(document.compare.fail_if, cells, source, "compare", "fail_if")
        check_thresholds(self.fail_if, cells, source, "--fail-if")
        if search:
            warnings += check_limits(search.limits, cells, source, "search", "while")
            refuse_pointless(search, rates_of(cells), source)
        cells, managed = check.configured(cells, builder.kinds, measure, source)
        fleet = document.fleet.spec(source.base_dir) if document.fleet else None
        if fleet is not None:
            warnings += check_fleet(fleet, cells, builder.kinds, measure, source, must_run=self.must_run)
        cells = data.with_resets(cells, document, managed, builder.kinds, source)
        if search:
            data.refuse_leftovers(cells, source)
        cache = data.decide_cache(document, managed, source)
        cells = with_ids(cells, document, cache, source)
        # After the ids: which sources a machine has is no part of what a cell is.
        kinds = builder.kinds
        cells = [
            replace(cell, system_options=with_source(kinds[cell.record.system], cell.system_options, self.sources))
            for cell in cells
        ]
        warnings += packager_words((kinds[cell.record.system], cell.system_options) for cell in cells)
        factors = varying(combinations)
        left = {name: levels for name, levels in factors.items() if search is None or name != search.factor}
        comparison = read_comparison(
            document.compare, varying(builder.grid.combinations), left, builder.grid.factors, cells, source
        )
        constants = {name: [level] for name, level in builder.constants.items()}
        record = record_of(
            document, cells, factors | constants, comparison, cache, self.only, self.fail_if, search, fleet
        )
        levels = {name: builder.capabilities(name).durability for name in managed}
        warnings += advice(document, cells, managed, levels, record)
        return ResolvedPlan(
            path=source.path,
            text=source.text,
            record=record,
            cells=cells,
            skipped=self.skipped,
            warm_up_s=measure.warm_up,
            timeout_s=measure.timeout,
            measure=measure,
            sessions_of_largest_run=max(
                *(cell.sessions or cell.threads for cell in cells),
                *map(builder.sessions, builder.grid.combinations),
                int(search.high) if search and search.whole else 1,
            ),
            inputs=_inputs(cells, builder.kinds, source.base_dir),
            warnings=list(dict.fromkeys(warnings)),
            with_levels=self.searching if search else None,
            verify=document.verify,
            fleet=fleet,
        )


def _inputs(cells: list[Cell], kinds: Kinds, base_dir: Path) -> dict[str, Path]:
    paths = {path for cell in cells for path in cell.workload.sources}
    for cell in cells:
        paths |= {base_dir / name for name in kinds[cell.record.system].input_files(cell.system_options)}
    return {os.path.relpath(path, base_dir): path for path in sorted(paths)}


def record_of(
    document: PlanDocument,
    cells: list[Cell],
    factors: dict[str, list[Scalar]],
    comparison: tuple[str, Scalar | None],
    cache: str,
    only: Sequence[str],
    fail_if: Sequence[str],
    search: SearchRecord | None,
    fleet: FleetSpec | None,
) -> PlanRecord:
    measure = document.measure
    windows = {cell.limit.window_s if isinstance(cell.limit, TimeLimit) else None for cell in cells}
    operations = {
        cell.limit.operations * cell.clients if isinstance(cell.limit, OperationsLimit) else None for cell in cells
    }
    return PlanRecord(
        title=document.title,
        description=document.description,
        demonstration=document.demonstration,
        seed=document.seed,
        objective=measure.objective,
        compare_factor=comparison[0],
        baseline=comparison[1],
        repetitions=search.runs if search else measure.repetitions,
        warm_up_s=measure.warm_up,
        window_s=windows.pop() if len(windows) == 1 else None,
        operations=operations.pop() if len(operations) == 1 else measure.operations,
        pacing=_pacing_words(cells, search),
        error_budget_ratio=measure.error_budget,
        reset=data.by_system(cells, lambda cell: cell.reset),
        cache=cache,
        placement={
            side: cores
            for side, cores in (("client", measure.placement.client), ("server", measure.placement.server))
            if cores
        },
        factors=factors,
        limits=list(document.compare.limit),
        fail_if=[*document.compare.fail_if, *fail_if],
        matters_ratio=document.compare.matters,
        undecided=document.compare.undecided,
        search=search,
        cells=[cell.record for cell in cells],
        resolved=plan_tree(document, closed=all(cell.record.rate_ops_per_s is None for cell in cells)),
        only=list(only),
        repeat_disturbed=measure.repeat_disturbed,
        fleet=fleet.words if fleet else "",
    )


_THOUGHT = {"exponential": " on average", "constant": ""}


def _pacing_words(cells: list[Cell], search: SearchRecord | None) -> str:
    """ "closed loop, users think for 0.1 s", "open loop, 5000/s, Poisson arrivals"."""
    rates = {cell.record.rate_ops_per_s for cell in cells}
    if rates == {None}:
        thinking = next((cell.pacing for cell in cells if isinstance(cell.pacing, Thinking)), None)
        return (
            f"closed loop, users think for {thinking.mean_s:g} s{_THOUGHT[thinking.distribution]}"
            if thinking
            else "closed loop"
        )
    names = {"constant": "constant arrivals", "poisson": "Poisson arrivals", "per_session": "one schedule per session"}
    arrivals = sorted({names[cell.pacing.arrival] for cell in cells if isinstance(cell.pacing, Open)})
    rate = next(iter(rates))
    words = f"{rate:g}/s" if len(rates) == 1 and rate is not None else "the rate is a factor"
    if staged := [cell.pacing.stages for cell in cells if isinstance(cell.pacing, Open) and cell.pacing.stages]:
        words = f"{counted(len(staged[0]), 'stage', 'stages')} of {rate:g}/s on average"
    if search and search.factor == "rate":
        words = "the search varies the rate"
    return f"open loop, {words}, {' or '.join(arrivals)}"
