"""Under which conditions bundles were made, and what differs between those that are compared.

A difference either makes a comparison meaningless (other data, another window, weaker durability), which is refused
unless the user allows it by its key, or may be what is being compared (a version, a setting, a machine), which is
stated. `CONDITIONS` and `CELL_CONDITIONS` are the visible lists.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..analysis.wording import bytes_words
from ..model import durability
from ..model.records import CellRecord
from .runs import clients_of
from .source import Source

#: `meaningless`: refused unless allowed. `loud`: nobody expects it, and it can make any difference. `stated`: told.
Weight = Literal["meaningless", "loud", "stated"]
#: name -> value, in words
Facts = dict[str, str]
UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Change:
    """before, after: the values of a side's bundles, each once ("10 s | 30 s" where they differ within the side)."""

    key: str
    name: str
    before: str
    after: str
    weight: Weight

    def __str__(self) -> str:
        return f"{self.name}: {self.before} before, {self.after} after"


@dataclass(frozen=True, slots=True)
class Condition:
    """key: what --allow-different takes; read: what one bundle says of it."""

    key: str
    weight: Weight
    read: Callable[[Source], Facts]


@dataclass(frozen=True, slots=True)
class CellCondition:
    key: str
    weight: Weight
    read: Callable[[Source, CellRecord], Facts]


def _plan(name: str, read: Callable[[Source], str]) -> Condition:
    return Condition(name, "meaningless", lambda bundle: {name: read(bundle)})


def _measure(name: str) -> Condition:
    return _plan(name.replace("_", " "), lambda b: _words(b.plan.resolved.get("measure", {}).get(name)))


def _window(bundle: Source) -> str:
    plan = bundle.plan
    parts = [f"{plan.window_s:g} s"] if plan.window_s is not None else []
    return ", ".join([*parts, *([f"{plan.operations:,} operations"] if plan.operations is not None else [])]) or UNKNOWN


def _arrivals(bundle: Source) -> str:
    """Without the rate, which is each cell's own."""
    loop, _, rest = bundle.plan.pacing.partition(", ")
    return ", ".join([loop, *(part for part in rest.split(", ") if "arrivals" in part)])


def _workload(bundle: Source) -> Facts:
    plan = bundle.plan.resolved
    said = {"workload": plan.get("workload", {})}
    said |= {f"workload {name}": table for name, table in plan.get("workloads", {}).items()}
    return {f"{which}'s {name}": _words(value) for which, table in said.items() for name, value in table.items()}


def _constants(bundle: Source) -> Facts:
    """Factors of one level, which stand in no cell's levels."""
    return {
        name: _words(levels[0])
        for name, levels in bundle.plan.factors.items()
        if len(levels) == 1 and name not in _SAID_ELSEWHERE and "." not in name
    }


#: Of every cell by itself, or of the system.
_SAID_ELSEWHERE = {"system", "threads", "clients", "rate", "durability", "isolation", "client", "runner", "io"}
_MACHINE = ("hostname", "cpu_model", "cores", "memory_bytes", "os", "kernel", "virtualisation", "cpu_governor")


def _machine(bundle: Source) -> Facts:
    known = bundle.machine.model_dump()
    shown = {name: known[name] for name in (*_MACHINE, "filesystem", "swap_bytes", "clock_source")}
    return {
        f"machine's {name.removesuffix('_bytes').replace('_', ' ')}": bytes_words(value)
        if name.endswith("_bytes")
        else _words(value)
        for name, value in shown.items()
    }


def _engine(bundle: Source) -> Facts:
    versions = sorted({run.engine_version for run in bundle.runs if run.engine_version})
    return {"engine": ", ".join(versions) or UNKNOWN}


CONDITIONS: tuple[Condition, ...] = (
    _plan("seed", lambda b: str(b.plan.seed)),
    _plan("window", _window),
    _plan("warm-up", lambda b: f"{b.plan.warm_up_s:g} s"),
    _plan("pacing", _arrivals),
    _plan("reset", lambda b: b.plan.reset),
    _plan("cache", lambda b: b.plan.cache),
    _plan("placement", lambda b: _words(b.plan.placement or "not pinned")),
    _measure("timeout"),
    _measure("retry"),
    _measure("witness"),
    _measure("vary_seed"),
    Condition("workload", "meaningless", _workload),
    Condition("factors", "meaningless", _constants),
    Condition("machine", "loud", _machine),
    Condition("engine", "loud", _engine),
    Condition("bakeoff", "stated", lambda b: {"bakeoff": b.info.bakeoff_version}),
    Condition("error budget", "stated", lambda b: {"error budget": f"{b.plan.error_budget_ratio * 100:g} %"}),
)


def _portable(name: str, asked: Callable[[CellRecord], str | None]) -> Callable[[Source, CellRecord], Facts]:
    """As read back, else as the plan asks."""

    def read(bundle: Source, cell: CellRecord) -> Facts:
        has = bundle.facts[cell.id].portable.get(name) if cell.id in bundle.facts else None
        return {f"{cell.system}'s {name}": has or asked(cell) or UNKNOWN}

    return read


def _durability(bundle: Source, cell: CellRecord) -> Facts:
    """What survives, not only what it is called; the level alone where the system does not tell more."""
    level = _portable("durability", lambda cell: cell.durability)(bundle, cell)
    survival = durability.read(bundle.facts[cell.id].portable) if cell.id in bundle.facts else None
    return {name: f"{value} ({durability.words(survival)})" if survival else value for name, value in level.items()}


def _other_portable(bundle: Source, cell: CellRecord) -> Facts:
    portable = bundle.facts[cell.id].portable if cell.id in bundle.facts else {}
    names = portable.keys() - {"durability", *durability.FACTS, "isolation"}
    return {f"{cell.system}'s {name.removesuffix('_bytes').replace('_', ' ')}": portable[name] for name in names}


def _version(bundle: Source, cell: CellRecord) -> Facts:
    facts = bundle.facts.get(cell.id)
    return {cell.system: f"{facts.product} {facts.version}" if facts else UNKNOWN}


def _settings(bundle: Source, cell: CellRecord) -> Facts:
    facts = bundle.facts.get(cell.id)
    return {f"{cell.system}: {name}": value for name, value in facts.settings.items()} if facts else {}


def _client(bundle: Source, cell: CellRecord) -> Facts:
    runs = [run for run in bundle.runs if run.cell == cell.id]
    return {f"client of {cell.system}": " | ".join(sorted(clients_of(runs))) or UNKNOWN}


CELL_CONDITIONS: tuple[CellCondition, ...] = (
    CellCondition("data", "meaningless", lambda _, cell: {f"{cell.system}'s data": cell.dataset}),
    CellCondition("durability", "meaningless", _durability),
    CellCondition("isolation", "meaningless", _portable("isolation", lambda cell: cell.isolation)),
    CellCondition("version", "stated", _version),
    CellCondition("settings", "stated", _settings),
    CellCondition("settings", "stated", _other_portable),
    CellCondition("client", "stated", _client),
)


def changes(
    before: Sequence[Source],
    after: Sequence[Source],
    cells: Sequence[tuple[Sequence[CellRecord], Sequence[CellRecord]]],
    matched: Collection[str],
) -> list[Change]:
    """Every difference once, what makes the comparison meaningless first.

    cells: for each compared cell its record in every bundle of the two sides, in their order. matched: factors that
    cells were matched by.
    """
    found: dict[Change, None] = {}
    for condition in CONDITIONS:
        of_all = [condition.read(b) for b in before], [condition.read(b) for b in after]
        found |= dict.fromkeys(c for c in _changed(condition.key, condition.weight, *of_all) if c.name not in matched)
    for of_before, of_after in cells:
        for each in CELL_CONDITIONS:
            of_cell = (
                [each.read(b, cell) for b, cell in zip(before, of_before, strict=True)],
                [each.read(b, cell) for b, cell in zip(after, of_after, strict=True)],
            )
            found |= dict.fromkeys(_changed(each.key, each.weight, *of_cell))
    order: tuple[Weight, ...] = ("meaningless", "loud", "stated")
    return sorted(found, key=lambda change: order.index(change.weight))


def _changed(key: str, weight: Weight, before: Sequence[Facts], after: Sequence[Facts]) -> Iterator[Change]:
    for name in sorted({name for facts in (*before, *after) for name in facts}):
        sides = [list(dict.fromkeys(facts.get(name, "not set") for facts in side)) for side in (before, after)]
        if len({value for side in sides for value in side}) > 1:
            yield Change(key, name, " | ".join(sides[0]), " | ".join(sides[1]), weight)


def _words(value: Any) -> str:
    if isinstance(value, Mapping | list):
        return json.dumps(value, sort_keys=True, default=str)
    if isinstance(value, bool):
        return "on" if value else "off"
    return UNKNOWN if value is None else f"{value:g}" if isinstance(value, float) else str(value)
