"""What must be there after a run, and after those before it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bakeoff.errors import PlanError
from bakeoff.model.boundary import Check
from bakeoff.model.records.run import RunRecord
from bakeoff.plan.document.tables import MeasureTable
from bakeoff.schedule.instance import Data, Instance
from bakeoff.systems.ledger import Found

#: Of a run with two clients, in words that only its workload understands.
DID: list[Any] = [{"orders": [1, 2]}, "none"]


#: Not even what the tables are to lie in is there.
NOWHERE = Found("", ours=False)


class Ledger:
    place = "database"

    def __init__(self, *found: Found) -> None:
        self.found = found

    def absent_place(self) -> str:
        return "database `d`" if self.found == (NOWHERE,) else ""

    def begin(self, *of: Any, all_there: bool) -> None:
        raise PlanError("`t` is there and is no table")

    def drop_words(self, tables: list[str]) -> str:
        return f"DROP TABLE {', '.join(tables)}"

    def strangers(self, tables: list[str]) -> list[str]:
        return [one.name for one in self.there(tables) if not one.ours]

    def there(self, tables: list[str]) -> list[Found]:
        return [one for one in self.found if one.name in tables]


def instance(reset: str = "none", *found: Found, managed: bool = False) -> Instance:
    """With all that would start anything replaced."""
    made = object.__new__(Instance)
    sizes = {"loaded_rows": 100, "size_estimate_bytes": 0}
    workload = SimpleNamespace(tables=["t", "u"], **sizes, dataset="d", spec={"kind": "tpcc", "tables": {}})
    made.cell = cast(
        Any,
        SimpleNamespace(workload=workload, record=SimpleNamespace(dataset="d", system="s"), load_key="", reset=reset),
    )
    made.plan = cast(
        Any, SimpleNamespace(cells=[], measure=MeasureTable(check_sample=10), record=SimpleNamespace(cache="warm"))
    )
    made.system = cast(
        Any,
        SimpleNamespace(
            name="s",
            managed=managed,
            keeps_data=True,
            ledger=lambda: Ledger(*found),
            size_on_disk_bytes=lambda: None,
            file_size_bytes=lambda: None,
            restore=lambda path: None,
            whole=lambda: True,
            servers=dict,
        ),
    )
    made.logs = cast(Any, None)
    made.data, made._done, made._started = Data(), [], True
    return made


@pytest.mark.parametrize(("name", "other"), [("new_orders", "new_order"), ("orders", "oorder"), ("item", "item1")])
def test_a_table_under_the_name_that_another_tool_gives_it_is_named(name: str, other: str) -> None:
    one = instance("reuse", Found(other, ours=False))
    one.cell.workload.tables[:] = [name]
    with pytest.raises(PlanError, match=f"there is no table `{name}`") as error:
        one.find([], 0, pytest.fail)
    assert f'tables = {{ {name} = "{other}" }}' in (error.value.hint or "")


def test_a_run_begins_with_what_the_last_one_left_only_where_nothing_is_put_back() -> None:
    for reset, second in (("none", [*DID, *DID]), ("reuse", DID)):
        one = instance(reset)
        for _ in range(2):
            one.reset(cast(Any, None))
            done = one.done_with(DID)
        assert done == second, reset


def test_after_a_run_that_came_to_no_end_nobody_knows_what_it_did() -> None:
    one = instance()
    one.reset(cast(Any, None))
    one.reset(cast(Any, None))
    assert one.done_with(DID) == [None, *DID]


def test_systems_on_one_table_share_its_history_and_managed_ones_begin_again() -> None:
    for managed, expected in ((False, [*DID, *DID]), (True, DID)):
        one, other = instance(managed=managed), instance(managed=managed)
        assert one.data
        if managed:
            one.data.snapshot = cast(Any, "snapshot")
        one.reset(cast(Any, None))
        one.done_with(DID)
        assert other.take(one.data)
        other.reset(cast(Any, None))
        assert other.done_with(DID) == expected


def test_a_managed_system_without_a_copy_loads_for_itself() -> None:
    assert not instance(managed=True).take(Data())


BOTH = (Found("t", ours=False), Found("u", ours=True, whole=True))


@pytest.mark.parametrize(
    ("found", "what"),
    [
        ((NOWHERE,), "there is no database `d` on s"),
        ((), "there is no table `t` on s"),
        (BOTH[:1], "there is no table `u` on s"),
        ((BOTH[0], Found("u", ours=True)), "the load of the table `u` was interrupted on s"),
        (BOTH, "the data on s differs from the plan: row count: expected 100 rows, found 99 rows (t: 49)"),
    ],
)
def test_data_that_are_not_what_the_plan_says_are_refused(found: tuple[Found, ...], what: str) -> None:
    broken = Check(name="row count", ok=False, expected="100 rows", actual="99 rows", evidence=["t: 49"])
    one = instance("none", *found)
    one.phases = cast(Any, SimpleNamespace(check=lambda *rest: SimpleNamespace(checks=[broken])))
    with pytest.raises(PlanError) as caught:
        one.find([], 7, print)
    assert caught.value.what == what
    assert "`bakeoff load`" in caught.value.hint


def test_tables_of_others_are_kept_apart_by_what_the_system_has_for_it() -> None:
    one = instance("none", *BOTH)
    one.allow_drop = False
    with pytest.raises(PlanError, match="there is a table `t` on s that bakeoff did not create") as caught:
        one._fill(Path(), print)
    assert "apart by a `database` of ours" in caught.value.hint


def test_only_tables_that_this_run_made_are_reported_at_its_end() -> None:
    one = instance("none", *BOTH)
    one.allow_drop = True
    one.bundle, one._tables_begun = Path(), False
    with pytest.raises(PlanError, match="`t` is there and is no table"):
        one._fill(Path(), print)
    assert one.leave(drop=False) == ""
    one._tables_begun = True
    assert one.leave(drop=False) == (
        "on s the table `u` stays; `bakeoff drop` removes what bakeoff created; by hand: DROP TABLE u"
    )
    one.system = instance("none", BOTH[0]).system
    assert one.leave(drop=False) == ""


def test_data_that_exist_are_checked_with_what_runs_before_did() -> None:
    asked: list[Any] = []

    def check(*rest: Any) -> Any:
        asked.append(rest[-1])
        return SimpleNamespace(checks=[])

    run = RunRecord(id="r", block=1, cell="c", order=0, started="", state="done", seed=1, evidence=DID)
    one = instance("none", *BOTH)
    one.phases = cast(Any, SimpleNamespace(check=check, warnings=list))
    assert one.find([run, run], 7, pytest.fail).rows == 100
    assert (asked[0].evidence, asked[0].after_run) == ([*DID, *DID], True)
    one.find([run, run.model_copy(update={"state": "failed"})], 7, pytest.fail)
    assert asked[1].evidence == [*DID, None]


@pytest.mark.parametrize(("reset", "begins"), [("none", True), ("reuse", False)])
def test_what_others_stored_is_where_the_next_run_begins_where_nothing_is_put_back(reset: str, begins: bool) -> None:
    """Runs that were cut short, or another plan's: nobody knows what they did, but what exists is counted."""
    told: list[str] = []

    def check(*rest: Any) -> Any:
        held = None in rest[-1].evidence
        found = Check(name="row count", ok=held, expected="100 rows", actual="117 rows", evidence=[])
        return SimpleNamespace(checks=[found])

    one = instance(reset, *BOTH)
    one.phases = cast(Any, SimpleNamespace(check=check, warnings=list))
    if not begins:
        with pytest.raises(PlanError, match="expected 100 rows, found 117 rows"):
            one.find([], 7, told.append)
        assert told == []
        return
    one.find([], 7, told.append)
    assert one.data
    assert (one.data.done, one.data.first_turn) == ([None], 7)
    (words,) = told
    assert "was changed before: row count: expected 100 rows, found 117 rows; the runs use it unchanged" in words


def test_of_data_that_may_have_grown_the_check_is_named_that_failed_all_the_same() -> None:
    """More rows than the plan says may be there; a row of the load that is not must be said."""

    def check(*rest: Any) -> Any:
        count = Check(name="row count", ok=None in rest[-1].evidence, expected="100", actual="117", evidence=[])
        rows = Check(name="rows of the load", ok=False, expected="100", actual="99", evidence=["user7"])
        return SimpleNamespace(checks=[count, rows])

    one = instance("none", *BOTH)
    one.phases = cast(Any, SimpleNamespace(check=check, warnings=list))
    with pytest.raises(PlanError) as caught:
        one.find([], 7, pytest.fail)
    assert caught.value.what.endswith("differs from the plan: rows of the load: expected 100, found 99 (user7)")


def test_keys_of_data_that_nobody_has_changed_begin_with_the_first_turn() -> None:
    one = instance("none", *BOTH)
    one.phases = cast(Any, SimpleNamespace(check=lambda *rest: SimpleNamespace(checks=[]), warnings=list))
    one.find([], 7, pytest.fail)
    assert one.data
    assert one.data.first_turn == 0


def test_a_run_of_an_older_bakeoff_is_read_with_what_it_said_of_its_data() -> None:
    report = {"inserts_acknowledged": 5, "bytes_written": 70}
    kept = RunRecord(id="r", block=1, cell="c", order=0, started="", state="done", seed=1).model_dump()
    del kept["evidence"], kept["user_bytes_written"]
    run = RunRecord.model_validate(kept | {"state_report": report})
    assert (run.evidence, run.user_bytes_written) == ([report], 70)
