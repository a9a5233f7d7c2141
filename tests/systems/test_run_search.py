"""A search on a real system, from the plan to the report, cut short and continued.

Its limit is one that every machine keeps, so that its decisions are known beforehand.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from commands import bakeoff, only_bundle, write_plan

PLAN = """
title = "A short search"

[systems.null]

[workload]
kind = "ycsb"
preset = "c"
records = 100

[search]
highest = "threads"
while = "rate > 1/s"
to = 16

[measure]
warm_up = "0s"
operations = 2_000
"""
SAID = (
    "The highest number of threads with throughput above 1/s: above 16 threads, the highest number of threads tried"
    " (met even there; 5 runs). Held: yes up to 16 threads ("
)


def test_a_search_chooses_its_runs_leads_the_report_and_is_continued_with_the_same_decisions(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, PLAN)
    done = bakeoff("run", plan, "--together", "--events", cwd=tmp_path)
    events = [json.loads(line) for line in done.out.splitlines()]
    (said,) = events[-1]["headline"]
    assert said.startswith(SAID), done.err
    assert done.code == 0
    told = [event["cell"]["levels"]["threads"] for event in events if event["event"] == "cell_added"]
    assert [events[0]["cells"][0]["levels"]["threads"], *told] == [1, 4, 16]
    assert events[0]["runs"] == 25

    bundle = only_bundle(tmp_path)
    levels = {cell.id: cell.levels["threads"] for cell in bundle.plan.cells}
    assert [levels[run.cell] for run in bundle.runs] == [1, 4, 16, 16, 16]
    assert [run.seed for run in bundle.runs] == [2, 3, 4, 5, 6], "each draws its own operations and arrivals"
    assert bundle.facts.keys() == levels.keys()
    assert set(bundle.loads[0].cells) == levels.keys()
    assert "What the search tried" in (bundle.folder / "report.html").read_text()

    for run in bundle.runs[-2:]:
        shutil.rmtree(bundle.folder / "runs" / run.id)
    again = bakeoff("run", plan, "--together", "--resume", bundle.folder, "--json", cwd=tmp_path)
    (said,) = json.loads(again.out)["answer"]["headline"]
    assert said.startswith(SAID), again.err
    assert [run.id for run in only_bundle(tmp_path).runs] == [run.id for run in bundle.runs]


def test_a_dry_run_tells_the_most_that_a_search_takes(tmp_path: Path) -> None:
    done = bakeoff("run", write_plan(tmp_path, PLAN), "--dry-run", cwd=tmp_path)
    assert (
        "at most 25 runs: a search for the highest number of threads with throughput above 1/s: starts at" in done.out
    ), done.err
