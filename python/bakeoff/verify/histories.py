"""What the engine's judges (crates/histories) report of random transactions, of reads, and of whether nodes agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from ..analysis.wording import counted, duration_words, percent_words
from ..model.boundary import StalenessProbe
from ..model.isolation import ReadPromise
from ..model.records.verification import JudgedRecord, Proof, ProofColumn

#: What the judge takes as claimed, by what a system promises.
CLAIMS_ON_READS: dict[ReadPromise, dict[str, JsonValue]] = {
    "one copy": {
        "staleness": "none",
        "guarantees": ["read-your-writes", "monotonic-reads", "monotonic-writes", "writes-follow-reads"],
        "linearizable": True,
    },
    "newest": {"staleness": "none", "guarantees": ["read-your-writes"]},
    "": {},
}


#: In the order in which they are run.
NAMES = {
    "list_append": "appends to lists",
    "bank_relative": "transfers that add",
    "bank_read_modify_write": "transfers that compute",
    "staleness": "reads of old values",
    "sessions": "sessions' own past",
    "one copy": "reads as of one copy",
    "convergence": "nodes agree",
    "under load": "reads under load",
}
#: What contradicts each property, of one and of several.
_BROKEN = {
    "delivery": ("acknowledged write is missing", "acknowledged writes are missing"),
    "termination": ("write had no outcome", "writes had no outcome"),
    "validity": ("value was written by nobody", "values were written by nobody"),
    "convergence": ("row differs", "rows differ"),
}


def judged(evidence: Mapping[str, Any]) -> list[JudgedRecord]:
    """Of random transactions."""
    banks = ("bank_relative", "bank_read_modify_write")
    return [_lists(evidence["list_append"]), *(_bank(name, evidence[name]) for name in banks)]


def judged_reads(report: Mapping[str, Any], nodes: int) -> list[JudgedRecord]:
    """Of versions that were written and read on each node."""
    stale, guarantees = report["staleness"], report["guarantees"]
    age, window = stale["age_ns"], stale["window_ns"]
    words = f"{stale['stale']:,} of {counted(stale['reads'], 'read', 'reads')} on {counted(nodes, 'node', 'nodes')}"
    if stale["stale"]:
        behind = stale["versions_behind"]["max"]
        words += (
            f"; replaced {duration_words(age['p50'])} before (at most {duration_words(age['max'])}, {behind} versions"
            f" behind); windows of writes p99 {duration_words(window['p99'])}, at most {duration_words(window['max'])}"
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
    proofs = _proofs(report["findings"]) if report["verdict"] == "VIOLATED" else []
    kept = f"kept in all of {counted(checks, 'check', 'checks')}"
    copy = report["linearizable"]
    conflicts = counted(copy["conflicts"], "pair of values", "pairs of values")
    own = "VIOLATED" if report["impossible_reads"] else stale["verdict"]
    there = f"{conflicts} of which each was there before the other"
    return [
        JudgedRecord(name="staleness", verdict=own, words=words, proofs=proofs, report=dict(report)),
        JudgedRecord(name="sessions", verdict=worst, words="; ".join(broken) or kept),
        JudgedRecord(name="one copy", verdict=copy["verdict"], words=there),
    ]


def judged_under_load(probes: Sequence[StalenessProbe]) -> JudgedRecord | None:
    """Of the probes next to several runs of one system, together; None where there were none."""
    reports = [probe.report for probe in probes if probe.report is not None]
    troubles = dict.fromkeys(trouble for probe in probes for trouble in probe.troubles)
    if not reports:
        words = "; ".join(["nothing was seen", *troubles])
        return JudgedRecord(name="under load", verdict="INCONCLUSIVE", words=words) if probes else None
    found = [report.staleness for report in reports]
    stale, exposed = sum(one.stale for one in found), sum(one.exposed for one in found)
    reads, nodes = sum(one.reads for one in found), max(probe.sessions for probe in probes)
    words = f"{stale:,} of {counted(reads, 'read', 'reads')} on {counted(nodes, 'node', 'nodes')}"
    if stale:
        p99_ns, max_ns = max(one.age_ns.p99 for one in found), max(one.age_ns.max for one in found)
        words += (
            f"; 99 % of them replaced at most {duration_words(p99_ns)} before, all at most {duration_words(max_ns)}"
        )
    elif exposed:
        share = percent_words(min(1.0, 3 / exposed))
        words += f"; with 95 % confidence at most {share} of the reads within 50 ms after a write"
    if impossible := sum(report.impossible_reads for report in reports):
        words += f"; {impossible:,} reads of values that nobody had written"
    verdict = max((report.verdict for report in reports), key=_WORST.index)
    if verdict in ("HELD", "INCONCLUSIVE"):
        verdict = "HELD" if exposed >= found[0].exposed_min else "INCONCLUSIVE"
    broken = next((report for report in reports if report.verdict == "VIOLATED"), None)
    return JudgedRecord(
        name="under load",
        verdict=verdict,
        words="; ".join([words, *troubles]),
        proofs=_proofs([one.model_dump() for one in broken.findings]) if broken else [],
    )


_WORST = ("OBSERVED", "HELD", "INCONCLUSIVE", "VIOLATED")


def _lists(report: Mapping[str, Any]) -> JudgedRecord:
    exposure = report["exposure"]
    found = [*report["violations"], *report["allowed"]]
    seen = ", ".join(f"{one['anomaly']} {one['count']:,}" for one in found) or "no anomaly"
    words = (
        f"{counted(exposure['committed'], 'transaction', 'transactions')} committed and {exposure['failed']:,} failed,"
        f" {exposure['in_conflict_share']:.0%} in conflict: {seen}"
    )
    return JudgedRecord(
        name="list_append",
        verdict=report["verdict"],
        words=words,
        proofs=_proofs(report["violations"]),
        implied=report["implied"] or "",
        report=dict(report),
    )


def _bank(name: str, report: Mapping[str, Any]) -> JudgedRecord:
    count = counted(report["transfers"], "transfer", "transfers")
    drift = "an unknown drift" if report["drift"] is None else f"a drift of {report['drift']}"
    read = f", {report['bad_reads']:,} of {report['reads']:,} totals wrong" if name == "bank_relative" else ""
    words = f"{count} and {report['transfers_failed']:,} failed: {drift}{read}"
    if report["accounts_wrong"]:
        words += f"; {report['accounts_wrong']} of the accounts hold another sum than their transfers make"
    proofs = _proofs(report["findings"]) if report["verdict"] == "VIOLATED" else []
    return JudgedRecord(name=name, verdict=report["verdict"], words=words, proofs=proofs, report=dict(report))


def _proofs(findings: Sequence[Mapping[str, Any]]) -> list[Proof]:
    found = []
    for finding in findings:
        proof, kept = finding["proof"], ProofColumn.model_fields
        columns = [ProofColumn(**{name: column[name] for name in kept}) for column in proof["transactions"]]
        reasons = proof["reasons"]
        found.append(Proof(title=proof["title"], count=finding["count"], transactions=columns, reasons=reasons))
    return found


def head_words(number: int, column: ProofColumn) -> str:
    """number: from 1."""
    return f"T{number}, session {column.session} on node {column.node}, {column.outcome}"


def proof_words(proof: Proof) -> str:
    """One transaction under the other."""
    lines = [f"{title_words(proof)}:"]
    for number, column in enumerate(proof.transactions, start=1):
        lines.append(f"  {head_words(number, column)}:")
        lines += [f"    {statement}" for statement in column.statements]
    return "\n".join([*lines, *(f"  {reason}" for reason in proof.reasons)])


def title_words(proof: Proof) -> str:
    """Of rows that differ and the like, some are shown; of transactions, the smallest example."""
    return f"{proof.title} ({proof.count:,} found{'; the smallest' if proof.transactions else ''})"


def judged_convergence(report: Mapping[str, Any], nodes: int, *, has_sql: bool) -> JudgedRecord:
    """Whether several nodes hold the same once nobody writes any more. Without SQL a node may ask others."""
    where = "on all nodes" if has_sql else "through each node"
    broken = {name: words for name, words in _BROKEN.items() if report[name]["count"]}
    rounds = f"{counted(report['rounds'], 'row', 'rows')} on {nodes} nodes, {report['conflicts']:,} written"
    words = [f"{rounds} by several sessions at a time"]
    if (after_ns := report["converged_after_ns"]) is not None:
        words.append(f"the same {where} {duration_words(after_ns)} after the last write")
    words += [counted(report[name]["count"], *of_one_and_several) for name, of_one_and_several in broken.items()]
    if decided := report["last_acknowledged_won"] + report["other_won"]:
        words.append(f"the last acknowledged value stayed in {report['last_acknowledged_won']:,} of {decided:,}")
    proofs = [
        Proof(title=both[1], count=report[name]["count"], transactions=[], reasons=report[name]["examples"])
        for name, both in broken.items()
    ]
    return JudgedRecord(
        name="convergence", verdict=report["verdict"], words="; ".join(words), proofs=proofs, report=dict(report)
    )
