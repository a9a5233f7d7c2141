"""Runs that are not valid, that failed or that have no value: named with their reason, and never ranked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from bakeoff.analysis.histograms import Histogram, to_document
from bakeoff.bundle.read import Bundle
from bakeoff.cli.commands.run import all_held
from bakeoff.model.boundary import ErrorSample
from bakeoff.model.records.run import RunRecord
from bakeoff.report.answer import answer_of
from bakeoff.report.html.write import write_report
from bakeoff.report.text.terminal import render_text
from builders.bundles import (
    MARIADB,
    SMALL,
    answer,
    failed,
    invalid,
    only,
    overloaded,
    timed_out,
    write_bundle,
)


def test_an_invalid_run_takes_no_part_and_is_named(tmp_path: Path) -> None:
    story = replace(SMALL, change=lambda run: invalid(run) if only(run, "c01", 2) else run)
    bundle, found = answer(tmp_path, story)
    cell = found.cells[0]
    assert (cell.repetitions_valid, cell.validity) == (4, "4 of 5 valid")
    assert [doubt.sentence for doubt in cell.doubts] == [
        "invalid: errors (1 of 5 runs): 2.5 % of the operations did not end ok; the budget is 0.1 %"
    ]
    bad = next(run for run in bundle.runs if not run.valid)
    assert cell.errors == bad.errors  # "0" next to "4 of 5 valid" would be no reason
    assert cell.operations == sum(run.ok for run in bundle.runs if run.cell == "c01" and run.id != bad.id)
    comparison = found.comparisons[0]
    assert comparison.verdict == "invalid runs"
    assert comparison.words == "not compared: 1 of 5 runs of mariadb was invalid (errors)"
    assert comparison.base_value is None
    assert found.validity[0] == "19 of 20 runs valid"


def test_a_cell_without_a_valid_run_shows_its_figures_as_not_valid(tmp_path: Path) -> None:
    story = replace(SMALL, change=lambda run: invalid(run) if only(run, "c01") else run)
    _, found = answer(tmp_path, story)
    cell = found.cells[0]
    assert (cell.valid, cell.validity) == (False, "NOT VALID")
    assert cell.rate_ops_per_s is not None
    assert cell.error_ratio == pytest.approx(0.0244, abs=1e-3)
    comparison = found.comparisons[0]
    assert (comparison.verdict, comparison.words) == ("invalid runs", "not compared: no valid run of mariadb")


def test_the_headline_says_of_a_cell_without_a_valid_run_why_in_place_of_a_figure(tmp_path: Path) -> None:
    def nothing_went_well(run: RunRecord) -> RunRecord:
        waited = to_document(Histogram.from_values([10**9] * 31))
        lost = run.series[0].model_copy(
            update={"outcome": "unknown", "count": 31, "response": waited, "service": waited}
        )
        happened = {"ok": 0, "errors": {"unknown": 31}, "series": [lost], "operations": [], "headline": waited}
        return invalid(run).model_copy(update={**happened, "error_samples": samples})

    samples: list[ErrorSample] = []
    story = replace(SMALL, contenders=(MARIADB,), threads=(1,), change=nothing_went_well)
    bundle, found = answer(tmp_path / "nothing kept", story)
    assert found.headline == ["mariadb: no valid run: 155 of 155 operations failed."]
    samples.append(
        ErrorSample(
            operation="read", outcome="unknown", code="2013", message="gone", statement=None, endpoint=0, at_s=1.0
        )
    )
    bundle, found = answer(tmp_path / "kept", story)
    assert found.headline == ["mariadb: no valid run: 155 of 155 operations failed; the first: read: gone (2013)."]
    assert not all_held(bundle, found)


@pytest.mark.parametrize(
    ("outcome", "retries", "words"),
    [
        (
            "fail_conflict",
            2_000,
            "ended in conflict after retries, the budget is 0.1 %: raise error_budget and --resume, or retry more; ",
        ),
        (
            "fail_conflict",
            0,
            "ended in conflict, the budget is 0.1 %: raise error_budget and --resume, or retry more; ",
        ),
        ("fail_other", 0, "failed, the budget is 0.1 %: raise error_budget and --resume if that is part of the work; "),
    ],
)
def test_too_many_errors_name_the_budget_and_what_to_do(tmp_path: Path, outcome: str, retries: int, words: str) -> None:
    def too_many(run: RunRecord) -> RunRecord:
        broken = invalid(run)
        more = {"retries": retries, "retries_after_conflict": retries}
        return broken.model_copy(update={"errors": {outcome: broken.errors["fail_other"]}, **more})

    story = replace(SMALL, contenders=(MARIADB,), threads=(1,), change=too_many)
    _, found = answer(tmp_path, story)
    assert f"mariadb: no valid run: 2.4 % of the operations {words}" in found.headline[0]
    assert ("of the attempts were aborted" in found.headline[0]) == (outcome == "fail_conflict")


def test_the_headline_gives_the_reason_of_runs_that_failed(tmp_path: Path) -> None:
    story = replace(SMALL, threads=(1,), change=lambda run: failed(run) if only(run, "c02") else run)
    bundle, found = answer(tmp_path, story)
    assert found.headline == [
        "sqlite_full against mariadb: not compared: no valid run of sqlite_full.",
        "sqlite_full: no valid run: the server died or froze during the run.",
    ]
    assert not all_held(bundle, found)


def test_many_cells_without_a_valid_run_are_counted(tmp_path: Path) -> None:
    _, found = answer(tmp_path, replace(SMALL, change=failed))
    assert found.headline[-1] == "No valid run either in 2 more of 4 cells."


def test_a_side_that_failed_in_some_runs_is_named_in_the_headline_and_not_ranked(tmp_path: Path) -> None:
    """Its other runs would be a comparison of survivors. The bundle is not "done" either."""
    story = replace(SMALL, repetitions=8, change=lambda run: invalid(run) if only(run, "c02", 2) else run)
    bundle, found = answer(tmp_path, story)
    assert [c.verdict for c in found.comparisons] == ["higher", "invalid runs"]
    assert found.headline[0].endswith("not compared in 1.")  # without the figures of its survivors
    assert found.headline[1:2] == [
        "mariadb at 8 threads: 1 of 8 runs was invalid (2.5 % of the operations did not end ok; the budget is 0.1 %;"
        " the first: update: Lock wait timeout exceeded (1205));"
        " not compared."
    ]
    assert not all_held(bundle, found)
    page = write_report(bundle).html.read_text(encoding="utf-8")
    assert "mariadb at 8 threads: 1 of 8 runs was invalid" in page
    assert "not compared: 1 of 8 runs of mariadb was invalid (errors)" in page


def test_what_hit_both_in_one_block_leaves_that_block_out_and_is_done(tmp_path: Path) -> None:
    story = replace(SMALL, repetitions=6, change=lambda run: invalid(run) if run.block == 2 else run)
    bundle, found = answer(tmp_path, story)
    assert [c.repetitions for c in found.comparisons] == [5, 5]
    assert all("1 block was left out: both runs were invalid" in c.notes[0] for c in found.comparisons)
    assert all_held(bundle, found)


def test_a_failed_run_is_counted_and_its_reason_kept(tmp_path: Path) -> None:
    story = replace(SMALL, change=lambda run: failed(run) if only(run, "c02", 5) else run)
    _, found = answer(tmp_path, story)
    assert found.runs_valid == 19
    assert "invalid: run failed (1 of 20 runs): the server died or froze during the run" in found.validity
    cell = next(c for c in found.cells if c.cell == "c02")
    assert cell.repetitions_finished == 4


@pytest.mark.parametrize(("by", "claimed"), [("system", False), (None, False), ("infrastructure", True)])
def test_a_failure_that_was_repeated_until_it_worked_is_no_evidence(
    tmp_path: Path, by: Literal["system", "infrastructure"] | None, claimed: bool
) -> None:
    """Of a load machine that was lost the repeated run counts; of the system the failed one does."""
    bundle = write_bundle(tmp_path / "b", replace(SMALL, threads=(8,), change=lambda run: run))
    (second,) = (run for run in bundle.runs if only(run, "c01", 2))
    lost = failed(second).model_copy(update={"failed_by": by})
    again = second.model_copy(update={"attempt": 2, "id": f"{second.id}.2", "order": 100})
    others = [run for run in bundle.attempts if run is not second]
    bundle = Bundle(bundle.folder, bundle.info, bundle.plan, bundle.machine)
    bundle.attempts = [*others, lost, again]
    found = answer_of(bundle)
    assert found.comparisons[0].verdict == ("lower" if claimed else "invalid runs")
    assert found.comparisons[0].repetitions == 5
    assert all_held(bundle, found) is claimed


def test_a_run_that_infrastructure_failed_to_the_last_repeat_is_said_to_be_lost(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", replace(SMALL, threads=(8,), change=lambda run: run))
    (second,) = (run for run in bundle.runs if only(run, "c01", 2))
    lost = failed(second, "the load machine load1 was lost").model_copy(update={"failed_by": "infrastructure"})
    again = lost.model_copy(update={"attempt": 2, "id": f"{second.id}.2", "order": 100})
    others = [run for run in bundle.attempts if run is not second]
    for repeats, left in ((1, "all repeats are used up (1 of 1"), (3, "repeats are left (1 of 3")):
        plan = bundle.plan.model_copy(update={"repeat_disturbed": repeats})
        made = Bundle(bundle.folder, bundle.info, plan, bundle.machine)
        made.attempts = [*others, lost, again]
        found = answer_of(made)
        assert found.headline[0] == (
            "Lost to infrastructure, through no fault of a system: 1 of 10 runs (the load machine load1 was lost);"
            f" {left} were made). `bakeoff run plan.toml --resume {bundle.folder}` makes what was lost again."
        )
        assert (
            "invalid: run lost (1 of 10 runs): infrastructure failed, not the system, in all 2 attempts; the last time:"
            " the load machine load1 was lost"
        ) in found.validity


def test_failures_that_reach_a_percentile_leave_it_undefined_with_the_reason(tmp_path: Path) -> None:
    def many_failures(run: RunRecord) -> RunRecord:
        return run.model_copy(update={"errors": {"fail_conflict": run.ok // 50}})  # 2 %

    _, found = answer(tmp_path, replace(SMALL, change=many_failures))
    response = found.cells[0].response
    assert response.p95_ms is not None
    assert response.p99_ms is None
    assert response.words["p99_ms"] == "not defined (2.0 % failed)"


def test_an_overloaded_run_has_no_percentiles(tmp_path: Path) -> None:
    _, found = answer(tmp_path, replace(SMALL, change=overloaded))
    assert found.cells[0].response.p50_ms is None
    assert found.cells[0].response.words["p50_ms"] == "not stated (overloaded)"


def test_a_side_without_a_value_says_why_in_headline_and_table(tmp_path: Path) -> None:
    def overload(run: RunRecord) -> RunRecord:
        return overloaded(run) if run.cell == "c01" else run

    _, found = answer(tmp_path, replace(SMALL, threads=(8,), objective="latency_p99", change=overload))
    (comparison,) = found.comparisons
    assert (comparison.base_value, comparison.base_why, comparison.other_why) == (None, "overloaded", "")
    assert ", mariadb overloaded." in found.headline[0]
    (row,) = [line for line in render_text(found).splitlines() if "not compared: " in line and "  overloaded  " in line]
    assert "not stated" not in row


def test_a_value_that_some_runs_lack_says_in_how_many_and_why(tmp_path: Path) -> None:
    def dropped(run: RunRecord) -> RunRecord:
        return run.model_copy(update={"errors": {"fail_other": run.ok // 50}}) if only(run, "c02", 3) else run

    _, found = answer(tmp_path, replace(SMALL, threads=(8,), objective="latency_p99", change=dropped))
    assert found.comparisons[0].other_why == "not defined (2.0 % failed) in 1 of 5 runs"
    _, none = answer(tmp_path / "2", replace(SMALL, threads=(8,), change=lambda run: invalid(run)))
    assert none.comparisons[0].base_why == "not valid"


def test_a_percentile_among_timeouts_reads_at_least_and_is_not_compared(tmp_path: Path) -> None:
    story = replace(
        SMALL, threads=(8,), objective="latency_p99", change=lambda run: timed_out(run) if only(run, "c01") else run
    )
    _, found = answer(tmp_path, story)
    cell = found.cells[0]
    assert cell.response.at_least == ["p99_ms", "p999_ms", "mean_ms", "max_ms"]
    assert "at least 1.00 s" in render_text(found)
    assert found.comparisons[0].verdict == "not comparable"
    assert "mariadb has no p99 to compare: a lower bound in 5 of 5 runs" in found.comparisons[0].words
