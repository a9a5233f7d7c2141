"""Plans that are made for somebody: out of a few words, and as a first one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bakeoff.cli import main
from bakeoff.errors import ExitCode, PlanError
from bakeoff.plan.new_plan import SIZES, Quick, plan_text, starter
from bakeoff.plan.read import resolve
from bakeoff.plan.resolved import ResolvedPlan
from bakeoff.systems import SYSTEMS
from bakeoff.workloads import workload_names, workloads


def read(quick: Quick) -> ResolvedPlan:
    return resolve(plan_text(quick), Path("."), must_run=False)


def test_a_few_words_are_a_plan() -> None:
    plan = read(Quick(["mariadb", "sqlite"], "ycsb-b", [1, 8], size="1_000", window="7s", repetitions=6))
    assert [(cell.record.system, cell.threads) for cell in plan.cells] == [
        *(("mariadb", 1), ("mariadb", 8)),
        *(("sqlite", 1), ("sqlite", 8)),
    ]
    assert {cell.workload.loaded_rows for cell in plan.cells} == {1000}
    assert (plan.record.window_s, plan.record.repetitions) == (7.0, 6)
    assert plan.record.title == "mariadb and sqlite: ycsb-b, 1 and 8 threads"
    assert {cell.record.durability for cell in plan.cells} == {"full"}


def test_versions_of_one_kind_are_systems_of_their_own() -> None:
    plan = read(Quick(["mariadb@10.11", "mariadb@11.4"], "ycsb-c"))
    assert [(cell.record.system, cell.system_options["start"]) for cell in plan.cells] == [
        ("mariadb-10-11", {"version": "10.11"}),
        ("mariadb-11-4", {"version": "11.4"}),
    ]


@pytest.mark.parametrize(
    ("window", "repetitions", "demonstration"), [("5s", 5, True), ("30s", 4, True), ("30s", 5, False), ("1m", 9, False)]
)
def test_short_runs_are_a_demonstration(window: str, repetitions: int, demonstration: bool) -> None:
    plan = read(Quick(["sqlite"], "ycsb-c", window=window, repetitions=repetitions))
    assert plan.record.demonstration == demonstration


def test_every_workload_is_a_plan_by_its_name_and_in_its_own_measure() -> None:
    names = workload_names()
    assert SIZES.keys() == {kind for kind, _ in names.values()} == workloads().keys() - {"lua", "replay"}
    assert {"ycsb-b", "tpcc", "tproc-c", "linkbench", "pgbench", "sysbench-oltp_read_only"} <= names.keys()
    for name, (kind, preset) in names.items():
        plan = read(Quick(["sqlite"], name, [1]))
        assert plan.record.resolved["workload"]["kind"] == kind
        assert plan.record.resolved["workload"].get(workloads()[kind].preset) == (preset or "0.01x")


@pytest.mark.parametrize(
    ("quick", "what", "hint"),
    [
        (Quick(["ycsb-b", "sqlite"], "ycsb-a"), "unknown kind of system `ycsb-b`", "write --workload ycsb-b"),
        (Quick(["sqlit"], "ycsb-a"), "unknown kind of system `sqlit`", "did you mean `sqlite`?"),
        (Quick(["sqlite"], "yscb-a"), "unknown workload `yscb-a`", "did you mean `ycsb-a`?"),
        (Quick(["mariadb", "mariadb"], "ycsb-a"), "mariadb is named twice", "mariadb@10.11"),
        (Quick(["sqlite@3"], "ycsb-a"), "sqlite has no versions to choose from", "write sqlite"),
        (Quick(["sqlite"], "ycsb-a", window="5"), "there is no unit", "10s"),
    ],
)
def test_what_is_none_is_refused_with_the_nearest(quick: Quick, what: str, hint: str) -> None:
    with pytest.raises(PlanError, match=what) as caught:
        plan_text(quick)
    assert hint in caught.value.hint


def test_the_plan_that_is_saved_has_the_cells_that_were_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "my.toml"
    assert main(["quick", "sqlite", "--threads", "1", "2", "--dry-run", "--json", "--save", str(file)]) == ExitCode.DONE
    shown = capsys.readouterr()
    assert file.read_text() in shown.err
    assert main(["run", str(file), "--dry-run", "--json"]) == ExitCode.DONE
    assert json.loads(capsys.readouterr().out)["cells"] == json.loads(shown.out)["cells"]
    assert main(["quick", "null", "--dry-run", "--save", str(file)]) == ExitCode.USAGE
    assert "null" not in file.read_text()


def test_a_first_plan_is_for_the_systems_of_this_machine_and_overwrites_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind, system in SYSTEMS.items():
        lacking = "no program" if kind == "mysql" else None
        monkeypatch.setattr(system, "available", classmethod(lambda cls, options, why=lacking: why))
    file = tmp_path / "first.toml"
    assert main(["init", str(file)]) == ExitCode.DONE
    plan = resolve(file.read_text(), tmp_path)
    assert {cell.record.system for cell in plan.cells} == {"cassandra", "mariadb", "postgresql", "sqlite"}
    assert main(["init", str(file)]) == ExitCode.USAGE
    assert "the file exists already" in capsys.readouterr().err


def test_every_line_that_a_first_plan_comments_out_can_be_put_in() -> None:
    text = starter("my.toml")
    for line in ("version", "settings"):
        text = text.replace(f"# {line} =", f"{line} =")
    assert resolve(text, Path("."), must_run=False).cells
