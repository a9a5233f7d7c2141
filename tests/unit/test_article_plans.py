"""plans/articles and claims: each plan at two scales, the small ones short, and each with its claims. That claims fit
their plans is in test_claims_document.py."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from bakeoff.plan.dry_run.describe import describe
from bakeoff.plan.read import read_plan
from bakeoff.plan.resolved import ResolvedPlan

ROOT = Path(__file__).parents[2]
PLANS = ROOT / "plans/articles"
ARTICLES = {path.stem: tomllib.loads(path.read_text()) for path in sorted((ROOT / "claims").glob("*.toml"))}
CLAIMS = [(article, claim) for article, document in ARTICLES.items() for claim in document["claims"]]
TESTED = [(article, claim) for article, claim in CLAIMS if "untestable" not in claim]
SMALL = sorted(PLANS.rglob("*-small.toml"))
#: S0 to S4 of the five articles, as their list of claims numbers them.
CLAIMS_OF = {"leanxcale": 22, "mariadb-10.1": 26, "mariadb-5.3": 10, "flash-array": 8, "hatshop": 13}


@cache
def plan_of(path: Path) -> ResolvedPlan:
    return read_plan(path, must_run=False)


def seconds(path: Path) -> float:
    return describe(plan_of(path), path.parent).time_s


def name_of(path: Path) -> str:
    return str(path.relative_to(PLANS))


def test_each_plan_is_there_at_two_scales() -> None:
    names = {
        scale: {name_of(path).removesuffix(f"-{scale}.toml") for path in PLANS.rglob(f"*-{scale}.toml")}
        for scale in ("small", "full")
    }
    assert names["small"] == names["full"]
    assert len(list(PLANS.rglob("*.toml"))) == 2 * len(SMALL) > 40


@pytest.mark.parametrize("path", SMALL, ids=name_of)
def test_a_small_plan_takes_ten_minutes_at_most_and_says_what_it_cannot_show(path: Path) -> None:
    plan = plan_of(path)
    assert seconds(path) <= 600
    assert plan.record.repetitions >= 5
    assert all(cell.durability for cell in plan.record.cells)
    assert "# What this cannot show: " in path.read_text()


def test_all_small_plans_together_take_three_hours_at_most() -> None:
    assert sum(map(seconds, SMALL)) <= 3 * 3600


@pytest.mark.parametrize("path", sorted(PLANS.rglob("*-full.toml")), ids=name_of)
def test_a_full_plan_is_larger_than_the_small_one(path: Path) -> None:
    small = path.with_name(path.name.replace("-full.", "-small."))
    assert seconds(path) > seconds(small)


def test_every_claim_of_the_five_articles_is_there_and_most_are_tested() -> None:
    assert {article: len(ARTICLES[article]["claims"]) for article in CLAIMS_OF} == CLAIMS_OF
    assert len({claim["id"] for article, claim in CLAIMS if article in CLAIMS_OF}) == 79
    assert len([claim for article, claim in TESTED if article in CLAIMS_OF]) >= 45
    assert all(claim["untestable"].endswith(".") for _, claim in CLAIMS if "untestable" in claim)


def test_every_plan_has_a_claim_and_every_claim_a_plan() -> None:
    wanted = {f"{article}/{claim['plan']}-small.toml" for article, claim in TESTED}
    assert wanted == {name_of(path) for path in SMALL}


def test_the_list_of_plans_has_each_with_its_claims() -> None:
    rows = re.findall(r"^\| \[.*\]\((.*)\) \|.*\| (.*) \|$", (PLANS / "README.md").read_text(), re.MULTILINE)
    listed = {name: set(_ids(words)) for name, words in rows}
    assert listed == {
        name_of(path): {
            claim["id"] for article, claim in TESTED if name_of(path) == f"{article}/{claim['plan']}-small.toml"
        }
        for path in SMALL
    }


def _ids(words: str) -> Iterator[str]:
    """Of "S1-8, 10 to 14"."""
    article, _, numbers = words.partition("-")
    for part in numbers.split(", "):
        first, _, last = part.partition(" to ")
        yield from (f"{article}-{number}" for number in range(int(first), int(last or first) + 1))
