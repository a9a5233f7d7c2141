"""Users who think: they ask as often as their number and their times say, and what they wait is no response time."""

from __future__ import annotations

from pathlib import Path

from commands import bakeoff, only_bundle, write_plan
from test_site import PLAN

THINKING = ("--set", "threads=50", "--set", "measure.think_time=100ms")


def test_they_ask_as_often_as_their_number_and_times_say(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, PLAN.format(window="4s"))
    done = bakeoff("run", plan, *THINKING, "--together", "--allow-disturbed", cwd=tmp_path)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    # 50 users, one operation in 101 ms each; a busy machine makes it fewer.
    assert 200 < run.rate_ops_per_s < 560
    assert (run.response.p50_ms or 1e9) < 50, "thinking is not waiting"
