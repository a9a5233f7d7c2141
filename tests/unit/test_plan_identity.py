"""A cell's id says what the cell is: it survives a plan that grows, and nothing that makes another run shares it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bakeoff.errors import PlanError
from bakeoff.plan.read import resolve
from bakeoff.systems.mysql.mariadb import MariaDb

PLAN = """
title = "t"
[systems.mariadb]
optional = true
start = { settings = { innodb_buffer_pool_size = "64M" } }
[systems.sqlite]
[workload]
kind = "ycsb"
preset = "a"
[factors]
threads = [1, 4]
[measure]
warm_up = "1s"
"""


@pytest.fixture(autouse=True)
def _every_kind_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MariaDb, "available", classmethod(lambda cls, options: None))


def ids(text: str = PLAN, folder: Path = Path(".")) -> dict[str, str]:
    """By label."""
    return {cell.record.label: cell.record.id for cell in resolve(text, folder).cells}


def changed(*change: str) -> dict[str, str]:
    assert change[0] in PLAN
    return ids(PLAN.replace(*change))


def test_ids_are_short_and_the_same_every_time() -> None:
    found = ids()
    assert found == ids()
    assert len(set(found.values())) == 4
    assert all(re.fullmatch("c[a-z2-7]{8}", identity) for identity in found.values())


def test_an_optional_system_that_comes_or_goes_changes_no_other_systems_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    both = ids()
    monkeypatch.setattr(MariaDb, "available", classmethod(lambda cls, options: "no mariadbd on the PATH"))
    alone = ids()
    assert alone.keys() == {"sqlite / threads=1", "sqlite / threads=4"}
    assert alone.items() <= both.items()


@pytest.mark.parametrize(
    "change",
    [
        ("threads = [1, 4]", "threads = [16, 1, 4]"),
        ("[systems.sqlite]", "[systems.other]\nkind = 'sqlite'\n[systems.sqlite]"),
        ("[measure]", "[measure]\nrepetitions = 50"),
        ("[measure]", "[measure]\nobjective = 'latency_p99'"),
        ("[measure]", "[measure]\nerror_budget = '20%'"),
        ("[measure]", "[measure]\nrepeat_disturbed = 3"),
        ('title = "t"', 'title = "another"\ndescription = "more words"'),
        ("[measure]", "[compare]\nbaseline = 'sqlite'\n[measure]"),
    ],
)
def test_a_plan_that_only_grew_or_compares_otherwise_keeps_its_ids(change: tuple[str, str]) -> None:
    assert ids().items() <= changed(*change).items()


def test_a_level_that_becomes_one_of_several_keeps_its_id() -> None:
    one = changed("threads = [1, 4]", "threads = [4]")
    assert one["sqlite"] == ids()["sqlite / threads=4"]


@pytest.mark.parametrize(
    "change",
    [
        ('preset = "a"', 'preset = "b"'),
        ('preset = "a"', 'preset = "a"\nrecords = 1001'),
        ('title = "t"', 'title = "t"\nseed = 2'),
        ('warm_up = "1s"', 'warm_up = "2s"'),
        ("[measure]", "[measure]\nwindow = '31s'"),
        ("[measure]", "[measure]\nreset = 'reload'"),
        ("[measure]", "[measure]\ncache = 'cold'"),
        ("[measure]", "[measure]\ntimeout = '11s'"),
        ("[measure]", "[measure]\nretry = { retries = 1, on = ['conflict'] }"),
        ("[measure]", "[measure]\nplacement = { client = [0] }"),
        ("[measure]", "[measure]\npacing = { rate = 100 }"),
        ("threads = [1, 4]", "threads = [1, 4]\nclients = [2]"),
        ("threads = [1, 4]", "threads = [1, 4]\nworkers = [1]"),
        ("threads = [1, 4]", "threads = [1, 4]\ndurability = ['none']"),
    ],
)
def test_what_makes_another_run_makes_another_id(change: tuple[str, str]) -> None:
    assert not set(ids().values()) & set(changed(*change).values())


def test_a_systems_own_option_changes_its_ids_alone() -> None:
    before, after = ids(), changed('"64M"', '"32M"')
    assert before["sqlite / threads=1"] == after["sqlite / threads=1"]
    assert before["mariadb / threads=1"] != after["mariadb / threads=1"]


def test_where_a_password_comes_from_is_no_part_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A", "x")
    monkeypatch.setenv("B", "x")
    existing = PLAN.replace(
        'optional = true\nstart = { settings = { innodb_buffer_pool_size = "64M" } }',
        'address = "db:1"\npassword = { env = "A" }',
    ).replace('preset = "a"', 'preset = "c"')
    assert ids(existing) == ids(existing.replace('"A"', '"B"'))


def test_a_property_file_counts_by_what_it_says(tmp_path: Path) -> None:
    text = PLAN.replace('preset = "a"', 'ycsb_file = "work"')
    (tmp_path / "work").write_text("recordcount=100\nreadproportion=1\nupdateproportion=0\n")
    before = ids(text, tmp_path)
    (tmp_path / "work").write_text("# a comment\nrecordcount=100\nreadproportion=1\nupdateproportion=0\n")
    assert ids(text, tmp_path) == before
    (tmp_path / "work").write_text("recordcount=101\nreadproportion=1\nupdateproportion=0\n")
    assert not set(ids(text, tmp_path).values()) & set(before.values())


def test_a_file_of_rows_counts_by_what_it_holds_wherever_it_lies(tmp_path: Path) -> None:
    plan = """
    title = "t"
    [systems.sqlite]
    [workload]
    kind = "sql"
    scripts = "look.sql"
    load = { items = { file = "items.csv" } }
    """

    def ids_in(name: str, rows: str) -> dict[str, str]:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "look.sql").write_text("SELECT COUNT(*) FROM items;")
        (folder / "items.csv").write_text(rows)
        return ids(plan, folder)

    assert ids_in("here", "id\n1\n") == ids_in("there", "id\n1\n") != ids_in("else", "id\n2\n")


def test_the_same_cell_twice_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text("recordcount=100\nreadproportion=1\nupdateproportion=0\n")
    text = PLAN.replace('preset = "a"\n[factors]', '[factors]\nycsb_file = ["one", "two"]')
    with pytest.raises(PlanError, match=r"ycsb_file=one .* and .* ycsb_file=two .* are the same cell"):
        resolve(text, tmp_path)
