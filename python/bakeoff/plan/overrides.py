"""What the command line says beside a plan: `--set measure.window=5s`. Keys are TOML's, with dots; a value that is not
TOML is a text. What it says takes the place of what the plan says, wherever in the plan that stands."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from ..errors import PlanError
from .fleet import other_ways
from .nearest import LOAD_FACTORS

#: Texts that look like numbers: 10.10 is not 10.1.
_TEXTS = ("version",)
#: Tables and lists in each other; plans have six or so.
_DEPTH_MAX = 50
#: Of an argument that is refused.
_SHOWN_MAX = 100


def override(tree: dict[str, Any], said: Sequence[str]) -> list[tuple[str, ...]]:
    """Each KEY=VALUE takes the place of what the tree has there. Returns the keys. PlanError if one is none."""
    found = []
    for words in said:
        place, value = _parsed(words)
        for other in _same(place):
            _remove(tree, other)
        at = tree
        for depth, key in enumerate(place[:-1], 1):
            if isinstance(at.get(key), list):
                hint = f"--set takes the place of the whole list: --set '{'.'.join(place[:depth])}=[...]'"
                raise PlanError(f"`{key}` is a list, of which nothing can be set by name", where="--set", hint=hint)
            if not isinstance(at.get(key), dict):
                at[key] = {}
            at = at[key]
        at[place[-1]] = value
        found.append(place)
    return found


def note(text: str, said: Sequence[str], option: str = "--set") -> str:
    """The plan's text, with what was said beside it as comments at its end."""
    notes = [f"# {option} {' '.join(words.splitlines())}\n" for words in said]
    return "".join([text, "\n", *notes]) if notes else text


def _same(place: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Other places in a plan that say the same thing as this one."""
    match place:
        case (name,) | ("measure" | "factors" | "workload", name) if name in LOAD_FACTORS:
            yield from ((name,), ("measure", name), ("factors", name), ("workload", name))
            if name == "rate":
                yield ("measure", "pacing", "rate")
        case ("measure", "pacing", "rate"):
            yield from (("rate",), ("measure", "rate"), ("factors", "rate"), ("workload", "rate"))
        case ("fleet", way):
            yield from (("fleet", other) for other in other_ways(way))
        case ("workload", name):
            yield ("factors", name)
        case ("factors", name):
            yield ("workload", name)
            yield from _of_system(name.split("."))
        case ("factors", *names):
            yield ("factors", ".".join(names))
            yield from _of_system(names)
        case ("systems", _, *_):
            system, *option = place[1:]
            names = [system, *(option[1:] if option[:1] == ["start"] else option)]
            if len(names) > 1:
                yield from (("factors", *names), ("factors", ".".join(names)))
                yield from _of_system(names)


def _of_system(names: list[str]) -> Iterator[tuple[str, ...]]:
    """A setting in the system's table: there, or in its `start`."""
    system, *option = names
    if option and option != ["start"]:
        yield from (("systems", system, *option), ("systems", system, "start", *option))


def _remove(tree: dict[str, Any], place: tuple[str, ...]) -> None:
    at: Any = tree
    for key in place[:-1]:
        at = at.get(key) if isinstance(at, dict) else None
    if isinstance(at, dict):
        at.pop(place[-1], None)


def _parsed(words: str) -> tuple[tuple[str, ...], Any]:
    """The keys, outermost first, and the value."""
    key, equals, value = words.partition("=")
    for text in (value, json.dumps(value)) if equals else ():
        with suppress(ValueError, RecursionError):  # no TOML, too deep, or a number of more digits than Python reads
            tree = tomllib.loads(f"{key} = {text}")
            if nests_deeply(tree):
                break
            depth = _depth(tomllib.loads(f"{key} = 0"))
            place: list[str] = []
            inner: Any = tree
            as_text = tomllib.loads(f"{key} = {text}", parse_float=str)
            for _ in range(depth):
                ((name, inner),) = inner.items()
                as_text = as_text[name]
                place.append(name)
            return tuple(place), _texts(as_text) if place[-1].rpartition(".")[2] in _TEXTS else inner
    hint = 'KEY=VALUE, for instance --set measure.window=5s or --set "factors.threads=[1, 4]"'
    shown = words if len(words) <= _SHOWN_MAX else f"{words[:_SHOWN_MAX]}..."
    raise PlanError(f'"{shown}" sets nothing', where="--set", hint=hint)


def nests_deeply(tree: dict[str, Any]) -> bool:
    """Whether no plan is like this: what walks through one goes down with it."""
    stack: list[tuple[Any, int]] = [(tree, 0)]
    while stack:
        value, depth = stack.pop()
        if depth > _DEPTH_MAX:
            return True
        if isinstance(value, dict | list):
            stack += [(inner, depth + 1) for inner in (value.values() if isinstance(value, dict) else value)]
    return False


def _texts(value: Any) -> Any:
    """Whole numbers as the texts they are in versions."""
    if isinstance(value, list):
        return [_texts(one) for one in value]
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _depth(tree: Any) -> int:
    return 1 + _depth(next(iter(tree.values()))) if isinstance(tree, dict) else 0
