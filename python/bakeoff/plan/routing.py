"""Which of a system's nodes the users of a run go to: "any", "role:replica", "name:db2"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..model import boundary
from ..nearest import one_of
from ..systems.base import Node
from .units import UnitError


@dataclass(frozen=True)
class Routing:
    #: any | role | name
    by: str = "any"
    word: str = ""

    @classmethod
    def parse(cls, text: Any) -> Routing:
        """Raises UnitError."""
        by, separator, word = text.partition(":") if isinstance(text, str) else ("", "", "")
        if (by, separator) == ("any", "") or (by in ("role", "name") and word):
            return cls(by, word)
        raise UnitError(f"{text!r} is no route", 'it is "any", "role:" and a role, or "name:" and a name')

    def __str__(self) -> str:
        return f"{self.by}:{self.word}" if self.word else self.by

    def document(self) -> boundary.Routing:
        """As the engine reads it."""
        match self.by:
            case "role":
                return boundary.RoleRoute(role=self.word)
            case "name":
                return boundary.NameRoute(name=self.word)
        return "any"

    def missing(self, nodes: Sequence[Node]) -> str:
        """What to write instead, where none of the nodes is on this route; "" where one is."""
        if self.by == "any":
            return ""
        known = list(dict.fromkeys(getattr(node, self.by) for node in nodes))
        return "" if self.word in known else one_of(self.word, known)
