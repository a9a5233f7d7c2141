"""Which run a search makes next: decided from the existing runs alone."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from bakeoff.bundle.write import BundleWriter
from bakeoff.model.records.run import RunRecord, Validity
from bakeoff.plan.resolved import ResolvedPlan
from bakeoff.plan.search import with_levels_of
from bakeoff.schedule.conductor import Conductor, View
from bakeoff.schedule.run_order import Searching
from builders.bundles import _info, _machine
from builders.plans import read
from builders.promises import PAIR

SEARCH = "[search]\nhighest = 'rate'\nwhile = 'latency_p99 < 2ms'\nto = 100_000"
TWO = "[systems.a]\nkind = 'sqlite'\n[systems.b]\nkind = 'sqlite'"
CAPACITIES = {"a": 7_000.0, "b": 21_000.0}


def searching(plan: ResolvedPlan) -> Searching:
    """On systems whose capacity is known, without noise."""
    found = Searching(plan, lambda run: excess(found, run))
    return found


def excess(search: Searching, run: RunRecord) -> float:
    (cell,) = (cell for cell in search.plan.record.cells if cell.id == run.cell)
    return 3 * math.log(float(cell.levels["rate"]) / CAPACITIES[cell.system])


def carried_on(search: Searching, runs: int | None = None) -> list[RunRecord]:
    made: list[RunRecord] = []
    while (runs is None or len(made) < runs) and (step := search.next()):
        slot, cell = step
        assert cell.record in search.plan.record.cells
        run = RunRecord(
            id=slot.run, block=slot.block, cell=slot.cell, order=slot.order, started="", state="done", seed=1
        )
        made.append(run)
        search.add([run])
    return made


def test_systems_take_turns_step_by_step_until_each_is_found() -> None:
    search = searching(read(systems=TWO, rest=SEARCH))
    made = carried_on(search)
    systems = {cell.id: cell.system for cell in search.plan.record.cells}
    assert [run.order for run in made] == list(range(len(made)))
    assert len({run.id for run in made}) == len(made) < 50
    for block in range(1, 8):
        assert {systems[run.cell] for run in made if run.block == block} == {"a", "b"}
    firsts = [systems[next(run for run in made if run.block == block).cell] for block in range(1, 8)]
    assert set(firsts) == {"a", "b"}, "neither is always the first of its block"


def test_a_search_goes_on_where_it_was_left_with_the_same_decisions() -> None:
    whole = carried_on(searching(read(systems=TWO, rest=SEARCH)))
    begun = searching(read(systems=TWO, rest=SEARCH))
    first = carried_on(begun, runs=7)
    again = searching(begun.plan)
    again.add(first)
    assert [run.id for run in [*first, *carried_on(again)]] == [run.id for run in whole]


def test_a_search_with_nothing_left_to_run_has_the_cells_of_its_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = searching(read(systems=TWO, rest=SEARCH))
    carried_on(begun, runs=7)
    writer = BundleWriter(tmp_path)
    writer.begin(_info(PAIR), begun.plan.record, begun.plan.text, _machine())
    monkeypatch.setattr(Searching, "next", lambda self: None)
    resumed = Conductor(read(systems=TWO, rest=SEARCH), writer, View())
    resumed._search()
    assert [cell.record for cell in resumed.plan.cells] == [cell.record for cell in begun.plan.cells]


def test_a_run_that_was_lost_or_disturbed_is_no_limit_that_was_not_kept() -> None:
    search = searching(read(systems="[systems.a]\nkind = 'sqlite'", rest=SEARCH))
    lost = {"state": "failed", "failed_by": "infrastructure"}
    disturbance = Validity(name="steal", severity="disturbed", ok=False, words="")
    made: list[RunRecord] = []
    while step := search.next():
        slot, _ = step
        run = RunRecord(
            id=slot.run, block=slot.block, cell=slot.cell, order=slot.order, started="", state="done", seed=1
        )
        changes = {3: lost, 5: lost, 6: {"validity": [disturbance]}}.get(slot.block, {})
        made.append(run.model_copy(update=changes))
        search.add(made[-1:])
    whole = carried_on(searching(read(systems="[systems.a]\nkind = 'sqlite'", rest=SEARCH)))
    told = [run.cell for run in made if not run.leaves_its_place_open]
    assert told == [run.cell for run in whole], "the search goes on as if they had not been made"
    assert len(made) == len(told) + 3


def test_the_plan_has_the_cells_that_have_runs_and_no_other() -> None:
    search = searching(read(systems=TWO, rest=SEARCH))
    made = carried_on(search)
    assert {cell.id for cell in search.plan.record.cells} == {run.cell for run in made}


def test_no_more_runs_are_made_than_the_plan_allows() -> None:
    search = Searching(read(rest=f"{SEARCH}\nruns = 9\nprecision = '0.1%'"), lambda run: 0.1 * (-1) ** run.block)
    assert len(carried_on(search)) == 9


def test_more_runs_of_the_plan_go_on_where_the_runs_were_used_up() -> None:
    def planned(runs: int) -> ResolvedPlan:
        return read(rest=f"{SEARCH}\nruns = {runs}\nprecision = '0.1%'")

    def scattered(run: RunRecord) -> float:
        return 0.1 * (-1) ** run.block

    begun = Searching(planned(9), scattered)
    made = carried_on(begun)
    again = Searching(with_levels_of(planned(14), begun.plan.record), scattered)
    again.add(made)
    added = carried_on(again)
    assert [run.block for run in [*made, *added]] == list(range(1, 15))
