"""What varies, and where in a system or a workload its levels go.

threads = [1, 4]                     how the load is made (LOAD)
preset = ["a", "c"]                  an option of the workload, or of all [workloads.NAME] that have it
"readers.records" = [100, 1000]      an option of the workload [workloads.readers] only
"settings.NAME" = ["1M", "1G"]       a setting of every system, by the server's own name (also: "session.NAME")
"storage.sync_latency" = ["0ms", "2ms"]   storage of managed servers that bakeoff slows
version = ["10.6", "10.11"]          an option of every system (path, nodes, replicas, tls, table_format, "start.KEY")
"mariadb.settings.NAME" = [0, 1]     any of a system's, but of this one only: the others' cells are not multiplied

Here, too: to which of a system's nodes the users of a run go (`routing`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import PlanError
from ..model import boundary
from ..model.levels import BARE_SYSTEM_OPTIONS, LOAD, STORAGE, SYSTEM_TABLES
from ..model.records.plan import Scalar
from ..suggestions import meant, one_of
from ..systems.base import System
from .document.source import Source
from .document.tables import MeasureTable, keys_of
from .document.units import UnitError, parse_rate_ops_per_s

#: The options that may be factors, of every workload of the plan by its name; "" where it has only one, without a name.
Works = Mapping[str, Collection[str]]


@dataclass(frozen=True)
class Factor:
    name: str  # as the plan writes it
    target: Literal["load", "workload", "system"]
    path: tuple[str, ...]  # the parameter, or the place in the system's table
    only: str | None  # the system it belongs to; None: every one
    works: frozenset[str] | None = None  # the workloads it belongs to; None: every one

    def applies_to(self, system: str, workload: str) -> bool:
        return self.only in (None, system) and (self.works is None or workload in self.works)


def find_factor(name: str, systems: Collection[str], works: Works, source: Source, table: str = "factors") -> Factor:
    """What the name means; PlanError naming the nearest known factor if it means nothing."""
    if name in LOAD:
        return Factor(name, "load", (name,), None)
    if having := frozenset(work for work, options in works.items() if name in options):
        return Factor(name, "workload", (name,), None, having)
    head, _, rest = name.partition(".")
    if rest in works.get(head, ()):
        return Factor(name, "workload", (rest,), None, frozenset({head}))
    only = head if rest and head in systems else None
    option = rest if only else name
    if only and option in LOAD and LOAD[option].names:
        return Factor(name, "load", (option,), only)
    first, _, setting = option.partition(".")
    if first in SYSTEM_TABLES and setting:
        return Factor(name, "system", (first, setting), only)
    if (only and option not in LOAD and first not in SYSTEM_TABLES) or option in BARE_SYSTEM_OPTIONS:
        return Factor(name, "system", tuple(option.split(".")), only)
    raise _unknown(name, systems, works, source, table)


def _unknown(name: str, systems: Collection[str], works: Works, source: Source, table: str) -> PlanError:
    head, _, rest = name.partition(".")
    if head in systems and rest in LOAD:
        what, hint = f"`{rest}` cannot be a factor of a single system", f"write {rest}, or list the cells in [[cells]]"
    elif name in keys_of(MeasureTable) or name == "seed":
        what = f"`{name}` cannot be a factor"
        hint = f"`{name}` belongs in [measure]" if name != "seed" else "`seed` belongs at the top of the plan"
    elif rest and head in works:
        what, hint = f"`{rest}` is not an option of the workload `{head}`", meant(rest, works[head])
    elif rest and rest.split(".")[0] in (
        *SYSTEM_TABLES,
        *BARE_SYSTEM_OPTIONS,
        *(name for name, one in LOAD.items() if one.names),
    ):
        what, hint = f"unknown system `{head}`", meant(head, systems)
    else:
        what = f"unknown factor `{name}`"
        options = dict.fromkeys(option for options in works.values() for option in options)
        hint = meant(name, [*LOAD, *options, *BARE_SYSTEM_OPTIONS, "settings.NAME"])
    return source.error(what, table, name, hint=hint)


def read_level(factor: Factor, level: Any, source: Source, table: str = "factors") -> Scalar:
    """A level in its own unit: rates as numbers, counts as whole numbers above 0, portable names checked."""
    if factor.target != "load":
        return level  # type: ignore[no-any-return]  # checked to be a scalar by the document
    name = factor.path[0]
    if LOAD[name].names:
        return known_name(name, level, source, table, factor.name)
    if name == "rate":
        try:
            return parse_rate_ops_per_s(level)
        except UnitError as error:
            raise source.error(f"`rate`: {error}", table, factor.name, hint=error.hint) from None
    if name == "routing":
        try:
            return str(Routing.parse(level))
        except UnitError as error:
            raise source.error(f"`routing`: {error}", table, factor.name, hint=error.hint) from None
    if LOAD[name].switch:
        if not isinstance(level, bool):
            raise source.error(f"`{name}` is true or false, not {level!r}", table, factor.name)
        return level
    if not isinstance(level, int) or isinstance(level, bool):
        raise source.error(f"`{name}` counts: {level!r} is not a whole number", table, factor.name)
    if not 1 <= level <= LOAD[name].most:
        raise source.error(f"`{name}` must be from 1 to {LOAD[name].most:,}, not {level}", table, factor.name)
    return level


def read_constants(
    measure: MeasureTable, factors: Collection[Factor], source: Source, *, sought: str = ""
) -> dict[str, Scalar]:
    """Load parameters that [measure] gives for all cells; what is a factor cannot stand there too. sought: the one that
    a search looks for."""
    found: dict[str, Scalar] = {}
    for name in LOAD:
        if (said := getattr(measure, name)) is None:
            continue
        if any(factor.target == "load" and factor.path == (name,) for factor in factors):
            if name == sought:
                hint = "leave it out; `from` and `to` in [search] bound the levels that it tries"
                raise source.error(f"`{name}` is what [search] looks for", "measure", name, hint=hint)
            hint = "remove it from [measure]"
            raise source.error(f"`{name}` is set twice, as a factor and in [measure]", "measure", name, hint=hint)
        found[name] = read_level(Factor(name, "load", (name,), None), said, source, "measure")
    return found


def known_name(kind: str, value: Any, source: Source, *place: str) -> str:
    """A level of durability, isolation, consistency, runner or io that bakeoff knows, or that a kind of system may."""
    known = LOAD[kind].names
    if value in known or (LOAD[kind].own and isinstance(value, str)):
        return str(value)
    raise source.error(f"{value!r} is not a level of {kind}", *place, hint=one_of(str(value), known))


def put_option(
    options: dict[str, Any], factor: Factor, level: Scalar, *, kind: type[System], source: Source, system: str
) -> dict[str, Any]:
    """The system's options with the level in its place. A key that the table gives too is refused, not overridden."""
    existing, embedded = kind.place(options) is not None, kind.capabilities().embedded
    if factor.path[0] == "settings" and existing and not embedded:
        raise source.error(
            f"`{factor.name}` cannot vary: {system} is an existing server, whose settings bakeoff does not change",
            *("factors", factor.name),
            hint=f'start a managed server, or vary a session variable: "{system}.session.NAME"',
        )
    merged = deepcopy(options)
    path = place_of(factor, started=not embedded and not existing)
    table = merged
    for key in path[:-1]:
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            raise source.error(f"`{factor.name}` does not belong in [systems.{system}]", "factors", factor.name)
    if path[-1] in table:
        raise source.error(
            f"`{factor.name}` is set twice, as a factor and in [systems.{system}]",
            *("factors", factor.name),
            hint=f"remove it from [systems.{system}]",
        )
    table[path[-1]] = level
    return merged


def place_of(factor: Factor, *, started: bool) -> tuple[str, ...]:
    """Where the option is in the system's table: a managed server has its options in `start`."""
    first = factor.path[0]
    if started and first in ("settings", "version", "source", "path", STORAGE, "nodes", "replicas"):
        return ("start", *factor.path)
    return ("start", "version") if factor.path == ("version",) else factor.path


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
        raise UnitError(f"{text!r} is not a route", hint)

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
            return "leave out `routing`: this system runs inside the client"
        if self.by == "split":
            split = len(set(roles.values())) > 1
            return "" if split else "all its nodes have the same role: leave out `routing`, or start replicas"
        known = dict.fromkeys(roles.values() if self.by == "role" else roles)
        if self.word in known:
            return ""
        words = (
            [*known] if self.by == "role" else [*known, *(role for role in ROLES if role in roles.values()), "split"]
        )
        return one_of(self.word, words)
