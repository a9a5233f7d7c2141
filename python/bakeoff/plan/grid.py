"""The combinations of a plan: a system, a workload, and a level for each factor that applies to them.

A grid multiplies the levels of [factors]; [[cells]] gives them one by one. "system" is always a factor, and so is
"workload" where the plan has tables [workloads.NAME].
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from ..errors import PlanError
from ..model.records.plan import Scalar
from ..suggestions import meant, one_of
from .document.source import Source
from .document.tables import PlanDocument
from .factors import Factor, Works, find_factor, read_level

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
            "the plan has both [factors] and [[cells]]", "factors", hint="keep one of them: a grid or a list"
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
            raise source.error(f"cell {number} has no `{name}`", "cells", hint=hint)


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


Levels = Mapping[str, Scalar]


def choose(grid: Grid, constants: Levels, only: Sequence[str], source: Source) -> list[Combination]:
    """The combinations of the plan that are wanted: all if nothing is said. PlanError for what the plan has not, and
    where nothing is left."""
    if not only:
        return grid.combinations
    levels = varying(grid.combinations) | {name: [level] for name, level in constants.items()}
    wanted = [_wanted(words, grid, levels, source) for words in only]
    found = [one for one in grid.combinations if any(holds({**constants, **one.all_levels}) for holds in wanted)]
    if not found:
        raise PlanError(f"no cell of the plan is {' or '.join(only)}", where="--only", hint="--dry-run shows its cells")
    return found


def _wanted(words: str, grid: Grid, levels: Mapping[str, list[Scalar]], source: Source) -> Callable[[Levels], bool]:
    terms = [_term(term.strip(), grid, levels, source) for term in words.split(",")]
    return lambda cell: all(name in cell and _same_level(cell[name], level) for name, level in terms)


def _term(words: str, grid: Grid, levels: Mapping[str, list[Scalar]], source: Source) -> tuple[str, Scalar]:
    """A factor and its level; a name alone is a system's or a workload's."""
    name, equals, text = (part.strip() for part in words.partition("="))
    if not equals:
        for table in ("system", "workload"):
            if words in levels.get(table, []):
                return table, words
        names = [str(level) for table in ("system", "workload") for level in levels.get(table, [])]
        hint = f"{meant(words, [*names, *levels])}; a level of a factor is FACTOR=LEVEL, such as threads=8"
        raise PlanError(f"the plan has no system or workload `{words}`", where="--only", hint=hint)
    if name not in levels:
        raise PlanError(f"`{name}` is not a factor of this plan", where="--only", hint=meant(name, levels))
    for level in levels[name]:
        if text == level_words(level) or _same_level(level, _read(name, text, grid, source)):
            return name, level
    what = f"`{name}` has no level {text} in this plan"
    raise PlanError(what, where="--only", hint=one_of(text, map(level_words, levels[name])))


def _read(name: str, text: str, grid: Grid, source: Source) -> Scalar:
    """The level as the plan would write it: 5k/s, "full", 1_000."""
    level: Scalar = text
    with suppress(ValueError, RecursionError):
        level = tomllib.loads(f"x = {text}")["x"]
    with suppress(PlanError):
        return read_level(grid.factors[name], level, source) if name in grid.factors else level
    return text


def _same_level(level: Scalar, other: Scalar) -> bool:
    """true is not 1."""
    return level == other and isinstance(level, bool) == isinstance(other, bool)
