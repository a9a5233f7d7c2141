"""Formats of tables: their names, what servers receive, and who is refused before anything starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from bakeoff.errors import PlanError
from bakeoff.plan.read import resolve
from bakeoff.plan.resolved import ResolvedPlan
from bakeoff.provision.installation import Installation
from bakeoff.systems.mysql.formats import MariaDbFormats, MySqlFormats
from bakeoff.systems.server import started
from bakeoff.systems.server.control import Control
from bakeoff.systems.table_format import read_format

PLAN = """
title = "Formats"
[systems.mariadb]
start = {{ settings = {{ {settings} }} }}
{more}
[workload]
kind = "ycsb"
records = 100
[factors]
{factors}
[measure]
window = "1s"
"""


def plan(factors: str, settings: str = "", more: str = "") -> ResolvedPlan:
    return resolve(PLAN.format(factors=factors, settings=settings, more=more), Path("/"), must_run=False)


class Server:
    """Stands for a control connection: answers by the beginning of what it is asked."""

    def __init__(self, **said: list[tuple[Any, ...]]) -> None:
        self.said = {"VERSION": [("10.11.19-MariaDB", "Debian 12")], **said}

    def rows(self, sql: str, *_: object) -> list[tuple[Any, ...]]:
        return next((rows for name, rows in self.said.items() if name in sql), [])

    def value(self, sql: str, *_: object) -> Any:
        return self.rows(sql)[0][0]


def server(**said: list[tuple[Any, ...]]) -> Control:
    return cast(Control, Server(**said))


def format_of(kind: type[MySqlFormats], text: str) -> MySqlFormats:
    return kind(read_format(text, "systems.m"), "bakeoff", "systems.m")


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ('kind = "tpcc"', "write foreign_keys = false in its workload or leave this combination out"),
        ('kind = "hatshop"', "leave this combination out with"),
        ('kind = "hatshop"\nlayout = "line_items"', "leave this combination out with"),
    ],
)
def test_tables_that_refer_to_each_other_are_refused_where_a_format_has_no_foreign_keys(
    options: str, hint: str
) -> None:
    text = PLAN.replace('kind = "ycsb"\nrecords = 100', options)
    factors = 'table_format = ["plain", "rocksdb"]'
    with pytest.raises(
        PlanError, match="tables of the format rocksdb support no foreign keys, and those of"
    ) as refused:
        resolve(text.format(factors=factors, settings="", more=""), Path("/"), must_run=False)
    assert refused.value.hint.startswith(hint)


@pytest.mark.parametrize(
    "options",
    [
        'kind = "tpcc"\nforeign_keys = false',
        'kind = "hatshop"\nlayout = "line_items"\nsecondary_index = false',
        'kind = "ycsb"',
    ],
)
def test_tables_that_stand_alone_have_any_format(options: str) -> None:
    text = PLAN.replace('kind = "ycsb"\nrecords = 100', options)
    found = resolve(
        text.format(factors='table_format = ["plain", "rocksdb"]', settings="", more=""), Path("/"), must_run=False
    )
    assert len(found.cells) == 2


@pytest.mark.parametrize(
    ("text", "mariadb", "mysql"),
    [
        ("plain", "", ""),
        ("page-compressed", "PAGE_COMPRESSED=1", "COMPRESSION='zlib'"),
        ("page-compressed:lz4", "PAGE_COMPRESSED=1", "COMPRESSION='lz4'"),
        ("row-compressed", "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8", "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8"),
        ("row-compressed:4", "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4", "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4"),
    ],
)
def test_each_server_receives_its_own_words(text: str, mariadb: str, mysql: str) -> None:
    assert format_of(MariaDbFormats, text).options == mariadb
    assert format_of(MySqlFormats, text).options == mysql


def test_mariadb_is_set_to_the_algorithm_and_loads_what_has_it() -> None:
    assert format_of(MariaDbFormats, "page-compressed").settings({}) == {"innodb_compression_algorithm": "zlib"}
    lz4 = {"innodb_compression_algorithm": "lz4", "plugin_load_add": "provider_lz4"}
    assert format_of(MariaDbFormats, "page-compressed:lz4").settings({}) == lz4


@pytest.mark.parametrize(("said", "flush"), [({}, "1"), ({"innodb_flush_log_at_trx_commit": "2"}, "2")])
def test_a_commit_in_rocksdb_survives_what_one_in_innodb_would(said: dict[str, str], flush: str) -> None:
    assert format_of(MariaDbFormats, "rocksdb").settings(said)["rocksdb_flush_log_at_trx_commit"] == flush


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("page_compressed", "unknown table format", "did you mean `page-compressed`?"),
        ("page-compressed:zstd", "unknown table format 'page-compressed:zstd'", "lzma, bzip2 or snappy"),
        ("row-compressed:16", "unknown table format 'row-compressed:16'", "8, 4, 2 or 1"),
        ("rocksdb:lz4", "unknown table format 'rocksdb:lz4'", "write 'rocksdb'"),
    ],
)
def test_a_format_that_nobody_knows_is_refused_with_those_that_there_are(text: str, what: str, hint: str) -> None:
    with pytest.raises(PlanError, match=what) as refused:
        read_format(text, "systems.m")
    assert hint in refused.value.hint


def test_mysql_is_not_asked_for_what_mariadb_alone_has(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="MySQL compresses no pages with lzma"):
        format_of(MySqlFormats, "page-compressed:lzma")
    with pytest.raises(PlanError, match="MySQL has no RocksDB") as refused:
        format_of(MySqlFormats, "rocksdb").refuse_installation(installation("9.7.4", tmp_path))
    assert "Percona Server by `address`" in refused.value.hint


def installation(version: str, root: Path, plugin: str = "") -> Installation:
    (root / "bin").mkdir()
    (root / "bin" / "mariadbd").touch()
    if plugin:
        (root / "lib/mysql/plugin").mkdir(parents=True)
        (root / "lib/mysql/plugin" / f"{plugin}.so").touch()
    return Installation(version, "debian", "a package", root / "bin" / "mariadbd")


@pytest.mark.parametrize(
    ("kind", "version", "text", "what"),
    [
        (MariaDbFormats, "10.1.23", "page-compressed", r"MariaDB 10\.1\.23 does not free the space"),
        (MySqlFormats, "5.5.9", "page-compressed", r"MySQL 5\.5\.9 does not free the space"),
    ],
)
def test_a_version_that_cannot_is_refused_before_it_starts(
    kind: type[MySqlFormats], version: str, text: str, what: str
) -> None:
    with pytest.raises(PlanError, match=what):
        format_of(kind, text).refuse_version(version)
    format_of(kind, text).refuse_version("10.2.11")
    format_of(kind, "row-compressed").refuse_version(version)


@pytest.mark.parametrize(("text", "plugin"), [("page-compressed:lz4", "provider_lz4"), ("rocksdb", "ha_rocksdb")])
def test_a_server_without_the_plugin_is_refused_before_it_starts(tmp_path: Path, text: str, plugin: str) -> None:
    for folder in ("with", "without"):
        (tmp_path / folder).mkdir()
    with pytest.raises(PlanError, match=rf"MariaDB 11\.4\.5 here has no {plugin}, which {text} needs \(a package\)"):
        format_of(MariaDbFormats, text).refuse_installation(installation("11.4.5", tmp_path / "without"))
    format_of(MariaDbFormats, text).refuse_installation(installation("11.8.6", tmp_path / "with", plugin))


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("maven", "Debian's builds of 10.11 and 11.8 have it, those from Maven do not"),
        ("trixie", "`bakeoff systems remove mariadb@11.8.6`, then `bakeoff systems install mariadb@11.8.6`"),
    ],
)
def test_a_plan_that_a_build_cannot_is_refused_by_a_dry_run_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: str, hint: str
) -> None:
    found = replace(installation("11.8.6", tmp_path), source=source)
    monkeypatch.setattr(started, "installation_for", lambda *_: found)
    with pytest.raises(PlanError, match="has no provider_lz4, which page-compressed:lz4 needs") as refused:
        plan('table_format = ["plain", "page-compressed:lz4"]')
    assert hint in refused.value.hint


PAGES = {"Innodb_have": [("Innodb_have_lz4", "ON"), ("Innodb_have_punch_hole", "ON")], "algorithm": [("lz4",)]}


@pytest.mark.parametrize(
    ("text", "said", "what"),
    [
        ("page-compressed:lz4", {**PAGES, "Innodb_have": [("Innodb_have_lz4", "OFF")]}, "cannot compress with lz4"),
        ("page-compressed:lz4", {**PAGES, "Innodb_have": [("Innodb_have_punch_hole", "OFF")]}, "file system"),
        ("page-compressed:lz4", {**PAGES, "algorithm": [("zlib",)]}, "with zlib, not lz4"),
        (
            "page-compressed",
            {"VERSION": [("10.1.23-MariaDB", "")]},
            "does not free the space that compressed pages save",
        ),
        ("rocksdb", {}, "no storage engine RocksDB"),
    ],
)
def test_a_server_that_cannot_is_refused_before_anything_is_written(
    text: str, said: dict[str, list[tuple[Any, ...]]], what: str
) -> None:
    with pytest.raises(PlanError, match=what):
        format_of(MariaDbFormats, text).refuse_server(server(**said))
    format_of(MariaDbFormats, "page-compressed:lz4").refuse_server(server(**PAGES))


@pytest.mark.parametrize(
    ("text", "told", "done"),
    [
        ("page-compressed", ("InnoDB", "Dynamic", "`PAGE_COMPRESSED`='1'"), True),
        ("page-compressed", ("InnoDB", "Dynamic", ""), False),
        ("row-compressed:4", ("InnoDB", "Compressed", "row_format=COMPRESSED KEY_BLOCK_SIZE=4"), True),
        ("row-compressed:4", ("InnoDB", "Compact", "row_format=COMPRESSED KEY_BLOCK_SIZE=4"), False),
        ("rocksdb", ("ROCKSDB", "Dynamic", ""), True),
        ("rocksdb", ("InnoDB", "Dynamic", ""), False),
        ("plain", ("InnoDB", "Dynamic", ""), True),
        ("plain", ("InnoDB", "Dynamic", "`PAGE_COMPRESSED`=1"), False),
    ],
)
def test_a_format_that_was_taken_and_not_done_ends_the_load(text: str, told: tuple[str, ...], done: bool) -> None:
    tables = server(TABLES=[("UserTable", *told), ("another", "InnoDB", "Dynamic", "")])
    if done:
        format_of(MariaDbFormats, text).refuse_tables(tables, ["usertable"])
        return
    with pytest.raises(PlanError, match=f"`UserTable` should be {text}.*, and the server created it as {told[0]}"):
        format_of(MariaDbFormats, text).refuse_tables(tables, ["usertable"])


def test_a_format_is_a_factor_of_all_systems_and_has_data_of_its_own() -> None:
    found = plan('table_format = ["plain", "row-compressed:8"]')
    assert [cell.record.label for cell in found.cells] == [
        "mariadb / table_format=plain",
        "mariadb / table_format=row-compressed:8",
    ]
    assert len({cell.load_key for cell in found.cells}) == 2


def test_a_system_that_stores_tables_in_one_way_calls_it_plain_and_knows_no_other() -> None:
    sqlite = "[systems.sqlite]"
    assert len(plan('table_format = "plain"', more=sqlite).cells) == 2
    with pytest.raises(PlanError, match="sqlite has one table format only, not 'rocksdb'"):
        plan('table_format = "rocksdb"', more=sqlite)
    assert len(plan('"mariadb.table_format" = "row-compressed"', more=sqlite).cells) == 2


def test_a_setting_that_the_format_decides_is_not_said_next_to_it() -> None:
    with pytest.raises(PlanError, match="sets innodb_compression_algorithm and also `table_format`"):
        plan('table_format = "page-compressed"', 'innodb_compression_algorithm = "lz4"')
