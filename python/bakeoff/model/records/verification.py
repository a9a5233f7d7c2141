"""What experiments showed of one system at one level of isolation, as a bundle holds it: evidence, and what it was
compared with. verify/verdicts.py says what follows from it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from ..boundary import Document, ScheduleEvidence
from ..faults import FaultRecord
from .bundle import BUNDLE_FORMAT
from .plan import PlanRecord

Verdict = Literal["VIOLATED", "INCONCLUSIVE", "HELD", "OBSERVED"]
#: Of a system that no experiment can be tried on.
NOT_APPLICABLE: Literal["N/A"] = "N/A"


class ProofColumn(Document):
    """A transaction: what it sent and was answered."""

    session: int
    node: int
    outcome: str
    statements: list[str]


class Proof(Document):
    """The smallest example of one kind of violation. count: how many were found. reasons: why these transactions cannot
    all be as the level promises."""

    title: str
    count: int
    transactions: list[ProofColumn]
    reasons: list[str]


class JudgedRecord(Document):
    """One kind of random transaction, or one question about reads. verdict: HELD, VIOLATED, INCONCLUSIVE (too few
    transactions, or too few of them in conflict) or OBSERVED."""

    name: str
    verdict: Verdict
    words: str
    proofs: list[Proof] = Field(default_factory=list)
    #: The strongest level that allows what was seen, "" if none does; None: nothing is known of it.
    implied: str | None = None
    #: The judge's own document, with its counts and bounds.
    report: dict[str, JsonValue] = Field(default_factory=dict)


class VerificationRecord(Document):
    """cells: those with these options at this level; the file has the name of the first. label: the system, and what
    distinguishes these cells from its others."""

    format: int = BUNDLE_FORMAT
    cells: list[str] = Field(min_length=1)
    system: str
    label: str
    #: Why no experiment was tried; "": all were.
    not_applicable: str = ""
    product: str = ""
    version: str = ""
    level: str = ""  # "": its own, whose name is not known
    #: Anomalies that the vendor's words do not exclude; None: nobody knows.
    allowed: list[str] | None = None
    schedules: list[ScheduleEvidence] = Field(default_factory=list)
    #: Empty where random transactions were not asked for.
    judged: list[JudgedRecord] = Field(default_factory=list)
    #: While random transactions ran, and the seed from which they were drawn.
    faults: list[FaultRecord] = Field(default_factory=list)
    seed: int = 0
    #: What the plan's [verify] said of these checks; None: not known, or nothing was to be tried.
    asked: dict[str, JsonValue] | None = None
    elapsed_s: float = 0.0

    def is_asked_by(self, plan: PlanRecord) -> bool:
        """Whether the plan, which may have changed since, asks for the same checks."""
        said = plan.resolved.get("verify")
        if self.asked is None or not isinstance(said, dict):
            return self.asked is None
        return self.asked == {name: value for name, value in said.items() if name != "probe"}
