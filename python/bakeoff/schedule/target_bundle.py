"""The bundle that runs are written into: a new one, or one that is continued."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from .. import __version__
from ..bundle import RESULTS
from ..bundle.read import Bundle, unverified
from ..bundle.results_folder import discard, empty, has_no_run
from ..bundle.resume import Present, hashes, judged_by
from ..bundle.write import BundleWriter, folder_at, hold, new_folder, utc_now
from ..errors import BakeoffError, BundleError, PlanError
from ..fleet.engine_program import engine_sha256
from ..machine import machine_facts
from ..model.records.bundle import BundleInfo, FactsRecord, MachineFacts
from ..model.records.plan import PlanRecord
from ..model.records.run import RunRecord
from ..plan.dry_run.estimates import bundle_bytes, disk_bytes
from ..plan.machines import check_disk
from ..plan.resolved import ResolvedPlan
from ..plan.search import with_levels_of
from ..provision.instance import default_parent
from .run_order import Repeats, schedule


@dataclass(frozen=True)
class Target:
    """What the command line says. out: its folder; results: the folder to create it in. resume: the bundle to continue,
    or "latest". disturbed: whether such runs count, those of the bundle that is continued included. labels: what its
    maker calls it."""

    out: Path | None = None
    results: Path | None = None
    resume: str | Path | None = None
    disturbed: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def place(self) -> Path:
        """Its folder if that is named, else the folder to create it in."""
        return self.out or self.results or RESULTS

    def begin(
        self,
        plan: ResolvedPlan,
        command: str,
        sources: Iterable[Path],
        held: ExitStack,
        *,
        work: Path | None,
    ) -> tuple[BundleWriter, dict[str, RunRecord], dict[str, FactsRecord]]:
        """Locked, with its existing runs and facts of systems. command: recorded as the one that created
        it; sources: files that it keeps besides those of workloads."""
        work = work or default_parent()
        check_disk(bundle_bytes(plan), self.place, "--out")
        check_disk(disk_bytes(plan), work, "--work-dir")
        machine = machine_facts(work)
        info = BundleInfo(
            bakeoff_version=__version__,
            created=utc_now(),
            title=plan.record.title,
            state="running",
            command=command,
            demonstration=plan.record.demonstration,
            skipped=plan.skipped,
            engine_sha256=engine_sha256(),
            inputs=hashes(plan.inputs),
            allow_disturbed=self.disturbed,
            labels=dict(self.labels),
        )
        folder = self.to_continue(plan) if self.resume else self.out
        again = folder is not None and has_no_run(folder)
        if folder is not None and self.resume and not again:
            plan = with_levels_of(plan, Bundle.open(folder).plan)
            writer = BundleWriter(folder)
            held.enter_context(hold(folder, plan.record.title))
            bundle = writer.resume(Present(plan.record, plan.skipped, machine, info), plan.text)
            done, facts = {r.id: r for r in bundle.attempts}, bundle.facts
        else:
            if folder is None or not again:
                folder = folder_at(self.out) if self.out else new_folder(self.place, plan.record.title)
            writer = BundleWriter(folder)
            held.enter_context(_gone_if_refused(writer))
            held.enter_context(hold(folder, plan.record.title))
            if again:  # whatever its plan was, it has measured nothing
                empty(folder)
            writer.begin(info, plan.record, plan.text, machine)
            done, facts = {}, {}
        writer.keep_files({path for cell in plan.cells for path in cell.workload.sources} | {*sources})
        return writer, done, facts

    def with_runs_there(self, plan: ResolvedPlan) -> tuple[ResolvedPlan, Counter[str]]:
        """The plan as it would be continued, without checks that are whole, and by cell the runs that exist already and
        are not repeated; none of a new bundle."""
        bundle = Bundle.open(self.to_continue(plan)) if self.resume else None
        if bundle is None or not bundle.runs:
            return plan, Counter()
        standing = self._repeats(bundle, plan.record).standing()
        found = with_levels_of(plan, bundle.plan)
        if not unverified(found.record, bundle):
            found = replace(found, verify=None)
        return found, Counter(run.cell for run in standing if run.state == "done")

    def is_whole(self, plan: ResolvedPlan) -> bool:
        """Whether the bundle to continue has everything already. (The runs of a search decide what is left of it.)"""
        if not self.resume or plan.record.search:
            return False
        return not self._lacks_anything(plan.record, Bundle.open(self.to_continue(plan)))

    def to_continue(self, plan: ResolvedPlan, *, lacking: bool = True) -> Path:
        """lacking: if none is named, only a bundle that lacks runs of the plan."""
        if self.resume != "latest" and self.out:
            raise PlanError("--resume BUNDLE and --out name a bundle each", hint="leave one out: --resume --out BUNDLE")
        if self.resume == "latest" and not self.out:
            return self._newest(plan, lacking=lacking)
        return Bundle.open(self.out or self.resume or "").folder

    def whole(self, plan: ResolvedPlan, machine: MachineFacts | None = None) -> Iterator[Bundle]:
        """Those that have every run of this plan, made from the same files, with the same prices and error budget, by
        whichever bakeoff; newest first. machine: made on one like it; None: on any."""
        inputs = hashes(plan.inputs)
        for bundle, here in self._of_plan(plan):
            changed = any(inputs.get(name, was) != was for name, was in bundle.info.inputs.items())
            elsewhere = machine is not None and (here.fleet != bundle.plan.fleet or _differs(machine, bundle.machine))
            complete = bundle.info.state == "complete" and not self._lacks_anything(here, bundle)
            if complete and not changed and not elsewhere and not _judged_otherwise(here, bundle.plan):
                yield bundle

    def _of_plan(self, plan: ResolvedPlan) -> Iterator[tuple[Bundle, PlanRecord]]:
        """Bundles of this plan, which may have grown since, newest first; with the plan as each would be continued."""
        for info in sorted(self.place.glob("*/bundle.json"), key=lambda p: p.stat().st_mtime, reverse=True):
            try:
                bundle = Bundle.open(info.parent)
                text = bundle.plan_text()
            except BundleError:
                continue  # damaged, or of another version: not the one to continue
            here = with_levels_of(plan, bundle.plan).record
            then, now = ({cell.id for cell in record.cells} for record in (bundle.plan, here))
            grows = bundle.info.title == plan.record.title and (then <= now or has_no_run(info.parent))
            if text == plan.text or grows:
                yield bundle, here

    def _newest(self, plan: ResolvedPlan, *, lacking: bool) -> Path:
        """lacking: of those that lack runs of the plan."""
        for bundle, here in self._of_plan(plan):
            then, now = ({cell.id for cell in record.cells} for record in (bundle.plan, here))
            grown = now > then or here.repetitions > bundle.plan.repetitions
            otherwise = _judged_otherwise(here, bundle.plan)
            lacks = unverified(here, bundle) if here.search else self._lacks_anything(here, bundle)
            unfinished = bundle.info.state != "complete" or bool(lacks)
            if grown or otherwise or unfinished or not lacking:
                return bundle.folder
        raise BundleError(
            f"there is no {'unfinished ' if lacking else ''}bundle of this plan in {self.place}",
            hint="name the bundle: --resume BUNDLE, or run without --resume",
        )

    def _lacks_anything(self, record: PlanRecord, bundle: Bundle) -> bool:
        """Whether it lacks runs, repeats included, or checks of its systems."""
        slots = schedule([cell.id for cell in record.cells], record.repetitions, record.seed)
        repeats = self._repeats(bundle, record)
        lacks_runs = any(repeats.is_missing(slot) for slot in slots) or bool(repeats.chosen(slots))
        return lacks_runs or bool(unverified(record, bundle))

    def _repeats(self, bundle: Bundle, record: PlanRecord) -> Repeats:
        return Repeats(judged_by(bundle.attempts, allow_disturbed=self.disturbed), record.repeats_max)


def _judged_otherwise(here: PlanRecord, then: PlanRecord) -> bool:
    """Whether the same runs mean something else now: by another error budget, or other prices."""
    prices = {cell.id: cell.prices for cell in here.cells}
    return here.error_budget_ratio != then.error_budget_ratio or any(
        prices.get(cell.id) != cell.prices for cell in then.cells
    )


def _differs(one: MachineFacts, other: MachineFacts) -> bool:
    return (one.cpu_model, one.cores) != (other.cpu_model, other.cores)


@contextmanager
def _gone_if_refused(writer: BundleWriter) -> Iterator[None]:
    """Removes a new bundle if its plan is refused before anything was done."""
    try:
        yield
    except BakeoffError as error:
        if writer.is_left_empty_by(error):
            with suppress(OSError, BakeoffError):
                discard(writer.folder)
                RESULTS.rmdir()  # unless others are in it
        raise
