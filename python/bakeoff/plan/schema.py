"""JSON Schema of plans, for editors: types from the models of `document`, options of each kind of system and workload
from where they are declared, and words from the reference pages. `make docs` writes it to `plan.schema.json` in this
folder, which `bakeoff init` copies next to a plan.

It accepts every plan that bakeoff accepts. What depends on several keys at once (cores of this machine, a setting said
twice) only bakeoff itself refuses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import BaseModel, TypeAdapter

from ..model.levels import LOAD, PORTABLE, LoadParameter
from ..model.resolve import Described
from ..systems import SYSTEMS
from ..systems.base import System
from ..systems.options import PLAN_KEYS, options_of
from ..systems.server.options import ServerOptions
from ..workloads import workloads
from .document.tables import TABLES, PlanDocument
from .document.units import Rate

Schema: TypeAlias = dict[str, Any]
#: What the reference pages say of each key of a table, by the table's place in a plan; of a kind of system, too.
Meanings: TypeAlias = Mapping[tuple[str, ...], Mapping[str, str]]

DRAFT = "http://json-schema.org/draft-07/schema#"  # the newest that editors of TOML know


def plan_schema(meanings: Meanings) -> Schema:
    """The whole document."""
    root = of_model(PlanDocument)
    tables: dict[str, Schema] = root.pop("$defs")
    for place, model in TABLES.items():
        table = tables[model.__name__] if place else root
        table["properties"] = described(table["properties"], meanings.get(place, {}))
    words = {**meanings[("factors",)], **{name: meanings["systems", "*"][name] for name in PORTABLE}}
    levels = described({name: _levels(name) for name in LOAD}, words)
    tables |= {f"load {name}": one for name, one in levels.items()}
    load = {name: _ref(f"load {name}") for name in LOAD}
    root["properties"] |= load
    tables["MeasureTable"]["properties"] |= load
    root["properties"]["factors"]["properties"] = load
    common = tables["WorkloadTable"]["properties"]
    for kind, workload in workloads().items():
        options = {option.name: _of_option(option) for option in workload.options}
        tables[f"workload {kind}"] = _closed({**common, **load, **options})
    every: dict[str, Schema] = {key: {} for kind in workloads() for key in tables[f"workload {kind}"]["properties"]}
    # One without a kind has what several share.
    tables["WorkloadTable"] = {
        **_by_kind("workload", common, list(workloads())),
        "if": {"required": ["kind"]},
        "else": _closed(every),
    }
    common = {key: tables["SystemTable"]["properties"][key] for key in sorted(PLAN_KEYS)}
    common |= {name: _described(_level(LOAD[name]), common[name].get("description", "")) for name in PORTABLE}
    for kind, system in SYSTEMS.items():
        words = {**meanings.get(("systems", "*"), {}), **meanings.get(("systems", kind), {})}
        tables[f"system {kind}"] = _closed({**_options_of(system, tables, words), **common})
    tables["SystemTable"] = {**_by_kind("system", common, list(SYSTEMS)), "required": ["kind"]}
    root["properties"]["systems"]["properties"] = {kind: _named_after(kind) for kind in SYSTEMS}
    root["required"] = ["systems"]  # the title is the file's name where none is said
    root["if"] = {"not": {"required": ["workloads"]}}
    root["then"] = {"required": ["workload"], "properties": {"workload": {"required": ["kind"]}}}
    return {"$schema": DRAFT, "title": "bakeoff plan", **root, "definitions": dict(sorted(tables.items()))}


def schema_text(meanings: Meanings) -> str:
    return json.dumps(plan_schema(meanings), indent=1, ensure_ascii=False) + "\n"


def described(properties: Mapping[str, Schema], words: Mapping[str, str]) -> dict[str, Schema]:
    return {key: _described(one, words.get(key, "")) for key, one in properties.items()}


def _described(one: Schema, words: str) -> Schema:
    """Draft 7 ignores all other keys next to `$ref`."""
    if not words:
        return one
    return {"description": words, **({"allOf": [one]} if "$ref" in one else one)}


def of_model(model: type[BaseModel]) -> Schema:
    schema: Schema = _plain(model.model_json_schema(ref_template="#/definitions/{model}"))
    return schema


def _plain(node: Any) -> Any:
    """Without what repeats names and docstrings, defaults in the program's own units, and null, which TOML lacks."""
    if isinstance(node, list):
        return [_plain(one) for one in node]
    if not isinstance(node, dict):
        return node
    kept = {key: value for key, value in node.items() if key not in ("title", "description", "default", "ge", "le")}
    if "anyOf" in kept:
        kept["anyOf"] = [one for one in kept["anyOf"] if one != {"type": "null"}]
        if len(kept["anyOf"]) == 1:
            kept |= kept.pop("anyOf")[0]
    # The keys of these are names, and may be "title".
    names = ("properties", "$defs")
    return {
        key: {name: _plain(inner) for name, inner in value.items()} if key in names else _plain(value)
        for key, value in kept.items()
    }


def _closed(properties: Mapping[str, Schema]) -> Schema:
    return {"type": "object", "properties": dict(properties), "additionalProperties": False}


def _level(parameter: LoadParameter) -> Schema:
    if parameter.switch:
        return {"type": "boolean"}
    if parameter.own:
        return {"type": "string", "examples": list(parameter.names)}
    if parameter.names:
        return {"enum": list(parameter.names)}
    return {"type": "integer", "minimum": 1, "maximum": parameter.most} if parameter.most else {"type": "string"}


def _levels(name: str) -> Schema:
    """One, or a list of those that vary."""
    level = _plain(TypeAdapter(Rate).json_schema()) if name == "rate" else _level(LOAD[name])
    return {"anyOf": [level, {"type": "array", "minItems": 1, "items": level}]}


def _by_kind(what: str, common: Mapping[str, Schema], kinds: Sequence[str]) -> Schema:
    """A table whose other keys depend on its `kind`."""
    own = [{"if": _is_of(kind), "then": _ref(f"{what} {kind}")} for kind in kinds]
    properties = {**common, "kind": {**common["kind"], "enum": kinds}}
    return {"type": "object", "properties": properties, "allOf": own}


def _is_of(kind: str) -> Schema:
    return {"required": ["kind"], "properties": {"kind": {"const": kind}}}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}


def _named_after(kind: str) -> Schema:
    """[systems.mariadb] is one of MariaDB's unless it says another kind."""
    return {"if": {"required": ["kind"]}, "then": _ref("SystemTable"), "else": _ref(f"system {kind}")}


def _options_of(system: type[System], tables: dict[str, Schema], words: Mapping[str, str]) -> dict[str, Schema]:
    """All that [systems.NAME] may have for a kind: its own options, those of `start`, which are also allowed here, and
    those of the driver. Adds the tables inside."""
    model = system.options_model()
    own = of_model(model)
    inner = own.pop("$defs", {})
    for table in inner.values():
        table["properties"] = described(table["properties"], words)
    tables |= inner
    found: dict[str, Schema] = own["properties"]
    if issubclass(model, ServerOptions):
        start: Schema = found.pop("start")
        beside = inner[start["$ref"].rpartition("/")[2]]["properties"]
        nodes = [one["nodes"] for one in (found, beside) if "nodes" in one]
        found = {**beside, **found, "start": {"anyOf": [{"const": True}, start]}, "nodes": {"anyOf": nodes}}
    found = {**{option.name: _of_option(option) for option in options_of(system.driver)}, **found}
    return {key: one if "description" in one else _described(one, words.get(key, "")) for key, one in found.items()}


def _of_option(option: Described) -> Schema:
    """Of the engine's: its own words say which values there are."""
    return {"description": f"{option.meaning} Values: {option.values}.", **_of_values(option.values)}


_BOUNDED = re.compile(r"a (whole )?number(?: (from|above) ([\d.]+))?(?: (?:to|and (below)) ([\d.]+))?")


def _of_values(values: str) -> Schema:
    """Any where the words say more than a type."""
    simple = {"true or false": "boolean", "a text": "string", "a text that is not empty": "string"}
    if values in simple:
        return {"type": simple[values]}
    if re.fullmatch(r'`"[^"`]*"`(, `"[^"`]*"`)*', values):
        return {"enum": re.findall(r'"([^"]*)"', values)}
    if bounded := _BOUNDED.fullmatch(values):
        whole, least, low, below, high = bounded.groups()
        bounds = {
            "exclusiveMinimum" if least == "above" else "minimum": low,
            "exclusiveMaximum" if below else "maximum": high,
        }
        limits = {key: json.loads(number) for key, number in bounds.items() if number is not None}
        return {"type": "integer" if whole else "number", **limits}
    return {}
