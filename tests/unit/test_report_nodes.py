"""Systems of several nodes in the report: what came from each, a line for each in the charts, and marks across them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from bakeoff.analysis.encode import to_document
from bakeoff.analysis.histograms import Histogram
from bakeoff.model.boundary import NodeResult
from bakeoff.model.faults import FaultRecord, PlannedFault
from bakeoff.model.records import NodeSilence, RunRecord
from bakeoff.report.conclusion import answer_of
from bakeoff.report.fault_marks import marks_of
from bakeoff.report.figures import figures_of
from bakeoff.report.text import render_text
from builders.bundles import MARIADB, Story, write_bundle

NODES = ("n1", "n2", "n3")
KILL = PlannedFault(at_s=20, node="n3", do="kill", for_s=5)


def hurt(run: RunRecord) -> RunRecord:
    """n2 and n3 have a tenth of the operations each."""
    ended = sum(series.count for series in run.series)
    tenth = ended // 10
    counts = {"n1": ended - 2 * tenth, "n2": tenth, "n3": tenth}
    return run.model_copy(
        update={
            "nodes": [
                NodeResult(
                    name=name,
                    role="writer" if name == "n1" else "reader",
                    operations=count,
                    outcomes={"ok": count},
                    response=to_document(Histogram.from_values(np.full(count, 2_000_000))),
                    reconnects=4 if name == "n3" else 0,
                )
                for name, count in counts.items()
            ],
            "faults": [FaultRecord(planned=KILL, begun_s=20.01, ended_s=25.0, back_s=31.0 + run.block)],
            "silences": [
                NodeSilence(node="n3", from_s=19.5, to_s=32.5, planned=True),
                NodeSilence(node="n2", from_s=40.0, to_s=44.0),
            ],
        }
    )


def story() -> Story:
    faults = {"mariadb": [KILL]}
    return Story(contenders=(MARIADB,), threads=(4,), presets=("a",), nodes=NODES, faults=faults, change=hurt)


def test_what_came_from_each_node_stands_in_a_row(tmp_path: Path) -> None:
    answer = answer_of(write_bundle(tmp_path / "bundle", story()))
    assert [node.node for node in answer.nodes] == list(NODES)
    lines = render_text(answer).splitlines()
    third = next(line for line in lines if "n3 (reader)" in line)
    assert third.split()[4:] == ["10.0", "%", "2.00", "ms", "2.00", "ms", "0", "20", "5", "x,", "1", "min", "05", "s"]
    assert "5 x, 20 s" in next(line for line in lines if "n2 (reader)" in line)


def test_each_node_is_a_line_of_its_own_and_faults_stand_across(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", story())
    figures = figures_of(bundle, answer_of(bundle))
    text = figures.details[0].figure.canvas.inline("detail")
    dashes = "n1 solid, n2 dashed, n3 dotted"
    for title in (
        "operations per second",
        "p99 response time",
        "memory of the server&#x27;s processes, bytes",
        "recv_queue",
    ):
        assert f"{title}: {dashes}" in text, title
    assert "did not end right" not in text, "there was nothing"
    for words in ("kill n3", "start n3", "n3 back", "n2 silent", "n2 answers"):
        assert text.count(f">{words}<") == 1, words
    assert "mariadb, n3, repetition 1" in text
    assert figures.has_marks


def test_a_mark_stands_where_it_typically_was() -> None:
    runs = [
        hurt(RunRecord(id="r", block=block, cell="c", order=0, started="", state="done", seed=1, ok=100))
        for block in (1, 2, 3)
    ]
    marks = {mark.words: (mark.at_s, mark.planned) for mark in marks_of(runs, warm_up_s=10.0)}
    assert marks == {
        "kill n3": (30.01, True),
        "start n3": (35.0, True),
        "n3 back": (43.0, True),
        "n2 silent": (50.0, False),
        "n2 answers": (54.0, False),
    }


def test_a_bundle_of_single_servers_has_neither(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", Story(contenders=(MARIADB,), threads=(4,), presets=("a",)))
    answer = answer_of(bundle)
    assert answer.nodes == []
    assert not figures_of(bundle, answer).has_marks
