"""The whole plan: every run in its order, each written when done, everything stopped at the end in any case."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from ..analysis.wording import counted
from ..bundle.files import write_text
from ..bundle.read import Bundle
from ..bundle.resume import refuse_other_facts
from ..bundle.write import BundleWriter, utc_now
from ..errors import BakeoffError, BundleError, EngineError, PlanError, ServerError
from ..findings.limits_and_searches.limits import search_limits
from ..findings.limits_and_searches.searches import excess
from ..fleet.engines import ClientsLost, Host
from ..fleet.hosts import LocalHost
from ..interrupts import ignored
from ..model.boundary import Progress
from ..model.records.bundle import BundleInfo, FactsRecord, LoadRecord
from ..model.records.run import RunRecord, Validity, is_open
from ..model.records.verification import VerificationRecord
from ..plan.resolved import Cell, ResolvedPlan
from ..plan.search import with_levels_of
from ..plan.verify import refuse_outsiders, subjects
from . import one_run, run_record
from .instance import Data, Instance, file_name
from .machine_sharing import Others
from .run_order import Repeats, Searching, Slot, random_first_turn, schedule
from .verification import TABLES, Asked, not_applicable, verify_level

#: One failed run is an event; this many in a row are a broken set-up, and continuing would only hide it.
FAILURES_IN_A_ROW = 3


class View(one_run.Watcher):
    """What the command line shows. Every method may do nothing."""

    def begin(self, runs: int, done: int, *, at_most: bool = False) -> None:
        """at_most: a search may need fewer than `runs`."""

    def cell_added(self, cell: Cell) -> None: ...

    def repeated(self, runs: int) -> None:
        """The number of further runs, which repeat disturbed ones, in addition to those of `begin`."""

    def loading(self, cell: Cell, progress: Progress | None) -> None: ...

    def run_begins(self, slot: Slot, cell: Cell) -> None: ...

    def run_ends(self, slot: Slot, cell: Cell, record: RunRecord) -> None: ...

    def verifying(self, words: str) -> None: ...

    def verified(self, record: VerificationRecord) -> None: ...


@dataclass
class Conductor:
    """Runs one plan into one bundle. `carry_out` may be called once."""

    plan: ResolvedPlan
    writer: BundleWriter
    view: View
    allow_drop: bool = False
    work: Path | None = None
    done: dict[str, RunRecord] = field(default_factory=dict)
    #: Facts of the systems from the bundle's earlier runs: they must be the same now.
    facts: dict[str, FactsRecord] = field(default_factory=dict)
    others: Others = tuple
    host: Host = field(default_factory=LocalHost)
    _facts_written: set[str] = field(default_factory=set)
    _instances: dict[str, Instance] = field(default_factory=dict)
    #: By `load_key`.
    _data: dict[str, Data] = field(default_factory=dict)
    _loads: dict[str, LoadRecord] = field(default_factory=dict)
    #: Called before a disturbed run is repeated: it may wait until the machine is quiet.
    before_repeating: Callable[[], None] = lambda: None
    #: The first turn of this invocation, on data that other invocations have inserted into.
    _first_turn: int = field(default_factory=random_first_turn)
    _failures: int = 0
    _said: list[str] = field(default_factory=list)

    def carry_out(self) -> BundleInfo:
        """Makes every run that `done` does not have, or has as open. Returns the bundle's final state. Raises the error
        that ended it early, after everything has been stopped and the bundle says so."""
        state = "failed"
        try:
            if self.plan.verify is not None:
                subjects(self.plan)  # what it refuses is better known now than after the runs
            if self.plan.with_levels:
                self._search()
            else:
                self._make_all()
            self._verify()
            state = "complete"
        except KeyboardInterrupt:
            state = "interrupted"
            self.view.message("interrupted: stopping clients and servers")
            raise
        finally:
            with ignored():
                self._stop_all(drop=state == "complete")
                self._close(state)
        assert self.writer.info is not None
        return self.writer.info

    def _make_all(self) -> None:
        cells = {cell.record.id: cell for cell in self.plan.cells}
        slots = schedule(list(cells), self.plan.record.repetitions, self.plan.record.seed)
        repeats = Repeats(self.done.values(), self.plan.record.repeats_max)
        if kept := sum(run.state == "failed" and not run.leaves_its_place_open for run in self.done.values()):
            self.view.message(kept_words(kept))
        missing = {slot for slot in slots if repeats.is_missing(slot)}
        self.view.begin(len(slots), sum(not is_open(repeats.attempts(slot)) for slot in slots))
        for _, of_block in groupby(slots, key=lambda slot: slot.block):
            block = list(of_block)
            for slot in block:
                if slot in missing:
                    self._attempt(slot, cells[slot.cell], repeats)
            self._repeat(block, cells, repeats)
        while self._repeat(slots, cells, repeats):
            pass

    def _repeat(self, slots: Sequence[Slot], cells: Mapping[str, Cell], repeats: Repeats) -> bool:
        """Repeats each disturbed run of these while repeats are left. Returns whether it repeated any."""
        chosen = repeats.chosen(slots)
        for slot in chosen:
            self.view.repeated(1)
            self.before_repeating()
            self._attempt(slot, cells[slot.cell], repeats)
        return bool(chosen)

    def _attempt(self, slot: Slot, cell: Cell, repeats: Repeats) -> RunRecord:
        before = repeats.attempts(slot)
        record = self._one(repeats.next_attempt(slot), cell, before)
        repeats.add(record)
        return record

    def _search(self) -> None:
        """The runs so far decide the next one, however they ended: a failed run did not keep the limit, and a run that
        was disturbed in every attempt says nothing."""
        limits = search_limits(self.plan.record)
        begun = with_levels_of(self.plan, Bundle.open(self.writer.folder).plan)
        searching = Searching(begun, lambda run: excess(Bundle.open(self.writer.folder), run, limits))
        repeats = Repeats(self.done.values(), self.plan.record.repeats_max)
        there = repeats.standing()
        searching.add(there)
        self.view.begin(self.plan.record.runs_max, len(there), at_most=True)
        while found := searching.next():
            slot, cell = found
            if cell.record not in self.plan.record.cells:
                self.view.cell_added(cell)
            self._grow(searching.plan)
            record = self._attempt(slot, cell, repeats)
            while self._repeat([slot], {slot.cell: cell}, repeats):
                record = repeats.attempts(slot)[-1]
            searching.add([record])
        self.plan = searching.plan  # where no run was left to make, its levels are those of the bundle

    def _grow(self, plan: ResolvedPlan) -> None:
        """The same plan with one more cell, which is written before the cell has runs."""
        self.plan = plan
        self.writer.plan(plan.record)
        for key, load in self._loads.items():
            theirs = [cell.record.id for cell in plan.cells if cell.load_key == key]
            self.writer.load(file_name(key), load.model_copy(update={"cells": theirs}))

    def _one(self, slot: Slot, cell: Cell, before: Sequence[RunRecord] = ()) -> RunRecord:
        """before: earlier attempts at the same run."""
        started = utc_now()
        self.view.run_begins(slot, cell)
        try:
            instance = self._instance(cell)
            record = one_run.make(slot, cell, self.plan, instance, self.writer, self.view, self.others)
            if lost := [earlier for earlier in before if earlier.state == "failed"]:
                record.validity.append(repeated_after(lost[-1]))
                self.writer.run_result(record)
            self._failures = 0
        except BakeoffError as error:
            if self._is_final(error):
                raise
            record = run_record.failed(slot, started, error, self.plan)
            self.writer.run_result(record)
            self._failures += 1
            self.view.run_ends(slot, cell, record)
            if self._failures >= FAILURES_IN_A_ROW:
                raise
            return record
        self.view.run_ends(slot, cell, record)
        return record

    def _verify(self) -> None:
        """Checks what the systems promise, once for each set of options and level. Nothing is measured afterwards, so
        no run is affected. What could not be checked is reported, and left to --resume."""
        if self.plan.verify is None:
            return
        there = Bundle.open(self.writer.folder).verifications
        said = self.plan.verify.model_dump(exclude={"probe"}, exclude_none=True)
        for subject in sorted(subjects(self.plan), key=lambda one: not self._runs(one.cell)):
            cells = [cell.record.id for cell in subject.cells]
            known = next((record for record in there if set(record.cells) & set(cells)), None)
            if known is not None:
                more = [cell for cell in cells if cell not in known.cells]  # the plan has grown
                record = known.model_copy(update={"cells": [*known.cells, *more]})
            elif subject.why_not:
                record = not_applicable(subject)
            else:
                try:
                    instance = self._instance(subject.cell)
                    instance.start()
                    asked = Asked.by_plan(self.plan, subject, self.plan.verify)
                    record = verify_level(instance, subject, asked, self.view.verifying)
                    record.asked = said
                except (ServerError, EngineError) as error:
                    self._say(f"{subject.label} could not be verified: {error}; --resume tries it again")
                    continue
            self.writer.verification(record)
            if known is None:
                self.view.verified(record)

    def _runs(self, cell: Cell) -> bool:
        """Its servers, which need no start then."""
        instance = self._instances.get(cell.instance_key)
        return instance is not None and instance.system.managed and instance.system.alive()

    def _is_final(self, error: BakeoffError) -> bool:
        """Whether the next run makes no sense: the plan is wrong, or the bundle cannot be written or continued, or this
        system has never worked (lost clients do not show that)."""
        if isinstance(error, ClientsLost):
            return False
        return isinstance(error, PlanError | BundleError) or type(error) is BakeoffError or not any(self._loaded())

    def _loaded(self) -> Iterator[Instance]:
        return (i for i in self._instances.values() if i.loaded)

    def _instance(self, cell: Cell) -> Instance:
        """The loaded instance for a cell, after every other managed server has been stopped: one at a time runs."""
        for key, other in self._instances.items():
            if key != cell.instance_key and other.system.managed and other.system.alive():
                other.system.stop()
        instance = self._instances.get(cell.instance_key)
        if instance is None or not instance.loaded:
            if instance is not None:
                instance.stop()
            instance = Instance(
                self.plan, cell, self.writer.folder, self.host, allow_drop=self.allow_drop, work=self.work
            )
            self._instances[cell.instance_key] = instance
            if any(fault.do == "skew" for fault in cell.record.faults):
                instance.lend_clocks()
            self._give_data(cell, instance)
            if self.plan.verify is not None:
                refuse_outsiders(instance.system)
                instance.refuse_taken(TABLES)
        if cell.record.id not in self._facts_written:
            self._write_facts(cell, instance)
        return instance

    def _give_data(self, cell: Cell, instance: Instance) -> None:
        """Loads or checks the data, once for all systems whose bytes are the same."""
        self.view.loading(cell, None)
        if (data := self._data.get(cell.load_key)) and instance.take(data):
            return
        theirs = {c.record.id for c in self.plan.cells if c.load_key == cell.load_key}
        before = [run for run in self.done.values() if run.cell in theirs]
        if cell.data == "existing":
            load = instance.find(before, self._first_turn, self._say)
        else:
            if before and cell.reset == "none":
                self._say(
                    f"{cell.record.system} is reloaded: the next run does not start with the data that the last"
                    " one left"
                )
            load = instance.load(lambda progress: self.view.loading(cell, progress))
        self.writer.load(file_name(cell.load_key), load)
        self._loads[cell.load_key] = load
        if instance.data:
            self._data[cell.load_key] = instance.data

    def _write_facts(self, cell: Cell, instance: Instance) -> None:
        """Writes the system's facts, once for each cell."""
        instance.start()
        facts = instance.facts(cell)
        if before := self.facts.get(cell.record.id):
            refuse_other_facts(before, facts, cell.record.label, self.writer.folder)
        else:
            self.writer.facts(cell.record.id, facts)
        self._facts_written.add(cell.record.id)

    def _stop_all(self, *, drop: bool) -> None:
        for instance in self._instances.values():
            try:
                if left := instance.leave(drop=drop and self.allow_drop):
                    self.view.message(left)
            except BakeoffError as error:
                self._say(f"tables created on {instance.cell.record.system} could not be removed: {error}")
            try:
                self._keep_log(instance)
            finally:
                instance.stop()

    def _keep_log(self, instance: Instance) -> None:
        text = instance.system.log_tail(2000)
        if text:
            try:
                write_text(instance.logs, "server.log", text)
            except BakeoffError as error:
                self._say(str(error))

    def _say(self, words: str) -> None:
        """Shown now, and kept for the report."""
        self.view.message(words)
        self._said.append(words)

    def _close(self, state: str) -> None:
        info = self.writer.info
        if info is None:
            return
        try:
            said = [*info.messages, *self._said]
            self.writer.update(info.model_copy(update={"state": state, "finished": utc_now(), "messages": said}))
        except BakeoffError as error:
            self.view.message(str(error))


def kept_words(failed: int) -> str:
    runs = counted(failed, "run with a failure of its system is", "runs with failures of their systems are")
    return (
        f"{runs} not repeated: repeating until a system works would compare only the runs that it survived;"
        " start a new bundle (without --resume)"
    )


def repeated_after(lost: RunRecord) -> Validity:
    """Whether infrastructure lost this attempt: no other failure is repeated."""
    words = f"repeated: an earlier attempt failed for a reason outside the system ({lost.failure})"
    return Validity(name="attempts", severity="note", ok=False, words=words)
