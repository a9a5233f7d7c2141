"""One loaded system: its data are created once, put back before every run, and removed at the end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from ..bundle.files import make_folder
from ..errors import BakeoffError, PlanError
from ..fleet.engines import Host
from ..model.boundary import Check, CheckSpec, Progress, RunResult
from ..model.records.bundle import FactsRecord, LoadRecord
from ..model.records.run import RunRecord
from ..plan.resolved import Cell, ResolvedPlan
from ..provision.files import MEMORY_FILE_SYSTEMS, file_system
from ..provision.instance import InstanceFolder, new_instance
from ..provision.os_metrics import pin
from ..systems import SYSTEMS
from ..systems.base import System
from ..systems.ledger import Ledger
from .nodes import away_words, facts_of
from .phases import Phases
from .run_order import InsertTurns, Slot

#: What was done to the data since they were loaded: a document of every client of every run, in the workload's own
#: words. None: nobody knows what that run did.
Done = list[JsonValue]


@dataclass
class Data:
    """A data set on its system; systems that work on the same tables share the object."""

    #: As it was loaded or found.
    begun: Done = field(default_factory=list)
    #: First turn of the runs that insert into it, see `InsertTurns`; above 0 if earlier runs inserted.
    first_turn: int = 0
    #: The copy from which a managed system can be restored.
    snapshot: Path | None = None
    #: That the next run begins with.
    done: Done = field(init=False)

    def __post_init__(self) -> None:
        self.done = self.begun


def file_name(key: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", key)[:80]


def _broken_words(checks: Iterable[Check]) -> str:
    """What the first failed check found; "" if all passed."""
    for check in checks:
        if not check.ok:
            evidence = f" ({check.evidence[0]})" if check.evidence else ""
            return f"{check.name}: expected {check.expected}, found {check.actual}{evidence}"
    return ""


def _hint_for_absent(ledger: Ledger, workload: Mapping[str, Any], absent: Sequence[str]) -> str:
    """Other tools give the tables of TPC-C other names: `new_order`, `oorder`, `warehouse1`."""
    said = workload.get("tables") or {}
    for name in absent if workload["kind"] == "tpcc" and not said else []:
        others = [
            name.removesuffix("s") if name.endswith("s") else f"{name}s",
            f"{name}1",
            f"o{name.removesuffix('s')}",
        ]
        if found := ledger.there(others):
            return (
                f"`{found[0].name}` exists, perhaps from another tool: if it has the columns that the plan's"
                f' workload needs, name it in [workload]: tables = {{ {name} = "{found[0].name}" }}'
            )
    return "`bakeoff load` creates the tables of a plan and keeps them"


class Instance:
    """The system of all cells that share an `instance_key`. `stop` may be called at any time and ends everything."""

    def __init__(
        self, plan: ResolvedPlan, cell: Cell, bundle: Path, host: Host, *, allow_drop: bool, work: Path | None
    ) -> None:
        self.plan = plan
        self.cell = cell
        self.allow_drop = allow_drop
        self.folder: InstanceFolder = new_instance(file_name(cell.record.system), work)
        self.system: System = cell.configure(
            SYSTEMS[cell.record.kind], workdir=self.folder.path, timeout_s=plan.timeout_s, base_dir=plan.base_dir
        )
        self.bundle = bundle
        self.host = host
        self.phases = Phases(host)
        self.logs = make_folder(bundle, f"loads/{file_name(cell.instance_key)}")
        self.data: Data | None = None
        self._done: Done = []  # when this run began
        self._started = False
        self.started_again = ""  # before this run, in words
        self.reloaded_s: float | None = None  # what the load before this run took
        self._tables_begun = False  # on an existing system

    @property
    def loaded(self) -> bool:
        return self.data is not None

    def start(self) -> None:
        """Starts ended or frozen servers of a managed system; checks an existing one the first time."""
        if not self._started or (self.system.managed and not self.system.whole()):
            self.system.start()
            self._started = True
            self._pin()

    def lend_clocks(self) -> None:
        """From the next start on the clocks of its servers can be skewed. Raises ServerError."""
        for server in self.system.servers().values():
            server.lend_clock()

    def open(self) -> None:
        """Starts the system, and makes the place for tables."""
        self._make_place()
        self.start()

    @contextmanager
    def own_tables(self, tables: list[str]) -> Iterator[None]:
        """For tables that are made and dropped within. Raises PlanError where another's has such a name."""
        ledger = self.system.ledger()
        if ledger is None:
            yield
            return
        self.refuse_taken(tables)
        ledger.begin(tables, "experiment", self.bundle.name, all_there=False)
        try:
            yield
        except BaseException:
            with suppress(BakeoffError):  # what ended it is the better answer
                ledger.drop(tables)
            raise
        ledger.drop(tables)

    def refuse_taken(self, tables: list[str]) -> None:
        """Raises PlanError where another's table has one of these names."""
        if ledger := self.system.ledger():
            self._refuse_strangers(ledger, tables, "rename it, or keep them apart")

    def load(self, on_progress: Callable[[Progress], None]) -> LoadRecord:
        """Creates the tables, loads and checks them, and keeps a copy if one will be put back."""
        self.open()
        if self.plan.record.cache == "cold":
            self._refuse_memory()
        done = self._fill(self.logs, on_progress)
        self.system.check_tables(self.cell.workload.tables)
        checks = self._check([], after_run=False)
        snapshot = self.folder.path / "snapshot" if self._keeps_copy() else None
        if snapshot is not None:
            self.system.snapshot(snapshot)
        self.data = Data(snapshot=snapshot)
        return self._load_record(done.rows, done.elapsed_s, checks)

    def find(self, done: Iterable[RunRecord], first_turn: int, tell: Callable[[str], None]) -> LoadRecord:
        """Takes the existing data, if they are what the plan says. done: runs that changed them since. Where nothing
        is put back, other runs may have changed them, too (runs that were cut short, another plan's): that is reported,
        and the runs begin with the data as they are. Raises PlanError."""
        self._refuse_absent_place()
        self.start()
        self._refuse_absent_tables()
        before: Done = [words for run in done for words in (run.evidence if run.state == "done" else [None])]
        checks = self._check(before, after_run=True)
        differ = _broken_words(checks)
        if differ and self.cell.reset == "none":
            before.append(None)
            checks = self._check(before, after_run=True)
        if broken := _broken_words(checks):
            raise PlanError(
                f"the data on {self.system.name} differs from the plan: {broken}",
                where=f"systems.{self.system.name}",
                hint="describe the existing data in [workload], or load the plan's data: `bakeoff load`",
            )
        if differ:
            tell(f"the data on {self.system.name} was changed before: {differ}; the runs use it unchanged")
        self.data = Data(before, first_turn if before else 0)
        return self._load_record(self.cell.workload.loaded_rows, 0.0, checks)

    def _make_place(self) -> None:
        if ledger := self.system.ledger():
            self.system.refuse_session()
            ledger.make_place()

    def _refuse_absent_place(self) -> None:
        ledger = self.system.ledger()
        if ledger is not None and (absent := ledger.absent_place()):
            raise PlanError(
                f"there is no {absent} on {self.system.name}",
                where=f"systems.{self.system.name}",
                hint=f"name an existing `{ledger.place}`; `bakeoff load` creates this one and the tables of the plan",
            )

    def _refuse_absent_tables(self) -> None:
        ledger, tables = self.system.ledger(), self.cell.workload.tables
        if ledger is None:
            return
        found = {table.name: table for table in ledger.there(tables)}
        absent = [name for name in tables if name not in found]
        cut = [table.name for table in found.values() if table.ours and not table.whole]
        if absent or cut:
            what = f"there is no table `{absent[0]}`" if absent else f"the load of the table `{cut[0]}` was interrupted"
            raise PlanError(
                f"{what} on {self.system.name}",
                where=f"systems.{self.system.name}",
                hint=_hint_for_absent(ledger, self.cell.workload.spec, absent),
            )

    def _check(self, done: Done, *, after_run: bool) -> list[Check]:
        if not self.system.keeps_data:
            return []
        expected = CheckSpec(evidence=done, sample=self.plan.measure.check_sample, after_run=after_run)
        return self.phases.check(self.plan, self.cell, self.system, self.logs, expected).checks

    def _load_record(self, rows: int, elapsed_s: float, checks: list[Check]) -> LoadRecord:
        return LoadRecord(
            dataset=self.cell.record.dataset,
            system=self.cell.record.system,
            rows=rows,
            elapsed_s=elapsed_s,
            rows_per_s=rows / elapsed_s if elapsed_s > 0 else 0.0,
            size_on_disk_bytes=self.system.size_on_disk_bytes(),
            file_size_bytes=self.system.file_size_bytes(),
            values_bytes=self.cell.workload.size_estimate_bytes,
            checks=checks,
            warnings=self.phases.warnings(),
            cells=[c.record.id for c in self.plan.cells if c.load_key == self.cell.load_key],
        )

    def _keeps_copy(self) -> bool:
        """Keeps a copy for the reset before each run, or for other systems that begin with the same data."""
        sharing = {cell.instance_key for cell in self.plan.cells if cell.load_key == self.cell.load_key}
        shared = self.system.managed and len(sharing) > 1 and self.system.capabilities().restore
        return self.cell.reset == "restore" or (shared and self.cell.reset != "reload")

    def take(self, data: Data) -> bool:
        """Begins with data that another system has loaded; False if it has to load them itself."""
        if self.system.managed and data.snapshot is None:
            return False
        if data.snapshot is not None:
            self.system.restore(data.snapshot)
            self._started = True
            self._pin()
        self.start()
        if self.plan.record.cache == "cold":
            self._refuse_memory()
        self.data = Data(data.begun, snapshot=data.snapshot) if self.system.managed else data
        return True

    def reset(self, folder: Path) -> None:
        """Resets the data to those after the load, as the plan says; the system runs afterwards."""
        self.started_again = away_words(self.system) if self._started else ""
        if self.cell.reset == "restore" and self.data and self.data.snapshot:
            self.system.restore(self.data.snapshot)
            self._pin()
        elif self.cell.reset == "reload":
            self.start()
            self.reloaded_s = self._fill(folder, lambda _: None).elapsed_s
        self.start()
        if self.data:
            self._done = self.data.done
            self._leaves([*self._done, None])  # until this run has reported what it did

    def done_with(self, evidence: Done) -> Done:
        """What was done to the data, including a run whose clients report this. Without a reset the next run begins
        with it."""
        done = [*self._done, *evidence]
        self._leaves(done)
        return done

    def _leaves(self, done: Done) -> None:
        if self.data and self.cell.reset == "none":
            self.data.done = done

    def work(self, cell: Cell, slot: Slot) -> dict[str, Any]:
        """The workload's document for this run. Without a reset another attempt needs its own keys: it has those of a
        block after all of the plan's."""
        if cell.reset != "none" or self.data is None:
            return cell.workload.spec
        block = slot.block + (slot.attempt - 1) * self.plan.record.repetitions
        turn = self.data.first_turn + self._turns.turn(cell.record.id, block)
        return cell.workload.continued(turn) or cell.workload.spec

    @cached_property
    def _turns(self) -> InsertTurns:
        return InsertTurns.of(self.plan.cells)

    def _fill(self, folder: Path, on_progress: Callable[[Progress], None]) -> RunResult:
        """Creates and loads the tables, in place of existing ones. On an existing system those must be ours, or the
        user allows to drop them."""
        tables, ledger = self.cell.workload.tables, self.system.ledger()
        if ledger is not None:
            if not self.allow_drop:
                instead = (
                    'data = "existing" in [measure] measures it unchanged; --allow-drop drops it and creates a new one'
                )
                self._refuse_strangers(ledger, tables, f"{instead}; or keep them apart")
            ledger.begin(tables, self.cell.workload.dataset, self.bundle.name, all_there=self.allow_drop)
            self._tables_begun = True
        may_drop = self.system.managed or self.allow_drop
        done = self.phases.load(
            self.plan, self.cell, self.system, folder, drop_existing=may_drop, on_progress=on_progress
        )
        if ledger is not None:
            ledger.loaded(tables)
        return done

    def _refuse_strangers(self, ledger: Ledger, tables: Sequence[str], instead: str) -> None:
        if strangers := ledger.strangers(tables):
            raise PlanError(
                f"there is a table `{strangers[0]}` on {self.system.name} that bakeoff did not create",
                where=f"systems.{self.system.name}",
                hint=f"{instead} by a `{ledger.place}` of ours",
            )

    def leave(self, *, drop: bool) -> str:
        """Drops the tables that this run created on an existing system, or says that they stay; "" without any."""
        ledger, tables = self.system.ledger(), self.cell.workload.tables
        if ledger is None or not self._tables_begun:
            return ""
        if drop:
            ledger.drop(tables)
            return ""
        ours = [found.name for found in ledger.there(tables) if found.ours]
        if not ours:
            return ""
        many = f" and {len(ours) - 1} more tables" if len(ours) > 1 else ""
        return (
            f"on {self.system.name} the table `{ours[0]}`{many} stays; `bakeoff drop` removes what bakeoff created;"
            f" by hand: {ledger.drop_words(ours)}"
        )

    def make_cold(self) -> None:
        """Drops the data from the kernel's memory and the server's; the system runs afterwards."""
        self.system.make_cold()
        self._pin()

    def _refuse_memory(self) -> None:
        """Data that live in memory are never cold: refused before they are loaded."""
        for path in self.system.data_paths():
            if (kind := file_system(path)) in MEMORY_FILE_SYSTEMS:
                raise PlanError(
                    f"the data of {self.system.name} would be in memory ({kind} at {path}), so its cache cannot"
                    " be emptied",
                    where="measure.cache",
                    hint='choose a folder on a disk (--work-dir, or `path` of the system), or write cache = "warm"',
                )

    def facts(self, cell: Cell) -> FactsRecord:
        facts = facts_of(self.system.nodes())
        portable = dict(facts.portable)
        if cell.record.isolation:
            portable["isolation"] = cell.record.isolation
        if level := cell.record.consistency:
            own = portable.get("consistency", level)
            portable["consistency"] = level if own == level else f"{level} ({own})"
        return FactsRecord(
            product=facts.product,
            version=facts.version,
            settings=facts.settings,
            portable=portable,
            declared=self.system.declared(),
            managed=self.system.managed,
            embedded=self.system.capabilities().embedded,
            peer_of=cell.record.peer_of,
        )

    def stop(self) -> None:
        """Ends the server and removes its folder."""
        try:
            self.system.stop()
        finally:
            self.folder.remove()

    def rejoin(self, node: str) -> str:
        """Restarts one of its servers while others run; returns how it got the missed data."""
        how = self.system.rejoin(node)
        self._pin()
        return how

    def _pin(self) -> None:
        """Keeps the server on the plan's cores: every thread that it has now, and so every later one."""
        if not self.plan.measure.placement.server or not self.system.managed:
            return
        for pid in self.system.pids():
            try:
                pin(pid, self.plan.measure.placement.server)
            except OSError as error:
                raise PlanError(
                    f"cannot keep the server on cores {self.plan.measure.placement.server}: {error.strerror}",
                    where="measure.placement.server",
                    hint="choose cores that this machine has",
                ) from error
