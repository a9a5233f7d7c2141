"""A rate that changes, as a user plans it."""

from __future__ import annotations

from pathlib import Path

from commands import bakeoff, only_bundle, write_plan

PLAN = """
title = "A rate that changes"

[systems.null]
latency_ns = {latency_ns}

[workload]
kind = "ycsb"
preset = "c"
records = 100

[measure]
warm_up = "1s"
pacing = {{ arrival = "constant", stages = [{stages}] }}
repetitions = 1
threads = {threads}
"""
RAMP_AND_PAUSE = """
    { rate = 200, for = "2s" }, { rate = [200, 1000], for = "2s" }, { rate = 0, for = "1s" }, { rate = 50, for = "1s" },
"""
#: Twenty users of 10 ms each do 2,000 operations a second.
TOO_FAST = '{ rate = 20, for = "3s" }, { rate = 4000, for = "2s" }, { rate = 100, for = "5s" }'


def test_each_second_has_the_rate_of_its_stage(tmp_path: Path) -> None:
    done = bakeoff(
        "run", write_plan(tmp_path, PLAN.format(latency_ns=0, stages=RAMP_AND_PAUSE, threads=4)), cwd=tmp_path
    )
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


def test_the_report_says_at_which_stage_the_system_broke(tmp_path: Path) -> None:
    done = bakeoff(
        "run", write_plan(tmp_path, PLAN.format(latency_ns=10_000_000, stages=TOO_FAST, threads=20)), cwd=tmp_path
    )
    assert done.code == 0, done.err
    bundle = only_bundle(tmp_path)
    (run,) = bundle.runs
    _, broke, after = run.stages
    assert [one.due for one in run.stages] == [60, 8000, 500]
    assert [one.overloaded for one in run.stages] == [False, True, False]
    # 4,000 fall due each second and at most 2,000 are answered; on a busy machine fewer.
    assert broke.ok <= 2 * 2000 + 20
    assert broke.backlog == after.backlog_before
    assert broke.backlog >= broke.due - broke.ok - 40
    # Every operation that ended in the window is in one of the stages, which lie on whole seconds.
    assert sum(one.ok for one in run.stages) == run.ok + run.ok_from_warm_up
    assert [one.service.count for one in run.stages] == [one.ok for one in run.stages]
    assert min(one.service.min_ns for one in run.stages) >= 10_000_000
    told = bakeoff("report", bundle.folder, cwd=tmp_path)
    assert "null broke in stage 2 (4,000/s): it did " in told.out
    assert " no, " in next(line for line in told.out.splitlines() if " 3 to 5 " in line)
    table = bakeoff("export", bundle.folder, "--table", "stages", "--metric", "p99_ms", cwd=tmp_path).out.splitlines()
    assert [line.rsplit(",", 2)[1:] for line in table[1:]][1] == ["false", ""]
