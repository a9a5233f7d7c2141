"""The configuration listing: what all systems have in common, what is each one's own, and what differs without having
been declared. The last block is where unfair comparisons hide: it is made of what was read back, never of the plan.

A difference is declared by the plan, follows from what the plan declares, or nobody meant it. Values are compared where
cells meet, in one setting: what a contestant has elsewhere is no difference. Between instances of our own, of one kind
and one packager, only the plan can have made a difference, so all that it does not name follows from what it names: a
version's new defaults, the memory that a cache of another size takes. Builds of several packagers differ in their
compilers and options, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

from pydantic import Field

from ..analysis.wording import bytes_words
from ..bundle.read import Bundle
from ..model import durability
from ..model.boundary import Document
from ..model.levels import ACCESS, PACKAGER, STORAGE
from ..model.records.bundle import FactsRecord
from ..model.records.plan import CellRecord
from ..model.records.run import RunRecord
from .clients_and_nodes import machines_words
from .contestants import Contest
from .runs import clients_of


class Difference(Document):
    """Of configuration. values: by contestant. deciding: it may be the reason for a result. cause: what it follows
    from, where the plan declares that."""

    name: str
    values: dict[str, str]
    deciding: bool = False
    cause: str = ""


#: Portable facts that decide comparisons, in the order they are listed.
DECIDING = ("durability", *durability.FACTS, "isolation", "memory_bytes", "tls")
#: Portable facts whose values can be compared only within the same product.
OF_ONE_PRODUCT = ("installation", PACKAGER, "collation")
UNKNOWN = "not known"
#: Portable facts of which a system says nothing where they are this.
UNSAID = {ACCESS: "the usual way", STORAGE: "as it is"}
#: What a plan says of the client, for a system or as a factor.
_CLIENT_KEYS = {"client", "runner", "io"}

#: By contestant.
Cells = dict[str, list[CellRecord]]
#: By cell.
Facts = Mapping[str, FactsRecord]


class SystemEntry(Document):
    """One contestant."""

    name: str
    product: str
    version: str
    where: str  # managed or existing
    client: str
    #: Settings that only it has, or that differ: name -> value.
    settings: dict[str, str] = Field(default_factory=dict)
    #: Names of settings that the plan asked for.
    declared: list[str] = Field(default_factory=list)


class Configuration(Document):
    common: dict[str, str]
    systems: list[SystemEntry]
    #: Differences that the plan declares: a factor, or a portable level it gives to the systems.
    declared: list[Difference]
    #: Those that follow from what the plan declares; each names its cause.
    following: list[Difference]
    undeclared: list[Difference]
    #: Who built the programs of one product, where that is more than one.
    packagers: list[str] = Field(default_factory=list)


def configuration_of(bundle: Bundle) -> Configuration:
    contest = Contest(bundle.plan)
    cells = {name: [c for c in bundle.plan.cells if contest.contestant(c) == name] for name in contest.contestants}
    cells = {name: theirs for name, theirs in cells.items() if _facts_of(theirs, bundle.facts)}
    facts = {name: _facts_of(theirs, bundle.facts) for name, theirs in cells.items()}
    settings = {name: _joined(f.settings for f in found) for name, found in facts.items()}
    on_purpose = _declared_settings(contest, facts)
    portable = _equal({name: _joined(f.portable for f in found) for name, found in facts.items()})
    common = {_label(k): _shown(k, v) for k, v in portable.items()} | _equal(settings)
    differences = _differences(contest, bundle, on_purpose)
    return Configuration(
        common=common,
        systems=[
            _entry(name, found, settings[name], common, on_purpose, _client(cells[name], bundle.runs))
            for name, found in facts.items()
        ],
        declared=[difference for declared, difference in differences if declared],
        following=[difference for declared, difference in differences if difference.cause and not declared],
        undeclared=[
            *_not_as_asked(contest, bundle.facts),
            *(difference for declared, difference in differences if not declared and not difference.cause),
        ],
        packagers=packagers(bundle.facts.values()),
    )


def _differences(contest: Contest, bundle: Bundle, on_purpose: set[str]) -> list[tuple[bool, Difference]]:
    """(declared, difference)."""
    meetings = meetings_of(contest, bundle.facts)
    cells: Cells = {}
    for name, cell in chain.from_iterable(meeting.items() for meeting in meetings):
        cells.setdefault(name, []).append(cell)
    clients = {name: _client(theirs, bundle.runs) for name, theirs in cells.items()}
    return [
        *_portable(contest, meetings, bundle.facts),
        *_clients(contest, cells, clients),
        *_load_machines(meetings, bundle.runs),
        *_settings(contest, meetings, bundle.facts, on_purpose),
    ]


def _facts_of(cells: Iterable[CellRecord], facts: dict[str, FactsRecord]) -> list[FactsRecord]:
    return [facts[cell.id] for cell in cells if cell.id in facts]


def _client(cells: Iterable[CellRecord], runs: Iterable[RunRecord]) -> str:
    names = {cell.id for cell in cells}
    return " | ".join(clients_of([run for run in runs if run.cell in names]))


def _joined(parts: Iterable[dict[str, str]]) -> dict[str, str]:
    """One value each; "a | b" where a contestant's cells differ, as a factor made them."""
    values: dict[str, dict[str, None]] = {}
    for part in parts:
        for name, value in part.items():
            values.setdefault(name, {})[value] = None
    return {name: " | ".join(found) for name, found in values.items()}


def _equal(of_each: dict[str, dict[str, str]]) -> dict[str, str]:
    """What everybody has, with the same value."""
    tables = list(of_each.values())
    if not tables:
        return {}
    return {name: value for name, value in tables[0].items() if all(t.get(name) == value for t in tables)}


def _portable(contest: Contest, meetings: Sequence[Meeting], facts: Facts) -> list[tuple[bool, Difference]]:
    """Of those that decide comparisons, one that a system says nothing of may differ, which is said, too."""
    known = {name for meeting in meetings for cell in meeting.values() for name in facts[cell.id].portable}
    found = []
    for name in [*DECIDING, *sorted(known - set(DECIDING))]:

        def value_of(cell: CellRecord, name: str = name) -> str | None:
            return facts[cell.id].portable.get(name, UNKNOWN if name in DECIDING else UNSAID.get(name))

        for group in _by_product(meetings, facts) if name in OF_ONE_PRODUCT else [meetings]:
            if held := differing(group, value_of):
                values = {who: _shown(name, value) for who, value in _joined_values(held, value_of).items()}
                why = "" if name == PACKAGER else cause(contest, held, facts)
                deciding = name in (*DECIDING, "consistency", PACKAGER, *UNSAID)
                difference = Difference(name=_label(name), values=values, deciding=deciding, cause=why)
                found.append((_is_declared(contest, name), difference))
    return found


def _by_product(meetings: Sequence[Meeting], facts: Facts) -> list[list[Meeting]]:
    groups: dict[str, list[Meeting]] = {}
    for meeting in meetings:
        for product in dict.fromkeys(facts[cell.id].product for cell in meeting.values()):
            same = {name: cell for name, cell in meeting.items() if facts[cell.id].product == product}
            groups.setdefault(product, []).append(same)
    return list(groups.values())


def _joined_values(held: Sequence[Meeting], value_of: Callable[[CellRecord], str | None]) -> dict[str, str]:
    """By contestant; "a | b" where its cells differ, as a factor made them."""
    values: dict[str, dict[str, None]] = {}
    for name, cell in chain.from_iterable(meeting.items() for meeting in held):
        values.setdefault(name, {})[value_of(cell) or ""] = None
    return {name: " | ".join(found) for name, found in values.items()}


def _product(facts: Iterable[FactsRecord]) -> str:
    return " | ".join(dict.fromkeys(f.product for f in facts))


def _settings(
    contest: Contest, meetings: Sequence[Meeting], facts: Facts, on_purpose: set[str]
) -> list[tuple[bool, Difference]]:
    """Settings that several have by the same name with different values."""
    found = []
    for name in sorted({name for meeting in meetings for cell in meeting.values() for name in facts[cell.id].settings}):

        def value_of(cell: CellRecord, name: str = name) -> str | None:
            return facts[cell.id].settings.get(name)

        if held := differing(meetings, value_of):
            values = _joined_values(held, value_of)
            declared = name in on_purpose
            if declared or not of_an_instance(name, list(values.values())):
                found.append((declared, Difference(name=name, values=values, cause=cause(contest, held, facts))))
    return found


def _declared_settings(contest: Contest, facts: dict[str, list[FactsRecord]]) -> set[str]:
    """By name: given to a system in the plan, or varied by it."""
    given = {name for found in facts.values() for f in found for name in f.declared}
    varied = {name.rpartition("settings.")[2] for name in _factors(contest)}
    return given | varied


def _factors(contest: Contest) -> set[str]:
    return {name for cell in contest.plan.cells for name in cell.levels} | {contest.factor}


def _is_declared(contest: Contest, name: str) -> bool:
    """A portable level that is a factor, or that the plan gives to each system and not to all the same. What survives
    is declared by the level of durability that it comes from."""
    if name == STORAGE:  # nothing but a plan slows it
        return True
    name = "durability" if name in durability.FACTS else "source" if name == PACKAGER else name
    if any(factor == name or factor.endswith(f".{name}") for factor in _factors(contest)):
        return True
    asked = {_asked(cell, name) for cell in contest.plan.cells}
    return len(asked) > 1 and None not in asked


def _asked(cell: CellRecord, name: str) -> str | None:
    asked = {"durability": cell.durability, "isolation": cell.isolation, "consistency": cell.consistency}
    return asked.get(name)


def _not_as_asked(contest: Contest, facts: dict[str, FactsRecord]) -> list[Difference]:
    """Portable levels that the plan asked for and the system does not have."""
    found: dict[tuple[str, str], Difference] = {}
    for cell in contest.plan.cells:
        for name in ("durability", "isolation"):
            asked = _asked(cell, name)
            has = facts[cell.id].portable.get(name) if cell.id in facts else None
            if asked is not None and has is not None and has != asked:
                values = {contest.contestant(cell): f"{has}, though the plan asks for {asked}"}
                found[(cell.system, name)] = Difference(name=name, values=values, deciding=True)
    return list(found.values())


def _entry(
    name: str,
    facts: Sequence[FactsRecord],
    settings: dict[str, str],
    common: dict[str, str],
    on_purpose: set[str],
    client: str,
) -> SystemEntry:
    own = {key: value for key, value in settings.items() if common.get(key) != value}
    return SystemEntry(
        name=name,
        product=_product(facts),
        version=" | ".join(dict.fromkeys(f.version for f in facts)),
        where=f"{'managed' if facts[0].managed else 'existing'} {'file' if facts[0].embedded else 'server'}"
        + (f", peer of {facts[0].peer_of}" if facts[0].peer_of else ""),
        client=client,
        settings=dict(sorted(own.items())),
        declared=sorted(on_purpose & own.keys()),
    )


def _clients(contest: Contest, cells: Cells, of_each: dict[str, str]) -> list[tuple[bool, Difference]]:
    """What spoke to the systems, where it was not the same. Systems of different kinds need different clients, so that
    is declared by comparing them; one kind asked in two ways is declared only by a plan that says so. Several ways
    alike (`io` by the number of sessions) are no difference."""
    if len(set(of_each.values())) < 2:
        return []
    ways_of_kind: dict[str, set[str]] = {}
    for contestant, theirs in cells.items():
        for cell in theirs:
            ways_of_kind.setdefault(cell.kind, set()).update(of_each[contestant].split(" | "))
    one_way_each = all(len(ways) == 1 for ways in ways_of_kind.values())
    several = {kind for kind, ways in ways_of_kind.items() if len(ways) > 1}
    asked = any(name.rpartition(".")[2] in _CLIENT_KEYS for name in _factors(contest)) or any(
        _CLIENT_KEYS & contest.plan.tree_of(cell).get("systems", {}).get(cell.system, {}).keys()
        for cell in chain.from_iterable(cells.values())
        if cell.kind in several
    )
    shown = {contestant: client or UNKNOWN for contestant, client in of_each.items()}
    return [(one_way_each or asked, Difference(name="client", values=shown))]


def _load_machines(meetings: Sequence[Meeting], runs: Sequence[RunRecord]) -> list[tuple[bool, Difference]]:
    """Where as many clients ran on other machines."""

    def value_of(cell: CellRecord) -> str | None:
        return machines_words(run for run in runs if run.cell == cell.id) or None

    alike = [meeting for meeting in meetings if len({cell.clients for cell in meeting.values()}) == 1]
    if held := differing(alike, value_of):
        return [(False, Difference(name="machines of the clients", values=_joined_values(held, value_of)))]
    return []


def _label(name: str) -> str:
    return name.removesuffix("_bytes").replace("_", " ")


def _shown(name: str, value: str) -> str:
    if not name.endswith("_bytes"):
        return value
    if name == "memory_bytes" and value == "0":  # as of Redis's `maxmemory`
        return "no limit"
    return " | ".join(bytes_words(float(v)) if v.strip().isdigit() else v for v in value.split(" | "))


#: Cells of one setting, by contestant.
Meeting = Mapping[str, CellRecord]

#: Names of what each instance has for itself.
_OF_AN_INSTANCE = re.compile(
    r"(^|_)(addr|address|addresses|basename|dir|directory|directories|file|host|hostname|pid|port|socket|uid|uuid)$"
    r"|(^|_)(cluster|node|server|application)_(id|name)$",
    re.IGNORECASE,
)


def meetings_of(contest: Contest, facts: Mapping[str, FactsRecord]) -> list[Meeting]:
    """For each setting, the cells that are compared there and of whose systems facts are known."""
    found: list[Meeting] = []
    for setting in contest.settings:
        known = {name: cell for name, cell in contest.cells_at(setting).items() if cell.id in facts}
        if len(known) > 1:
            found.append(known)
    return found


def differing(meetings: Sequence[Meeting], value_of: Callable[[CellRecord], str | None]) -> list[Meeting]:
    """Those in which it is not the same, with the cells that have it. None: a cell that does not."""
    found: list[Meeting] = []
    for meeting in meetings:
        having = {name: cell for name, cell in meeting.items() if value_of(cell) is not None}
        if len({as_set(value_of(cell) or "") for cell in having.values()}) > 1:
            found.append(having)
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
    described = [[(cell, facts[cell.id]) for cell in meeting.values()] for meeting in meetings]
    if not all(fact.managed and cell.kind == meeting[0][0].kind for meeting in described for cell, fact in meeting):
        return ""
    built = ["packager"] if packagers(fact for meeting in described for _, fact in meeting) else []
    if contest.factor != "system":
        return " or ".join([contest.factor.rpartition(".")[2], *built])
    versions = any(len({fact.version for _, fact in meeting}) > 1 for meeting in described)
    given = any(_given(contest, *each) != _given(contest, *meeting[0]) for meeting in described for each in meeting)
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
    return cell.durability, cell.isolation, cell.consistency, facts.declared, table, how
