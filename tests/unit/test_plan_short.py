"""The shortest ways of saying something in a plan mean what the long ones mean."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.errors import PlanError
from bakeoff.plan.read import read_plan, resolve
from bakeoff.plan.resolved import ResolvedPlan
from bakeoff.systems.mysql.mariadb import MariaDb

YCSB = "[workload]\nkind = 'ycsb'\npreset = 'c'\n"
SQLITE = "[systems.sqlite]\n"


@pytest.fixture(autouse=True)
def mariadb_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MariaDb, "available", classmethod(lambda cls, options: None))


def read(text: str, *said: str) -> ResolvedPlan:
    return resolve(f"title = 't'\n{text}", Path("."), said=said)


def refused(text: str, *said: str) -> PlanError:
    with pytest.raises(PlanError) as caught:
        read(text, *said)
    return caught.value


def ids(plan: ResolvedPlan) -> list[str]:
    return [cell.record.id for cell in plan.cells]


def test_a_plan_of_five_lines_is_one_and_has_the_name_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "readers.toml"
    file.write_text("threads = 8\n" + SQLITE + YCSB)
    plan = read_plan(file)
    assert plan.record.title == "readers"
    assert [cell.threads for cell in plan.cells] == [8]


LOADS = [
    ("threads = 8", "threads"),
    ("rate = '5k/s'", "rate"),
    ("durability = 'full'", "durability"),
    ("workers = 1", "workers"),
]


@pytest.mark.parametrize(("line", "name"), LOADS)
def test_a_constant_is_the_same_wherever_it_is(line: str, name: str) -> None:
    as_factor = read(f"{SQLITE}{YCSB}[factors]\n{line}\n")
    for text in (f"{line}\n{SQLITE}{YCSB}", f"{SQLITE}{YCSB}{line}\n", f"{SQLITE}{YCSB}[measure]\n{line}\n"):
        plan = read(text)
        assert ids(plan) == ids(as_factor)
        assert plan.record.factors[name] == as_factor.record.factors[name]


def test_several_levels_are_a_factor_wherever_they_are() -> None:
    line = "threads = [1, 8]\n"
    as_factor = read(f"{SQLITE}{YCSB}[factors]\n{line}")
    for text in (line + SQLITE + YCSB, SQLITE + YCSB + line, f"{SQLITE}{YCSB}[measure]\n{line}"):
        assert read(text).record.cells == as_factor.record.cells


def test_a_constant_is_allowed_next_to_listed_cells_and_a_list_is_not() -> None:
    cells = SQLITE + YCSB + "[[cells]]\nrecords = 10\n[[cells]]\nrecords = 20\n"
    assert [cell.threads for cell in read("threads = 4\n" + cells).cells] == [4, 4]
    error = refused("threads = [4, 8]\n" + cells)
    assert error.what == "`threads` has several levels at the top of the plan, and the plan lists its cells"
    assert error.hint == "give `threads` to each table of [[cells]]"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            f"threads = 8\n{SQLITE}{YCSB}threads = 8\n",
            "`threads` is set twice, at the top of the plan and in [workload]",
        ),
        (
            f"threads = 8\n{SQLITE}{YCSB}[measure]\nthreads = 8\n",
            "`threads` is set twice, at the top of the plan and in [measure]",
        ),
        (f"threads = 8\n{SQLITE}{YCSB}[factors]\nthreads = [1, 4]\n", "`threads` is set twice"),
        (
            f"threads = [8]\n{SQLITE}{YCSB}[factors]\nthreads = [1, 4]\n",
            "`threads` is set twice, at the top of the plan and in [factors]",
        ),
        (f"durability = 'full'\n{SQLITE}durability = 'full'\n{YCSB}", "`durability` is set twice, for every system"),
        (f"rate = 5\n{SQLITE}{YCSB}[measure]\npacing = 'closed'\n", "the plan has `rate`, but `pacing` is a closed"),
    ],
)
def test_a_thing_is_said_once(text: str, what: str) -> None:
    assert refused(text).what.startswith(what)


def test_what_is_wrong_with_a_constant_is_reported_with_its_place() -> None:
    assert refused(f"{SQLITE}{YCSB}threads = 0\n").where == "the plan, line 6, [workload] threads"
    assert refused(f"threads = 'x'\n{SQLITE}{YCSB}").where == "the plan, line 2, threads"


@pytest.mark.parametrize(
    "short",
    [
        "version = '10.11'\nsettings = { sync_binlog = 1 }",
        "start = { version = '10.11' }\nsettings = { sync_binlog = 1 }",
        "version = '10.11'\nstart = { settings = { sync_binlog = 1 } }",
    ],
)
def test_a_managed_server_says_its_options_in_its_own_table(short: str) -> None:
    long = "start = { version = '10.11', settings = { sync_binlog = 1 } }"
    assert ids(read(f"[systems.mariadb]\n{short}\n{YCSB}")) == ids(read(f"[systems.mariadb]\n{long}\n{YCSB}"))


def test_a_system_without_an_address_is_managed() -> None:
    assert ids(read("[systems.mariadb]\n" + YCSB)) == ids(read("[systems.mariadb]\nstart = {}\n" + YCSB))


def test_an_option_is_reported_with_its_place_and_is_refused_next_to_an_address() -> None:
    wrong = refused(f"[systems.mariadb]\nsettings = {{ datadir = '/x' }}\n{YCSB}")
    assert wrong.where == "the plan, line 3, [systems.mariadb] settings"
    error = refused(f"[systems.mariadb]\naddress = 'db1'\nversion = '10.11'\n{YCSB}")
    assert error.what == "`version` is an option of managed servers, and `address` names an existing one"
    assert error.where == "the plan, line 4, [systems.mariadb] version"
    twice = refused(f"[systems.mariadb]\nversion = '10.6'\n{YCSB}[factors]\nversion = ['10.6', '10.11']\n")
    assert "is set twice" in twice.what


PLAN = f"{SQLITE}settings = {{ cache_size = 10 }}\n{YCSB}[factors]\nthreads = [1, 4]\nrecords = [10, 20]\n"


@pytest.mark.parametrize("key", ["threads", "measure.threads", "factors.threads", "workload.threads"])
def test_what_is_set_takes_the_place_of_what_the_plan_says_elsewhere(key: str) -> None:
    assert {cell.threads for cell in read(PLAN, f"{key}=8").cells} == {8}


@pytest.mark.parametrize(
    ("said", "cells"),
    [
        ("workload.records=30", 2),
        ("factors.settings.cache_size=[10, 20]", 8),
        ('factors."sqlite.settings.cache_size"=[10, 20]', 8),
        ("factors.sqlite.settings.cache_size=[10, 20, 30]", 12),
        ("measure.threads=[1, 2, 3]", 6),
        ("systems.sqlite.settings.cache_size=20", 4),
        ("systems.null={}", 8),
        ("threads=2", 2),
    ],
)
def test_anything_can_be_set(said: str, cells: int) -> None:
    if said.startswith("factors.settings"):
        assert refused(PLAN, said).what == "`settings.cache_size` is set twice, as a factor and in [systems.sqlite]"
    else:
        assert len(read(PLAN, said).cells) == cells


def test_a_version_that_looks_like_a_number_is_a_text() -> None:
    mariadb = "[systems.mariadb]\n" + YCSB
    for said in ("systems.mariadb.version=10.10", "factors.version=10.10", "systems.mariadb.start.version='10.10'"):
        assert [cell.system_options["start"]["version"] for cell in read(mariadb, said).cells] == ["10.10"]
    assert [c.system_options["start"]["version"] for c in read(mariadb, "factors.version=[10.6, 11]").cells] == [
        *("10.6", "11")
    ]


def test_what_is_wrong_with_a_set_value_names_the_option() -> None:
    error = refused(PLAN, "measure.windw=5s")
    assert (error.where, error.hint) == ("the plan, --set measure.windw", "did you mean `window`?")
    assert refused(PLAN, "threads=0").where == "the plan, --set threads"
    assert refused(PLAN, "workload.preset=z").where == "the plan, --set workload.preset"
    listed = refused("cells = []\n" + SQLITE + YCSB, "cells.threads=8")
    assert listed.what == "`cells` is a list, whose entries have no names"


def test_replicas_are_allowed_next_to_start_or_in_it_and_are_a_factor() -> None:
    inside = read(f"[systems.mariadb]\nstart = {{ replicas = 2, semi_sync = true }}\n{YCSB}")
    beside = read(f"[systems.mariadb]\nreplicas = 2\nsemi_sync = true\n{YCSB}")
    assert beside.cells[0].system_options == inside.cells[0].system_options
    varied = read(f"[systems.mariadb]\n{YCSB}[factors]\n'mariadb.replicas' = [0, 1]\n")
    assert [cell.system_options["start"]["replicas"] for cell in varied.cells] == [0, 1]
    bare = read(f"[systems.mariadb]\n{YCSB}[factors]\nreplicas = [0, 1]\n")
    assert [cell.system_options for cell in bare.cells] == [cell.system_options for cell in varied.cells]
    assert [cell.record.nodes for cell in varied.cells] == [[], ["primary", "replica1"]]
    assert (
        "waits for a replica: set replicas = 1 or more" in refused(f"[systems.mariadb]\nsemi_sync = true\n{YCSB}").what
    )
