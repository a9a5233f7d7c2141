"""Portable consistency: what a plan's `consistency` means in the options of a kind's driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.errors import PlanError
from bakeoff.systems.base import System
from bakeoff.systems.options import option_names

KEY = "consistency"


def with_consistency(kind: type[System], options: Mapping[str, Any], level: str | None, where: str) -> dict[str, Any]:
    """The options of a system with those that the level means. A driver with an option of this name takes its own names
    there, too. where: of the level. Raises PlanError."""
    if level is None:
        return dict(options)
    meaning = kind.consistency.get(level)
    if meaning is None:
        if KEY not in option_names(kind.driver):
            known = ", ".join(kind.consistency)
            hint = f"{kind.kind} has: {known}" if known else f"{kind.kind} has none: leave out `{KEY}`"
            raise PlanError(f"{kind.kind} has no consistency {level}", where=where, hint=hint)
        meaning = {KEY: level}
    for name in meaning:
        if name in options:
            what = f'`{name}` is set twice: {KEY} = "{level}" means {name} = {_toml(meaning[name])}'
            raise PlanError(what, where=where, hint=f"remove `{name}` or `{KEY}`")
    return {**options, **meaning}


def _toml(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()
