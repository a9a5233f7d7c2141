"""Carries experiments out on a system that runs, and keeps what they showed: those of `bakeoff verify`, and those that
a plan asks for after its runs or next to them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from ..bundle.files import make_folder
from ..errors import BakeoffError
from ..fleet.engines import Host
from ..model.boundary import (
    ConvergenceExperiment,
    IsolationEvidence,
    IsolationExperiment,
    Progress,
    SqlExperiment,
    StalenessExperiment,
    StalenessProbeSpec,
    TransactionsExperiment,
)
from ..model.isolation import claimed_level
from ..model.levels import settings_of_sessions
from ..model.records.verification import JudgedRecord, VerificationRecord
from ..plan.document.tables import VerifyTable
from ..plan.resolved import Cell, ResolvedPlan
from ..plan.verify import Span, Subject, has_sql, promised, refuse_outsiders, span, why_not
from ..provision.instance import new_instance
from ..provision.server import LOG_KEPT
from ..systems.base import System
from ..verify.faults import WantedFaults, claim_after, may_lose
from ..verify.histories import CLAIMS_ON_READS, judged, judged_convergence, judged_reads
from .faults_meanwhile import FaultsMeanwhile
from .instance import Instance, file_name
from .phases import home

#: The table of the sessions that look for old reads, and those of all experiments, as the engine calls them.
PROBE_TABLE = "bakeoff_probe"
TABLES = ["bakeoff_isolation", "bakeoff_lists", "bakeoff_bank", PROBE_TABLE]
#: More than of several nodes, whose share of old reads depends on how often keys are written: one is a control.
OF_ONE_NODE = {"writes_per_s": 1500.0, "reads_per_s": 3000.0}
#: Of a log that nobody keeps.
_LOG_LINES = 10

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Asked:
    """span: of each kind of random transaction, and of reads; 0 s: none. schedules: empty: all. histories: the folder
    for them. faults: while random transactions run. only_transactions: nothing but those."""

    span: Span
    schedules: list[str] = field(default_factory=list)
    tries: int = 3
    histories: Path | None = None
    faults: WantedFaults = field(default_factory=WantedFaults)
    only_transactions: bool = False

    @classmethod
    def by_plan(cls, plan: ResolvedPlan, subject: Subject, said: VerifyTable) -> Asked:
        return cls(span(plan, subject, said), list(dict.fromkeys(said.schedules)), said.tries)


def verify(
    plan: ResolvedPlan, chosen: Sequence[Subject], host: Host, asked: Asked, tell: Tell, *, work: Path | None
) -> Iterator[VerificationRecord]:
    """Starts each managed system, verifies its levels and stops it."""
    folder = new_instance("verify", work)
    with ExitStack() as ends:
        ends.callback(folder.remove)
        for _, of_one in groupby(chosen, key=lambda subject: subject.key):
            levels = list(of_one)
            instance = Instance(plan, levels[0].cell, folder.path, host, allow_drop=False, work=work)
            with ExitStack() as stops:
                stops.callback(instance.stop)
                with log_shown(instance.system):
                    tell(f"{levels[0].label}: starting")
                    if "skew" in asked.faults.kinds:
                        instance.lend_clocks()
                    instance.open()
                    refuse_outsiders(instance.system)
                    for subject in levels:
                        yield verify_level(instance, subject, asked, tell)


def verify_level(instance: Instance, subject: Subject, asked: Asked, tell: Tell) -> VerificationRecord:
    """The instance runs. Its own tables are not touched."""
    began = time.monotonic()
    system, facts = instance.system, instance.facts(subject.cell)
    level = subject.level or _level(instance, subject.cell)
    allowed = _allowed(instance, subject.cell, level)
    faults = FaultsMeanwhile(instance, asked.faults, asked.span.seconds)

    def carry_out(experiment: SqlExperiment, parts: str, notice: Callable[[Progress], None] = lambda _: None) -> Any:
        def progress(at: Progress) -> None:
            notice(at)
            if at.total:  # else nodes are waited for
                tell(f"{subject.label} at {level or 'its own level'}: {at.done} of {at.total} {parts}")

        random = isinstance(experiment, TransactionsExperiment)
        experiment.session_setup = list(system.deadlock_limit if random else system.lock_limit)
        with instance.own_tables(TABLES):
            return instance.phases.verify(
                instance.plan, subject.cell, system, instance.logs, experiment, subject.level, on_progress=progress
            ).evidence

    evidence = IsolationEvidence(schedules=[])
    if subject.has_sql and not asked.only_transactions:
        schedules = IsolationExperiment(schedules=asked.schedules, tries=asked.tries)
        evidence = IsolationEvidence.model_validate(carry_out(schedules, "schedules"))
    found: list[JudgedRecord] = []
    if asked.span.seconds:
        nodes, timed = len(system.nodes()), asdict(asked.span)
        folder = _histories(asked, f"{file_name(subject.label)}-{level or 'default'}")
        if subject.has_sql:
            claim = claimed_level(allowed, multi_writer=system.multi_writer and nodes > 1)
            random = TransactionsExperiment(
                **timed,
                claim=claim_after(claim, asked.faults, facts.portable),
                folder=folder,
                nodes_back_within_s=faults.nodes_back_within_s,
            )
            with faults:
                found = judged(carry_out(random, "seconds of transactions", faults.notice))
        if subject.first and not (asked.only_transactions and subject.has_sql):
            claims = _claims_on_reads(system, allowed, has_sql=subject.has_sql)
            rates = OF_ONE_NODE if nodes == 1 else {}
            versions = StalenessExperiment(**timed, **rates, claims=claims, folder=folder)
            if subject.has_sql:
                found += judged_reads(carry_out(versions, "seconds of reads"), nodes)
            else:
                wrong_clock = system.relies_on_clocks and "skew" in asked.faults.kinds
                if wrong_clock or may_lose(asked.faults, facts.portable):
                    versions.claims = CLAIMS_ON_READS[""]
                with faults:
                    found += judged_reads(carry_out(versions, "seconds of reads", faults.notice), nodes)
            if nodes > 1:
                rounds = ConvergenceExperiment(**timed)
                found.append(judged_convergence(carry_out(rounds, "rows"), nodes, has_sql=subject.has_sql))
    return VerificationRecord(
        **_of(subject),
        product=facts.product,
        version=facts.version,
        level=level,
        allowed=None if allowed is None else list(allowed),
        schedules=evidence.schedules,
        judged=found,
        faults=faults.records,
        seed=asked.faults.seed,
        elapsed_s=time.monotonic() - began,
    )


def not_applicable(subject: Subject) -> VerificationRecord:
    """Of a system that no experiment can be tried on."""
    return VerificationRecord(**_of(subject), not_applicable=subject.why_not, level=subject.level or "")


def _of(subject: Subject) -> dict[str, Any]:
    cells = [cell.record.id for cell in subject.cells]
    return {"cells": cells, "system": subject.cell.record.system, "label": subject.label}


def _histories(asked: Asked, name: str) -> str | None:
    if asked.histories is None:
        return None
    asked.histories.mkdir(parents=True, exist_ok=True)
    return str(make_folder(asked.histories, name).absolute())


@contextmanager
def log_shown(system: System) -> Iterator[None]:
    """An error that names a log in a bundle shows the end of that log instead: there is no bundle."""
    try:
        yield
    except BakeoffError as error:
        if LOG_KEPT in error.hint:
            said = "".join(f"\n    {line}" for line in system.log_tail(_LOG_LINES).splitlines() if line.strip())
            rest = error.hint.replace(LOG_KEPT, "").strip("; ")
            error.hint = "\n  ".join(filter(None, (rest, f"the server's log ends with:{said or ' nothing'}")))
        raise


def staleness_probe(plan: ResolvedPlan, cell: Cell, instance: Instance) -> StalenessProbeSpec | None:
    """The engine's document for the sessions next to a run's load that look for old reads; None where the plan does not
    ask for them, or the system has none. The system runs. Raises ServerError."""
    if plan.verify is None or not plan.verify.probe or why_not(cell):
        return None
    system = instance.system
    if system.capabilities().embedded and not has_sql(cell):  # one open file, which the load has
        return None
    allowed = _allowed(instance, cell, _level(instance, cell))
    return StalenessProbeSpec(
        writers="any" if system.multi_writer else home(system),
        claims=_claims_on_reads(system, allowed, has_sql=has_sql(cell)),
        session_setup=list(system.lock_limit),
    )


def _level(instance: Instance, cell: Cell) -> str:
    """Of isolation, or of consistency where there is no SQL; "" where it has no name."""
    portable = instance.facts(cell).portable
    if has_sql(cell):
        return portable.get("isolation", "")
    return f"consistency {portable['consistency']}" if "consistency" in portable else ""


def _claims_on_reads(system: System, allowed: tuple[str, ...] | None, *, has_sql: bool) -> dict[str, JsonValue]:
    """Of SQL it is known what vendors promise; without it only what the servers are that bakeoff has started."""
    is_known = allowed is not None if has_sql else system.managed
    return CLAIMS_ON_READS[system.promise_of_reads if is_known else ""]


def _allowed(instance: Instance, cell: Cell, level: str) -> tuple[str, ...] | None:
    """None where nobody knows, or there is no SQL."""
    if not has_sql(cell):
        return None
    facts = instance.facts(cell)
    return promised(cell, facts, settings_of_sessions(instance.plan.record, cell.record, facts), level)
