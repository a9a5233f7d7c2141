"""Which of a system's nodes the users of a run go to: "any", "replica", "db2", "split"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..model import boundary
from ..suggestions import one_of
from .document.units import UnitError

#: Roles that a plan may name by the word alone; any other word is a node's name.
ROLES = ("primary", "replica", "reader", "writer")


#: Nodes of this role follow another: they take no writes.
FOLLOWING = "replica"


@dataclass(frozen=True)
class Routing:
    #: any | role | name | split; "": the plan says none, see `decided`
    by: str = ""
    word: str = ""

    @classmethod
    def parse(cls, text: Any) -> Routing:
        """Raises UnitError."""
        by, separator, word = text.partition(":") if isinstance(text, str) else ("", "", "")
        if by in ("any", "split") and not separator:
            return cls(by)
        if by in ("role", "name") and word:
            return cls(by, word)
        if by and by not in ("role", "name", "any", "split"):
            return cls("role" if text in ROLES else "name", text)
        hint = 'it is "any", "split", a role ("replica", "role:standby") or the name of a node ("db2", "name:any")'
        raise UnitError(f"{text!r} is no route", hint)

    def __str__(self) -> str:
        return f"{self.by}:{self.word}" if self.word else self.by

    def document(self) -> boundary.Routing:
        """As the engine reads it."""
        match self.by:
            case "role":
                return boundary.RoleRoute(role=self.word)
            case "name":
                return boundary.NameRoute(name=self.word)
            case "split":
                return "split"
        return "any"

    def decided(self, roles: Mapping[str, str]) -> Routing:
        """For a system of these nodes, by their names and roles: where a plan says nothing all of them, but where some
        follow others, those like the first, which is written to."""
        if self.by:
            return self
        return Routing("role", next(iter(roles.values()))) if FOLLOWING in roles.values() else Routing("any")

    def following(self, roles: Mapping[str, str]) -> list[str]:
        """Names of the nodes that follow others, and to which writes would go: with "split" none do."""
        return [name for name, role in roles.items() if role == FOLLOWING and self._leads_to(name, role)]

    def _leads_to(self, name: str, role: str) -> bool:
        return {"any": True, "role": role == self.word, "name": name == self.word}.get(self.by, False)

    def missing(self, roles: Mapping[str, str]) -> str:
        """Why the nodes of a system, given by their names and roles, have no such route, and what to write instead; ""
        where they have."""
        if self.by == "any":
            return ""
        if not roles:
            return "leave `routing` out: this system runs inside the client"
        if self.by == "split":
            split = len(set(roles.values())) > 1
            return "" if split else "all its nodes have the same role: leave `routing` out, or ask for replicas"
        known = dict.fromkeys(roles.values() if self.by == "role" else roles)
        if self.word in known:
            return ""
        words = (
            [*known] if self.by == "role" else [*known, *(role for role in ROLES if role in roles.values()), "split"]
        )
        return one_of(self.word, words)
