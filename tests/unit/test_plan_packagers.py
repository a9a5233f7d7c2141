"""Versions that a plan compares come from one source where one has them all; else the plan says who built which."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.plan.read import read_plan
from bakeoff.plan.resolved import ResolvedPlan
from bakeoff.plan.several_plans import side_by_side
from bakeoff.provision.installation import Installation, Offer, Source, Sources
from bakeoff.systems.postgresql.system import PostgreSql
from builders.plans import read, refused

POSTGRESQL = "[systems.postgresql]\nstart = {}"


class Shelf(Source):
    """versions: that are installed. offers: that can be fetched."""

    def __init__(self, name: str, packager: str, *versions: str, offers: tuple[str, ...] = ()) -> None:
        self.name, self._packager, self._here, self._offers = name, packager, versions, offers

    def here(self) -> list[Installation]:
        return [
            Installation(one, self.name, f"{self._packager}: {one}", Path("/bin/true"), packager=self._packager)
            for one in self._here
        ]

    def versions(self) -> list[str]:
        return list(self._offers)

    def offers(self) -> list[Offer]:
        return [Offer(one) for one in self._offers]


def on_a_machine_with(monkeypatch: pytest.MonkeyPatch, *shelves: Source) -> None:
    sources = Sources("postgresql", "PostgreSQL server", shelves)
    monkeypatch.setattr(PostgreSql, "sources", classmethod(lambda cls: sources))


def taken(plan: ResolvedPlan) -> dict[str, str | None]:
    starts = [cell.system_options["start"] for cell in plan.cells]
    return {start["version"]: start.get("source") for start in starts}


def of_packagers(plan: ResolvedPlan) -> list[str]:
    return [words for words in plan.warnings if "different packagers" in words]


def test_all_versions_come_from_the_source_that_has_them_all(monkeypatch: pytest.MonkeyPatch) -> None:
    on_a_machine_with(monkeypatch, Shelf("path", "Debian", "15.18"), Shelf("maven", "Maven", "17.11", "15.19"))
    plan = read("version = ['15', '17']", systems=POSTGRESQL)
    assert taken(plan) == {"15": "maven", "17": "maven"}
    assert of_packagers(plan) == []


def test_where_no_source_has_them_all_one_packager_may(monkeypatch: pytest.MonkeyPatch) -> None:
    shelves = Shelf("path", "Debian", "15.18"), Shelf("maven", "Maven", "15.19"), Shelf("trixie", "Debian", "17.6")
    on_a_machine_with(monkeypatch, *shelves)
    plan = read("version = ['15', '17']", systems=POSTGRESQL)
    assert taken(plan) == {"15": "path", "17": "trixie"}
    assert of_packagers(plan) == []


def test_several_packagers_are_named_before_the_run_with_what_would_help(monkeypatch: pytest.MonkeyPatch) -> None:
    maven = Shelf("maven", "Maven", "17.11", offers=("15.19", "17.11"))
    on_a_machine_with(monkeypatch, Shelf("path", "Debian", "15.18"), maven)
    plan = read("version = ['15', '17']", systems=POSTGRESQL)
    assert taken(plan) == {"15": None, "17": None}
    (words,) = of_packagers(plan)
    assert "the builds of postgresql come from different packagers: Debian, Maven" in words
    assert "15.18 is from Debian: 15.18; 17.11 is from Maven: 17.11" in words
    assert "To take all from one: `bakeoff systems install postgresql@15 --from maven`" in words


def test_plans_side_by_side_whose_builds_are_of_several_packagers_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_machine_with(monkeypatch, Shelf("path", "Debian", "15.18"), Shelf("maven", "Maven", "17.11"))
    plans = []
    for version in ("15", "17"):
        path = tmp_path / f"v{version}.toml"
        path.write_text(
            f"title = 't'\n[systems.postgresql.start]\nversion = '{version}'\n"
            "[workload]\nkind = 'ycsb'\npreset = 'c'\n[measure]\nwindow = '1s'\n"
        )
        plans.append(read_plan(path))
    assert [words for plan in plans for words in of_packagers(plan)] == []
    (words,) = of_packagers(side_by_side(plans))
    assert "come from different packagers: Debian, Maven" in words


def test_which_sources_a_machine_has_is_no_part_of_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    on_a_machine_with(monkeypatch, Shelf("path", "Debian", "15.18", "17.6"))
    before = [cell.record.id for cell in read("version = ['15', '17']", systems=POSTGRESQL).cells]
    on_a_machine_with(monkeypatch, Shelf("path", "Debian", "15.18"), Shelf("maven", "Maven", "17.11", "15.19"))
    assert [cell.record.id for cell in read("version = ['15', '17']", systems=POSTGRESQL).cells] == before


def test_a_plan_may_name_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    on_a_machine_with(monkeypatch, Shelf("path", "Debian", "15.18"), Shelf("maven", "Maven", "15.19"))
    system = "[systems.postgresql]\nversion = '15'\nsource = '{}'"
    plan = read(systems=system.format("maven"))
    assert taken(plan) == {"15": "maven"}
    plan = read("source = ['path', 'maven']", systems="[systems.postgresql]\nversion = '15'")
    assert of_packagers(plan) != []  # that is the question, and both are named
    error = refused(systems=system.format("apt"))
    assert (error.what, error.hint) == ("postgresql is not available from 'apt'", "It is one of: path, maven")


def test_versions_that_are_no_factor_are_refused_in_a_sentence() -> None:
    error = refused(systems="[systems.postgresql]\nversion = ['15', '17']")
    assert error.what == "`version` must be a text in quotes, not a list"
