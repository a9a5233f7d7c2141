"""A rate that changes, as a user plans it."""

from __future__ import annotations

from pathlib import Path

from commands import bakeoff, only_bundle, write_plan

PLAN = """
title = "A ramp and a pause"

[systems.null]

[workload]
kind = "ycsb"
preset = "c"
records = 100

[measure]
warm_up = "1s"
pacing = { arrival = "constant", stages = [
    { rate = 200, for = "2s" }, { rate = [200, 1000], for = "2s" }, { rate = 0, for = "1s" }, { rate = 50, for = "1s" },
] }
repetitions = 1
threads = 4
"""


def test_each_second_has_the_rate_of_its_stage(tmp_path: Path) -> None:
    done = bakeoff("run", write_plan(tmp_path, PLAN), cwd=tmp_path)
    assert done.code == 0, done.err
    bundle = only_bundle(tmp_path)
    (run,) = bundle.runs
    table = bundle.intervals(run.id)
    assert table is not None
    # What falls due at the end of a second may end in the next one.
    for found, expected in zip(table.column("ok").to_pylist(), [200, 200, 200, 400, 800, 0, 50], strict=True):
        assert abs(found - expected) <= 12, table.column("ok").to_pylist()
    assert run.due == 1650
    (steady,) = [one for one in run.validity if one.name == "steady state"]
    assert steady.words == "not tested: the plan changes the rate"
