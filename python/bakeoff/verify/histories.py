"""What random transactions of several sessions saw, as the engine's judges report it (crates/histories)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from ..analysis.wording import counted

#: Everything that a register of one copy has.
OF_ONE_COPY: dict[str, JsonValue] = {
    "staleness": "none",
    "guarantees": ["read-your-writes", "monotonic-reads", "monotonic-writes", "writes-follow-reads"],
    "linearizable": True,
}
#: In the order in which they are run.
NAMES = {
    "list_append": "appends to lists",
    "bank_relative": "transfers that add",
    "bank_read_modify_write": "transfers that compute",
    "staleness": "reads of old values",
    "sessions": "sessions' own past",
    "one copy": "reads as of one copy",
}


@dataclass(frozen=True)
class Judged:
    """One kind of transaction. verdict: HELD, VIOLATED, INCONCLUSIVE (too few transactions, or too few of them in
    conflict) or OBSERVED. proofs: of each violation the smallest example, as columns of statements."""

    name: str
    verdict: str
    words: str
    proofs: list[str]
    #: The strongest level that allows what was seen, "" if none does; None: nothing is known of it.
    implied: str | None = None
    #: The judge's own document, with its counts and bounds.
    report: Mapping[str, Any] = field(default_factory=dict)


def judged(evidence: Mapping[str, Any]) -> list[Judged]:
    """Of random transactions."""
    banks = ("bank_relative", "bank_read_modify_write")
    return [_lists(evidence["list_append"]), *(_bank(name, evidence[name]) for name in banks)]


def judged_reads(report: Mapping[str, Any], nodes: int) -> list[Judged]:
    """Of versions that were written and read on each node."""
    stale, guarantees = report["staleness"], report["guarantees"]
    age, window = stale["age_ns"], stale["window_ns"]
    words = f"{stale['stale']:,} of {counted(stale['reads'], 'read', 'reads')} on {counted(nodes, 'node', 'nodes')}"
    if stale["stale"]:
        behind = stale["versions_behind"]["max"]
        words += (
            f"; replaced {_ms(age['p50'])} before (at most {_ms(age['max'])}, {behind} versions behind);"
            f" windows of writes p99 {_ms(window['p99'])}, at most {_ms(window['max'])}"
        )
    if report["impossible_reads"]:
        words += f"; {report['impossible_reads']:,} reads of values that nobody had written"
    broken = []
    for one in guarantees:
        for how in ("pinned", "roving"):
            if one[how]["violations"]:
                name, count = one["guarantee"].replace("-", " "), one[how]
                broken.append(f"{name} broken in {count['violations']:,} of {count['checks']:,} ({how})")
    checks = sum(one[how]["checks"] for one in guarantees for how in ("pinned", "roving"))
    worst = max((one["verdict"] for one in guarantees), key=_WORST.index)
    proofs = list(_proofs(report["findings"])) if report["verdict"] == "VIOLATED" else []
    kept = f"kept in all of {counted(checks, 'check', 'checks')}"
    copy = report["linearizable"]
    conflicts = counted(copy["conflicts"], "pair of values", "pairs of values")
    return [
        Judged(
            "staleness", "VIOLATED" if report["impossible_reads"] else stale["verdict"], words, proofs, report=report
        ),
        Judged("sessions", worst, "; ".join(broken) or kept, []),
        Judged("one copy", copy["verdict"], f"{conflicts} of which each was there before the other", []),
    ]


_WORST = ("OBSERVED", "HELD", "INCONCLUSIVE", "VIOLATED")


def _ms(value_ns: float) -> str:
    return f"{value_ns / 1e6:,.3g} ms"


def _lists(report: Mapping[str, Any]) -> Judged:
    exposure = report["exposure"]
    found = [*report["violations"], *report["allowed"]]
    seen = ", ".join(f"{one['anomaly']} {one['count']:,}" for one in found) or "no anomaly"
    words = (
        f"{counted(exposure['committed'], 'transaction', 'transactions')} committed and {exposure['failed']:,} failed,"
        f" {exposure['in_conflict_share']:.0%} in conflict: {seen}"
    )
    implied = report["implied"] or ""
    return Judged("list_append", report["verdict"], words, list(_proofs(report["violations"])), implied, report)


def _bank(name: str, report: Mapping[str, Any]) -> Judged:
    count = counted(report["transfers"], "transfer", "transfers")
    drift = "an unknown drift" if report["drift"] is None else f"a drift of {report['drift']}"
    read = f", {report['bad_reads']:,} of {report['reads']:,} totals wrong" if name == "bank_relative" else ""
    words = f"{count} and {report['transfers_failed']:,} failed: {drift}{read}"
    violated = report["verdict"] == "VIOLATED"
    if report["accounts_wrong"]:
        words += f"; {report['accounts_wrong']} of the accounts hold another sum than their transfers make"
    proofs = list(_proofs(report["findings"])) if violated else []
    return Judged(name, report["verdict"], words, proofs, report=report)


def _proofs(findings: list[Mapping[str, Any]]) -> Iterator[str]:
    for finding in findings:
        proof = finding["proof"]
        lines = [f"{proof['title']} ({finding['count']:,} found; the smallest):"]
        for number, column in enumerate(proof["transactions"], start=1):
            lines.append(f"  T{number}, session {column['session']} on node {column['node']}, {column['outcome']}:")
            lines += [f"    {statement}" for statement in column["statements"]]
        yield "\n".join([*lines, *(f"  {reason}" for reason in proof["reasons"])])
