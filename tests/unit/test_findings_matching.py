"""Cells of two bundles are matched by what they are, however their plans spelled it. The plans are real ones, read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.errors import BundleError
from bakeoff.findings.between_bundles.matching import Matching, match
from bakeoff.model.levels import work_of
from bakeoff.model.records.bundle import FactsRecord
from bakeoff.model.records.plan import PlanRecord
from bakeoff.plan.read import resolve

SQLITE = "[systems.sqlite]\n"
A = "[workload]\nkind = 'ycsb'\npreset = 'a'\nrecords = 100\n"
TWO = "[systems.sqlite_full]\nkind = 'sqlite'\n{0}[systems.sqlite_relaxed]\nkind = 'sqlite'\n{1}"


@dataclass
class Made:
    """As much of a bundle as matching asks for."""

    plan: PlanRecord
    folder: Path = Path("bundle")
    facts: dict[str, FactsRecord] = field(default_factory=dict)


def made(text: str, said: tuple[str, ...] = ()) -> Bundle:
    plan = resolve(f"title = 't'\n{text}", Path(), must_run=False, said=said)
    return cast(Bundle, Made(plan.record))


def matched(before: Bundle, after: Bundle, *allowed: str) -> Matching:
    return match([before], [after], allowed)


def pairs(found: Matching) -> list[tuple[str, str]]:
    return [(one.before[0].label, one.after[0].label) for one in found.matches]


def whole(found: Matching) -> bool:
    return not found.gone and not found.new


@pytest.mark.parametrize(
    "spelled",
    [
        (SQLITE + A + "[factors]\nthreads = [8]\n", ()),
        (SQLITE + A + "[measure]\nthreads = 8\n", ()),
        (SQLITE + A, ("measure.threads=8",)),
        (SQLITE + A.replace("preset = 'a'\n", "") + "[factors]\nthreads = 8\npreset = 'a'\n", ()),
        (
            SQLITE
            + A.replace(
                "preset = 'a'", "read_proportion = 0.5\nupdate_proportion = 0.5\nrequest_distribution = 'zipfian'"
            )
            + "[measure]\nthreads = 8\n",
            (),
        ),
        (SQLITE.replace("sqlite", "mine") + "kind = 'sqlite'\n" + A + "[measure]\nthreads = 8\n", ()),
        (SQLITE + A.replace("[workload]", "[workloads.writers]") + "[measure]\nthreads = 8\n", ()),
    ],
    ids=["a factor of one level", "in measure", "by --set", "all factors", "no preset", "another name", "a named work"],
)
def test_the_same_cell_is_found_however_it_is_spelled(spelled: tuple[str, tuple[str, ...]]) -> None:
    before = made(SQLITE + A + "[factors]\nthreads = [8]\n")
    found = matched(before, made(*spelled))
    assert whole(found)
    assert [one.same_work for one in found.matches] == [True]


def test_a_level_of_a_factor_is_found_in_the_table_of_the_other_plan() -> None:
    several = made(SQLITE + A.replace("preset = 'a'\n", "") + "[factors]\npreset = ['a', 'c']\nthreads = [1, 8]\n")
    found = matched(several, made(SQLITE + A + "[measure]\nthreads = 8\n"))
    assert pairs(found) == [("sqlite / preset=a / threads=8", "sqlite")]
    assert len(found.gone) == 3
    assert matched(made(SQLITE + A), several).new == [
        "sqlite / preset=a / threads=8",
        "sqlite / preset=c / threads=1",
        "sqlite / preset=c / threads=8",
    ]


def test_a_setting_is_what_the_server_says_that_it_is() -> None:
    varied = made(SQLITE + A + "[factors]\n'settings.cache_size' = ['-2000', '-64000']\n")
    said = made(SQLITE + "settings = { cache_size = -2000 }\n" + A)
    for bundle, values in ((varied, ("-2000", "-64000")), (said, ("-2000",))):
        for cell, value in zip(bundle.plan.cells, values, strict=True):
            bundle.facts[cell.id] = facts(cache_size=value)
    assert pairs(matched(varied, said)) == [("sqlite / settings.cache_size=-2000", "sqlite")]


def facts(**settings: str) -> FactsRecord:
    nothing: dict[str, Any] = {"portable": {}, "declared": {}, "managed": True}
    return FactsRecord(product="SQLite", version="3", settings=settings, **nothing)


@pytest.mark.parametrize(
    "tables",
    [TWO.format("durability = 'full'\n", "durability = 'relaxed'\n").replace("sqlite_", "lite_"), SQLITE],
    ids=["tables of other names", "a factor"],
)
def test_systems_are_distinguished_by_their_durability_where_their_names_differ(tables: str) -> None:
    two = made(TWO.format("durability = 'full'\n", "durability = 'relaxed'\n") + A)
    factor = "[factors]\ndurability = ['full', 'relaxed']\n" if tables == SQLITE else ""
    found = matched(two, made(tables + A + factor))
    assert whole(found)
    assert [(one.before[0].durability, one.after[0].durability) for one in found.matches] == [
        ("full", "full"),
        ("relaxed", "relaxed"),
    ]


def test_a_cell_that_could_be_one_of_two_is_refused_naming_both() -> None:
    two = made(TWO.format("", "") + A)
    with pytest.raises(BundleError, match="'sqlite' of one bundle may be 'sqlite_full' and 'sqlite_relaxed'") as error:
        matched(two, made(SQLITE + A))
    assert "the same names" in error.value.hint
    assert pairs(matched(two, made(TWO.format("", "") + A))) == [
        ("sqlite_full", "sqlite_full"),
        ("sqlite_relaxed", "sqlite_relaxed"),
    ]


def test_what_may_differ_does_not_keep_cells_apart() -> None:
    one, eight = (made(SQLITE + A + f"[measure]\nthreads = {n}\n") for n in (1, 8))
    assert matched(one, eight).matches == []
    assert whole(matched(one, eight, "threads"))
    both = made(SQLITE + A + "[factors]\nthreads = [1, 8]\n")
    with pytest.raises(BundleError, match="threads=1' and 'sqlite / threads=8'"):
        matched(both, one, "threads")


@pytest.mark.parametrize(
    "resolved", [{"systems": 1, "workload": []}, {"plans": [], "workloads": 2}, {"systems": {"sqlite": 3}}]
)
def test_a_tree_that_somebody_changed_says_nothing(resolved: dict[str, Any]) -> None:
    whole_one, changed = (made(SQLITE + A + "[factors]\n'settings.cache_size' = [-1000, -2000]\n") for _ in range(2))
    changed.plan.resolved = resolved
    assert whole(matched(whole_one, changed))
    assert work_of(changed.plan, changed.plan.cells[0]) == {}


def test_a_bundle_from_before_work_had_an_identity_is_matched_by_what_was_said() -> None:
    old, new = (made(SQLITE + A + "[measure]\nthreads = 8\n") for _ in range(2))
    for cell in old.plan.cells:
        cell.work = ""
    (found,) = matched(old, new).matches
    assert not found.same_work
    other = made(SQLITE + A.replace("'a'", "'c'") + "[measure]\nthreads = 8\n")
    assert matched(old, other).matches == []


def test_replicas_of_a_factor_are_those_that_a_table_of_a_system_asks_for() -> None:
    """They are the system's, and no option of a workload's."""
    several = made("[systems.mariadb]\n" + A + "[factors]\nreplicas = [1, 2]\n")
    alone = made("[systems.mariadb]\nreplicas = 2\n" + A)
    assert pairs(matched(several, alone)) == [("mariadb / replicas=2", "mariadb")]
