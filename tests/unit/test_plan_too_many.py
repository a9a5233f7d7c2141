"""More users or sessions than the data or the server have room for."""

from __future__ import annotations

import pytest
from bakeoff.errors import PlanError
from bakeoff.plan.read import resolve
from bakeoff.plan.resolved import ResolvedPlan
from builders.workloads import ROOT


def plan(system: str, workload: str, threads: int) -> ResolvedPlan:
    text = f"title = 't'\n{system}\n[workload]\n{workload}\n[factors]\nthreads = {threads}\n"
    return resolve(text, ROOT, must_run=False)


def test_more_users_than_orders_read_and_where_they_write_are_refused() -> None:
    nothing_else = "kind = 'hatshop'\ncreate = 0\ndelete = 0\nupdate_attribute = 0\nread = 1\n"
    assert plan("[systems.sqlite]", f"{nothing_else}update = 0", 512).cells
    with pytest.raises(PlanError, match="512 threads, each of which needs an order of its own") as refused:
        plan("[systems.sqlite]", f"{nothing_else}update = 1", 512)
    assert refused.value.hint == "write orders = 512 in [workload]"


#: One statement that reads, ten that update a field each.
STATEMENTS = 11


def test_sessions_that_prepare_more_statements_than_a_server_takes_are_refused() -> None:
    system, most = "[systems.mariadb]\nsettings = { max_prepared_stmt_count = 100 }", 100
    enough = most // STATEMENTS
    assert plan(system, "kind = 'ycsb'", enough).cells
    with pytest.raises(PlanError, match=f"prepare {STATEMENTS} statements each, and the server allows {most} in total"):
        plan(system, "kind = 'ycsb'", enough + 1)
    assert plan("[systems.mariadb]", "kind = 'ycsb'", 2000).cells
