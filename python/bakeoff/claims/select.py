"""Which cells of a plan a claim is about: by system, workload and levels, named as in the tables of a bundle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..errors import PlanError
from ..findings.contestants import amount, factor_words
from ..model.records.plan import CellRecord, PlanRecord, Scalar
from ..suggestions import unknown
from .document import Where

#: What each cell has besides the levels of its factors.
_OWN = ("system", "kind", "workload", "threads", "clients", "durability", "isolation", "consistency")


class NotHere(Exception):
    """What is selected was left out on this machine: why, in a clause."""


@dataclass(frozen=True)
class Cells:
    """skipped: systems that the machine lacked, and why. place: of the test, for messages."""

    plan: PlanRecord
    place: str
    skipped: Mapping[str, str]

    @cached_property
    def levels(self) -> dict[str, dict[str, Scalar]]:
        """Of each cell all that it can be selected by."""
        constant = {name: levels[0] for name, levels in self.plan.factors.items() if len(levels) == 1}
        found = {}
        for cell in self.plan.cells:
            own = {name: value for name in _OWN if (value := getattr(cell, name)) is not None}
            found[cell.id] = {**own, **constant, **cell.levels}
        return found

    def named(self, where: Where) -> Where:
        """With whole names: the last word of a factor is enough where no other factor ends in it. PlanError for a
        name that no cell has."""
        return {self.name(said): wanted for said, wanted in where.items()}

    def name(self, said: str) -> str:
        known = list(dict.fromkeys(name for levels in self.levels.values() for name in levels))
        found = [said] if said in known else [name for name in known if name.rpartition(".")[2] == said]
        if len(found) != 1:
            what, hint = unknown(f"the plan has no factor `{said}`", said, found or known)
            raise PlanError(what, where=self.place, hint=hint)
        return found[0]

    def chosen(self, where: Where) -> list[CellRecord]:
        """At least one. PlanError for a name or a level that no cell has; NotHere where its system was skipped."""
        for one in _listed(where.get("system", [])):
            if str(one) in self.skipped:
                raise NotHere(f"{one} was skipped: {self.skipped[str(one)]}")
        where = self.named(where)
        for name, wanted in where.items():
            self._check(name, wanted)
        found = [cell for cell in self.plan.cells if all(_is(self.levels[cell.id].get(n), w) for n, w in where.items())]
        if not found:
            raise PlanError(f"no cell of the plan has {_words(where)} together", where=self.place)
        return found

    def _check(self, name: str, wanted: Scalar | list[Scalar]) -> None:
        levels = list(dict.fromkeys(key(found[name]) for found in self.levels.values() if name in found))
        for one in _listed(wanted):
            if key(one) not in levels:
                what, hint = unknown(f"no cell of the plan has {name} = {one}", key(one), levels)
                raise PlanError(what, where=self.place, hint=hint)

    def pairs(self, of: Where, against: Where) -> list[tuple[CellRecord, CellRecord]]:
        """(base, other) that are equal in every factor which both have, but those that the two sides name differently;
        at least one pair. What one side names is so for both. If each side is one cell, these are the pair: in a plan
        that lists its cells several factors may change together."""
        of, against = self.named(of), self.named(against)
        apart = {name for name in of.keys() & against.keys() if of[name] != against[name]}

        def match(base: CellRecord, other: CellRecord) -> bool:
            same = (base.levels.keys() & other.levels.keys()) - apart
            return base is not other and all(base.levels[name] == other.levels[name] for name in same)

        bases, others = self.chosen(against), self.chosen(of)
        if len(bases) == len(others) == 1 and bases != others:
            return [(bases[0], others[0])]
        found = [(base, other) for other in others for base in bases if match(base, other)]
        if not found:
            what = f"no cell with {_words(of)} has one with {_words(against)} and all else equal"
            raise PlanError(what, where=self.place, hint="name in both what else may differ")
        return found

    def over(self, factor: str, where: Where) -> list[Scalar]:
        """The levels of a factor among the chosen cells, in the order of their amounts; at least two."""
        name = self.name(factor)
        levels = (self.levels[cell.id].get(name) for cell in self.chosen(where))
        found = list(dict.fromkeys(level for level in levels if level is not None))
        if len(found) < 2:
            what = f"`{factor}` has {f'one level only, {found[0]}' if found else 'no level'} in the chosen cells"
            raise PlanError(what, where=self.place, hint="name a factor that the plan varies")
        amounts = {level: amount(level) for level in found}
        return sorted(found, key=lambda level: amounts[level] or 0.0) if None not in amounts.values() else found

    def curves(self, factor: str, where: Where) -> list[Where]:
        """The chosen cells apart by all that they differ in besides this factor, those that have several of its levels;
        `where` itself if there is nothing of that."""
        name, chosen = self.name(factor), self.chosen(where)
        own = [{key: level for key, level in self.levels[cell.id].items() if key != name} for cell in chosen]
        differ = [key for key in own[0] if len({str(levels.get(key)) for levels in own}) > 1 and key not in _DERIVED]
        found = [{**where, **{key: levels[key] for key in differ if key in levels}} for levels in own]
        several = [one for place, one in enumerate(found) if one not in found[:place] and found.count(one) > 1]
        return several or [where]

    def refuse_others(self, factor: str, wanted: Sequence[Scalar], levels: Sequence[Scalar]) -> None:
        """PlanError for a level that is not among those."""
        for one in wanted:
            if key(one) not in map(key, levels):
                what, hint = unknown(f"{factor} = {one} is not among the chosen cells", key(one), [*map(key, levels)])
                raise PlanError(what, where=self.place, hint=hint)


#: Of a system or workload, whose names say it.
_DERIVED = ("kind",)


def _is(level: Scalar | None, wanted: Scalar | list[Scalar]) -> bool:
    return level is not None and key(level) in map(key, _listed(wanted))


def key(level: Scalar) -> str:
    """The same for 200 and 200.0."""
    return str(int(level)) if isinstance(level, float) and level.is_integer() else str(level)


def words(where: Where) -> str:
    """ "mariadb, 4 threads"."""
    return ", ".join(factor_words(name, *_listed(wanted), between=" or ") for name, wanted in where.items())


def _words(where: Where) -> str:
    return ", ".join(f"{name} = {' or '.join(map(str, _listed(wanted)))}" for name, wanted in where.items())


def _listed(wanted: Scalar | list[Scalar]) -> list[Scalar]:
    return wanted if isinstance(wanted, list) else [wanted]
