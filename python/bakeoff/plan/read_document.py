"""From a plan's text to its models: syntax, keys, types and units. A sentence for each thing that is wrong."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from ..errors import PlanError
from .common_options import share_options
from .constants import move_constants
from .document import PlanDocument
from .factors import known_name
from .nearest import explain
from .overrides import nests_deeply, override
from .source import Source


def read_document(text: str, source: Source, said: Sequence[str] = ()) -> tuple[PlanDocument, Source]:
    """The text as models: syntax, keys, types and units; and where it says what they hold."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"\(at (line \d+), column \d+\)|\(at (end of document)\)", str(error))
        place = ", ".join(filter(None, [str(source.path or "the plan"), at and (at[1] or at[2])]))
        what = re.sub(r"\s*\(at .*\)$", "", str(error))
        hint = "plans are TOML: key = value; texts and quantities stand in double quotes"
        raise PlanError(f"the plan is not valid TOML: {what[:1].lower()}{what[1:]}", where=place, hint=hint) from None
    except RecursionError:
        raise _deep(source) from None
    except ValueError:  # of all the numbers of Python's that TOML has, only whole ones can be too long to read
        raise PlanError("the plan holds a number of thousands of digits", where=str(source.path or "")) from None
    if nests_deeply(tree):
        raise _deep(source)
    source = replace(source, said=override(tree, said))
    moved = move_constants(tree, source)
    source = replace(source, moved={**moved, **share_options(tree)})
    if source.path is not None:
        tree.setdefault("title", source.path.stem)
    try:
        document = PlanDocument.model_validate(tree)
    except ValidationError as error:
        raise explain(error, source) from None
    _refuse_numbers(tree, source)
    _check_systems(document, source)
    _check_workloads(document, source)
    return document, source


def _deep(source: Source) -> PlanError:
    where = str(source.path or "the plan")
    return PlanError("the plan nests too deeply", where=where, hint="a plan is a few tables of keys")


def _refuse_numbers(tree: dict[str, Any], source: Source) -> None:
    """TOML has infinities, and Python whole numbers without bound; nothing that a plan counts or sets has either."""
    stack: list[tuple[tuple[str, ...], Any]] = [((), tree)]
    while stack:
        place, value = stack.pop()
        if isinstance(value, dict):
            stack += [((*place, key), inner) for key, inner in value.items()]
        elif isinstance(value, list):
            stack += [(place, inner) for inner in value]
        elif isinstance(value, int | float) and not abs(value) < 2**63:
            what = f"`{'.'.join(place)}` is not a number that fits 64 bits"
            raise source.error(what, *place, hint="inf, nan and numbers from 2^63 on mean nothing here")


def _check_systems(document: PlanDocument, source: Source) -> None:
    for name, table in document.systems.items():
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name) or name in ("settings", "start"):
            hint = "names are letters, digits, _ and -, and neither `settings` nor `start`"
            raise source.error(f'"{name}" cannot be the name of a system', "systems", name, hint=hint)
        for kind, value in (("durability", table.durability), ("isolation", table.isolation)):
            if value is not None:
                known_name(kind, value, source, "systems", name, kind)


def _check_workloads(document: PlanDocument, source: Source) -> None:
    if document.workload is None and not document.workloads:
        hint = 'write a table [workload] with kind = "ycsb", or several [workloads.NAME]'
        raise source.error("the plan needs `workload`", hint=hint)
    for name in document.workloads:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name) or name in document.systems:
            hint = "names are letters, digits, _ and -, and other than those of systems"
            raise source.error(f'"{name}" cannot be the name of a workload', "workloads", name, hint=hint)
