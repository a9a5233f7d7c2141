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
        _merge(tree, _parsed(words))


def note(text: str, said: Sequence[str]) -> str:
    """The plan's text, with what was said beside it as comments at its end."""
    notes = [f"# --set {' '.join(words.splitlines())}\n" for words in said]
    return "".join([text, "\n", *notes]) if notes else text


def _parsed(words: str) -> dict[str, Any]:
    key, equals, value = words.partition("=")
    for text in (value, json.dumps(value)) if equals else ():
        with suppress(tomllib.TOMLDecodeError):
            return tomllib.loads(f"{key} = {text}")
    hint = 'KEY=VALUE, for instance --set measure.window=5s or --set "factors.threads=[1, 4]"'
    raise PlanError(f'"{words}" sets nothing', where="--set", hint=hint)


def _merge(tree: dict[str, Any], over: dict[str, Any]) -> None:
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(inner := tree.get(key), dict):
            _merge(inner, value)
        else:
            tree[key] = value
