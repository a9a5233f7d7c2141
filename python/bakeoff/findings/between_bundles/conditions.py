"""Under which conditions bundles were made, and what differs between those that are compared.

A difference either makes a comparison meaningless (other data, another window, weaker durability), which is refused
unless the user allows it by its key, or may be what is being compared (a version, a setting, a machine), which is
stated. `CONDITIONS` and `CELL_CONDITIONS` are the visible lists; `PROMISE` is one more of a cell.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...analysis.wording import bytes_words
from ...bundle.read import Bundle
from ...model import durability
from ...model.levels import level_of, work_of
from ...model.records.plan import CellRecord
from ..clients_and_nodes import machines_words
from ..configuration import as_set, of_an_instance
from ..promises import NOT_CHECKED, promises_by_cell
from ..runs import clients_of
from .matching import Match

#: `meaningless`: refused unless allowed. `loud`: nobody expects it, and it can make any difference. `stated`: told.
Weight = Literal["meaningless", "loud", "stated"]
#: name -> value, in words
Facts = dict[str, str]
UNKNOWN = "not known"
#: The key of what a system promises, which is worked out once for all cells of a bundle.
PROMISE = "promise"


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
    read: Callable[[Bundle], Facts]


@dataclass(frozen=True, slots=True)
class CellCondition:
    """read: what one bundle says of the cell; the name that its system is called by here is given to it."""

    key: str
    weight: Weight
    read: Callable[[Bundle, CellRecord, str], Facts]


def _plan(name: str, read: Callable[[Bundle], str]) -> Condition:
    return Condition(name, "meaningless", lambda bundle: {name: read(bundle)})


def _measure(name: str) -> Condition:
    return _plan(name.replace("_", " "), lambda b: _words(b.plan.resolved.get("measure", {}).get(name)))


def _window(bundle: Bundle) -> str:
    plan = bundle.plan
    parts = [f"{plan.window_s:g} s"] if plan.window_s is not None else []
    return ", ".join([*parts, *([f"{plan.operations:,} operations"] if plan.operations is not None else [])]) or UNKNOWN


def _arrivals(bundle: Bundle) -> str:
    """Without the rate, which is each cell's own."""
    loop, _, rest = bundle.plan.pacing.partition(", ")
    return ", ".join([loop, *(part for part in rest.split(", ") if "arrivals" in part)])


_MACHINE = ("hostname", "cpu_model", "cores", "memory_bytes", "os", "kernel", "virtualisation", "cpu_governor")


def _machine(bundle: Bundle) -> Facts:
    known = bundle.machine.model_dump()
    shown = {name: known[name] for name in (*_MACHINE, "filesystem", "swap_bytes", "clock_source")}
    return {
        f"machine's {name.removesuffix('_bytes').replace('_', ' ')}": bytes_words(value)
        if name.endswith("_bytes")
        else _words(value)
        for name, value in shown.items()
    }


def _load_machines(bundle: Bundle) -> Facts:
    return {"machines of the clients": machines_words(bundle.runs) or UNKNOWN}


def _engine(bundle: Bundle) -> Facts:
    """Two builds of one version are two instruments."""
    versions = sorted({run.engine_version for run in bundle.runs if run.engine_version})
    return {"engine": ", ".join(versions) or UNKNOWN, "engine's build": bundle.info.engine_sha256[:8] or UNKNOWN}


def _files(bundle: Bundle) -> Facts:
    """Those that the plan names: scripts, property files, certificates."""
    return {f"the file {name}": f"content {sha256[:8]}" for name, sha256 in bundle.info.inputs.items()}


def _plan_itself(bundle: Bundle) -> Facts:
    return {"the plan's title": bundle.plan.title, "repetitions": str(bundle.plan.repetitions)}


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
    _measure("latency_probe"),
    _measure("think_time"),
    _plan("staleness probe", lambda b: _words(bool((b.plan.resolved.get("verify") or {}).get("probe")))),
    _measure("vary_seed"),
    _plan("event log", lambda b: _words(bool(b.plan.resolved.get("measure", {}).get("event_log")))),
    Condition("machine", "loud", _machine),
    Condition("load machines", "loud", _load_machines),
    Condition("clients", "loud", lambda b: {"clients run on": b.plan.fleet_words}),
    Condition("engine", "loud", _engine),
    Condition("files", "loud", _files),
    Condition("bakeoff", "stated", lambda b: {"bakeoff": b.info.bakeoff_version}),
    Condition("plan", "stated", _plan_itself),
    Condition("error budget", "stated", lambda b: {"error budget": f"{b.plan.error_budget_ratio * 100:g} %"}),
)


def _load(name: str) -> CellCondition:
    """Where it varies cells are matched by it, so that it never differs."""

    def read(bundle: Bundle, cell: CellRecord, _: str) -> Facts:
        level = level_of(bundle.plan, cell, bundle.facts.get(cell.id), name)
        return {} if level is None else {name: _words(level)}

    return CellCondition(name, "meaningless", read)


def _work(bundle: Bundle, cell: CellRecord, _: str) -> Facts:
    """Option by option, as the plan says it."""
    return {f"workload's {name}": _words(value) for name, value in work_of(bundle.plan, cell).items()}


def _portable(name: str, asked: Callable[[CellRecord], str | None]) -> Callable[[Bundle, CellRecord, str], Facts]:
    """As read back, else as the plan asks."""

    def read(bundle: Bundle, cell: CellRecord, system: str) -> Facts:
        has = bundle.facts[cell.id].portable.get(name) if cell.id in bundle.facts else None
        return {f"{system}'s {name}": has or asked(cell) or UNKNOWN}

    return read


def _durability(bundle: Bundle, cell: CellRecord, system: str) -> Facts:
    """What survives, not only what it is called; the level alone where the system does not tell more."""
    level = _portable("durability", lambda cell: cell.durability)(bundle, cell, system)
    survival = durability.read(bundle.facts[cell.id].portable) if cell.id in bundle.facts else None
    return {name: f"{value} ({durability.words(survival)})" if survival else value for name, value in level.items()}


def _other_portable(bundle: Bundle, cell: CellRecord, system: str) -> Facts:
    portable = bundle.facts[cell.id].portable if cell.id in bundle.facts else {}
    names = portable.keys() - {"durability", *durability.FACTS, "isolation"}
    return {f"{system}'s {name.removesuffix('_bytes').replace('_', ' ')}": portable[name] for name in names}


def _version(bundle: Bundle, cell: CellRecord, system: str) -> Facts:
    facts = bundle.facts.get(cell.id)
    return {system: f"{facts.product} {facts.version}" if facts else UNKNOWN}


def _settings(bundle: Bundle, cell: CellRecord, system: str) -> Facts:
    facts = bundle.facts.get(cell.id)
    return {_setting(system, name): value for name, value in facts.settings.items()} if facts else {}


def _setting(system: str, name: str) -> str:
    return f"{system}: {name}"


def _client(bundle: Bundle, cell: CellRecord, system: str) -> Facts:
    runs = [run for run in bundle.runs if run.cell == cell.id]
    return {f"client of {system}": " | ".join(sorted(clients_of(runs))) or UNKNOWN}


def _promise_of(bundles: Sequence[Bundle]) -> Callable[[Bundle, CellRecord, str], Facts]:
    """Reads the promises of each bundle once."""
    found = {id(bundle): promises_by_cell(bundle) for bundle in bundles}

    def read(bundle: Bundle, cell: CellRecord, system: str) -> Facts:
        answer = found[id(bundle)].get(cell.id)
        return {f"{system}'s promise": answer.verdict if answer else NOT_CHECKED}

    return read


def _prices(_: Bundle, cell: CellRecord, system: str) -> Facts:
    return {f"prices of {system}": cell.prices.words} if cell.prices else {}


CELL_CONDITIONS: tuple[CellCondition, ...] = (
    CellCondition("data", "meaningless", lambda _, cell, system: {f"{system}'s data": cell.dataset}),
    CellCondition("durability", "meaningless", _durability),
    CellCondition("isolation", "meaningless", _portable("isolation", lambda cell: cell.isolation)),
    CellCondition("workload", "meaningless", _work),
    *map(_load, ("sessions", "routing", "workers")),
    CellCondition("system", "loud", lambda _, cell, system: {f"name of {system}": cell.system}),
    CellCondition("version", "stated", _version),
    CellCondition("settings", "stated", _settings),
    CellCondition("settings", "stated", _other_portable),
    CellCondition("client", "stated", _client),
    CellCondition("prices", "stated", _prices),
)


def changes(before: Sequence[Bundle], after: Sequence[Bundle], matches: Sequence[Match]) -> list[Change]:
    """Every difference once, the worst first: what makes the comparison meaningless, what nobody expects, what is
    likely to be the question, and last the settings that no plan says."""
    found: dict[Change, None] = {}
    of_cells = (*CELL_CONDITIONS, CellCondition(PROMISE, "loud", _promise_of([*before, *after])))
    for match in matches:
        system = match.after[0].system
        for each in of_cells:
            if (each.key == "workload" and match.same_work) or (each.key == "data" and match.same_rows):
                continue
            of_cell = (
                [each.read(b, cell, system) for b, cell in zip(before, match.before, strict=True)],
                [each.read(b, cell, system) for b, cell in zip(after, match.after, strict=True)],
            )
            found |= dict.fromkeys(_changed(each.key, each.weight, *of_cell))
    for condition in CONDITIONS:
        of_all = [condition.read(b) for b in before], [condition.read(b) for b in after]
        found |= dict.fromkeys(_changed(condition.key, condition.weight, *of_all))
    order: tuple[Weight, ...] = ("meaningless", "loud", "stated")
    said = set(_said([*before, *after], matches))
    return sorted(found, key=lambda c: (order.index(c.weight), c.key == "settings" and c.name not in said))


def _said(bundles: Sequence[Bundle], matches: Sequence[Match]) -> Iterator[str]:
    """Settings that some plan says, by their names here."""
    for match in matches:
        for bundle, cell in zip(bundles, [*match.before, *match.after], strict=True):
            facts = bundle.facts.get(cell.id)
            yield from (_setting(match.after[0].system, name) for name in (facts.declared if facts else ()))


def _changed(key: str, weight: Weight, before: Sequence[Facts], after: Sequence[Facts]) -> Iterator[Change]:
    for name in sorted({name for facts in (*before, *after) for name in facts}):
        sides = [list(dict.fromkeys(facts.get(name, "not set") for facts in side)) for side in (before, after)]
        values = [value for side in sides for value in side]
        if key == "settings" and (len(set(map(as_set, values))) == 1 or of_an_instance(name, values)):
            continue
        if len(set(values)) > 1:
            yield Change(key, name, " | ".join(sides[0]), " | ".join(sides[1]), weight)


def _words(value: Any) -> str:
    if isinstance(value, Mapping | list):
        return json.dumps(value, sort_keys=True, default=str)
    if isinstance(value, bool):
        return "on" if value else "off"
    return UNKNOWN if value is None else f"{value:g}" if isinstance(value, float) else str(value)
