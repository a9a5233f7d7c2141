"""`bakeoff run --events` as another program reads it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from bakeoff.bundle.events import EVENT, EVENTS_FORMAT, Begin, Compared, Done, Phase, RunBegins, RunEnds, Second
from commands import bakeoff, only_bundle, write_plan

PLAN = """
title = "Told \\u001b[31mred\\u202e"

[systems.fast]
kind = "null"
latency_ns = 1_000_000
[systems.slow]
kind = "null"
latency_ns = 2_000_000

[workload]
kind = "ycsb"
preset = "c"
records = 100

[factors]
clients = [2]

[measure]
warm_up = "0s"
window = "1500ms"
repetitions = 1
"""


def test_every_line_is_an_event_and_no_text_steers_a_terminal(tmp_path: Path) -> None:
    done = bakeoff("run", write_plan(tmp_path, PLAN), "--events", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.out.isascii()
    assert "\x1b" not in done.out + done.err
    told = [EVENT.validate_json(line) for line in done.out.splitlines()]
    first, last = told[0], told[-1]
    assert isinstance(first, Begin)
    assert (first.format, first.runs, first.runs_done) == (EVENTS_FORMAT, 2, 0)
    assert first.title == "Told \x1b[31mred\u202e"
    assert isinstance(last, Done)
    assert (last.state, last.exit_code, last.error) == ("complete", 0, "")
    assert Path(last.report or "").is_file()
    count = Counter(type(event) for event in told)
    assert (count[Begin], count[RunBegins], count[RunEnds], count[Compared], count[Done]) == (1, 2, 2, 1, 1)
    bundle = only_bundle(tmp_path)
    for run in bundle.runs:
        seconds = [event for event in told if isinstance(event, Second) and event.run == run.id]
        table = bundle.intervals(run.id)
        assert table is not None
        assert [(s.second, s.ok, s.p99_ms) for s in seconds] == list(
            zip(*(table.column(name).to_pylist() for name in ("second", "ok", "p99_ms")), strict=True)
        )
        ended = next(event for event in told if isinstance(event, RunEnds) and event.run == run.id)
        assert (ended.valid, ended.rate_ops_per_s) == (run.valid, run.rate_ops_per_s)
        phases = [event.phase for event in told if isinstance(event, Phase) and event.run == run.id]
        assert phases.index("running") < phases.index("checking")


def test_a_run_that_fails_ends_with_a_line_that_says_so(tmp_path: Path) -> None:
    broken = PLAN.replace("latency_ns = 1_000_000", "latency_ns = 1_000_000\nerror_ratio = 1.0", 1)
    done = bakeoff("run", write_plan(tmp_path, broken), "--events", "--no-report", cwd=tmp_path)
    last = json.loads(done.out.splitlines()[-1])
    assert (last["event"], last["exit_code"], last["report"]) == ("done", done.code, None)
    assert done.code == 1


def test_a_plan_that_is_refused_has_no_events(tmp_path: Path) -> None:
    done = bakeoff("run", write_plan(tmp_path, PLAN.replace('"c"', '"nope"')), "--events", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert bakeoff("run", write_plan(tmp_path, PLAN), "--events", "--dry-run", cwd=tmp_path).code == 2
