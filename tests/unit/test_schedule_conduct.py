"""Carrying a plan out, with everything that takes time replaced."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bakeoff.errors import ServerError
from bakeoff.fleet.host import MachineLost
from bakeoff.model.records import RunRecord
from bakeoff.schedule import one_run, run_record
from bakeoff.schedule.conduct import Conductor, View
from bakeoff.schedule.order import Slot


class Writer:
    """Keeps what a bundle would."""

    def __init__(self) -> None:
        self.results: dict[str, RunRecord] = {}
        self.info = SimpleNamespace(model_copy=lambda update: update, messages=[])

    def run_result(self, record: RunRecord) -> None:
        self.results[record.id] = record.model_copy(deep=True)

    def update(self, info: Any) -> None: ...


def good(slot: Slot, *rest: Any) -> RunRecord:
    return RunRecord(id=slot.run, block=slot.block, cell=slot.cell, order=slot.order, started="", state="done", seed=1)


def carried_out(
    monkeypatch: pytest.MonkeyPatch,
    done: dict[str, RunRecord],
    instance: Callable[..., None] = lambda self, cell: None,
) -> dict[str, RunRecord]:
    cell = SimpleNamespace(record=SimpleNamespace(id="a"), system_options={})
    plan = SimpleNamespace(cells=[cell], with_levels=None, record=SimpleNamespace(repetitions=2, seed=1))
    monkeypatch.setattr(one_run, "make", good)
    monkeypatch.setattr(Conductor, "_instance", instance)
    writer = Writer()
    Conductor(cast(Any, plan), cast(Any, writer), View(), done=done).carry_out()
    return writer.results


def test_a_failed_run_that_is_made_again_says_what_came_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trying until it works is a comparison of survivors."""
    slot = Slot(0, 1, "a")
    before = run_record.failed(
        slot, "", ServerError("the server died"), cast(Any, SimpleNamespace(record=SimpleNamespace(seed=1)))
    )
    again = carried_out(monkeypatch, {slot.run: before, "b02-a": good(Slot(1, 2, "a"))})
    assert list(again) == ["b01-a"]
    assert [(v.severity, v.words) for v in again["b01-a"].validity] == [
        ("warning", "made again with --resume: an earlier attempt failed (the server died)")
    ]
    assert again["b01-a"].valid


def test_a_load_machine_that_is_lost_while_data_are_loaded_costs_one_run_and_not_the_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[str] = []

    def instance(self: Conductor, cell: Any) -> None:
        tried.append(cell.record.id)
        if len(tried) == 1:
            raise MachineLost("load2", "its Dask worker ended", "load of mariadb")

    failed = carried_out(monkeypatch, {}, instance)["b01-a"]
    assert failed.failure.startswith("the load machine load2 was lost: its Dask worker ended (load of mariadb)")
    assert tried == ["a", "a"]
