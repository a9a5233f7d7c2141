"""Where formats of tables are compared, the headline says what space each takes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from bakeoff.findings.contestants import factor_words
from bakeoff.report.words.cells import size_words

MIB = 1 << 20


def words(
    sizes: dict[str, int | None], factor: str = "table_format", setting: dict[str, str] | None = None
) -> list[str]:
    setting = setting or {}
    contest = SimpleNamespace(factor=factor, middle=tuple(setting.items()), baseline="plain")
    cells = [
        SimpleNamespace(contestant=name, setting=where, size_on_disk_bytes=size)
        for name, size in sizes.items()
        for where in (setting, {"version": "another"})
    ]
    return size_words(cast(Any, contest), cast(Any, cells))


@pytest.mark.parametrize("factor", ["table_format", "mariadb.table_format"])
def test_each_format_is_compared_with_the_baseline(factor: str) -> None:
    found = words({"zlib": 8 * MIB, "plain": 32 * MIB, "rocksdb": 48 * MIB, "lz4": 32 * MIB}, factor)
    assert found == [
        "On disk after a run: plain 32 MiB, zlib 8 MiB (75 % less), rocksdb 48 MiB (50 % more), lz4 32 MiB (as much)."
    ]


def test_the_setting_that_the_headline_leads_with_is_named() -> None:
    (found,) = words({"plain": 2 * MIB, "zlib": MIB}, setting={"version": "10.11"})
    assert found == "On disk after a run at version 10.11: plain 2 MiB, zlib 1 MiB (50 % less)."


def test_nothing_is_said_where_no_formats_are_compared_or_no_size_is_known() -> None:
    assert words({"plain": MIB, "zlib": MIB}, factor="version") == []
    assert words({"plain": None, "zlib": MIB}) == []
    assert words({"plain": MIB, "zlib": None}) == []


def test_a_format_s_name_speaks_for_itself() -> None:
    assert factor_words("table_format", "page-compressed:zlib") == "page-compressed:zlib"
    assert factor_words("mariadb.table_format", "plain") == "plain"
