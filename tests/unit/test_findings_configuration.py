"""The configuration listing finds what the plan does not declare."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.findings.configuration import Difference, _shown, configuration_of
from bakeoff.provision.powerloss import Storage
from bakeoff.report.answer import answer_of
from bakeoff.report.html.write import write_report
from bakeoff.report.words.not_shown import limits_of
from builders.bundles import MARIADB, SQLITE, Contender, Story, write_bundle

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


def test_storage_that_bakeoff_slows_is_a_declared_difference_and_a_limit_of_the_report(tmp_path: Path) -> None:
    found = bundle(tmp_path, A, replace(A, name="b"))
    slowed = Storage(sync_latency="2ms", bandwidth="50MB").words
    found.facts["c02"].portable["storage"] = slowed
    (difference,) = configuration_of(found).declared
    assert (difference.name, difference.values) == ("storage", {"a": "as it is", "b": slowed})
    (limit,) = (words for words in limits_of(found, []) if words.startswith("Storage was"))
    assert "slowed by bakeoff: a sync takes 2ms or more and at most 50MB/s are written" in limit


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
        ("pipeline off", "MariaDB | PostgreSQL"),
        ("pipeline on", "PostgreSQL"),
    ]


def test_a_file_in_the_clients_process_is_no_server(tmp_path: Path) -> None:
    sides = (
        A,
        replace(A, name="b", managed=False),
        replace(SQLITE, name="c"),
        replace(SQLITE, name="d", managed=False),
    )
    where = [system.where for system in configuration_of(bundle(tmp_path, *sides)).systems]
    assert where == ["managed server", "existing server", "managed file", "existing file"]


def names(differences: list[Difference]) -> list[str]:
    return [difference.name for difference in differences]


def of_factor(found: Bundle, factor: str, levels: tuple[str, ...]) -> Bundle:
    """The cells of one system, which a factor tells apart."""
    for cell, level in zip(found.plan.cells, levels, strict=True):
        cell.system, cell.levels = "a", {"system": "a", factor: level}
    found.plan.compare_factor = factor
    return found


def test_what_a_declared_setting_brings_with_it_follows_from_it(tmp_path: Path) -> None:
    """A larger cache takes more memory, and has more of what goes with it."""
    large = replace(A, name="b", settings={**A.settings, "pool": "4G", "chunks": "8"}, memory_bytes=4 << 30)
    small = replace(A, settings={**A.settings, "pool": "1G", "chunks": "2"})
    found = of_factor(bundle(tmp_path, small, large), "settings.pool", ("1G", "4G"))
    listed = configuration_of(found)
    assert names(listed.declared) == ["pool"]
    assert [(d.name, d.cause) for d in listed.following] == [("memory", "pool"), ("chunks", "pool")]
    assert listed.undeclared == []


def test_durability_that_a_declared_setting_changes_follows_from_it(tmp_path: Path) -> None:
    """Does innodb_flush_log_at_trx_commit matter? That commits may be lost is its meaning."""
    loose = replace(A, name="b", durability="relaxed", settings={**A.settings, "flush_log": "2"})
    found = bundle(tmp_path, replace(A, settings={**A.settings, "flush_log": "1"}), loose)
    for cell in found.plan.cells:
        cell.durability = None
    found = of_factor(found, "settings.flush_log", ("1", "2"))
    assert configuration_of(found).undeclared == []
    assert [(d.name, d.cause) for d in configuration_of(found).following] == [("durability", "flush_log")]


def test_the_new_defaults_of_a_version_follow_from_it(tmp_path: Path) -> None:
    newer = replace(A, name="b", version="11.4.2", settings={**A.settings, "io_capacity": "2000"})
    found = bundle(tmp_path, A, newer)
    found.plan.resolved["systems"] = {"a": {"start": {"version": "10.11"}}, "b": {"start": {"version": "11.4"}}}
    listed = configuration_of(found)
    assert [(d.name, d.cause) for d in listed.following] == [("io_capacity", "version")]
    assert listed.undeclared == []


def test_a_level_that_the_plan_gives_to_one_of_two_instances_is_no_accident(tmp_path: Path) -> None:
    found = bundle(tmp_path, A, replace(A, name="b"))
    found.plan.cells[0].isolation, found.plan.cells[1].isolation = "serializable", None
    found.facts["c01"].portable["isolation"] = "serializable"
    listed = configuration_of(found)
    assert [(d.name, d.cause) for d in listed.following] == [("isolation", "what the plan says of each")]
    assert listed.undeclared == []


@pytest.mark.parametrize("change", [{"managed": False}, {"kind": "mysql", "product": "MySQL"}])
def test_what_servers_of_others_or_of_another_kind_have_is_undeclared(tmp_path: Path, change: dict[str, Any]) -> None:
    b = replace(A, name="b", version="11.4.2", memory_bytes=4 << 30, settings={"io_capacity": "2000"}, **change)
    listed = configuration_of(bundle(tmp_path, A, b))
    assert names(listed.undeclared) == ["memory", "io_capacity"]
    assert listed.following == []


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [
        ("STRICT_TRANS_TABLES,NO_ENGINE", "NO_ENGINE,STRICT_TRANS_TABLES", False),
        ("a, b,c", "c,b, a", False),
        ("first second", "second first", False),
        ("a,b", "a,b,c", True),
        ("a,a", "a", True),
        ("ab", "ba", True),
    ],
)
def test_one_set_in_another_order_is_no_difference(tmp_path: Path, one: str, other: str, differs: bool) -> None:
    sides = [replace(A, name=name, settings={"sql_mode": value}) for name, value in (("a", one), ("b", other))]
    assert bool(configuration_of(bundle(tmp_path, *sides)).undeclared) is differs


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("port", "3306", "3307"),
        ("report_host", "alpha", "beta"),
        ("wsrep_node_name", "n1", "n2"),
        ("server_uuid", "6f1c", "77aa"),
        ("slow_query_log_file", "alpha-slow.log", "beta-slow.log"),
        ("wsrep_provider", "/opt/one/galera.so", "/opt/two/galera.so"),
    ],
)
def test_where_an_instance_is_and_what_it_is_called_is_no_difference(
    tmp_path: Path, name: str, one: str, other: str
) -> None:
    sides = [replace(A, name=side, settings={name: value}) for side, value in (("a", one), ("b", other))]
    listed = configuration_of(bundle(tmp_path, *sides))
    assert listed.undeclared == listed.declared == []
    assert listed.systems[0].settings == {name: one}  # it stands with its system


def test_what_a_contestant_has_in_another_setting_is_no_difference(tmp_path: Path) -> None:
    """Only one of them ran at the second pool size; where the two met, they had the same."""
    sides = [replace(A, name=name, settings={"pool": size}) for name, size in (("a", "1G"), ("b", "1G"), ("c", "4G"))]
    found = bundle(tmp_path, *sides)
    levels = (("a", "small"), ("b", "small"), ("b", "large"))
    for cell, (system, size) in zip(found.plan.cells, levels, strict=True):
        cell.system, cell.levels = system, {"system": system, "size": size}
    listed = configuration_of(found)
    assert listed.undeclared == listed.declared == listed.following == []


def test_what_follows_is_folded_on_the_page_with_its_cause(tmp_path: Path) -> None:
    large = replace(A, name="b", settings={**A.settings, "pool": "4G"}, memory_bytes=4 << 30)
    found = of_factor(bundle(tmp_path, replace(A, settings={**A.settings, "pool": "1G"}), large), "pool", ("1G", "4G"))
    page = write_report(found).html.read_text(encoding="utf-8")
    assert "1 more that follows from what the plan declares" in page
    assert "<td>memory</td>" in page
    assert "<td>pool</td>" in page
    assert "that the plan does not declare: <a" not in page


def built_by(folder: Path, *packagers: str) -> Bundle:
    """Two versions of one product, which differ in a setting that no plan says."""
    b = replace(A, name="b", version="11.4.5", settings={**A.settings, "io_capacity": "2000"})
    found = bundle(folder, A, b)
    for facts, packager in zip(found.facts.values(), packagers, strict=True):
        facts.portable["packager"] = packager
    return found


def test_builds_of_one_packager_differ_by_their_version_alone(tmp_path: Path) -> None:
    found = built_by(tmp_path / "bundle", "Maven", "Maven")
    listed = configuration_of(found)
    assert [d.cause for d in listed.following] == ["version"]
    assert listed.packagers == []
    assert "only the plan can have made a difference" in page(found, tmp_path)


def test_builds_of_several_packagers_are_named_and_may_differ_for_that(tmp_path: Path) -> None:
    found = built_by(tmp_path / "bundle", "Debian", "Maven")
    listed = configuration_of(found)
    assert [d.cause for d in listed.following] == ["version or packager"]
    assert [(d.name, d.values, d.deciding) for d in listed.undeclared] == [
        ("packager", {"a": "Debian", "b": "Maven"}, True)
    ]
    words = page(found, tmp_path)
    assert "only the plan can have made a difference" not in words
    assert "The builds come from different packagers: Debian, Maven" in words
    assert any("different packagers: Debian, Maven" in limit for limit in answer_of(found).limits)


def test_older_bundles_have_the_words_for_an_installation_alone(tmp_path: Path) -> None:
    found = built_by(tmp_path / "bundle", "", "")
    words = "this machine's own /usr/sbin/mariadbd", "Maven Central: org:server:11.4.5"
    for facts, said in zip(found.facts.values(), words, strict=True):
        facts.portable["installation"] = said
    assert configuration_of(found).packagers == ["Maven Central", "this machine's own"]


def page(found: Bundle, folder: Path) -> str:
    return write_report(found, folder / "report.html").html.read_text(encoding="utf-8")


def test_a_memory_limit_of_zero_is_none() -> None:
    assert _shown("memory_bytes", "0") == "no limit"
    assert _shown("memory_bytes", "134217728") == "128 MiB"
    assert _shown("swap_bytes", "0") == "0 B"
