"""What the command line says beside a plan: `--set measure.window=5s`. Keys are TOML's, with dots; a value that is not
TOML is a text."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ..errors import PlanError


def override(tree: dict[str, Any], said: Sequence[str]) -> None:
    """Each KEY=VALUE takes the place of what the tree has there. PlanError if one is none."""
    for words in said:
        *path, last, value = _parsed(words)
        at = tree
        for key in path:
            if not isinstance(at.get(key), dict):
                at[key] = {}
            at = at[key]
        at[last] = value


def note(text: str, said: Sequence[str]) -> str:
    """The plan's text, with what was said beside it as comments at its end."""
    notes = [f"# --set {' '.join(words.splitlines())}\n" for words in said]
    return "".join([text, "\n", *notes]) if notes else text


def _parsed(words: str) -> list[Any]:
    """The keys, outermost first, and then the value."""
    key, equals, value = words.partition("=")
    for text in (value, json.dumps(value)) if equals else ():
        with suppress(ValueError):  # no TOML, or a number of more digits than Python reads
            depth = _depth(tomllib.loads(f"{key} = 0"))
            found: list[Any] = []
            inner: Any = tomllib.loads(f"{key} = {text}")
            for _ in range(depth):
                ((name, inner),) = inner.items()
                found.append(name)
            return [*found, inner]
    hint = 'KEY=VALUE, for instance --set measure.window=5s or --set "factors.threads=[1, 4]"'
    raise PlanError(f'"{words}" sets nothing', where="--set", hint=hint)


def _depth(tree: Any) -> int:
    return 1 + _depth(next(iter(tree.values()))) if isinstance(tree, dict) else 0
