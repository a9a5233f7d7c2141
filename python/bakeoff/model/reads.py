"""What the engine's judge (crates/histories) reports of versions that were written and read: the part that is used
here. The rest of the document is kept as it is."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow")


class Ages(_Part):
    """Of the stale reads: how long each value had been replaced, ns."""

    p99: int
    max: int


class StaleReads(_Part):
    """exposed: reads that began within 50 ms after a write of their key; fewer than `exposed_min` decide nothing."""

    reads: int
    exposed: int
    exposed_min: int
    stale: int
    age_ns: Ages


class Column(_Part):
    session: int
    node: int
    outcome: str
    statements: list[str]


class Example(_Part):
    title: str
    transactions: list[Column]
    reasons: list[str]


class Finding(_Part):
    """One kind of anomaly, with the smallest example. count: how many were found."""

    count: int
    proof: Example


class ReadsReport(_Part):
    verdict: Literal["VIOLATED", "INCONCLUSIVE", "HELD", "OBSERVED"]
    impossible_reads: int
    staleness: StaleReads
    findings: list[Finding]
