"""Where a difference of configuration comes from: the plan declares it, it follows from what the plan declares, or
nobody meant it.

Values are held against each other where cells meet, in one setting: what a contestant has elsewhere is no difference.
Between instances of our own, of one kind and one packager, only the plan can have made a difference, so all that it
does not name follows from what it names: a version's new defaults, the memory that a cache of another size takes.
Builds of several packagers differ in their compilers and options, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..findings.contestants import Contest
from ..model.levels import PACKAGER
from ..model.records import CellRecord, FactsRecord

#: Cells of one setting, by contestant.
Meeting = Mapping[str, CellRecord]

#: Names of what each instance has for itself.
_OF_AN_INSTANCE = re.compile(
    r"(^|_)(addr|address|addresses|basename|dir|directory|directories|file|host|hostname|pid|port|socket|uid|uuid)$"
    r"|(^|_)(cluster|node|server|application)_(id|name)$",
    re.IGNORECASE,
)


def meetings_of(contest: Contest, facts: Mapping[str, FactsRecord]) -> list[Meeting]:
    """For each setting, the cells that are held against each other there and of whose systems facts are known."""
    found: list[Meeting] = []
    for setting in contest.settings:
        cells = {name: contest.cell(name, setting) for name in contest.contestants}
        known = {name: cell for name, cell in cells.items() if cell is not None and cell.id in facts}
        if len(known) > 1:
            found.append(known)
    return found


def differing(meetings: Sequence[Meeting], value_of: Callable[[CellRecord], str | None]) -> list[Meeting]:
    """Those in which it is not the same, with the cells that have it. None: a cell that does not."""
    found: list[Meeting] = []
    for meeting in meetings:
        told = {name: cell for name, cell in meeting.items() if value_of(cell) is not None}
        if len({as_set(value_of(cell) or "") for cell in told.values()}) > 1:
            found.append(told)
    return found


def as_set(value: str) -> tuple[str, ...]:
    """A list's order says nothing: "A,B" and "B, A" are one set of modes."""
    return tuple(sorted(part.strip() for part in (value.split(",") if "," in value else value.split())))


def of_an_instance(name: str, values: Sequence[str]) -> bool:
    """Where an instance is and what it is called: paths, ports, names, which no two have in common."""
    return bool(_OF_AN_INSTANCE.search(name)) or all(value.startswith("/") for value in values)


def cause(contest: Contest, meetings: Sequence[Meeting], facts: Mapping[str, FactsRecord]) -> str:
    """What the difference of these follows from: "version"; "" where nothing that the plan says can have made it, or
    something else may have."""
    told = [[(cell, facts[cell.id]) for cell in meeting.values()] for meeting in meetings]
    if not all(fact.private and cell.kind == meeting[0][0].kind for meeting in told for cell, fact in meeting):
        return ""
    built = ["packager"] if packagers(fact for meeting in told for _, fact in meeting) else []
    if contest.factor != "system":
        return " or ".join([contest.factor.rpartition(".")[2], *built])
    versions = any(len({fact.version for _, fact in meeting}) > 1 for meeting in told)
    given = any(_given(contest, *each) != _given(contest, *meeting[0]) for meeting in told for each in meeting)
    said = " and ".join([*(["version"] if versions else []), *(["what the plan says of each"] if given else [])])
    return " or ".join([said, *built]) if said else ""


def packagers(facts: Iterable[FactsRecord]) -> list[str]:
    """Who built the programs of one product, where that is more than one."""
    products: dict[str, set[str]] = {}
    for fact in facts:
        if packager := packager_of(fact.portable):
            products.setdefault(fact.product, set()).add(packager)
    return sorted({name for names in products.values() if len(names) > 1 for name in names})


def packager_of(portable: Mapping[str, str]) -> str:
    """Older bundles have the words for the installation alone: "Maven Central: io.zonky..."."""
    return portable.get(PACKAGER) or portable.get("installation", "").partition(":")[0].partition(" /")[0]


def _given(contest: Contest, cell: CellRecord, facts: FactsRecord) -> tuple[object, ...]:
    """What the plan says of a cell's system, but for its version."""
    table = dict(contest.plan.resolved.get("systems", {}).get(cell.system, {}))
    start = table.pop("start", None) or {}
    how = {name: value for name, value in start.items() if name != "version"}
    return cell.durability, cell.isolation, facts.declared, table, how
