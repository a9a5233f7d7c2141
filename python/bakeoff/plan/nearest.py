"""One clear sentence out of whatever is wrong with a plan: what, where (file, line, key) and what to write instead."""

from __future__ import annotations

import re

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..errors import PlanError
from ..suggestions import meant, sentence
from ..workloads import workloads
from .document import TABLES, keys_of
from .source import Place, Source, words_of

#: Tables whose keys are words of other tables, too.
_COMMON_WORDS = ((), ("faults",), ("fleet", "tls"), ("fleet", "kubernetes"), ("fleet", "slurm"))
_EXAMPLES = {
    "title": 'title = "A against B"',
    "systems": "at least one table such as [systems.sqlite]",
    "workload": 'a table [workload] with kind = "ycsb"',
    "kind": 'kind = "ycsb"',
    "at": 'at = "20s", since the start of the window',
    "do": 'do = "kill", "stop", "freeze" or "restart"',
}


def explain(error: ValidationError, source: Source) -> PlanError:
    """The first thing wrong, in the order of the file; what is missing last, because it may be there misspelt."""
    details = error.errors(include_url=False, include_input=True)
    first = min(details, key=lambda d: (d["type"] == "missing", source.line_of(d["loc"]) or 0))
    what, hint = _sentence(first)
    return PlanError(what, where=source.where(_visible(first["loc"])), hint=hint)


def _visible(place: Place) -> Place:
    """Without the names pydantic gives to branches of a union."""
    return tuple(part for part in place if not (isinstance(part, str) and re.search(r"[\[(]", part)))


def _sentence(detail: ErrorDetails) -> tuple[str, str]:
    place = _visible(detail["loc"])
    key = str(place[-1]) if place else ""
    kind = detail["type"]
    if kind == "extra_forbidden":
        return _unknown_key(key, place[:-1])
    if kind == "missing":
        return _missing(key, place[:-1])
    what, hint = sentence(detail, _key(place))
    return what, f"write {_EXAMPLES[key]}" if kind in ("dict_type", "model_type") and key in _EXAMPLES else hint


def _unknown_key(key: str, table: Place) -> tuple[str, str]:
    own = keys_of(TABLES[_pattern(table)])
    what = f"unknown key `{key}`"
    for place, model in TABLES.items():
        if key in keys_of(model) and place not in _COMMON_WORDS:
            return what, f"`{key}` belongs in {_table(place)}"
    if key in keys_of(TABLES[()]) and TABLES[()].model_fields[key].annotation in (str, bool, int):
        return what, f"`{key}` belongs at the top of the plan"
    if key in LOAD_FACTORS:
        return what, f"`{key}` belongs at the top of the plan, or in [factors]"
    if not table and any(key in kind.option_names for kind in workloads().values()):
        return what, f"`{key}` belongs in [workload], or in [factors] if it varies"
    return what, meant(key, own if table else [*own, *LOAD_FACTORS])


def _missing(key: str, table: Place) -> tuple[str, str]:
    inside = _table(_pattern(table)) if table[:1] == ("faults",) else words_of(table) or "the plan"
    return f"{inside} needs `{key}`", f"write {_EXAMPLES[key]}" if key in _EXAMPLES else ""


def _key(place: Place) -> str:
    return next((str(part) for part in reversed(place) if isinstance(part, str)), "")


def _pattern(table: Place) -> tuple[str, ...]:
    keys = [str(part) for part in table]
    if keys[:1] == ["faults"]:
        return ("faults",)
    return (keys[0], "*") if keys[:1] in (["systems"], ["workloads"]) else tuple(keys)


def _table(place: tuple[str, ...]) -> str:
    name = ".".join(place).replace("*", "NAME")
    return "[[faults]]" if name == "faults" else f"[{name}]"


#: Load parameters: factors that are neither options of a system nor of a workload.
LOAD_FACTORS = (
    *("threads", "sessions", "routing", "clients", "workers", "runner", "io", "rate", "durability", "isolation"),
)
