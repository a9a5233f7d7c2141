"""Carrying a plan out, with everything that takes time replaced."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bakeoff.errors import BakeoffError, EngineError, ServerError
from bakeoff.fleet.engines import MachineLost
from bakeoff.model.records.run import RunRecord, Validity, runs_that_count
from bakeoff.schedule import one_run, run_record
from bakeoff.schedule.conductor import Conductor, View
from bakeoff.schedule.run_order import Repeats, Slot


class Writer:
    """Keeps what a bundle would."""

    def __init__(self) -> None:
        self.results: dict[str, RunRecord] = {}
        self.info = SimpleNamespace(model_copy=lambda update: update, messages=[])

    def run_result(self, record: RunRecord) -> None:
        self.results[record.id] = record.model_copy(deep=True)

    def update(self, info: Any) -> None: ...


def good(slot: Slot, *rest: Any) -> RunRecord:
    return RunRecord(
        id=slot.run,
        block=slot.block,
        cell=slot.cell,
        order=slot.order,
        attempt=slot.attempt,
        started="",
        state="done",
        seed=1,
    )


def disturbed(slot: Slot, *rest: Any) -> RunRecord:
    record = good(slot)
    record.validity = [Validity(name="other processes", severity="disturbed", ok=False, words="85 %", value=0.85)]
    return record


def made(judge: Callable[[Slot], RunRecord]) -> Callable[..., RunRecord]:
    """In place of `one_run.make`, which writes what it returns."""

    def make(slot: Slot, cell: Any, plan: Any, instance: Any, writer: Any, *rest: Any) -> RunRecord:
        record = judge(slot)
        writer.run_result(record)
        return record

    return make


def carried_out(
    monkeypatch: pytest.MonkeyPatch,
    done: dict[str, RunRecord],
    instance: Callable[..., None] = lambda self, cell: None,
    make: Callable[..., RunRecord] | None = None,
    repeats_max: int = 2,
) -> dict[str, RunRecord]:
    cell = SimpleNamespace(record=SimpleNamespace(id="a"), system_options={})
    plan = SimpleNamespace(
        cells=[cell],
        with_levels=None,
        verify=None,
        record=SimpleNamespace(repetitions=2, seed=1, repeats_max=repeats_max),
    )
    monkeypatch.setattr(one_run, "make", make or made(good))
    monkeypatch.setattr(Conductor, "_instance", instance)
    writer = Writer()
    Conductor(cast(Any, plan), cast(Any, writer), View(), done=done).carry_out()
    return writer.results


def lost_run(slot: Slot, error: BakeoffError) -> RunRecord:
    return run_record.failed(slot, "", error, cast(Any, SimpleNamespace(record=SimpleNamespace(seed=1))))


@pytest.mark.parametrize(
    "error",
    [
        ServerError("the server died"),
        ServerError("galera2 did not answer for 8 s", hint='the plan says on_node_failure = "end"'),
        EngineError("1 of 2 clients did not end in time"),
    ],
)
def test_a_run_that_its_system_failed_stays_failed(monkeypatch: pytest.MonkeyPatch, error: BakeoffError) -> None:
    """Trying until it works is a comparison of survivors."""
    failed = lost_run(Slot(1, 2, "a"), error)
    done = {"b01-a": good(Slot(0, 1, "a")), failed.id: failed}
    assert carried_out(monkeypatch, done) == {}
    assert runs_that_count(done.values())[1] is failed
    again = good(Slot(2, 2, "a", 2))
    assert runs_that_count([*done.values(), again])[1] is failed, "nor does a later attempt take its place"


def test_a_run_that_was_lost_to_infrastructure_is_repeated_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    slot = Slot(0, 1, "a")
    before = lost_run(slot, MachineLost("load2", "its Dask worker ended", "run b01-a"))
    again = carried_out(monkeypatch, {slot.run: before, "b02-a": good(Slot(1, 2, "a"))})
    assert list(again) == ["b01-a.2"], "the lost attempt stays in the bundle"
    (said,) = again["b01-a.2"].validity
    assert said.severity == "note"
    assert said.words.startswith("repeated: an earlier attempt failed for a reason outside the system (the load mach")
    assert [run.id for run in runs_that_count([before, *again.values()])] == ["b01-a.2"]


def test_a_load_machine_that_is_lost_while_data_are_loaded_costs_one_run_and_not_the_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[str] = []

    def instance(self: Conductor, cell: Any) -> None:
        tried.append(cell.record.id)
        if len(tried) == 1:
            raise MachineLost("load2", "its Dask worker ended", "load of mariadb")

    results = carried_out(monkeypatch, {}, instance)
    assert results["b01-a"].failure.startswith(
        "the load machine load2 was lost: its Dask worker ended (load of mariadb)"
    )
    assert list(results) == ["b01-a", "b01-a.2", "b02-a"]
    assert tried == ["a", "a", "a"]


def test_a_disturbed_run_is_repeated_at_the_end_of_its_block_and_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair of runs is compared within its block, so a repeat belongs to the same one."""

    def judge(slot: Slot) -> RunRecord:
        return disturbed(slot) if (slot.block, slot.attempt) == (1, 1) else good(slot)

    results = carried_out(monkeypatch, {}, make=made(judge))
    assert list(results) == ["b01-a", "b01-a.2", "b02-a"]
    assert [run.order for run in results.values()] == [0, 1, 2]
    assert [run.id for run in runs_that_count(results.values())] == ["b01-a.2", "b02-a"]


def test_where_the_machine_stays_busy_the_repeats_end_with_the_plan_s_number(monkeypatch: pytest.MonkeyPatch) -> None:
    results = carried_out(monkeypatch, {}, make=made(disturbed), repeats_max=3)
    assert list(results) == ["b01-a", "b01-a.2", "b02-a", "b02-a.2", "b01-a.3"]
    assert [run.id for run in runs_that_count(results.values())] == ["b01-a", "b02-a"], "the first attempts stand there"


def test_nothing_is_repeated_where_the_plan_says_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(carried_out(monkeypatch, {}, make=made(disturbed), repeats_max=0)) == ["b01-a", "b02-a"]


def test_a_resume_repeats_what_was_disturbed_with_the_repeats_that_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    slots = Slot(0, 1, "a"), Slot(1, 1, "a", 2), Slot(2, 2, "a")
    before = {slot.run: disturbed(slot) for slot in slots}
    assert list(carried_out(monkeypatch, before, make=made(disturbed), repeats_max=2)) == ["b01-a.3"]


def test_a_search_that_is_resumed_makes_no_more_than_the_repeats_that_are_left() -> None:
    """Each --resume used to make all disturbed runs of a search once more."""
    lost = lost_run(Slot(3, 4, "a"), MachineLost("load2", "its Dask worker ended", "run b04-a"))
    runs = [disturbed(Slot(0, 1, "a")), disturbed(Slot(1, 2, "a")), good(Slot(2, 3, "a")), lost]
    standing = {most: [run.block for run in Repeats(runs, most).standing()] for most in (0, 1, 2)}
    assert standing == {0: [1, 2, 3], 1: [2, 3], 2: [3]}, "what was lost is repeated in any case"


def test_an_invalid_run_is_never_repeated_though_it_was_disturbed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """No compiler next to a database loses its rows."""

    def judge(slot: Slot) -> RunRecord:
        record = disturbed(slot)
        record.validity.append(Validity(name="integrity", severity="invalid", ok=False, words="rows are missing"))
        return record

    assert list(carried_out(monkeypatch, {}, make=made(judge))) == ["b01-a", "b02-a"]
