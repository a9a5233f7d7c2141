"""Carries experiments out on the systems of a plan, one system at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..bundle.files import make_folder
from ..errors import PlanError
from ..fleet.engine_program import listed
from ..fleet.engines import Host
from ..model.boundary import (
    Experiment,
    IsolationEvidence,
    IsolationExperiment,
    IsolationName,
    Progress,
    StalenessExperiment,
    TransactionsExperiment,
)
from ..model.isolation import allowed_anomalies, claimed_level
from ..model.resolve import ListedDriver
from ..plan.resolved import Cell, ResolvedPlan
from ..provision.instance import new_instance
from ..schedule.instance import Instance, file_name
from ..systems import SYSTEMS
from .histories import OF_ONE_COPY, Judged, judged, judged_reads
from .isolation import MEANINGS, Shown, Verdict, behaves_like, shown, verdict

#: The experiments' tables, as the engine calls them.
TABLES = ["bakeoff_isolation", "bakeoff_lists", "bakeoff_bank", "bakeoff_probe"]


@dataclass(frozen=True)
class Verified:
    """One system at one level. level: "" for the system's own default."""

    system: str
    #: What of the plan it stands for, where the system is verified with several sets of options.
    label: str
    product: str
    version: str
    level: str
    outcomes: list[Shown]
    allowed: tuple[str, ...] | None
    evidence: IsolationEvidence
    #: What random transactions saw; empty where they were not asked for.
    judged: list[Judged]

    @property
    def verdict(self) -> Verdict:
        """The worst of all."""
        own = verdict(self.outcomes, self.allowed)
        found = {own, *(one.verdict for one in self.judged)}
        return next((word for word in MEANINGS if word in found), own)

    @property
    def behaves_like(self) -> str:
        return behaves_like(self.outcomes, next((one.implied for one in self.judged), None))


@dataclass(frozen=True)
class Subject:
    """A system of the plan, with the levels to verify; a cell stands for its options."""

    cell: Cell
    levels: list[IsolationName | None]


#: Drivers of SQL whose dialect no experiment has been tried with.
_UNTRIED = ("avatica",)


def subjects(plan: ResolvedPlan, *, every_level: bool) -> tuple[list[Subject], list[str]]:
    """Each system of the plan once for each set of its options, and the systems that cannot be verified. Raises
    PlanError where none can."""
    drivers = listed("drivers", ListedDriver)
    found: dict[str, Subject] = {}
    refused = []
    for cell in plan.cells:
        driver = drivers.get(SYSTEMS[cell.record.kind].driver)
        if driver is None or not driver.experiments or driver.kind in _UNTRIED:
            refused.append(cell.record.system)
            continue
        own = cast("IsolationName | None", cell.record.isolation)
        levels = list(driver.capabilities["isolation"]) if every_level else [own]
        subject = found.setdefault(_options_of(cell), Subject(cell, []))
        subject.levels.extend(level for level in levels if level not in subject.levels)
    if not found:
        raise PlanError(
            f"{refused[0]} has no transactions in SQL, so there is no isolation to verify",
            where=f"systems.{refused[0]}",
            hint="name a system with SQL: `bakeoff systems`",
        )
    return list(found.values()), list(dict.fromkeys(refused))


def _options_of(cell: Cell) -> str:
    return f"{cell.record.system} {cell.system_options!r} {cell.record.durability}"


def verify(
    plan: ResolvedPlan,
    chosen: Sequence[Subject],
    host: Host,
    asked: Asked,
    tell: Callable[[str], None],
    *,
    work: Path | None,
) -> Iterator[Verified]:
    """Starts each managed system, verifies its levels and stops it."""
    folder = new_instance("verify", work)
    with ExitStack() as ends:
        ends.callback(folder.remove)
        for subject in chosen:
            instance = Instance(plan, subject.cell, folder.path, host, allow_drop=False, work=work)
            with ExitStack() as stops:
                stops.callback(instance.stop)
                tell(f"{subject.cell.record.system}: starting")
                instance.open()
                several = sum(one.cell.record.system == subject.cell.record.system for one in chosen) > 1
                label = subject.cell.record.label if several else subject.cell.record.system
                for number, level in enumerate(subject.levels):
                    yield _verify_level(instance, level, asked, label, tell, reads=number == 0)


@dataclass(frozen=True)
class Asked:
    """seconds: of each kind of random transaction, and of reads; 0: none. histories: the folder for them."""

    schedules: list[str]
    tries: int
    seconds: float
    histories: Path | None = None


def _verify_level(
    instance: Instance,
    level: IsolationName | None,
    asked: Asked,
    label: str,
    tell: Callable[[str], None],
    *,
    reads: bool,
) -> Verified:
    """reads: also whether old values are read, which does not depend on the level."""
    cell, system = instance.cell, instance.system
    facts = instance.facts(cell)
    name = level or facts.portable.get("isolation", "")
    allowed = allowed_anomalies(facts.product, facts.version, facts.settings, name)

    def carry_out(experiment: Experiment, parts: str) -> Any:
        def progress(at: Progress) -> None:
            tell(f"{cell.record.system} at {name or 'its own level'}: {at.done} of {at.total} {parts}")

        experiment.session_setup = list(system.lock_limit)
        with instance.own_tables(TABLES):
            return instance.phases.verify(
                instance.plan, cell, system, instance.logs, experiment, level, on_progress=progress
            ).evidence

    schedules = IsolationExperiment(schedules=asked.schedules, tries=asked.tries)
    evidence = IsolationEvidence.model_validate(carry_out(schedules, "schedules"))
    found: list[Judged] = []
    if asked.seconds:
        place = None
        if asked.histories:
            asked.histories.mkdir(parents=True, exist_ok=True)
            place = make_folder(asked.histories, f"{file_name(label)}-{name or 'default'}")
        folder = place and str(place.absolute())
        claim = claimed_level(allowed, multi_writer=system.multi_writer and len(system.nodes()) > 1)
        random = TransactionsExperiment(seconds=asked.seconds, claim=claim, folder=folder)
        found = judged(carry_out(random, "kinds of transactions"))
        if reads:
            claims = OF_ONE_COPY if system.one_copy and allowed is not None else {}
            versions = StalenessExperiment(seconds=asked.seconds, claims=claims, folder=folder)
            found += judged_reads(carry_out(versions, "parts"), len(system.nodes()))
    return Verified(
        system=cell.record.system,
        label=label,
        product=facts.product,
        version=facts.version,
        level=name,
        outcomes=[shown(one) for one in evidence.schedules],
        allowed=allowed,
        evidence=evidence,
        judged=found,
    )
