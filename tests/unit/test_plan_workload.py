"""A plan's [workload]: what a property file says and what the engine answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.fleet import engine_program as answers
from bakeoff.model.boundary import Closed, Open, OperationsLimit, TimeLimit
from bakeoff.model.resolve import Refused, Resolved, ResolvedDriver
from bakeoff.plan.read import resolve
from builders.plans import MARIADB, SQLITE, read, refused

pytestmark = pytest.mark.usefixtures("mariadb_is_here")

PROPERTIES = "recordcount=500\noperationcount=900\nthreadcount=6\ntarget=300\nreadproportion=1\nupdateproportion=0\n"


def test_a_property_file_says_what_the_plan_does_not(tmp_path: Path) -> None:
    (tmp_path / "w").write_text(PROPERTIES + "exporter=x\n")
    head = "title = 't'\n[systems.sqlite]\n[workload]\nkind = 'ycsb'\nycsb_file = 'w'\n"
    plan = resolve(head + "[factors]\nclients = 2\n", tmp_path)
    cell = plan.cells[0]
    assert cell.threads == 6
    assert cell.pacing == Open(rate_ops_per_s=300, arrival="constant")  # the original's target is per process
    assert cell.record.rate_ops_per_s == 600
    assert cell.limit == OperationsLimit(operations=900)
    assert plan.record.operations == 1800
    assert "property `exporter` of the original has no effect in bakeoff and is ignored" in plan.warnings


def test_the_plan_goes_before_the_property_file(tmp_path: Path) -> None:
    (tmp_path / "w").write_text(PROPERTIES)
    head = "title = 't'\n[systems.sqlite]\n[workload]\nkind = 'ycsb'\nycsb_file = 'w'\nrecords = 70\n"
    plan = resolve(head + "[factors]\nthreads = 2\n[measure]\nwindow = '5s'\npacing = 'closed'\n", tmp_path)
    cell = plan.cells[0]
    assert (cell.threads, cell.pacing, cell.limit) == (2, Closed(), TimeLimit(window_s=5))
    assert cell.workload.spec["records"] == 70


@pytest.mark.parametrize(
    ("workload", "factors", "what", "place"),
    [
        ("records = 0", "", "`records` cannot be 0", "line 5, [workload] records"),
        ("recods = 5", "", "unknown option `recods`", "line 5, [workload] recods"),
        ("threads = 0", "", "`threads` must be from 1", "line 5, [workload] threads"),
        ("window = '1s'", "", "unknown key `window`", "line 5, [workload] window"),
        ("preset = 'z'", "", '`preset` cannot be "z"', "line 5, [workload] preset"),
        ("", "preset = ['a', 'z']", '`preset` cannot be "z"', "line 7, [factors] preset"),
        ("ycsb_file = 'none'", "", "the workload file cannot be read", "none"),
    ],
)
def test_what_is_wrong_with_a_workload_is_reported_with_its_place(
    workload: str, factors: str, what: str, place: str
) -> None:
    error = refused(factors, workload=workload)
    assert what in error.what
    assert place in error.where


def test_threads_whose_transactions_span_operations_cannot_share_sessions() -> None:
    workload = "preset = 'a'\nops_per_transaction = 10"
    error = refused("threads = [8]\nsessions = [2]", systems=MARIADB, workload=workload)
    assert "keeps its session" in error.what


def test_a_plan_asks_the_engine_once_however_many_cells_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counting(engine: Path, lines: list[str], long_s: float) -> list[Resolved | ResolvedDriver | Refused]:
        asked.append(len(lines))
        return ask(engine, lines, long_s)

    ask = answers._ask
    monkeypatch.setattr(answers, "_ask", counting)
    monkeypatch.setattr(answers, "_ANSWERS", {})
    plan = read(f"records = {list(range(1, 51))}\nthreads = [1, 2]", systems=f"{SQLITE}\n{MARIADB}")
    assert len(plan.cells) == 200
    # Options of two drivers, then 50 sets of options of the workload for each; systems that are configured ask no more.
    assert [number for number in asked if number] == [2, 100]
