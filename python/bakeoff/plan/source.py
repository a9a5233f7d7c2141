"""Where in a plan something was said, for messages: its file, line and table, or the words of the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import PlanError

Place = tuple[str | int, ...]


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
        wanted = next((part for part in place if isinstance(part, int)), None)  # which of the tables in a list
        found: int | None = None
        matched = 0
        table: list[str] = []
        of_list = 0
        for number, line in enumerate(self.text.splitlines(), 1):
            stripped = line.strip()
            if header := re.match(r"\[\[?\s*([^\]]+?)\s*\]", stripped):
                table = _dotted(header[1])
                of_list += table == keys[:1] and stripped.startswith("[[")
                path = table
            elif assign := re.match(r"([\w.\-\"' ]+?)\s*=", stripped):
                path = table + _dotted(assign[1])
            else:
                continue
            if table == keys[:1] and wanted not in (None, of_list - 1):
                continue
            if len(path) > matched and path == keys[: len(path)]:
                found, matched = number, len(path)
        return found

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
        """Options of a private server may stand in the system's own table, without `start`."""
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
