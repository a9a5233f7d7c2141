"""Files that a plan of one's own SQL names: their texts go to the engine, and copies into a bundle."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.errors import PlanError
from bakeoff.workloads.sql import read


def test_texts_stand_where_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "sql").mkdir()
    for name in ("shop.sql", "shop-pg.sql", "sql/order.sql", "regions.txt"):
        (tmp_path / name).write_text(f"text of {name}")

    def text(name: str) -> dict[str, str]:
        return {"name": name, "text": f"text of {name}"}

    asked = read(
        {
            "schema": {"file": "shop.sql", "postgresql": "shop-pg.sql"},
            "after_load": "shop.sql",
            "scripts": ["sql/order.sql", {"file": "sql/order.sql", "name": "again", "weight": 3}],
            "lists": {"regions": "regions.txt", "sizes": {"s": 1, "m": 2}},
            "load": {"orders": {"rows": 3, "columns": {"id": "row"}}, "customers": {"file": "rows.csv"}},
            "scale": 2,
        },
        tmp_path,
    )
    assert asked.options == {
        "schema": {"file": text("shop.sql"), "postgresql": text("shop-pg.sql")},
        "after_load": {"file": text("shop.sql")},
        "scripts": [
            {"file": text("sql/order.sql")},
            {"file": text("sql/order.sql"), "name": "again", "weight": 3},
        ],
        "lists": {"regions": {"file": text("regions.txt")}, "sizes": {"values": {"s": 1, "m": 2}}},
        "load": {
            "orders": {"rows": 3, "columns": {"id": "row"}},
            "customers": {"file": {"name": "rows.csv", "path": str(tmp_path / "rows.csv")}},
        },
        "scale": 2,
    }
    assert list(asked.options["load"]) == ["orders", "customers"]
    assert {path.name for path in asked.sources} == {"shop.sql", "shop-pg.sql", "order.sql", "regions.txt"}


def test_a_plan_in_a_bundle_finds_its_files_next_to_it(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "order.sql").write_text("SELECT 1;")
    assert read({"scripts": "sql/order.sql"}, tmp_path).options["scripts"][0]["file"]["text"] == "SELECT 1;"


def test_what_is_no_file_is_left_for_the_engine_to_refuse(tmp_path: Path) -> None:
    options = {"schema": 3, "scripts": [4], "load": "x", "lists": [1], "scrpts": True}
    assert read(options, tmp_path).options == options


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin.sql").write_bytes(b"SELECT '\xe9';")
    for name, what in (("none.sql", "No such file or directory"), ("latin.sql", "it is not UTF-8")):
        with pytest.raises(PlanError) as error:
            read({"scripts": [name]}, tmp_path)
        assert error.value.what == f"the workload file cannot be read: {what}"
        assert error.value.where.endswith(name)
        assert error.value.hint == "`scripts` is relative to the plan's folder"
