"""What is done before a run is measured, and kept of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bakeoff.errors import ServerError
from bakeoff.model.boundary import OperationsLimit, TimeLimit
from bakeoff.plan.document.tables import MeasureTable
from bakeoff.schedule import one_run
from bakeoff.schedule.nodes import FrozenNodes


@pytest.mark.parametrize("quiet", [True, False])
def test_a_disk_that_did_not_become_quiet_is_reported(quiet: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_run, "wait_for_writeback", lambda timeout_s: quiet)
    plan: Any = SimpleNamespace(record=SimpleNamespace(cache="as-is"))
    instance: Any = SimpleNamespace(reset=lambda folder: None)
    assert one_run._prepare(cast(Any, None), plan, instance, Path(), one_run.Watcher()) is quiet


def frosty(frozen: set[str], nodes: int = 3) -> FrozenNodes:
    frost = FrozenNodes(lambda words: None)
    frost.frozen, frost.all_frozen = frozen, len(frozen) == nodes
    return frost


@pytest.mark.parametrize(
    ("frozen", "ends_with_a_node", "limit", "at_s", "ends"),
    [
        ({"n2"}, False, TimeLimit(window_s=10), 5.0, False),
        ({"n2"}, True, TimeLimit(window_s=10), 5.0, True),
        (set(), True, TimeLimit(window_s=10), 5.0, False),
        ({"n1", "n2", "n3"}, False, TimeLimit(window_s=10), 5.0, False),
        ({"n1", "n2", "n3"}, False, TimeLimit(window_s=10), 11.5, True),
        ({"n1", "n2", "n3"}, False, OperationsLimit(operations=5), 0.5, True),
    ],
)
def test_a_run_ends_with_a_node_where_the_plan_says_so_and_else_where_nothing_is_left_to_wait_for(
    frozen: set[str], ends_with_a_node: bool, limit: TimeLimit | OperationsLimit, at_s: float, ends: bool
) -> None:
    plan: Any = SimpleNamespace(measure=SimpleNamespace(ends_with_a_node=ends_with_a_node), warm_up_s=1.0)
    cell: Any = SimpleNamespace(limit=limit)
    assert one_run.ends_now(frosty(frozen), cell, plan, at_s) is ends


@pytest.mark.parametrize(("prepares_s", "stages"), [(0.2, []), (300.0, ["preparing (about 5 min 00 s)", "running"])])
def test_a_client_that_has_much_to_make_ready_is_waited_for_and_reported(prepares_s: float, stages: list[str]) -> None:
    waited, told = [], []
    engines: Any = SimpleNamespace(wait_ready=waited.append)
    cell: Any = SimpleNamespace(workload=SimpleNamespace(prepares_s=prepares_s), clients=2)
    watcher: Any = SimpleNamespace(stage=told.append)
    one_run._wait_ready(engines, cell, watcher)
    assert told == stages
    assert waited[0] >= one_run.READY_TIMEOUT_S + 2 * prepares_s


def test_a_run_that_ended_with_a_node_has_failed_and_names_it() -> None:
    plan: Any = SimpleNamespace(measure=MeasureTable(on_node_failure="end"))
    with pytest.raises(ServerError) as caught:
        one_run.refuse_frozen(frosty({"n2"}), plan, "run b01-c")
    assert caught.value.what == "n2 did not answer for 8 s"
    assert "on_node_failure" in caught.value.hint
    one_run.refuse_frozen(frosty(set()), plan, "run b01-c")
