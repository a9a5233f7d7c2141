"""A made-up system of three nodes, of which the last is killed in every run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from bakeoff.analysis.histograms import Histogram, to_document
from bakeoff.model.boundary import NodeResult
from bakeoff.model.faults import FaultEffect, FaultRecord, PlannedFault
from bakeoff.model.records.run import NodeSilence, RunRecord

from .bundles import MARIADB, Story

NODES = ("n1", "n2", "n3")
EFFECT = FaultEffect(
    detect_s=0.046,
    without_success_s=6.2,
    without_writes_s=6.2,
    gap_before_s=0.4,
    rate_before_ops_per_s=4_000,
    full_rate_s=None,
    felt_s=7,
    watched_s=20,
    longest_wait_s=6.3,
    failed=23,
    unknown=1_204,
)


def killed(node: str) -> PlannedFault:
    return PlannedFault(at_s=20, node=node, do="kill", for_s=5)


def story(nodes: tuple[str, ...] = NODES, **more: object) -> Story:
    """Of one contestant; the second node does not answer for a while, for reasons of its own."""
    told = Story(
        contenders=(MARIADB,),
        threads=(4,),
        presets=("a",),
        nodes=nodes,
        faults={"mariadb": [killed(nodes[-1])]},
        change=lambda run: hurt(run, nodes),
    )
    return replace(told, **more)  # type: ignore[arg-type]


def hurt(run: RunRecord, nodes: tuple[str, ...] = NODES) -> RunRecord:
    """All but the first have a tenth of the operations each."""
    first, *others, last = nodes
    ended = sum(series.count for series in run.series)
    tenth = ended // 10
    counts = {first: ended - tenth * (len(nodes) - 1), **dict.fromkeys((*others, last), tenth)}
    effect = EFFECT.model_copy(update={"longest_wait_s": 6.3 + 0.2 * run.block})
    fault = FaultRecord(planned=killed(last), begun_s=20.01, ended_s=25.0, back_s=31.0 + run.block, effect=effect)
    fault.rejoined = f"incremental state transfer of {600 + 100 * run.block} write sets"
    return run.model_copy(
        update={
            "nodes": [
                NodeResult(
                    name=name,
                    role="writer" if name == first else "reader",
                    operations=count,
                    outcomes={"ok": count},
                    response=to_document(Histogram.from_values(np.full(count, 2_000_000))),
                    reconnects=4 if name == last else 0,
                )
                for name, count in counts.items()
            ],
            "faults": [fault],
            "silences": [
                NodeSilence(node=last, from_s=19.5, to_s=32.5, planned=True),
                NodeSilence(node=others[-1], from_s=40.0, to_s=44.0),
            ],
        }
    )
