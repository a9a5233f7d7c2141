"""From a plan's text to its models, a sentence for each thing that is wrong: syntax; what the command line says in its
place (`--set measure.window=5s`); load parameters, wherever a person writes them; options that workloads share; keys,
types and units.

Only load parameters may be written in several places. Other keys are refused with their place named: moving every key
from everywhere would make plans that nobody can read without knowing the rules.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from ...errors import PlanError
from ...model.levels import LOAD, PORTABLE
from ...workloads import workloads
from ..factors import known_name
from .fleet import other_ways
from .source import Place, Source, explain
from .tables import PlanDocument


def read_document(text: str, source: Source, said: Sequence[str] = ()) -> tuple[PlanDocument, Source]:
    """The text as models: syntax, keys, types and units; and where it says what they hold."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"\(at (line \d+), column \d+\)|\(at (end of document)\)", str(error))
        place = ", ".join(filter(None, [str(source.path or "the plan"), at and (at[1] or at[2])]))
        what = re.sub(r"\s*\(at .*\)$", "", str(error))
        hint = "plans are TOML: key = value; texts and quantities are in double quotes"
        raise PlanError(f"the plan is not valid TOML: {what[:1].lower()}{what[1:]}", where=place, hint=hint) from None
    except RecursionError:
        raise _deep(source) from None
    except ValueError:  # of all the numbers of Python's that TOML has, only whole ones can be too long to read
        raise PlanError("the plan has a number with thousands of digits", where=str(source.path or "")) from None
    if nests_deeply(tree):
        raise _deep(source)
    source = replace(source, said=override(tree, said))
    _refuse_numbers(tree, source, math.inf)
    moved = move_constants(tree, source)
    source = replace(source, moved={**moved, **share_options(tree)})
    if source.path is not None:
        tree.setdefault("title", source.path.stem)
    try:
        document = PlanDocument.model_validate(tree, context={"base_dir": source.base_dir})
    except ValidationError as error:
        raise explain(error, source) from None
    _refuse_numbers(tree, source, 2**63)
    _check_systems(document, source)
    _check_workloads(document, source)
    return document, source


def _deep(source: Source) -> PlanError:
    where = str(source.path or "the plan")
    return PlanError("the plan nests too deeply", where=where, hint="a plan has a few tables of keys")


def _refuse_numbers(tree: dict[str, Any], source: Source, bound: float) -> None:
    """TOML has infinities, and Python whole numbers without bound; nothing that a plan counts or sets has either. With
    an infinite bound only what is not finite is refused: many keys have narrower bounds and say so themselves."""
    stack: list[tuple[Place, Any]] = [((), tree)]
    while stack:
        place, value = stack.pop()
        if isinstance(value, dict):
            stack += [((*place, key), inner) for key, inner in value.items()]
        elif isinstance(value, list):
            stack += [((*place, number), inner) for number, inner in enumerate(value)]
        elif isinstance(value, int | float) and not abs(value) < bound:
            name = ".".join(part for part in place if isinstance(part, str))
            shown = f"is {value}" if isinstance(value, float) else "is a number of too many digits"
            raise source.error(f"`{name}` {shown}, and must be a finite number below 2^63", *place)


def _check_systems(document: PlanDocument, source: Source) -> None:
    for name, table in document.systems.items():
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name) or name in ("settings", "start"):
            hint = "a name has letters, digits, _ and -, and is neither `settings` nor `start`"
            raise source.error(f'"{name}" cannot be the name of a system', "systems", name, hint=hint)
        for level in PORTABLE:
            if (value := getattr(table, level)) is not None:
                known_name(level, value, source, "systems", name, level)


def _check_workloads(document: PlanDocument, source: Source) -> None:
    if document.workload is None and not document.workloads:
        hint = 'write a table [workload] with kind = "ycsb", or several [workloads.NAME]'
        raise source.error("the plan needs `workload`", hint=hint)
    for name in document.workloads:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name) or name in document.systems:
            hint = "a name has letters, digits, _ and -, and is not that of a system"
            raise source.error(f'"{name}" cannot be the name of a workload', "workloads", name, hint=hint)


_TABLES: tuple[tuple[str, ...], ...] = ((), ("workload",), ("measure",))


def move_constants(tree: dict[str, Any], source: Source) -> dict[Place, Place]:
    """Moves them within the tree; returns where the file says what was moved, by its new place. PlanError for what is
    said twice."""
    moved: dict[Place, Place] = {}
    for name in LOAD:
        places = [place for place in _TABLES if name in _table_at(tree, place) and not _namesake(tree, place, name)]
        for place in places[1:]:
            what = f"`{name}` is set twice, {_words(places[0])} and {_words(place)}"
            raise source.error(what, *place, name, hint="keep one of them")
        for place in places:
            several = isinstance(_table_at(tree, place)[name], list)
            home = ("factors",) if several else ("measure",)
            if place == home or not isinstance(tree.setdefault(home[0], {}), dict):
                continue
            if several and "cells" in tree:
                what = f"`{name}` has several levels {_words(place)}, and the plan lists its cells"
                raise source.error(what, *place, name, hint=f"give `{name}` to each table of [[cells]]")
            if name in tree[home[0]]:
                what = f"`{name}` is set twice, {_words(place)} and in [{home[0]}]"
                raise source.error(what, *place, name, hint="keep one of them")
            tree[home[0]][name] = _table_at(tree, place).pop(name)
            moved[(*home, name)] = (*place, name)
    return moved


def _table_at(tree: dict[str, Any], place: tuple[str, ...]) -> dict[str, Any]:
    for key in place:
        tree = tree.get(key, {})
    return tree if isinstance(tree, dict) else {}


def _namesake(tree: dict[str, Any], place: tuple[str, ...], name: str) -> bool:
    """Whether this is an option of the workload's own."""
    kind = workloads().get(str(_table_at(tree, place).get("kind"))) if place == ("workload",) else None
    return kind is not None and name in kind.option_names


def _words(place: tuple[str, ...]) -> str:
    return f"in [{place[0]}]" if place else "at the top of the plan"


def share_options(tree: dict[str, Any]) -> dict[Place, Place]:
    """Copies them within the tree, which loses [workload]; returns where the file says what was copied, by its new
    place."""
    common, tables = tree.get("workload"), tree.get("workloads")
    if not isinstance(common, dict) or not isinstance(tables, dict) or not tables:
        return {}
    copied: dict[Place, Place] = {}
    for name, own in tables.items():
        if isinstance(own, dict):
            copied |= {("workloads", name, key): ("workload", key) for key in common.keys() - own.keys()}
            tables[name] = {**common, **own}
    del tree["workload"]
    return copied


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
                hint = f"--set replaces the whole list: --set '{'.'.join(place[:depth])}=[...]'"
                raise PlanError(f"`{key}` is a list, whose entries have no names", where="--set", hint=hint)
            if not isinstance(at.get(key), dict):
                at[key] = {}
            at = at[key]
        at[place[-1]] = value
        found.append(place)
    return found


def note(text: str, said: Sequence[str], option: str = "--set") -> str:
    """The plan's text, with overrides from the command line as comments at its end."""
    notes = [f"# {option} {' '.join(words.splitlines())}\n" for words in said]
    return "".join([text, "\n", *notes]) if notes else text


def _same(place: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Other places in a plan that say the same thing as this one."""
    match place:
        case (name,) | ("measure" | "factors" | "workload", name) if name in LOAD:
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
            return tuple(place), _as_texts(as_text) if place[-1].rpartition(".")[2] in _TEXTS else inner
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


def _as_texts(value: Any) -> Any:
    """Whole numbers as the texts they are in versions."""
    if isinstance(value, list):
        return [_as_texts(one) for one in value]
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _depth(tree: Any) -> int:
    return 1 + _depth(next(iter(tree.values()))) if isinstance(tree, dict) else 0
