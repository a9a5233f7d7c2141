"""Several plans as one comparison: the cells of all in common blocks, distinguished by the factor "plan", whose
levels are the names of the files. What makes runs comparable must be the same in all; the rest is compared."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import PlanError
from ..model.levels import LOAD, factor_of, level_of
from ..model.peers import marked, refuse_meeting
from ..model.records.plan import CellRecord, Scalar
from ..systems import SYSTEMS
from .cells import of_plan
from .data import by_system, refuse_shared_tables
from .document.source import Source
from .grid import words_of_levels
from .machines import packager_words
from .prices import refuse_currencies
from .resolved import Cell, ResolvedPlan

FACTOR = "plan"
#: Tables and keys in which plans may differ; so may the constants of the load.
_OWN = ("title", "description", "prices", "systems", "workload", "workloads", "factors", "cells")
_OWN_PLACES = {*(f"measure.{name}" for name in LOAD), "compare.factor", "compare.baseline"}
NOT_SAID = "not said"


def side_by_side(plans: Sequence[ResolvedPlan]) -> ResolvedPlan:
    """One plan of several, at least two, the first of which is the baseline. Raises PlanError naming the key where they
    would be measured differently."""
    first = plans[0]
    named = _named(plans)
    _refuse_searches(named)
    for name, plan in list(named.items())[1:]:
        _refuse_other_measuring(next(iter(named)), first, name, plan)
    varied = {factor for plan in plans for cell in plan.cells for factor in cell.record.levels}
    if len({cell.record.system for plan in plans for cell in plan.cells}) == 1:
        varied -= {"system"}
    cells = [_of_plan(name, plan, cell, varied) for name, plan in named.items() for cell in plan.cells]
    refuse_meeting([cell.record for cell in cells], demonstration=first.record.demonstration, where=str(plans[1].path))
    alone = list(_alone(cells, list(named)))
    built = packager_words((SYSTEMS[cell.record.kind], cell.system_options) for cell in cells)
    source = Source(first.path, first.text, first.base_dir)
    refuse_currencies(cells, source)
    refuse_shared_tables([cell for cell in cells if cell.reset in ("reuse", "none")], source)
    record = first.record.model_copy(
        update={
            "title": _title(named),
            "description": next((plan.record.description for plan in plans if plan.record.description), ""),
            "demonstration": any(plan.record.demonstration for plan in plans),
            "compare_factor": FACTOR,
            "baseline": next(iter(named)),
            "reset": by_system(cells, lambda cell: cell.reset),
            "factors": _factors(cells),
            "cells": [cell.record for cell in cells],
            "resolved": _tree(named),
            "differences": differences(named),
        }
    )
    return replace(
        first,
        text="\n".join(f"# {plan.path}\n{plan.text}" for plan in plans),
        record=record,
        cells=cells,
        sessions_of_largest_run=max(plan.sessions_of_largest_run for plan in plans),
        skipped={name: why for plan in plans for name, why in plan.skipped.items()},
        inputs={os.path.relpath(path, first.base_dir): path for plan in plans for path in plan.inputs.values()},
        warnings=list(dict.fromkeys([*(words for plan in plans for words in plan.warnings), *built, *alone])),
    )


def _named(plans: Sequence[ResolvedPlan]) -> dict[str, ResolvedPlan]:
    """By the names of their files."""
    found: dict[str, ResolvedPlan] = {}
    for plan in plans:
        assert plan.path is not None, "plans that run side by side must be files"
        if plan.path.parent.absolute() != plans[0].base_dir.absolute():
            what = f"plans that run side by side must be in one folder, and {plans[0].path} is in another"
            raise PlanError(what, where=str(plan.path), hint="copy it there: a plan's paths are relative to its folder")
        if found.setdefault(plan.path.stem, plan) is not plan:
            hint = (
                "use a copy with another name; the answer then shows how much two measurements of the same plan differ"
            )
            raise PlanError(f"two plans are called {plan.path.stem}", where=str(plan.path), hint=hint)
    return found


def _refuse_searches(named: Mapping[str, ResolvedPlan]) -> None:
    for name, plan in named.items():
        if plan.record.search is not None:
            what = f"{name} is a search, and plans that run side by side need fixed levels"
            raise PlanError(
                what, where=str(plan.path), hint="search in one plan with both systems, or run each plan separately"
            )


def _refuse_other_measuring(base: str, first: ResolvedPlan, name: str, plan: ResolvedPlan) -> None:
    said = [dict(_flat(_shared(one.record.resolved))) for one in (first, plan)]
    decided = [
        {
            "measure.cache": p.record.cache,
            "measure.window": p.record.window_s,
            "measure.operations": p.record.operations,
        }
        for p in (first, plan)
    ]
    for a, b in (said, decided):
        for key in [*a, *(key for key in b if key not in a)]:
            if key not in _OWN_PLACES and a.get(key) != b.get(key):
                values = [_words(one.get(key)) for one in (a, b)]
                raise PlanError(
                    f"`{key}` is {values[0]} in {base} and {values[1]} in {name}",
                    where=str(plan.path),
                    hint="write the same value in both: compared runs must be measured in the same way",
                )


def _shared(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tree.items() if key not in _OWN}


def _of_plan(name: str, plan: ResolvedPlan, cell: Cell, varied: set[str]) -> Cell:
    """The cell with its plan as a level, and a level of every factor of any plan that is about it."""
    levels: dict[str, Scalar] = {FACTOR: name}
    for factor in [*cell.record.levels, *sorted(varied - cell.record.levels.keys())]:
        own = factor_of(plan.record, cell.record, factor)
        level = cell.record.levels.get(factor)
        if level is None and own is not None:
            level = level_of(plan.record, cell.record, None, own)
        if factor in varied and level is not None:
            levels[factor] = level
    shown = {
        "system": marked(cell.record.system, cell.record.peer_of),
        **{key: level for key, level in levels.items() if key not in (FACTOR, "system")},
    }
    changes = {
        "id": of_plan(name, cell.record.id),
        "levels": levels,
        "label": f"{name} / {words_of_levels(shown)}",
    }
    return replace(cell, record=cell.record.model_copy(update=changes))


def _alone(cells: Sequence[Cell], names: Sequence[str]) -> Iterator[str]:
    """Warns of cells that are compared with nothing. PlanError if all are, or if data differ that would be compared."""
    places: dict[str, dict[str, CellRecord]] = {}
    for cell in cells:
        setting = {key: level for key, level in cell.record.levels.items() if key != FACTOR}
        places.setdefault(json.dumps(setting, sort_keys=True), {})[str(cell.record.levels[FACTOR])] = cell.record
    if not any(names[0] in found and len(found) > 1 for found in places.values()):
        hint = "give their systems the same names, and their factors common levels"
        raise PlanError(f"no cell of {names[1]} can be compared with one of {names[0]}", where=names[1], hint=hint)
    for found in places.values():
        if names[0] not in found or len(found) == 1:
            where = "in no other plan" if names[0] in found else f"not in {names[0]}"
            yield from (f"{one.label} is not compared: it is {where}" for one in found.values())
        one, *others = found.values()
        if (other := next((record for record in others if not record.has_rows_of(one)), None)) is not None:
            hint = "write the same seed, records and other options of the data in both plans"
            raise PlanError(f"{one.label} and {other.label} have different data, which cannot be compared", hint=hint)


def _factors(cells: Sequence[Cell]) -> dict[str, list[Scalar]]:
    found: dict[str, list[Scalar]] = {FACTOR: [], "system": []}
    for cell in cells:
        for name, level in {**cell.record.levels, "system": cell.record.system}.items():
            levels = found.setdefault(name, [])
            if level not in levels:
                levels.append(level)
    return found


def _title(named: Mapping[str, ResolvedPlan]) -> str:
    titles = list(dict.fromkeys(plan.record.title for plan in named.values()))
    return " against ".join(titles) if len(titles) > 1 else f"{titles[0]} ({' against '.join(named)})"


def _tree(named: Mapping[str, ResolvedPlan]) -> dict[str, Any]:
    trees = {name: plan.record.resolved for name, plan in named.items()}
    own = {name: {key: value for key, value in tree.items() if key in _OWN} for name, tree in trees.items()}
    return {**_shared(next(iter(trees.values()))), "plans": own}


def differences(named: Mapping[str, ResolvedPlan]) -> dict[str, dict[str, str]]:
    """By key, what each plan says where they do not say the same."""
    trees = {name: dict(_flat(plan.record.resolved)) for name, plan in named.items()}
    keys = dict.fromkeys(key for tree in trees.values() for key in tree if key not in ("title", "description"))
    said = {key: {name: _words(tree.get(key)) for name, tree in trees.items()} for key in keys}
    return {key: values for key, values in said.items() if len(set(values.values())) > 1}


def _flat(tree: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, Any]]:
    """Every value by its place: "systems.mariadb.start.settings.sync_binlog"."""
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{place}{key}.")
        else:
            yield f"{place}{key}", value


def _words(value: Any) -> str:
    if value is None:
        return NOT_SAID
    return value if isinstance(value, str) else json.dumps(value, default=str)
