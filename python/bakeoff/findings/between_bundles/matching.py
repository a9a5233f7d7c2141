"""Which cell of one bundle is which of another: by what they are, not by how their plans spelled it.

A cell is its system, its load and its work. What both plans call by the same names is matched first; then a system of
another name, as long as there is only one that it can be. `LADDER` is the order in which cells are tried.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from ...bundle.read import Bundle
from ...errors import BundleError
from ...model.levels import PORTABLE, factor_of, is_of_work, level_of
from ...model.records.plan import CellRecord

#: What is part of every cell, by the keys that --allow-different takes; factors that vary anywhere are besides.
MATCHED = ("system", "kind", "threads", "clients", "rate", "workload")
Key = tuple[tuple[str, Any], ...]
_WHO = (("system",), PORTABLE, ())
_WORK = ("work", "said")
#: By name, else by portable levels, else as the only one of its kind; each with the same work, else with the same said
#: of it.
LADDER = tuple(product(_WHO, _WORK))


@dataclass(frozen=True)
class Match:
    """A cell of `before`'s first bundle with its like in every bundle, in the order they were given."""

    before: list[CellRecord]
    after: list[CellRecord]

    @property
    def same_work(self) -> bool:
        """Whether the same is asked of all, as far as that is known."""
        works = {cell.work for cell in (*self.before, *self.after)}
        return len(works) == 1 and "" not in works

    @property
    def same_rows(self) -> bool:
        """Whether all have the same rows, stored alike or not."""
        return all(cell.has_rows_of(self.before[0]) for cell in (*self.before, *self.after))

    @property
    def label(self) -> str:
        return self.after[0].label


def currencies(matches: Sequence[Match]) -> list[str]:
    """Of all prices that the cells have, each once."""
    cells = [cell for match in matches for cell in (*match.before, *match.after)]
    return sorted({cell.prices.currency for cell in cells if cell.prices})


@dataclass(frozen=True)
class Matching:
    """gone: labels of cells that not every bundle has; new: of those that only bundles of `after` have."""

    matches: list[Match]
    gone: list[str]
    new: list[str]


def factors_of(bundles: Sequence[Bundle]) -> set[str]:
    """Factors that have several levels in any bundle: these distinguish cells."""
    names = {
        factor_of(bundle.plan, cell, name) for bundle in bundles for cell in bundle.plan.cells for name in cell.levels
    }
    return {name for name in names if name is not None} - {"system", "workload"}


def match(before: Sequence[Bundle], after: Sequence[Bundle], allowed: Collection[str]) -> Matching:
    """allowed: keys by which cells need not agree. BundleError where a cell could be one of several."""
    bundles = [*before, *after]
    factors = factors_of(bundles) - set(allowed)
    first, *others = bundles
    found = [_like(first, other, factors, allowed) for other in others]
    matches, gone = [], []
    for cell in first.plan.cells:
        theirs = [cell, *(pairs[cell.id] for pairs in found if cell.id in pairs)]
        if len(theirs) == len(bundles):
            matches.append(Match(theirs[: len(before)], theirs[len(before) :]))
        else:
            gone.append(cell.label)
    left = [_left(other, pairs) for other, pairs in zip(others, found, strict=True)]
    gone += [label for labels in left[: len(before) - 1] for label in labels]
    new = [label for labels in left[len(before) - 1 :] for label in labels]
    return Matching(matches, list(dict.fromkeys(gone)), [label for label in dict.fromkeys(new) if label not in gone])


def _like(first: Bundle, other: Bundle, factors: Collection[str], allowed: Collection[str]) -> dict[str, CellRecord]:
    """By the ids of the first's cells, the other's that are the same."""
    mine, theirs = ([(cell, _parts(bundle, cell, factors)) for cell in bundle.plan.cells] for bundle in (first, other))
    found: dict[str, CellRecord] = {}
    for who, work in LADDER:
        keys = [_by_key(side, {*who, work}, allowed) for side in (mine, theirs)]
        for key in keys[0].keys() & keys[1].keys():
            (a, *more), (b, *several) = keys[0][key], keys[1][key]
            if not more and not several:
                found[a.id] = b
            elif (who, work) == LADDER[-1]:
                _refuse(keys[0][key], keys[1][key], first, other)
        taken = {cell.id for cell in found.values()}
        mine = [(cell, parts) for cell, parts in mine if cell.id not in found]
        theirs = [(cell, parts) for cell, parts in theirs if cell.id not in taken]
    return found


def _left(bundle: Bundle, pairs: dict[str, CellRecord]) -> list[str]:
    """Labels of its cells that are like none of the first bundle's."""
    taken = {cell.id for cell in pairs.values()}
    return [cell.label for cell in bundle.plan.cells if cell.id not in taken]


def _parts(bundle: Bundle, cell: CellRecord, factors: Collection[str]) -> dict[str, dict[str, Any]]:
    """What the cell is, by the rung of the ladder that asks for it; "": every one."""
    levels = {name: level_of(bundle.plan, cell, bundle.facts.get(cell.id), name) for name in factors}
    of_work = {name: level for name, level in levels.items() if is_of_work(name)}
    load = {"kind": cell.kind, "threads": cell.threads, "clients": cell.clients, "rate": cell.rate_ops_per_s}
    if cell.faults:
        load["faults"] = "; ".join(fault.words for fault in cell.faults)
    return {
        "": {**load, **{name: level for name, level in levels.items() if name not in of_work}},
        "system": {"system": cell.system},
        "durability": {"durability": cell.durability},
        "isolation": {"isolation": cell.isolation},
        "consistency": {"consistency": cell.consistency},
        "work": {"workload": cell.work},
        "said": {"workload": cell.workload, **of_work},
    }


def _by_key(
    cells: Sequence[tuple[CellRecord, dict[str, dict[str, Any]]]], asked: Collection[str], allowed: Collection[str]
) -> dict[Key, list[CellRecord]]:
    found: dict[Key, list[CellRecord]] = {}
    for cell, parts in cells:
        if "work" in asked and not cell.work:
            continue  # a bundle from before work had an identity
        key = tuple(sorted(_pairs(parts, asked, allowed), key=lambda pair: pair[0]))
        found.setdefault(key, []).append(cell)
    return found


def _pairs(
    parts: dict[str, dict[str, Any]], asked: Collection[str], allowed: Collection[str]
) -> Iterator[tuple[str, Any]]:
    for name in ("", *asked):
        yield from ((key, value) for key, value in parts[name].items() if key not in allowed)


def _refuse(mine: Sequence[CellRecord], theirs: Sequence[CellRecord], first: Bundle, other: Bundle) -> None:
    several, bundle, one = (mine, first, theirs[0]) if len(mine) > 1 else (theirs, other, mine[0])
    names = " and ".join(repr(cell.label) for cell in several[:2])
    raise BundleError(
        f"{one.label!r} of one bundle may be {names} of the other: nothing that they are tells them apart",
        where=str(bundle.folder),
        hint="give the systems of both plans the same names, or allow less to differ",
    )
