"""A part of a plan: `--only mariadb`, `--only threads=8`, `--only "preset=a,threads=1"`. What commas divide must hold
together; of several `--only` any one is enough. Cells stay what they are, so the rest can be run into the same bundle
later."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from ..errors import PlanError
from ..model.records import Scalar
from ..suggestions import meant, one_of
from .factors import read_level
from .grid import Combination, Grid, level_words, varying
from .source import Source

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
    return lambda cell: all(name in cell and _same(cell[name], level) for name, level in terms)


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
        if text == level_words(level) or _same(level, _read(name, text, grid, source)):
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


def _same(level: Scalar, other: Scalar) -> bool:
    """true is not 1."""
    return level == other and isinstance(level, bool) == isinstance(other, bool)
