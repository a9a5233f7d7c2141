"""Whether the nodes of one system hold the same once nobody writes any more, as the engine's judge reports it
(crates/histories/src/convergence.rs)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..analysis.wording import counted
from ..model.records.verification import JudgedRecord, Proof
from .histories import milliseconds

#: What contradicts each property, of one and of several.
_BROKEN = {
    "delivery": ("acknowledged write is missing", "acknowledged writes are missing"),
    "termination": ("write had no outcome", "writes had no outcome"),
    "validity": ("value was written by nobody", "values were written by nobody"),
    "convergence": ("row differs", "rows differ"),
}


def judged_convergence(report: Mapping[str, Any], nodes: int) -> JudgedRecord:
    """Of several nodes."""
    broken = {name: words for name, words in _BROKEN.items() if report[name]["count"]}
    rounds = f"{counted(report['rounds'], 'row', 'rows')} on {nodes} nodes, {report['conflicts']:,} written"
    words = [f"{rounds} by several sessions at a time"]
    if (after_ns := report["converged_after_ns"]) is not None:
        words.append(f"the same on all nodes {milliseconds(after_ns)} after the last write")
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
