"""The configuration listing finds what the plan does not declare."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bakeoff.bundle.read import Bundle
from bakeoff.report.config_diff import configuration_of
from builders.bundles import MARIADB, Contender, Story, write_bundle

SMALL = Story(threads=(1,), presets=("c",), repetitions=1, window_s=2, warm_up_s=1)
A = replace(MARIADB, name="a", settings={"sync_binlog": "1", "io_capacity": "200", "mode": "STRICT"})


def bundle(folder: Path, *contenders: Contender) -> Bundle:
    return write_bundle(folder, replace(SMALL, contenders=contenders))


def test_equal_settings_are_common_and_the_rest_stands_with_each_system(tmp_path: Path) -> None:
    b = replace(A, name="b", settings={"sync_binlog": "1", "io_capacity": "2000", "extra": "x"})
    found = configuration_of(bundle(tmp_path, A, b))
    assert found.common["sync_binlog"] == "1"
    assert found.common["durability"] == "full"
    assert found.common["memory"] == "1 GiB"
    assert found.systems[0].settings == {"io_capacity": "200", "mode": "STRICT"}
    assert found.systems[1].settings == {"extra": "x", "io_capacity": "2000"}


def test_a_setting_that_differs_unasked_is_undeclared(tmp_path: Path) -> None:
    b = replace(A, name="b", settings={**A.settings, "io_capacity": "2000"})
    (difference,) = configuration_of(bundle(tmp_path, A, b)).undeclared
    assert (difference.name, difference.values) == ("io_capacity", {"a": "200", "b": "2000"})
    assert not difference.deciding


def test_a_setting_that_the_plan_gives_is_declared(tmp_path: Path) -> None:
    b = replace(A, name="b", settings={**A.settings, "io_capacity": "2000"}, declared={"io_capacity": "2000"})
    found = configuration_of(bundle(tmp_path, A, b))
    assert found.undeclared == []
    assert [d.name for d in found.declared] == ["io_capacity"]
    assert found.systems[1].declared == ["io_capacity"]


def test_memory_that_differs_is_a_deciding_difference(tmp_path: Path) -> None:
    b = replace(A, name="b", memory_bytes=64 << 20)
    (difference,) = configuration_of(bundle(tmp_path, A, b)).undeclared
    assert (difference.name, difference.deciding) == ("memory", True)
    assert difference.values == {"a": "1 GiB", "b": "64 MiB"}


def test_a_fact_that_one_system_does_not_tell_is_a_difference(tmp_path: Path) -> None:
    found = bundle(tmp_path, A, replace(A, name="b"))
    del found.facts["c02"].portable["tls"]
    (difference,) = configuration_of(found).undeclared
    assert difference.values == {"a": "off", "b": "not known"}


def test_durability_that_the_plan_sets_apart_is_declared(tmp_path: Path) -> None:
    b = replace(A, name="b", durability="relaxed")
    found = configuration_of(bundle(tmp_path, A, b))
    assert [d.name for d in found.declared] == ["durability"]
    assert found.undeclared == []


def test_durability_that_a_system_does_not_have_though_asked_is_named(tmp_path: Path) -> None:
    found = bundle(tmp_path, A, replace(A, name="b"))
    found.facts["c02"].portable["durability"] = "none"
    listed = configuration_of(found).undeclared
    assert listed[0].values == {"b": "none, though the plan asks for full"}
    assert {d.name for d in listed} == {"durability"}


def test_isolation_that_differs_unasked_is_undeclared(tmp_path: Path) -> None:
    found = bundle(tmp_path, A, replace(A, name="b"))
    for cell in found.plan.cells:
        cell.isolation = None
    found.facts["c02"].portable["isolation"] = "serializable"
    (difference,) = configuration_of(found).undeclared
    assert (difference.name, difference.deciding) == ("isolation", True)


def spoken_by(found: Bundle, **clients: str) -> Bundle:
    """Each system's runs made by a client of ours."""
    systems = {cell.id: cell.system for cell in found.plan.cells}
    for run in found.runs:
        run.client, run.runner, run.io = clients[systems[run.cell]], "reactor", "io_uring"
    return found


def test_one_kind_of_system_asked_by_two_clients_is_an_undeclared_difference(tmp_path: Path) -> None:
    found = spoken_by(bundle(tmp_path, A, replace(A, name="b")), a="wire", b="mysql_async")
    listed = configuration_of(found)
    (difference,) = listed.undeclared
    assert difference.name == "client"
    assert difference.values == {"a": "wire, reactor, io_uring", "b": "mysql_async, reactor, io_uring"}
    assert [system.client for system in listed.systems] == list(difference.values.values())


def test_a_client_that_is_a_factor_is_a_declared_difference(tmp_path: Path) -> None:
    found = spoken_by(bundle(tmp_path, A, replace(A, name="b")), a="wire", b="mysql_async")
    for cell, client in zip(found.plan.cells, ("wire", "mysql_async"), strict=True):
        cell.system, cell.levels = "mariadb", {"system": "mariadb", "mariadb.client": client}
    found.plan.compare_factor = "mariadb.client"
    listed = configuration_of(found)
    assert listed.undeclared == []
    assert [d.name for d in listed.declared] == ["client"]


def test_a_client_that_the_plan_gives_to_a_system_is_a_declared_difference(tmp_path: Path) -> None:
    found = spoken_by(bundle(tmp_path, A, replace(A, name="b")), a="wire", b="mysql_async")
    found.plan.resolved["systems"] = {"a": {}, "b": {"client": "mysql_async"}}
    listed = configuration_of(found)
    assert listed.undeclared == []
    assert [d.name for d in listed.declared] == ["client"]


def test_kinds_that_need_clients_of_their_own_are_declared_by_comparing_them(tmp_path: Path) -> None:
    found = spoken_by(bundle(tmp_path, A, replace(A, name="b", kind="sqlite")), a="wire", b="rusqlite")
    listed = configuration_of(found)
    assert "client" not in [d.name for d in listed.undeclared]
    assert [d.name for d in listed.declared] == ["client"]


def test_one_client_for_all_is_no_difference(tmp_path: Path) -> None:
    found = spoken_by(bundle(tmp_path, A, replace(A, name="b")), a="wire", b="wire")
    listed = configuration_of(found)
    assert listed.undeclared == listed.declared == []
    assert {system.client for system in listed.systems} == {"wire, reactor, io_uring"}


def test_the_same_ways_in_another_order_are_no_difference(tmp_path: Path) -> None:
    story = replace(SMALL, contenders=(A, replace(A, name="b")), repetitions=2)
    found = spoken_by(write_bundle(tmp_path, story), a="wire", b="wire")
    first, second = {run.cell for run in found.runs}
    for cell, ways in ((first, ("epoll", "io_uring")), (second, ("io_uring", "epoll"))):
        for run, way in zip((run for run in found.runs if run.cell == cell), ways, strict=True):
            run.io = way
    listed = configuration_of(found)
    assert "client" not in [d.name for d in [*listed.declared, *listed.undeclared]]
    assert {s.client for s in listed.systems} == {"wire, reactor, epoll | wire, reactor, io_uring"}


def test_where_a_product_comes_from_is_held_only_against_the_same_product(tmp_path: Path) -> None:
    other = replace(A, name="b", kind="postgresql", product="PostgreSQL")
    found = bundle(tmp_path, A, replace(A, name="a2"), other)
    for cell, came_from in zip(found.plan.cells, ("one", "two", "three"), strict=True):
        found.facts[cell.id].portable["installation"] = came_from
    found.facts["c03"].portable["collation"] = "C.UTF-8"
    (difference,) = configuration_of(found).undeclared
    assert (difference.name, difference.values) == ("installation", {"a": "one", "a2": "two"})


def test_a_cell_that_is_compared_with_none_differs_from_none(tmp_path: Path) -> None:
    """Pipelining is compared on each system by itself, and one of the systems has none."""
    pg = replace(A, name="pg", kind="postgresql", product="PostgreSQL", memory_bytes=1 << 20)
    found = spoken_by(bundle(tmp_path, A, pg, replace(pg, name="pg2")), a="mysql_async", pg="wire", pg2="wire")
    for cell, system, pipeline in zip(found.plan.cells, ("a", "pg", "pg"), ("off", "off", "on"), strict=True):
        cell.system, cell.levels = system, {"system": system, "pipeline": pipeline}
    found.plan.compare_factor = "pipeline"
    listed = configuration_of(found)
    assert listed.undeclared == listed.declared == []
    assert [(s.name, s.product) for s in listed.systems] == [
        ("pipeline=off", "MariaDB | PostgreSQL"),
        ("pipeline=on", "PostgreSQL"),
    ]
