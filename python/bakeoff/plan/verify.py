"""What of a plan can be checked, each of its systems at each of its levels of isolation, once for each set of its
options; and what is promised of that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from ..errors import PlanError
from ..fleet.engine_program import listed
from ..model.boundary import IsolationName
from ..model.isolation import allowed_anomalies
from ..model.levels import TABLE_FORMAT
from ..model.records.bundle import FactsRecord
from ..model.resolve import ListedDriver
from ..systems import SYSTEMS
from ..systems.base import System
from ..verify.isolation import SCHEDULES
from .document.tables import VERIFY_SECONDS, VerifyTable
from .grid import words_of_levels
from .resolved import Cell, ResolvedPlan

#: Drivers of SQL whose dialect no experiment has been tried with.
_UNTRIED = ("avatica",)
_NO_SQL = "it has no transactions in SQL, and nothing else is asked for"
#: What the label of a subject leaves out: it is named next to it.
_NAMED_APART = ("system", "isolation")
#: Session variables that decide the level.
_LEVEL_VARIABLES = ("transaction_isolation", "tx_isolation", "default_transaction_isolation")


@dataclass(frozen=True)
class Subject:
    """One system with one set of options at one level. cells: those that it speaks for, the first of which stands for
    its options. first: of the levels of these options: what does not depend on the level is checked at it. has_sql:
    without it only reads of old values are looked for, and it has no level. why_not: no experiment can be tried; ""
    where it can."""

    cells: list[Cell]
    label: str
    level: IsolationName | None
    first: bool
    has_sql: bool
    why_not: str

    @property
    def cell(self) -> Cell:
        return self.cells[0]

    @property
    def key(self) -> str:
        """Subjects with equal keys differ in their level only."""
        return options_of(self.cell)


def subjects(plan: ResolvedPlan, *, every_level: bool = False, with_reads: bool | None = None) -> list[Subject]:
    """In the order of the plan. every_level: that the system has, not only the plan's. with_reads: reads are looked at,
    too, and not transactions alone; None: as the plan says."""
    if with_reads is None:
        with_reads = plan.verify is None or plan.verify.seconds != 0
    by_options: dict[str, list[Cell]] = {}
    for cell in plan.cells:
        by_options.setdefault(options_of(cell), []).append(cell)
    several = [cells[0].record.system for cells in by_options.values()]
    found = []
    for cells in by_options.values():
        name, sql = cells[0].record.system, has_sql(cells[0])
        refusal = why_not(cells[0]) or ("" if sql or with_reads else _NO_SQL)
        if not refusal and sql:
            refuse_level_of_session(cells[0])
        label = name if several.count(name) == 1 else _label(cells)
        of_level: dict[str | None, list[Cell]] = {}
        for cell in cells:
            of_level.setdefault(cell.record.isolation if sql else None, []).append(cell)
        if every_level and sql and not refusal:
            of_level = dict.fromkeys(_levels(cells[0]), cells)
        for number, (level, theirs) in enumerate(of_level.items()):
            found.append(Subject(theirs, label, cast("IsolationName | None", level), number == 0, sql, refusal))
    return found


@dataclass(frozen=True)
class Span:
    """Of each kind of random transaction, and of each check of reads and nodes. enough_after_s: from then on it ends as
    soon as a verdict is possible, or out of reach; None: not before its end."""

    seconds: float
    enough_after_s: float | None = None


#: Of the time that the subject's cells are measured for.
_SHARE_OF_MEASURED = 0.1
_ENOUGH_AFTER_MIN_S = 0.5


def span(plan: ResolvedPlan, subject: Subject, said: VerifyTable) -> Span:
    """As the plan says, else by how long the subject is measured."""
    if said.seconds is not None:
        return Span(said.seconds)
    measured_s = sum(plan.warm_up_s + cell.expected_window_s for cell in subject.cells) * plan.record.repetitions
    share_s = (_SHARE_OF_MEASURED * measured_s - schedules_s(subject, said)) / max(1, parts(subject))
    return Span(VERIFY_SECONDS, min(VERIFY_SECONDS, max(_ENOUGH_AFTER_MIN_S, share_s)))


#: One try of a schedule: two or three sessions begin, of which most wait once.
_TRY_S = 0.05
_KINDS_OF_TRANSACTIONS = 3


def schedules_s(subject: Subject, said: VerifyTable) -> float:
    return len(said.schedules or SCHEDULES) * said.tries * _TRY_S if subject.has_sql else 0.0


def parts(subject: Subject) -> int:
    """What takes the time of a span, one after another: kinds of transactions, reads, and whether nodes agree."""
    of_reads = 1 + (len(subject.cell.record.nodes) > 1) if subject.first else 0
    return _KINDS_OF_TRANSACTIONS * subject.has_sql + of_reads


def options_of(cell: Cell) -> str:
    return f"{cell.record.system} {cell.system_options!r} {cell.record.durability}"


def _label(cells: Sequence[Cell]) -> str:
    """The system, and the levels that its cells with these options share."""
    first, *others = (cell.record.levels for cell in cells)
    shared = {
        name: level
        for name, level in first.items()
        if name not in _NAMED_APART and all(other.get(name) == level for other in others)
    }
    return words_of_levels({"system": cells[0].record.system, **shared})


def why_not(cell: Cell) -> str:
    """Why no experiment can be tried on its system; "" where it can."""
    kind = SYSTEMS[cell.record.kind]
    if kind.driver in _UNTRIED:
        return f"no experiment has been tried with the SQL of {kind.kind}"
    if kind.driver == "null":
        return "it is no database, so it promises nothing"
    if kind.public_service(cell.system_options):
        return "it charges for requests, and the checks send ten thousand"
    if kind.peer_of and not has_sql(cell):
        return f"it is a peer of {kind.peer_of} with one copy, which shows nothing of what {kind.peer_of} promises"
    return ""


def has_sql(cell: Cell) -> bool:
    """For experiments, with transactions."""
    driver = listed("drivers", ListedDriver).get(SYSTEMS[cell.record.kind].driver)
    return driver is not None and driver.experiments


def _levels(cell: Cell) -> list[str | None]:
    return list(listed("drivers", ListedDriver)[SYSTEMS[cell.record.kind].driver].capabilities["isolation"])


def refuse_level_of_session(cell: Cell) -> None:
    """A variable of the plan's sessions would replace the level that is verified. Raises PlanError."""
    session = cell.system_options.get("session") or {}
    for name in session:
        if name.lower() in _LEVEL_VARIABLES:
            raise PlanError(
                f"`{name}` sets the level of every session, and so replaces the one that is verified",
                where=f"systems.{cell.record.system}.session.{name}",
                hint='leave it out, and name the level with isolation = "..."',
            )


def promised(cell: Cell, facts: FactsRecord, settings: Mapping[str, str], level: str) -> tuple[str, ...] | None:
    """Anomalies that the vendor's words allow; None where nobody knows. Those words are InnoDB's, and say nothing of
    tables of another storage engine. settings: as sessions have them."""
    engine = facts.settings.get("default_storage_engine", "InnoDB")
    if cell.system_options.get(TABLE_FORMAT) == "rocksdb" or engine.lower() != "innodb":
        return None
    return allowed_anomalies(facts.product, facts.version, settings, level)


def refuse_outsiders(system: System) -> None:
    """Of an existing cluster whose nodes all take writes: a server that only follows it would be written to. Raises
    PlanError."""
    if system.managed or not system.multi_writer:
        return
    for node in system.nodes():
        if node.facts().settings.get("wsrep_on", "OFF").upper() not in ("ON", "1"):
            raise PlanError(
                f"{node.name} is no member of the cluster {system.name} (wsrep_on is off), and the experiments write"
                " to every node",
                where=f"systems.{system.name}.nodes",
                hint="leave it out of `nodes`",
            )
