"""Where in a plan something was said, for messages: its file, line and table, or the words of the command line. And one
clear sentence out of whatever is wrong with it: what, where and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ...errors import PlanError
from ...model.levels import LOAD
from ...renamed import PLAN_KEYS, now_called
from ...suggestions import meant, sentence
from ...workloads import workloads
from .tables import TABLES, keys_of

Place = tuple[str | int, ...]

#: Brackets, and what may contain some that are none.
_TOKENS = re.compile(r""""(?:\\.|[^"\\])*"|'[^']*'|\#[^\n]*|[\[\]{}]""")


@dataclass(frozen=True)
class Source:
    """Where a plan's text came from, and the folder its relative paths start at."""

    path: Path | None
    text: str
    base_dir: Path
    #: Places that the command line set in place of the file: --set.
    said: Sequence[Place] = ()
    #: Where the file says what was moved to where it belongs: place -> the file's place.
    moved: Mapping[Place, Place] = field(default_factory=dict)

    def error(self, what: str, *place: str | int, hint: str = "") -> PlanError:
        return PlanError(what, where=self.where(place), hint=hint)

    def where(self, place: Place) -> str:
        """ "my.toml, line 12, [measure] window"; "my.toml, --set measure.window"."""
        name = str(self.path) if self.path else "the plan"
        place = self.moved.get(place, place)
        if any(place[: len(said)] == said for said in self.said):
            return f"{name}, --set {'.'.join(str(part) for part in place)}"
        place = self._as_written(place)
        line = self.line_of(place)
        return ", ".join(part for part in (name, f"line {line}" if line else "", words_of(place)) if part)

    def line_of(self, place: Place) -> int | None:
        """The line where the key stands, or the line of its table; None if neither can be found (inline tables
        vary)."""
        keys = [str(part) for part in place if isinstance(part, str)]
        depth = next((at for at, part in enumerate(place) if isinstance(part, int)), len(place))
        listed, wanted = keys[:depth], next(iter(place[depth:]), None)  # which of the tables in a list
        found: int | None = None
        matched = 0
        table: list[str] = []
        of_list = 0
        for number, line in enumerate(self.text.splitlines(), 1):
            stripped = line.strip()
            if header := re.match(r"\[\[?\s*([^\]]+?)\s*\]", stripped):
                table = _dotted(header[1])
                of_list += table == listed and stripped.startswith("[[")
                path = table
            elif assign := re.match(r"([\w.\-\"' ]+?)\s*=", stripped):
                path = table + _dotted(assign[1])
            else:
                continue
            if of_list and table[:depth] == listed and wanted not in (None, of_list - 1):
                continue
            if len(path) > matched and path == keys[: len(path)]:
                found, matched = number, len(path)
        if found and isinstance(wanted, int) and not of_list:
            return found + self._lines_to_entry(found, listed[-1], wanted)
        return found

    def _lines_to_entry(self, line: int, name: str, wanted: int) -> int:
        """From `line` on, how many lines below is the table that is this entry of the list `name`, written within
        brackets; 0 if it is not found."""
        text = "\n".join(self.text.splitlines()[line - 1 :])
        begin = re.search(rf"(?<![\w-]){re.escape(name)}\s*=\s*\[", text)
        depth, entry = 0, -1
        for token in _TOKENS.finditer(text, begin.end() if begin else len(text)):
            entry += depth == 0 and token[0] == "{"
            if entry == wanted:
                return text.count("\n", 0, token.start())
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
            if depth < 0:
                break
        return 0

    def place_of_option(self, system: str, option: str) -> tuple[str, ...]:
        """Where the plan says an option of a system: in its own table, as a factor, or in [measure]; else the table."""
        table = ("systems", system)
        for place in ((*table, option), ("factors", f"{system}.{option}"), ("factors", option), ("measure", option)):
            if place in self.said or place in self.moved or self._has(place):
                return place
        return table

    def _has(self, place: Place) -> bool:
        return (self.line_of(place) or 0) > (self.line_of(place[:-1]) or 0)

    def _as_written(self, place: Place) -> Place:
        """Options of a managed server may be in the system's own table, without `start`."""
        beside = (*place[:2], *place[3:])
        inner = place[:1] == ("systems",) and place[2:3] == ("start",) and len(place) > 3
        return beside if inner and not self._has(place[:3]) else place


def words_of(place: Place) -> str:
    """A place as the file writes it: [systems.mariadb] address."""
    keys = [str(part) for part in place if isinstance(part, str)]
    if len(keys) < 2:
        return "".join(keys)
    depth = 2 if keys[0] in ("systems", "workloads") else 1
    if isinstance(place[1], int):
        return f"[[{keys[0]}]] {'.'.join(keys[1:])}"
    return f"[{'.'.join(keys[:depth])}] {'.'.join(keys[depth:])}".strip()


def _dotted(text: str) -> list[str]:
    return [a or b for a, b in re.findall(r'"([^"]*)"|([^\s."\']+)', text)]


#: Tables whose keys are words of other tables, too.
_COMMON_WORDS = (
    *((), ("faults",), ("measure", "pacing", "stages")),
    *(("fleet", "tls"), ("fleet", "kubernetes"), ("fleet", "slurm")),
)
#: What a key is called in other tools -> ours.
_OTHER_TOOLS = {
    **dict.fromkeys(("duration", "seconds", "time", "runtime", "max_time"), "window"),
    **dict.fromkeys(("repeat", "repeats", "runs"), "repetitions"),
    **dict.fromkeys(("concurrency", "users", "terminals", "vus", "num_threads"), "threads"),
    **dict.fromkeys(("connections", "pool_size"), "sessions"),
    **dict.fromkeys(("ramp_up", "rampup"), "warm_up"),
}
_EXAMPLES = {
    "title": 'title = "A against B"',
    "systems": "at least one table such as [systems.sqlite]",
    "workload": 'a table [workload] with kind = "ycsb"',
    "kind": 'kind = "ycsb"',
    "at": 'at = "20s", since the start of the window',
    "do": 'do = "kill", "stop", "freeze", "restart", "partition", "delay" or "skew"',
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
    what, hint = sentence(detail, _last_key(place))
    return what, f"write {_EXAMPLES[key]}" if kind in ("dict_type", "model_type") and key in _EXAMPLES else hint


def _unknown_key(key: str, table: Place) -> tuple[str, str]:
    own = keys_of(TABLES[_pattern(table)])
    what = f"unknown key `{key}`"
    known = {name for model in TABLES.values() for name in keys_of(model)}
    if renamed := now_called(key, known):
        what, key = renamed, PLAN_KEYS[key]
        if key in own:
            return what, ""
    ours = _OTHER_TOOLS.get(key, "")
    if ours == "window" and "for" in own:
        ours = "for"
    if ours in own:
        return what, f"did you mean `{ours}`?"
    if key not in known:
        key = ours or key
    for place, model in TABLES.items():
        if key in keys_of(model) and place not in _COMMON_WORDS:
            return what, f"`{key}` belongs in {_table(place)}"
    if key in keys_of(TABLES[()]) and TABLES[()].model_fields[key].annotation in (str, bool, int):
        return what, f"`{key}` belongs at the top of the plan"
    if key in LOAD:
        return what, f"`{key}` belongs at the top of the plan, or in [factors]"
    if not table and any(key in kind.option_names for kind in workloads().values()):
        return what, f"`{key}` belongs in [workload], or in [factors] if it varies"
    return what, meant(key, own if table else [*own, *LOAD])


def _missing(key: str, table: Place) -> tuple[str, str]:
    inside = _table(_pattern(table)) if table[:1] == ("faults",) else words_of(table) or "the plan"
    return f"{inside} needs `{key}`", f"write {_EXAMPLES[key]}" if key in _EXAMPLES else ""


def _last_key(place: Place) -> str:
    return next((str(part) for part in reversed(place) if isinstance(part, str)), "")


def _pattern(table: Place) -> tuple[str, ...]:
    keys = [str(part) for part in table if not isinstance(part, int)]  # of a list, its number
    if keys[-1:] == ["prices"]:
        return ("prices",)
    return (keys[0], "*") if keys[:1] in (["systems"], ["workloads"]) else tuple(keys)


def _table(place: tuple[str, ...]) -> str:
    name = ".".join(place).replace("*", "NAME")
    return "[[faults]]" if name == "faults" else f"[{name}]"
