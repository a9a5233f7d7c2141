"""Load parameters where a person writes them: `threads = 8` at the top of a plan, in [workload] or in [measure]. A
constant belongs in [measure] and a list in [factors], and there it is moved before the plan is checked."""

from __future__ import annotations

from typing import Any

from ..workloads import workloads
from .nearest import LOAD_FACTORS
from .source import Place, Source

_TABLES: tuple[tuple[str, ...], ...] = ((), ("workload",), ("measure",))


def move_constants(tree: dict[str, Any], source: Source) -> dict[Place, Place]:
    """Moves them within the tree; returns where the file says what was moved, by its new place. PlanError for what is
    said twice."""
    moved: dict[Place, Place] = {}
    for name in LOAD_FACTORS:
        places = [place for place in _TABLES if name in _table(tree, place) and not _namesake(tree, place, name)]
        for place in places[1:]:
            what = f"`{name}` is said twice, {_words(places[0])} and {_words(place)}"
            raise source.error(what, *place, name, hint="keep one of them")
        for place in places:
            several = isinstance(_table(tree, place)[name], list)
            home = ("factors",) if several else ("measure",)
            if place == home or not isinstance(tree.setdefault(home[0], {}), dict):
                continue
            if several and "cells" in tree:
                what = f"`{name}` has several levels {_words(place)}, and the plan lists its cells"
                raise source.error(what, *place, name, hint=f"give `{name}` to each table of [[cells]]")
            if name in tree[home[0]]:
                what = f"`{name}` is said twice, {_words(place)} and in [{home[0]}]"
                raise source.error(what, *place, name, hint="keep one of them")
            tree[home[0]][name] = _table(tree, place).pop(name)
            moved[(*home, name)] = (*place, name)
    return moved


def _table(tree: dict[str, Any], place: tuple[str, ...]) -> dict[str, Any]:
    for key in place:
        tree = tree.get(key, {})
    return tree if isinstance(tree, dict) else {}


def _namesake(tree: dict[str, Any], place: tuple[str, ...], name: str) -> bool:
    """Whether this is an option of the workload's own."""
    kind = workloads().get(str(_table(tree, place).get("kind"))) if place == ("workload",) else None
    return kind is not None and name in kind.option_names


def _words(place: tuple[str, ...]) -> str:
    return f"in [{place[0]}]" if place else "at the top of the plan"
