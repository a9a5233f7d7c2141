"""Bundles of plans that verify, with made-up evidence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bakeoff.bundle.read import Bundle
from bakeoff.bundle.write import BundleWriter
from bakeoff.model.boundary import ScheduleEvidence, ScheduleTry, StepAnswer, StepEvidence
from bakeoff.model.reads import ReadsReport
from bakeoff.model.records.verification import JudgedRecord, Proof, ProofColumn, VerificationRecord
from bakeoff.verify.isolation import SCHEDULES

from .bundles import MARIADB, SQLITE, Story, write_bundle

PAIR = Story(contenders=(MARIADB, SQLITE), threads=(8,), presets=("a",), window_s=2, warm_up_s=0, noise=0.01)
UPDATES = [
    StepEvidence(
        session=1,
        statement="SELECT id, value FROM bakeoff_isolation WHERE id = 1",
        blocked=False,
        answer=StepAnswer(kind="rows", rows=[(1, 10)]),
    ),
    StepEvidence(
        session=2,
        statement="UPDATE bakeoff_isolation SET value = 12 WHERE id = 1",
        blocked=True,
        answer=StepAnswer(kind="error", code="1213", message="Deadlock found"),
    ),
]
CIRCLE = Proof(
    title="G1c: a circle of writes and reads",
    count=7,
    transactions=[
        ProofColumn(session=3, node=0, outcome="ok", statements=["append 5 to key 3", "read key 4: [6]"]),
        ProofColumn(session=1, node=0, outcome="ok", statements=["append 6 to key 4"]),
    ],
    reasons=["T2 read what T1 wrote, and T1 what T2 wrote"],
)


def schedule(name: str, *, seen: bool) -> ScheduleEvidence:
    tried = ScheduleTry(anomaly=seen, committed=2, transactions=2, steps=UPDATES, rows=[(1, 12)])
    return ScheduleEvidence(name=name, tries=[tried])


def lists(verdict: str = "HELD", *proofs: Proof) -> JudgedRecord:
    said: dict[str, Any] = {"name": "list_append", "verdict": verdict, "words": "2,100 transactions committed"}
    return JudgedRecord(**said, proofs=list(proofs), implied="serializable", report={"exposure": {"committed": 2_100}})


def under_load(verdict: str = "OBSERVED", findings: Sequence[dict[str, Any]] = (), **stale: Any) -> ReadsReport:
    """stale: of the reads next to the load of a run."""
    nothing = {"reads": 0, "exposed": 0, "exposed_min": 10_000, "stale": 0, "age_ns": {"p99": 0, "max": 0}}
    report = {"verdict": verdict, "impossible_reads": 0, "findings": findings, "staleness": nothing | stale}
    return ReadsReport.model_validate(report)


def checked(
    *cells: str, system: str = "mariadb", seen: Sequence[str] = (), judged: Sequence[JudgedRecord] = (), **said: Any
) -> VerificationRecord:
    """seen: anomalies that happened, at a level that excludes all unless `allowed` says otherwise."""
    schedules = [schedule(name, seen=name in seen) for name in SCHEDULES]
    own = {"product": "MariaDB", "version": "10.11.6", "level": "serializable", "allowed": [], "schedules": schedules}
    return VerificationRecord(**{"cells": list(cells), "system": system, "label": system, **own, **said}, judged=judged)


def verifying(folder: Path, *records: VerificationRecord, story: Story = PAIR) -> Bundle:
    """The bundle of a plan that asks for checks, with these in it."""
    bundle = write_bundle(folder, story)
    resolved = {**bundle.plan.resolved, "verify": {"seconds": 6.0, "tries": 3, "schedules": []}}
    writer = BundleWriter(folder)
    writer.plan(bundle.plan.model_copy(update={"resolved": resolved}))
    for record in records:
        writer.verification(record)
    return Bundle.open(folder)
