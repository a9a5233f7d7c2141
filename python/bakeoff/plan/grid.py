"""The combinations of a plan: a system, a workload, and a level for each factor that applies to them.

A grid multiplies the levels of [factors]; [[cells]] gives them one by one. "system" is always a factor, and so is
"workload" where the plan has tables [workloads.NAME].
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from ..model.records import Scalar
from .document import PlanDocument
from .factors import Factor, Works, find_factor, read_level
from .source import Source

CELLS_MAX = 10_000
#: Factors that are tables of the plan, and what such a table is called there.
_TABLES = {"system": "[systems.NAME]", "workload": "[workloads.NAME]"}


@dataclass(frozen=True)
class Combination:
    """A system, a workload ("" where the plan names none), and a level for each factor that applies to both."""

    system: str
    workload: str
    levels: dict[str, Scalar]

    @property
    def all_levels(self) -> dict[str, Scalar]:
        named: dict[str, Scalar] = {"workload": self.workload} if self.workload else {}
        return {"system": self.system, **named, **self.levels}


@dataclass(frozen=True)
class Grid:
    factors: dict[str, Factor]
    combinations: list[Combination]


def read_grid(document: PlanDocument, works: Works, source: Source) -> Grid:
    """All combinations of the plan, systems outermost, then workloads, in the order of the file."""
    if document.cells is None:
        return _read_factors(document, works, source)
    if document.factors:
        raise source.error(
            "the plan has both [factors] and [[cells]]", "factors", hint="a grid or a list: keep one of them"
        )
    return _read_list(document, document.cells, works, source)


def _read_factors(document: PlanDocument, works: Works, source: Source) -> Grid:
    for name in _TABLES.keys() & document.factors.keys():
        hint = f"its levels are the tables {_TABLES[name]}; to run some combinations only, list them in [[cells]]"
        raise source.error(f"`{name}` is always a factor", "factors", name, hint=hint)
    factors = {name: find_factor(name, document.systems, works, source) for name in document.factors}
    levels = {name: _levels(factor, document.factors[name], source) for name, factor in factors.items()}
    pairs = list(product(document.systems, works))
    _said_once(pairs, factors, source)
    combinations: list[Combination] = []
    for pair in pairs:
        names = [name for name, factor in factors.items() if factor.applies_to(*pair)]
        _check_size(len(combinations) + prod(len(levels[name]) for name in names), source)
        for chosen in product(*(levels[name] for name in names)):
            combinations.append(Combination(*pair, dict(zip(names, chosen, strict=True))))
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


def _read_list(document: PlanDocument, tables: list[dict[str, Any]], works: Works, source: Source) -> Grid:
    if not tables:
        raise source.error("[[cells]] is empty", "cells", hint="give at least one table of levels, or use [factors]")
    names = list(dict.fromkeys(name for table in tables for name in table if name not in _TABLES))
    factors = {name: find_factor(name, document.systems, works, source, "cells") for name in names}
    _said_once(list(product(document.systems, works)), factors, source)
    combinations: list[Combination] = []
    for number, table in enumerate(tables, 1):
        systems = _named(table, "system", document.systems, number, source)
        pairs = list(product(systems, _named(table, "workload", works, number, source)))
        _same_keys(pairs, table, number, factors, source)
        for pair in pairs:
            combinations += _listed(pair, table, number, factors, combinations, source)
    _check_size(len(combinations), source)
    order = list(document.systems)
    return Grid(factors, sorted(combinations, key=lambda c: order.index(c.system)))


def _named(table: dict[str, Any], kind: str, known: Collection[str], number: int, source: Source) -> list[str]:
    """The system or workload that a table of [[cells]] names; without one it is about all of them."""
    if kind not in table:
        return list(known)
    if table[kind] not in known:
        hint = f"known: {', '.join(known)}" if any(known) else f"the plan has no tables {_TABLES[kind]}"
        raise source.error(f'cell {number} names the unknown {kind} "{table[kind]}"', "cells", hint=hint)
    return [table[kind]]


def _listed(
    pair: tuple[str, str],
    table: dict[str, Any],
    number: int,
    factors: dict[str, Factor],
    before: list[Combination],
    source: Source,
) -> list[Combination]:
    """This table's combination for one system and workload. A table that differs from an earlier one only in what
    belongs to others adds nothing here."""
    applying = {name: factors[name] for name in table if name not in _TABLES and factors[name].applies_to(*pair)}
    levels = {name: read_level(factor, table[name], source, "cells") for name, factor in applying.items()}
    one = Combination(*pair, levels)
    if one not in before:
        return [one]
    if len(applying) == len(table.keys() - _TABLES.keys()):
        raise source.error(f"cell {number} repeats an earlier one: {words_of_levels(one.all_levels)}", "cells")
    return []


def _same_keys(
    pairs: list[tuple[str, str]], table: dict[str, Any], number: int, factors: dict[str, Factor], source: Source
) -> None:
    for name, factor in factors.items():
        if factor.only is None and name not in table and any(factor.applies_to(*pair) for pair in pairs):
            hint = "every table of [[cells]] gives a level to the same keys"
            raise source.error(f"cell {number} does not say `{name}`", "cells", hint=hint)


def _said_once(pairs: list[tuple[str, str]], factors: dict[str, Factor], source: Source) -> None:
    for pair in pairs:
        seen: dict[tuple[str, tuple[str, ...]], str] = {}
        for name, factor in factors.items():
            if not factor.applies_to(*pair):
                continue
            other = seen.setdefault((factor.target, factor.path), name)
            if other != name:
                raise source.error(f"`{name}` and `{other}` are the same thing for {pair[0]}", "factors", name)


def _check_size(cells: int, source: Source) -> None:
    if cells > CELLS_MAX:
        hint = "fewer levels, or the combinations that matter in [[cells]]"
        raise source.error(f"the plan has {cells:,} cells; at most {CELLS_MAX:,} are allowed", "factors", hint=hint)


def words_of_levels(levels: Mapping[str, Scalar]) -> str:
    """ "sqlite / readers / threads=4": systems and workloads have names of their own."""
    words = ((name, level_words(level)) for name, level in levels.items())
    return " / ".join(level if name in _TABLES else f"{name}={level}" for name, level in words)


def level_words(level: Scalar) -> str:
    if isinstance(level, bool):
        return "true" if level else "false"
    return f"{level:g}" if isinstance(level, float) else str(level)


def varying(combinations: list[Combination]) -> dict[str, list[Scalar]]:
    """Every factor with the levels that occur, "system" first, then "workload" where the plan names several."""
    found: dict[str, list[Scalar]] = {"system": []}
    for combination in combinations:
        for name, level in combination.all_levels.items():
            levels = found.setdefault(name, [])
            if not any(level == known and type(level) is type(known) for known in levels):
                levels.append(level)
    return found
