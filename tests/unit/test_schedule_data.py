"""What must be there after a run, and after those before it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from bakeoff.errors import PlanError
from bakeoff.model.boundary import Check, StateReport
from bakeoff.model.records import RunRecord
from bakeoff.schedule.data import ROWS_MAX, Data, Rows
from bakeoff.schedule.instance import Instance
from bakeoff.systems.base import Found

INSERTED = StateReport(inserts_acknowledged=5, inserts_unknown=2)


class Ledger:
    def __init__(self, *found: Found) -> None:
        self.found = found

    def there(self, tables: list[str]) -> list[Found]:
        return [one for one in self.found if one.name in tables]


def instance(reset: str = "none", *found: Found, private: bool = False) -> Instance:
    """With all that would start anything replaced."""
    made = object.__new__(Instance)
    workload = SimpleNamespace(tables=["t", "u"], loaded_rows=100)
    made.cell = cast(
        Any,
        SimpleNamespace(workload=workload, record=SimpleNamespace(dataset="d", system="s"), load_key="", reset=reset),
    )
    made.plan = cast(Any, SimpleNamespace(cells=[], check_sample=10, cache="warm", server_cores=[]))
    made.system = cast(
        Any,
        SimpleNamespace(
            name="s",
            private=private,
            keeps_data=True,
            ledger=lambda: Ledger(*found),
            size_on_disk_bytes=lambda: None,
            restore=lambda path: None,
            alive=lambda: True,
            answers=lambda: True,
        ),
    )
    made.logs = cast(Any, None)
    made.data, made._rows, made._started = Data(Rows(100, 100)), Rows(0, 0), True
    return made


def test_rows_are_those_before_and_what_a_run_stored() -> None:
    assert Rows(100, 103).after(INSERTED) == Rows(105, 110)
    assert Rows(100, 103).or_more().after(INSERTED) == Rows(105, ROWS_MAX)


def test_a_run_begins_with_what_the_last_one_left_only_where_nothing_is_put_back() -> None:
    for reset, second in (("none", Rows(110, 114)), ("reuse", Rows(105, 107))):
        one = instance(reset)
        for _ in range(2):
            one.reset(cast(Any, None))
            rows = one.rows_after(INSERTED)
        assert rows == second, reset


def test_after_a_run_that_came_to_no_end_there_may_be_any_number_of_rows_more() -> None:
    one = instance()
    one.reset(cast(Any, None))
    one.reset(cast(Any, None))
    assert one.rows_after(INSERTED) == Rows(105, ROWS_MAX)


def test_systems_on_one_table_share_its_history_and_private_ones_begin_anew() -> None:
    for private, expected in ((False, Rows(110, 114)), (True, Rows(105, 107))):
        one, other = instance(private=private), instance(private=private)
        assert one.data
        if private:
            one.data.snapshot = cast(Any, "snapshot")
        one.reset(cast(Any, None))
        one.rows_after(INSERTED)
        assert other.take(one.data)
        other.reset(cast(Any, None))
        assert other.rows_after(INSERTED) == expected


def test_a_private_system_without_a_copy_loads_for_itself() -> None:
    assert not instance(private=True).take(Data(Rows(1, 1)))


BOTH = (Found("t", ours=False), Found("u", ours=True, whole=True))


@pytest.mark.parametrize(
    ("found", "what"),
    [
        ((), "there is no table `t` on s"),
        (BOTH[:1], "there is no table `u` on s"),
        ((BOTH[0], Found("u", ours=True)), "the load of the table `u` was cut short on s"),
        (BOTH, "the data on s are not what the plan says: row count: expected 100 rows, found 99 rows (t: 49)"),
    ],
)
def test_data_that_are_not_what_the_plan_says_are_refused(found: tuple[Found, ...], what: str) -> None:
    broken = Check(name="row count", ok=False, expected="100 rows", actual="99 rows", evidence=["t: 49"])
    one = instance("none", *found)
    one.phases = cast(Any, SimpleNamespace(check=lambda *rest: SimpleNamespace(checks=[broken])))
    with pytest.raises(PlanError) as caught:
        one.find([])
    assert caught.value.what == what
    assert "`bakeoff load`" in caught.value.hint


def test_data_that_are_there_have_the_rows_of_runs_made_before() -> None:
    asked: list[Any] = []

    def check(*rest: Any) -> Any:
        asked.append(rest[-1])
        return SimpleNamespace(checks=[])

    run = RunRecord(id="r", block=1, cell="c", order=0, started="", state="done", seed=1, state_report=INSERTED)
    one = instance("none", *BOTH)
    one.phases = cast(Any, SimpleNamespace(check=check, warnings=list))
    assert one.find([run, run]).rows == 110
    assert (asked[0].rows_min, asked[0].rows_max, asked[0].after_run) == (110, 114, True)
    one.find([run, run.model_copy(update={"state": "failed"})])
    assert (asked[1].rows_min, asked[1].rows_max) == (105, ROWS_MAX)
