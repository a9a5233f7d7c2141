"""One's own SQL as a plan asks for it: the examples of its page, and what the engine makes of them."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from builders.workloads import ROOT, decided, refused

PAGES = "".join(page.read_text() for page in sorted((ROOT / "docs/reference/workloads").glob("sql*.md")))
BLOCKS = re.findall(r"```toml\n(.*?)```", PAGES, re.DOTALL)
SHOP = {"schema": "shop/schema.sql", "scripts": ["shop/order.sql"], "variables": {"customers": 10, "products": 10}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "plans/examples/shop", tmp_path / "shop")
    (tmp_path / "customers.csv").write_text("id,name,region,joined\n1,one,north,\n")
    (tmp_path / "analyze.sql").write_text("ANALYZE orders;")
    (tmp_path / "index.sql").write_text("CREATE INDEX by_customer ON orders (customer);")
    return tmp_path


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_every_example_of_the_page_is_taken(block: str, folder: Path) -> None:
    plan: dict[str, Any] = tomllib.loads(block)
    options = plan.get("workload", {})
    if options.pop("kind", None) is None:  # a part of a plan
        options = SHOP | options
    levels = [{key: level} for key, every in plan.get("factors", {}).items() for level in every]
    for level in levels or [{}]:
        assert decided("sql", options | level, folder).operations


def test_a_text_is_the_one_of_the_systems_dialect(folder: Path) -> None:
    (folder / "wrong.sql").write_text("\\nothing")
    scripts = [{"file": "wrong.sql", "mysql": "shop/order.sql", "name": "order"}]
    assert decided("sql", SHOP | {"scripts": scripts}, folder).operations == ["order"]
    scripts = [{"file": "shop/order.sql", "mysql": "wrong.sql"}]
    assert refused("sql", SHOP | {"scripts": scripts}, folder).what.startswith("wrong.sql, line 1")


def test_runs_on_data_that_others_have_changed_draw_other_operations(folder: Path) -> None:
    workload = decided("sql", SHOP, folder)
    assert workload.writes
    later = workload.continued(2)
    assert later is not None
    assert (later["turn"], later["scripts"]) == (2, workload.spec["scripts"])


def test_tables_that_exist_need_no_schema(folder: Path) -> None:
    options = {"scripts": ["shop/order.sql"], "variables": SHOP["variables"], "tables": ["products", "orders"]}
    workload = decided("sql", options, folder)
    assert (workload.tables, workload.loaded_rows) == (["products", "orders"], 0)
