"""Faults of a plan: what may be planned, what is refused, and what they make of a cell."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.errors import PlanError
from bakeoff.model.faults import PlannedFault
from bakeoff.plan.dry_run.describe import describe
from bakeoff.plan.read import read_plan, resolve
from bakeoff.plan.resolved import ResolvedPlan
from bakeoff.systems.mysql.mariadb import MariaDb
from builders.plans import MARIADB, OLD, SQLITE, read, refused

WINDOW = "window = '30s'"


@pytest.fixture(autouse=True)
def _every_kind_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MariaDb, "available", classmethod(lambda cls, options: None))


def fault(**said: str) -> str:
    return "\n[[faults]]\n" + "\n".join(f'{key} = "{value}"' for key, value in said.items())


def plan(*faults: str, systems: str = MARIADB) -> ResolvedPlan:
    return read(systems=systems, measure=WINDOW, rest="".join(faults))


def test_a_fault_is_of_a_server_at_a_time_of_the_window() -> None:
    (cell,) = plan(fault(at="20s", node="server", do="kill", **{"for": "5s"})).cells
    assert cell.record.faults == [PlannedFault(at_s=20, node="server", do="kill", for_s=5)]
    assert cell.record.faults[0].words == "kill server at 20 s, restart it after 5 s"


def test_the_only_server_of_a_system_need_not_be_named_and_faults_come_in_the_order_of_time() -> None:
    (cell,) = plan(fault(at="20s", do="restart"), fault(at="500ms", do="freeze", **{"for": "2s"})).cells
    assert [one.words for one in cell.record.faults] == [
        "freeze server at 0.5 s, thaw it after 2 s",
        "restart server at 20 s",
    ]


def test_a_fault_of_one_system_leaves_the_others_alone() -> None:
    found = plan(fault(at="1s", do="kill", system="mariadb"), systems=f"{MARIADB}\n{SQLITE}")
    assert {cell.record.system: len(cell.record.faults) for cell in found.cells} == {"mariadb": 1, "sqlite": 0}


def test_two_partitions_at_a_time_are_refused() -> None:
    systems = "[systems.galera]\nstart = { nodes = 3 }"
    one, other, later = (
        fault(at=at, node=node, do="partition", **{"for": "5s"})
        for at, node in (("1s", "n1"), ("3s", "n2"), ("7s", "n2"))
    )
    assert "is planned before another one has ended" in refused(systems=systems, measure=WINDOW, rest=one + other).what
    assert len(read(systems=systems, measure=WINDOW, rest=one + later, must_run=False).cells[0].record.faults) == 2


def test_a_delay_and_a_skew_have_a_size() -> None:
    systems = "[systems.galera]\nstart = { nodes = 3 }"
    faults = [
        fault(at="1s", node="n1", do="delay", by="20ms", **{"for": "5s"}),
        fault(at="2s", node="n2", do="skew", by="-1500ms"),
        fault(at="3s", node="n3", do="skew", by="+2s"),
    ]
    (cell,) = read(systems=systems, measure=WINDOW, rest="".join(faults), must_run=False).cells
    assert [one.words for one in cell.record.faults] == [
        "delay n1 by 20 ms at 1 s, restore it after 5 s",
        "skew n2 by -1.5 s at 2 s",
        "skew n3 by +2 s at 3 s",
    ]


def test_a_fault_is_part_of_what_a_cell_is() -> None:
    ids = {
        found.cells[0].record.id for found in (plan(), plan(fault(at="1s", do="kill")), plan(fault(at="2s", do="kill")))
    }
    assert len(ids) == 3


def test_what_is_done_when_a_node_fails_is_no_part_of_a_cell() -> None:
    ended = read(systems=MARIADB, measure=f"{WINDOW}\non_node_failure = 'end'")
    assert ended.measure.ends_with_a_node
    assert ended.cells[0].record.id == plan().cells[0].record.id


def test_a_dry_run_and_the_bundle_know_the_faults(tmp_path: Path) -> None:
    found = plan(fault(at="2s", do="freeze", **{"for": "1s"}))
    assert describe(found, tmp_path).faults == {"mariadb": ["freeze server at 2 s, thaw it after 1 s"]}
    assert found.record.resolved["faults"] == [{"at": "2s", "do": "freeze", "for": "1s"}]
    assert "faults" not in plan().record.resolved


@pytest.mark.parametrize(
    ("faults", "what", "hint"),
    [
        (fault(at="1s", node="sever", do="kill"), "mariadb has no node `sever`", "did you mean `server`?"),
        (fault(at="30s", do="kill"), "a fault is planned at 30 s, and the window has 30 s", "after the warm-up"),
        (fault(at="29.1s", do="kill"), "planned at 29.1 s, and the window has 30 s", "1 s of the window must follow"),
        (
            fault(at="28s", do="kill", **{"for": "2s"}),
            "would end at 30 s, and the window ends at 30 s",
            "make `for` shorter",
        ),
        (fault(at="1s", do="burn"), '`do` cannot be the text "burn"', "kill, stop, freeze, restart, partition"),
        (
            fault(at="1s", do="partition"),
            "a `partition` is between a server and the others, and mariadb has only one",
            "several nodes",
        ),
        (fault(at="1s", do="delay", by="1ms"), "between a server and the others, and mariadb has only one", "several"),
        (fault(at="1s", do="delay"), "`delay` does not say how much later packets arrive", 'by = "20ms"'),
        (fault(at="1s", do="skew"), "`skew` does not say by how much the clock is wrong", "set `by`"),
        (fault(at="1s", do="delay", by="-1ms"), "a delay is longer than 0", "counts one way"),
        (fault(at="1s", do="skew", by="0s"), "0 changes nothing", '"-500ms"'),
        (fault(at="1s", do="skew", by="2"), "there is no unit in the duration", "ms, s"),
        (fault(at="1s", do="kill", by="1s"), "a `kill` has no size", "leave out `by`"),
        (
            fault(at="1s", do="kill", system="mariadbb"),
            "`, which is not a system of the plan",
            "did you mean `mariadb`?",
        ),
        (fault(at="1s", do="restart", **{"for": "2s"}), "it has no `for`", 'do = "stop"'),
        (
            fault(at="1s", do="kill", **{"for": "0s"}),
            "`for` is how long the server stays away, and must be above 0",
            'do = "restart" restarts at once',
        ),
        (fault(do="kill"), "[[faults]] needs `at`", 'at = "20s"'),
        (fault(at="1s", do="kill", nod="server"), "unknown key `nod`", "did you mean `node`?"),
        (fault(at="1s", do="kill") + fault(at="2s", do="freeze"), "still away (kill server at 1 s)", "after `for`"),
    ],
)
def test_what_cannot_be_done_is_refused(faults: str, what: str, hint: str) -> None:
    error = refused(systems=MARIADB, measure=WINDOW, rest=faults)
    assert what in error.what
    assert hint in error.hint


ASKED = [
    (WINDOW, "[compare]\nlimit = 'time_to_full_rate_s < 5s'"),
    (WINDOW, "[compare]\nfail_if = 'time_without_writes_s > 2s'"),
    (WINDOW, "[search]\nhighest = 'threads'\nwhile = 'time_to_full_rate_s < 5s'"),
    (f"{WINDOW}\nobjective = 'time_without_writes_s'", ""),
]


@pytest.mark.parametrize(("measure", "asked"), ASKED)
def test_what_is_asked_of_faults_needs_faults(measure: str, asked: str) -> None:
    error = refused(systems=MARIADB, measure=measure, rest=asked)
    assert "_s` measures planned faults, and the plan has none" in error.what
    assert "add [[faults]]" in error.hint
    read(systems=MARIADB, measure=measure, rest=asked + fault(at="20s", do="kill", **{"for": "2s"}))


def test_a_threshold_of_the_command_line_that_is_of_faults_needs_faults() -> None:
    text = f"title = 't'\n{MARIADB}\n[workload]\nkind = 'ycsb'\npreset = 'c'\n"
    with pytest.raises(PlanError, match="` measures planned faults, and the plan has none") as caught:
        resolve(text, Path("."), fail_if=["time_without_writes_s > 2s"])
    assert "--fail-if" in caught.value.where


def test_the_place_that_is_named_is_that_of_the_fault_that_is_meant() -> None:
    text = (
        f"title = 't'\n{MARIADB}\n[workload]\nkind = 'ycsb'\n{fault(at='1s', do='restart')}{fault(at='40s', do='kill')}"
    )
    with pytest.raises(PlanError) as caught:
        resolve(text, Path())
    line = 1 + text.splitlines().index('at = "40s"')
    assert caught.value.where == f"the plan, line {line}, [[faults]] at"


@pytest.mark.parametrize("systems", [SQLITE, OLD, "[systems.null]"])
def test_only_servers_of_ours_are_hurt(systems: str) -> None:
    error = refused(systems=systems, measure=WINDOW, rest=fault(at="1s", do="kill"))
    assert ": it is not a managed server" in error.what


def test_a_fault_of_every_system_must_be_one_of_each() -> None:
    error = refused(systems=f"{MARIADB}\n{SQLITE}", measure=WINDOW, rest=fault(at="1s", do="kill"))
    assert "no fault is possible on sqlite" in error.what
    assert "; name another system with `system`" in error.hint


def test_faults_in_a_closed_loop_are_advised_a_rate() -> None:
    def advised(measure: str) -> bool:
        found = read(systems=MARIADB, measure=f"{WINDOW}\n{measure}", rest=fault(at="1s", do="kill"))
        return any(
            "faults in a closed loop" in words
            and "write a `rate`, such as half of the throughput without faults" in words
            for words in found.warnings
        )

    assert advised("")
    assert advised("pacing = 'closed'")
    assert not advised("rate = 100")
    assert not any("faults" in words for words in read(systems=MARIADB, measure=WINDOW).warnings)


PLANS = Path(__file__).parents[2] / "plans"


@pytest.mark.parametrize("path", [p for p in sorted(PLANS.rglob("*.toml")) if "[[faults]]" in p.read_text()])
def test_plans_with_faults_that_come_with_bakeoff_offer_a_rate(path: Path) -> None:
    assert all(cell.record.rate_ops_per_s for cell in read_plan(path, must_run=False).cells)
