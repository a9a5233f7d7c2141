"""Who is compared with whom, and what makes a comparison meaningless."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from bakeoff.model.records.run import RunRecord
from bakeoff.report.answer import answer_of
from builders.bundles import (
    MARIADB,
    SMALL,
    SQLITE,
    Contender,
    Story,
    answer,
    only,
    write_bundle,
)


def test_different_data_sets_are_not_compared(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", SMALL)
    for cell in bundle.plan.cells:
        if cell.system == "sqlite_full":
            cell.dataset = "ycsb-1-other"
    found = answer_of(bundle)
    assert {c.words for c in found.comparisons} == {"not compared: their data sets differ"}


def test_the_same_rows_stored_otherwise_are_compared(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", SMALL)
    for cell in bundle.plan.cells:
        cell.content = "hatshop-1-rows"
        if cell.system == "sqlite_full":
            cell.dataset = "hatshop-1-other-layout"
    assert "not comparable" not in {c.verdict for c in answer_of(bundle).comparisons}
    for cell in bundle.plan.cells:
        cell.content = ""  # a bundle from before rows had a name
    assert {c.words for c in answer_of(bundle).comparisons} == {"not compared: their data sets differ"}


def test_different_operations_are_not_compared(tmp_path: Path) -> None:
    def other_stream(run: RunRecord) -> RunRecord:
        return run.model_copy(update={"stream_hashes": ["feed"] * 8}) if run.cell == "c04" else run

    _, found = answer(tmp_path, replace(SMALL, window_s=60, change=other_stream))
    assert [c.verdict for c in found.comparisons] == ["higher", "not comparable"]
    assert found.comparisons[1].words.startswith("not compared: the two were not asked for the same operations")


def test_systems_of_different_durability_are_compared_only_where_the_plan_declares_it(tmp_path: Path) -> None:
    loose = replace(SQLITE, durability="relaxed")
    bundle = write_bundle(tmp_path / "bundle", replace(SMALL, contenders=(MARIADB, loose)))
    declared = answer_of(bundle).comparisons[0]
    assert declared.verdict == "higher"
    assert declared.notes == ["durability differs, as the plan declares: relaxed against full"]
    for cell in bundle.plan.cells:
        cell.durability = None  # the plan said nothing, and the two differ by what they do by themselves
    found = answer_of(bundle)
    assert not any("as the plan declares" in note for comparison in found.comparisons for note in comparison.notes)
    assert {c.verdict for c in found.comparisons} == {"not comparable"}
    assert found.comparisons[0].words == (
        "not compared: their durability differs: relaxed against full, and the plan does not ask for that: write"
        " `durability` in it"
    )
    assert found.first.answer.startswith("sqlite_full is not compared with mariadb: their durability differs: relaxed")
    for cell in bundle.plan.cells:
        cell.writes = False
    (note,) = {note for comparison in answer_of(bundle).comparisons for note in comparison.notes}
    assert note == "durability differs, but the work only reads: relaxed against full"
    assert answer_of(bundle).comparisons[0].verdict == "higher"


def test_a_system_that_knows_no_durability_does_not_keep_the_others_from_being_compared(tmp_path: Path) -> None:
    loose, third = replace(SQLITE, durability="relaxed"), replace(SQLITE, name="memory")
    bundle = write_bundle(tmp_path / "bundle", replace(SMALL, contenders=(MARIADB, loose, third)))
    for cell in bundle.plan.cells:
        cell.durability = None if cell.system == "memory" else cell.durability
    assert {c.verdict for c in answer_of(bundle).comparisons if c.other == "sqlite_full"} == {"higher", "lower"}


def test_a_durability_that_was_asked_for_and_not_found_is_not_compared(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", SMALL)
    for cell in bundle.plan.cells:
        if cell.system == "sqlite_full":
            bundle.facts[cell.id].portable["durability"] = "none"
    assert {c.verdict for c in answer_of(bundle).comparisons} == {"not comparable"}


def test_settings_that_a_plan_gives_to_two_instances_of_one_kind_declare_their_durability(tmp_path: Path) -> None:
    loose = replace(MARIADB, name="mariadb_loose", durability="relaxed")
    bundle = write_bundle(tmp_path / "bundle", replace(SMALL, contenders=(MARIADB, loose)))
    for cell in bundle.plan.cells:
        cell.durability = None
    assert answer_of(bundle).comparisons[0].verdict == "no difference"


def test_three_systems_are_each_compared_with_the_first(tmp_path: Path) -> None:
    third = Contender("mariadb_fast", rate_1=6_000, rate_max=40_000)
    _, found = answer(tmp_path, replace(SMALL, contenders=(MARIADB, SQLITE, third)))
    assert [(c.base, c.other) for c in found.comparisons[:2]] == [
        ("mariadb", "sqlite_full"),
        ("mariadb", "mariadb_fast"),
    ]
    assert len([words for words in found.headline if not words.startswith("What else")]) == 2


def test_runs_made_at_different_times_are_not_paired(tmp_path: Path) -> None:
    """A plan that grew puts its new cells into the old blocks, after all of them."""
    later = replace(
        SMALL,
        threads=(8,),
        change=lambda run: run.model_copy(update={"order": run.order + 100}) if only(run, "c02") else run,
    )
    _, found = answer(tmp_path, later)
    assert found.comparisons[0].verdict == "not comparable"
    assert "different times (in 5 of 5 blocks other blocks' runs lie between the two)" in found.comparisons[0].words


def test_a_run_that_was_repeated_later_is_said_to_be_apart_from_its_partner(tmp_path: Path) -> None:
    again = replace(
        SMALL,
        threads=(8,),
        change=lambda run: run.model_copy(update={"order": 100}) if only(run, "c02", 2) else run,
    )
    _, found = answer(tmp_path, again)
    assert found.comparisons[0].better == "mariadb"
    assert any(
        note.startswith("in 1 of 5 blocks other blocks' runs lie between") for note in found.comparisons[0].notes
    )


def test_the_setting_in_mid_sweep_has_the_interval_of_its_difference(tmp_path: Path) -> None:
    found = answer_of(write_bundle(tmp_path / "b", Story(noise=0.01, window_s=2, warm_up_s=0)))
    assert re.search(
        r" At preset \w, 16 threads: .*: \d+ % (faster|slower) \(.*95 % CI \S+ % to \S+ %\)\.", found.headline[0]
    )
