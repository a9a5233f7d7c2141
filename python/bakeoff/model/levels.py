"""What a cell is by its plan, wherever the plan said it: as a factor of several levels or of one, or in a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from . import durability
from .boundary import IoName, IsolationName, RunnerName
from .isolation import SNAPSHOT_SETTING
from .records.bundle import FactsRecord
from .records.plan import CellRecord, PlanRecord, Scalar


@dataclass(frozen=True)
class LoadParameter:
    """How the load is made: what may be a factor, or be in [measure]. amount: it is the number of requests at once.
    most: of a count. names: its levels, where they are names; such a parameter may belong to one system only. own: a
    kind of system may have further names. switch: its levels are true and false."""

    amount: bool = False
    most: int = 0
    names: tuple[str, ...] = ()
    own: bool = False
    switch: bool = False


#: What reads see of writes: the last acknowledged one; that of a majority; one's own; any that is on its way.
CONSISTENCY = ("strong", "quorum", "session", "eventual")
#: In the order in which messages name them. More of a count is a slip of the keyboard: the engine runs no more threads,
#: and each client is a process.
LOAD: Mapping[str, LoadParameter] = {
    "threads": LoadParameter(amount=True, most=100_000),
    "sessions": LoadParameter(amount=True, most=100_000),
    "routing": LoadParameter(),
    "clients": LoadParameter(amount=True, most=1_000),
    "workers": LoadParameter(amount=True, most=1_024),
    "runner": LoadParameter(names=get_args(RunnerName)),
    "io": LoadParameter(names=get_args(IoName)),
    "rate": LoadParameter(amount=True),
    "durability": LoadParameter(names=durability.LEVELS),
    "isolation": LoadParameter(names=get_args(IsolationName)),
    "consistency": LoadParameter(names=CONSISTENCY, own=True),
    "event_log": LoadParameter(switch=True),
}
#: Those that [systems.NAME] may say, too: levels that mean the same on every system.
PORTABLE = ("durability", "isolation", "consistency")
#: Of a managed server: storage that bakeoff slows, as a table in the plan and in words among the facts.
STORAGE = "storage"
#: Tables inside a system's table.
SYSTEM_TABLES = ("settings", "session", "start", STORAGE)
#: How a system stores its tables.
TABLE_FORMAT = "table_format"
#: How a system's records are reached: by SQL, or below it.
ACCESS = "access"
#: Who built the programs of a server that was started.
PACKAGER = "packager"
#: Options of a system that need no prefix, because every kind has its own idea of them.
BARE_SYSTEM_OPTIONS = ("version", "source", "path", "nodes", "replicas", "tls", TABLE_FORMAT, ACCESS)
_TABLES = ("system", "workload", "plan")


def factor_of(plan: PlanRecord, cell: CellRecord, name: str) -> str | None:
    """The factor's name without the system or workload that it belongs to; None if it is not about this cell.

    "mariadb.settings.x" is "settings.x" for the cells of mariadb, and nothing for the others.
    """
    head, _, rest = name.partition(".")
    if not rest or head in SYSTEM_TABLES:
        return name
    return rest if head in (cell.system, _work_name(plan, cell)) else None


def is_of_work(factor: str) -> bool:
    """Whether a factor, by the name that `factor_of` gives it, is an option of the workload."""
    head = factor.partition(".")[0]
    return factor not in (*LOAD, *_TABLES) and head not in (*SYSTEM_TABLES, *BARE_SYSTEM_OPTIONS)


def level_of(plan: PlanRecord, cell: CellRecord, facts: FactsRecord | None, factor: str) -> Scalar | None:
    """What the cell has of a factor, by the name that `factor_of` gives it; None: nothing was said.

    A setting of a server is what the server says that it is, however the plan spelled it ("64M", 67108864).
    """
    if factor == "rate":
        return cell.rate_ops_per_s
    if factor in LOAD and factor in CellRecord.model_fields and (found := getattr(cell, factor)) is not None:
        return found  # type: ignore[no-any-return]
    first, _, setting = factor.partition(".")
    if first == "settings" and facts is not None and setting in facts.settings:
        return facts.settings[setting]
    levels = dict(_levels(plan, cell))
    if factor in levels:
        return levels[factor]
    if is_of_work(factor):
        return _at(work_of(plan, cell), factor)
    return _at(_table(_table(plan.tree_of(cell), "systems"), cell.system), factor)


def settings_of_sessions(plan: PlanRecord, cell: CellRecord, facts: FactsRecord) -> Mapping[str, str]:
    """As the server says they are, but for what its sessions have otherwise and levels of isolation depend on."""
    own = level_of(plan, cell, facts, f"session.{SNAPSHOT_SETTING}")
    if own is None:
        return facts.settings
    words = ("ON" if own else "OFF") if isinstance(own, bool | int) else str(own)
    return {**facts.settings, SNAPSHOT_SETTING: words}


def work_of(plan: PlanRecord, cell: CellRecord) -> dict[str, Any]:
    """The options of the cell's workload that the plan says."""
    tree = plan.tree_of(cell)
    table = _table(_table(tree, "workloads"), _work_name(plan, cell)) or _table(tree, "workload")
    return {**table, **{factor: level for factor, level in _levels(plan, cell) if is_of_work(factor)}}


def is_own_sql(work: Mapping[str, Any]) -> bool:
    """Of the options of a workload: statements of the user's, and none of pgbench's presets."""
    return work.get("kind") in ("lua", "replay") or (work.get("kind") == "sql" and "script" not in work)


def _work_name(plan: PlanRecord, cell: CellRecord) -> Scalar:
    """ "" where the plan gives it none."""
    return cell.levels.get("workload") or next(iter(_table(plan.tree_of(cell), "workloads")), "")


def _levels(plan: PlanRecord, cell: CellRecord) -> Iterator[tuple[str, Scalar]]:
    """Of every factor of the cell; a factor with one level is not among a cell's levels."""
    alone = {name: levels[0] for name, levels in plan.factors.items() if len(levels) == 1}
    for name, level in {**alone, **cell.levels}.items():
        if (factor := factor_of(plan, cell, name)) is not None:
            yield factor, level


def _table(tree: Mapping[str, Any], name: Scalar) -> Mapping[str, Any]:
    """Empty where there is none: a bundle may come from anybody."""
    found = tree.get(str(name))
    return found if isinstance(found, Mapping) else {}


def _at(table: Mapping[str, Any], path: str) -> Scalar | None:
    """What stands there in a table of options; a server that is started has some of its own in `start`."""
    first, _, rest = path.partition(".")
    found = table.get(first)
    if rest and isinstance(found, Mapping):
        found = found.get(rest)
    started = table.get("start")
    if found is None and isinstance(started, Mapping):
        return _at(started, path)
    return found if isinstance(found, str | int | float | bool) else None
