"""The reference pages name every key, and every plan that comes with bakeoff can be read."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from bakeoff.cli.reference import plan_meanings
from bakeoff.model.levels import LOAD
from bakeoff.plan.document.tables import TABLES, keys_of
from bakeoff.plan.dry_run.describe import describe
from bakeoff.plan.read import read_plan
from bakeoff.plan.schema import Meanings
from bakeoff.systems.mysql.mariadb import MariaDb

ROOT = Path(__file__).parents[2]
PLANS = sorted((ROOT / "plans").rglob("*.toml"))


@cache
def documented() -> Meanings:
    return plan_meanings(ROOT / "docs/reference")


@pytest.mark.parametrize("place", TABLES)
def test_the_pages_have_every_key_of_the_models_and_no_other(place: tuple[str, ...]) -> None:
    assert set(documented()[place]) == set(keys_of(TABLES[place]))


def test_the_page_has_every_load_factor() -> None:
    assert set(documented()[("factors",)]) >= set(LOAD)


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_every_plan_that_comes_with_bakeoff_can_be_read(path: Path, tmp_path: Path) -> None:
    plan = read_plan(path, must_run=False)
    dry = describe(plan, tmp_path)
    assert dry.runs == len(plan.cells) * plan.record.repetitions > 0
    assert dry.time_s > 0
    assert dry.disk_bytes > 0


def test_the_quickstart_is_a_short_demonstration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(MariaDb, "available", classmethod(lambda cls, options: None))
    plan = read_plan(ROOT / "plans/quickstart.toml")
    dry = describe(plan, tmp_path)
    assert plan.record.demonstration
    assert "demonstration" in plan.record.description
    assert (len(dry.cells), dry.runs) == (6, 30)
    assert dry.time_s < 120


def test_the_quickstart_explains_every_key_it_uses() -> None:
    """Where it first stands: on its line or in the lines above."""
    lines = (ROOT / "plans/quickstart.toml").read_text().splitlines()
    explained: dict[str, bool] = {}
    for above, line in zip(["", *lines], lines, strict=False):
        if key := re.match(r"(\w+) *=", line):
            explained.setdefault(key[1], "#" in line or above.startswith("#"))
    assert len(explained) > 15
    assert [key for key, said in explained.items() if not said] == []
