"""The answer: what is said of each cell and comparison, and what is not said."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean
from typing import Literal

import pytest
from bakeoff.analysis.encode import to_document
from bakeoff.analysis.histograms import Histogram
from bakeoff.analysis.wording import milliseconds_words, rate_words
from bakeoff.bundle.read import Bundle
from bakeoff.cli.run import all_held
from bakeoff.model.boundary import ErrorSample
from bakeoff.model.records import RunRecord, Validity
from bakeoff.report.answer import Answer
from bakeoff.report.conclusion import answer_of
from bakeoff.report.html import write_report
from bakeoff.report.operation_words import operation_words
from bakeoff.report.text import render_text
from builders.bundles import MARIADB, SQLITE, Contender, Story, failed, invalid, timed_out, write_bundle
from hdrh.histogram import HdrHistogram

SMALL = Story(threads=(1, 8), presets=("a",), window_s=20, warm_up_s=2)


def answer(folder: Path, story: Story = SMALL) -> tuple[Bundle, Answer]:
    bundle = write_bundle(folder / "bundle", story)
    return bundle, answer_of(bundle)


def only(run: RunRecord, cell: str, block: int | None = None) -> bool:
    return run.cell == cell and block in (None, run.block)


def test_every_cell_has_its_rate_between_its_slowest_and_fastest_repetition(tmp_path: Path) -> None:
    bundle, found = answer(tmp_path)
    assert [(c.contestant, c.setting) for c in found.cells] == [
        ("mariadb", {"threads": 1}),
        ("sqlite_full", {"threads": 1}),
        ("mariadb", {"threads": 8}),
        ("sqlite_full", {"threads": 8}),
    ]
    for cell in found.cells:
        rates = [run.rate_ops_per_s for run in bundle.runs if run.cell == cell.cell]
        spread = cell.rate_ops_per_s
        assert spread is not None
        assert (spread.minimum, spread.maximum) == (min(rates), max(rates))
        assert min(rates) <= spread.value <= max(rates)
        assert spread.low is not None
        assert spread.high is not None
        assert spread.low < spread.value < spread.high


def test_percentiles_are_those_of_the_typical_repetition_as_an_independent_library_finds(tmp_path: Path) -> None:
    bundle, found = answer(tmp_path)
    cell = found.cells[0]
    judges = [HdrHistogram(1, 3_600_000_000_000, 3) for _ in range(5)]
    for judge, run in zip(judges, (run for run in bundle.runs if run.cell == cell.cell), strict=True):
        judge.decode_and_add(run.headline.hdr)
    for q, value in ((99, cell.response.p99_ms), (50, cell.response.p50_ms)):
        theirs = [judge.get_value_at_percentile(q) / 1e6 for judge in judges]
        assert value == pytest.approx(geometric_mean(theirs), rel=2e-3)
    spread = cell.response_spreads["p99_ms"]
    assert spread.low is not None
    assert spread.high is not None
    assert spread.low < spread.value == cell.response.p99_ms < spread.high
    longest = max(run.response.max_ms or 0 for run in bundle.runs if run.cell == cell.cell)
    assert cell.response.max_ms == longest


def test_a_percentile_that_one_repetition_does_not_have_is_not_stated_and_the_reason_is(tmp_path: Path) -> None:
    def one_fails(run: RunRecord) -> RunRecord:
        return run.model_copy(update={"errors": {"fail_conflict": run.ok // 50}}) if only(run, "c01", 2) else run

    _, found = answer(tmp_path, replace(SMALL, change=one_fails))
    response = found.cells[0].response
    assert response.p95_ms is not None
    assert (response.p99_ms, response.words["p99_ms"]) == (None, "not defined (2.0 % failed) in 1 of 5 runs")
    assert "p99_ms" not in found.cells[0].response_spreads


def test_cpu_per_operation_is_over_all_valid_repetitions(tmp_path: Path) -> None:
    _, found = answer(tmp_path)
    mariadb, sqlite = found.cells[:2]
    assert mariadb.client_cpu_us_per_op == pytest.approx(7.5)
    assert mariadb.server_cpu_us_per_op == pytest.approx(38)
    assert sqlite.server_cpu_us_per_op is None  # embedded: nobody to watch


def test_the_headline_counts_settings_and_leads_with_the_middle_of_the_sweep(tmp_path: Path) -> None:
    _, found = answer(tmp_path, replace(SMALL, threads=(1, 4, 64)))
    sentence, *_ = found.headline
    assert sentence.startswith("sqlite_full is slower than mariadb in 2 of 3 settings (4 threads; 64 threads), by ")
    assert "faster in 1 (1 thread), by " in sentence
    assert "At 4 threads: sqlite_full 6," in sentence


def test_with_one_setting_the_headline_is_the_comparison_with_both_values(tmp_path: Path) -> None:
    _, found = answer(tmp_path, replace(SMALL, threads=(64,)))
    sentence, hint = found.headline
    assert hint.startswith("What else differs most between sqlite_full and mariadb (a hint at why, not tested): ")
    assert sentence.startswith("sqlite_full is ")
    assert " slower than mariadb (96 % interval " in sentence
    assert sentence.endswith("/s.")
    assert sentence.count("/s") == 2


def test_more_than_twice_as_fast_is_also_said_as_times(tmp_path: Path) -> None:
    quick = replace(MARIADB, name="quick", rate_1=23_000.0, rate_max=100_000.0)
    _, found = answer(tmp_path, replace(SMALL, contenders=(MARIADB, quick), repetitions=5))
    assert re.search(
        r"quick is faster than mariadb in 2 of 2 settings, by \d+ % to \d+ % \(\d.\d to \d.\d times\)\.",
        found.headline[0],
    )


def test_a_latency_objective_is_worded_by_the_percentile(tmp_path: Path) -> None:
    _, found = answer(tmp_path, replace(SMALL, objective="latency_p99"))
    assert "'s p99 is " in found.headline[0]
    assert found.comparisons[1].better == "mariadb"


def test_equal_systems_are_not_ranked_and_the_visible_difference_is_named(tmp_path: Path) -> None:
    twins = (MARIADB, replace(MARIADB, name="mariadb_again"))
    _, found = answer(tmp_path, replace(SMALL, contenders=twins))
    assert [c.verdict for c in found.comparisons] == ["no difference", "no difference"]
    lead = "mariadb_again against mariadb in 2 settings: no difference shown in 2. At 8 threads (no difference shown): "
    assert found.headline[0].startswith(lead)
    assert all("smallest detectable change" in c.words for c in found.comparisons)


def test_an_undecided_comparison_says_its_size_and_what_would_decide_it(tmp_path: Path) -> None:
    slower = replace(MARIADB, name="slower", rate_1=3_950.0, rate_max=23_700.0)
    story = replace(SMALL, contenders=(MARIADB, slower), threads=(8,), noise=0.01, seed=2, matters=0.01)
    _, found = answer(tmp_path, story)
    (only,) = found.comparisons
    assert only.verdict == "no difference"
    assert only.more_repetitions is not None
    assert re.search(
        r"^slower against mariadb: no difference shown: slower [\d,]+/s, mariadb [\d,]+/s\. The estimate is [\d.]+ %"
        r" slower \(\d+ % interval [\d.]+ % slower to [\d.]+ % faster\); smallest detectable change \+[\d.]+ % or"
        r" -[\d.]+ %\. About \d+ more repetitions would decide it: whether there is a difference of 1.0 %"
        r" \(--resume --repetitions \+\d+\)\.$",
        found.headline[0],
    )


def test_of_several_settings_the_headline_says_how_many_more_repetitions_would_decide(tmp_path: Path) -> None:
    slower = replace(MARIADB, name="slower", rate_1=3_950.0, rate_max=23_700.0)
    story = replace(SMALL, contenders=(MARIADB, slower), threads=(1, 4, 8), noise=0.01, seed=2, matters=0.01)
    _, found = answer(tmp_path, story)
    undecided = [c for c in found.comparisons if c.is_undecided]
    assert len(undecided) == 3
    words = r"About \d+ more repetitions would decide all 3 undecided: whether .* of 1.0 % \(--resume"
    assert re.search(words, found.headline[0])


def test_without_noise_what_is_alike_is_equivalent(tmp_path: Path) -> None:
    twins = (MARIADB, replace(MARIADB, name="again"))
    _, found = answer(tmp_path, replace(SMALL, contenders=twins, threads=(8,), noise=0.0, matters=0.05))
    (only,) = found.comparisons
    assert (only.verdict, only.more_repetitions) == ("equivalent", None)
    assert found.headline[0].startswith("again against mariadb: equivalent within 5.0 %: ")


def test_an_invalid_run_takes_no_part_and_is_named(tmp_path: Path) -> None:
    story = replace(SMALL, change=lambda run: invalid(run) if only(run, "c01", 2) else run)
    bundle, found = answer(tmp_path, story)
    cell = found.cells[0]
    assert (cell.repetitions_valid, cell.validity) == (4, "4 of 5 valid")
    assert cell.findings == [
        "invalid: errors (1 of 5 runs): 2.5 % of the operations did not end ok; the budget is 0.1 %"
    ]
    bad = next(run for run in bundle.runs if not run.valid)
    assert cell.errors == bad.errors  # "0" beside "4 of 5 valid" would be no reason
    assert cell.operations == sum(run.ok for run in bundle.runs if run.cell == "c01" and run.id != bad.id)
    comparison = found.comparisons[0]
    assert comparison.verdict == "invalid runs"
    assert comparison.words == "not compared: 1 of 5 runs of mariadb was invalid (errors)"
    assert comparison.base_value is None
    assert found.validity[0] == "19 of 20 runs are valid"


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


def test_one_run_is_spoken_of_in_the_singular(tmp_path: Path) -> None:
    story = replace(SMALL, contenders=(MARIADB,), threads=(1,), repetitions=1, change=invalid)
    _, found = answer(tmp_path, story)
    assert found.validity[0] == "0 of 1 run is valid"
    assert found.validity[1].startswith("invalid: errors (1 of 1 run): ")
    assert found.measured.startswith("1 repetition, ")


def test_where_nothing_is_compared_no_setting_stands_for_the_others(tmp_path: Path) -> None:
    """The one of the middle alone hid the setting at which the two differed most."""
    _, found = answer(tmp_path, replace(SMALL, repetitions=3))
    one, eight = ({c.contestant: c.rate_ops_per_s for c in found.cells if c.setting["threads"] == n} for n in (1, 8))
    values = [
        ", ".join(
            f"{name} {rate_words(spread.value)}" for name in ("sqlite_full", "mariadb") if (spread := cells[name])
        )
        for cells in (one, eight)
    ]
    assert found.headline[0] == (
        "sqlite_full against mariadb in 2 settings: none is compared (too few repetitions)."
        f" At 1 thread: {values[0]}. At 8 threads: {values[1]}."
    )


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


def test_an_interrupted_bundle_says_so_and_still_answers(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", replace(SMALL, state="interrupted"))
    for run in bundle.folder.glob("runs/b05-*/result.json"):
        run.unlink()
    found = answer_of(Bundle.open(bundle.folder))
    assert found.incomplete == (
        "Not the whole plan: it was interrupted; 16 of 20 runs are here."
        " `bakeoff run PLAN --resume BUNDLE` makes the rest."
    )
    assert {c.verdict for c in found.comparisons} == {"too few"}
    assert {c.validity for c in found.cells} == {"valid; 4 of 5 made"}
    assert found.validity[0] == "all 16 runs are valid"


def test_an_empty_bundle_has_an_answer_too(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", replace(SMALL, repetitions=0, state="failed"))
    found = answer_of(bundle)
    assert {c.validity for c in found.cells} == {"not run"}
    assert found.validity == ["no run was finished"]


def test_failures_that_reach_a_percentile_leave_it_undefined_with_the_reason(tmp_path: Path) -> None:
    def many_failures(run: RunRecord) -> RunRecord:
        return run.model_copy(update={"errors": {"fail_conflict": run.ok // 50}})  # 2 %

    _, found = answer(tmp_path, replace(SMALL, change=many_failures))
    response = found.cells[0].response
    assert response.p95_ms is not None
    assert response.p99_ms is None
    assert response.words["p99_ms"] == "not defined (2.0 % failed)"


def test_an_overloaded_run_has_no_percentiles(tmp_path: Path) -> None:
    def overload(run: RunRecord) -> RunRecord:
        return run.model_copy(update={"due": run.ok * 2, "completed": run.ok})

    _, found = answer(tmp_path, replace(SMALL, change=overload))
    assert found.cells[0].response.p50_ms is None
    assert found.cells[0].response.words["p50_ms"] == "not stated (overloaded)"


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
        "not compared: durability is relaxed against full, and the plan does not say so for each"
    )


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


def test_a_cell_has_one_p99_in_headline_table_comparison_and_chart(tmp_path: Path) -> None:
    bundle, found = answer(tmp_path, replace(SMALL, threads=(8,), objective="latency_p99"))
    (comparison,) = found.comparisons
    for cell, value in zip(found.cells, (comparison.base_value, comparison.other_value), strict=True):
        assert value is not None
        assert cell.response.p99_ms == pytest.approx(value)
        words = milliseconds_words(value)
        assert f"{cell.contestant} {words}" in found.headline[0]
        page = write_report(bundle).html.read_text(encoding="utf-8")
        assert page.count(f'<td class="r">{words}</td>') >= 2  # of the comparison and of the results
        assert f"{cell.contestant}: {words} (" in page  # the chart's marker
    assert "typical" not in render_text(found)


def test_the_size_of_the_data_is_told_in_caches_of_the_system(tmp_path: Path) -> None:
    _, found = answer(tmp_path)
    assert found.cells[0].data_to_cache_ratio == pytest.approx(150_000_000 / (1 << 30))
    said = next(words for words in found.limits if "own cache" in words)
    assert said.startswith("Data on disk over the system's own cache: mariadb 0.14, sqlite_full 2.2.")


def test_warnings_stand_beside_the_figure(tmp_path: Path) -> None:
    warning = Validity(name="client", severity="warning", ok=False, words="the client may have been the limit (x)")

    def suspect(run: RunRecord) -> RunRecord:
        return run.model_copy(update={"validity": [warning]}) if only(run, "c02") else run

    _, found = answer(tmp_path, replace(SMALL, change=suspect))
    cell = next(c for c in found.cells if c.cell == "c02")
    assert cell.validity == "valid; see client"
    assert any("the client may have been the limit" in words for words in found.validity)


def test_limits_name_short_windows_shared_machine_and_data_in_memory(tmp_path: Path) -> None:
    _, found = answer(tmp_path)
    said = " ".join(found.limits)
    for words in ("synthetic", "shared one machine", "closed loop", "Windows of 20 s", "caches"):
        assert words in said
    assert "too few to compare" not in said


def test_a_demonstration_says_that_it_is_one(tmp_path: Path) -> None:
    _, found = answer(tmp_path, replace(SMALL, demonstration=True))
    assert found.demonstration.startswith("This is a demonstration")
    assert answer_of(write_bundle(tmp_path / "other", SMALL)).demonstration == ""


def test_the_answer_survives_json(tmp_path: Path) -> None:
    _, found = answer(tmp_path)
    assert Answer.model_validate_json(found.model_dump_json()) == found


def test_one_system_alone_has_figures_and_no_comparison(tmp_path: Path) -> None:
    _, found = answer(tmp_path, replace(SMALL, contenders=(SQLITE,)))
    assert found.comparisons == []
    assert found.headline[0].startswith("sqlite_full at 8 threads: ")


def test_one_system_alone_says_first_what_it_is_judged_by(tmp_path: Path) -> None:
    _, found = answer(tmp_path, replace(SMALL, contenders=(SQLITE,), objective="latency_mean"))
    assert re.match(r"sqlite_full at 8 threads: mean response time \S+ \S+, \S+/s, p99 ", found.headline[0])


def test_three_systems_are_each_compared_with_the_first(tmp_path: Path) -> None:
    third = Contender("mariadb_fast", rate_1=6_000, rate_max=40_000)
    _, found = answer(tmp_path, replace(SMALL, contenders=(MARIADB, SQLITE, third)))
    assert [(c.base, c.other) for c in found.comparisons[:2]] == [
        ("mariadb", "sqlite_full"),
        ("mariadb", "mariadb_fast"),
    ]
    assert len([words for words in found.headline if not words.startswith("What else")]) == 2


def test_each_operation_is_told_apart(tmp_path: Path) -> None:
    bundle, found = answer(tmp_path)
    read, update = found.cells[0].by_operation
    assert (read.operation, update.operation) == ("read", "update")
    mine = [s for run in bundle.runs if run.cell == "c01" for s in run.series if s.operation == "update"]
    assert update.ok == sum(s.count for s in mine)
    judge = HdrHistogram(1, 3_600_000_000_000, 3)
    for series in mine:
        judge.decode_and_add(series.response.hdr)
    assert update.response.p95_ms == pytest.approx(judge.get_value_at_percentile(95) / 1e6, rel=2e-3)
    assert read.response.p95_ms is not None
    assert update.response.p95_ms is not None
    assert read.response.p95_ms < update.response.p95_ms


def test_a_side_without_a_value_says_why_in_headline_and_table(tmp_path: Path) -> None:
    def overload(run: RunRecord) -> RunRecord:
        return run.model_copy(update={"due": run.ok * 2, "completed": run.ok}) if run.cell == "c01" else run

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
    assert "the p99 of mariadb is zero, not defined or only a lower bound in 5 of 5 runs" in found.comparisons[0].words


def test_runs_of_different_occasions_are_not_paired(tmp_path: Path) -> None:
    """A plan that grew puts its new cells into the old blocks, after all of them."""
    later = replace(
        SMALL,
        threads=(8,),
        change=lambda run: run.model_copy(update={"order": run.order + 100}) if only(run, "c02") else run,
    )
    _, found = answer(tmp_path, later)
    assert found.comparisons[0].verdict == "not comparable"
    assert "different occasions (in 5 of 5 blocks other blocks' runs lie between the two)" in found.comparisons[0].words


def test_a_run_that_was_made_again_later_is_said_to_be_apart_from_its_partner(tmp_path: Path) -> None:
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
        r" At preset \w, 16 threads: .*: \d+ % (faster|slower) \(.*% interval \S+ % to \S+ %\)\.", found.headline[0]
    )


def test_an_operation_that_goes_the_other_way_than_the_verdict_is_named(tmp_path: Path) -> None:
    found = answer_of(write_bundle(tmp_path / "b", Story(threads=(8,), presets=("a",), noise=0.01, window_s=2)))
    (one,) = found.comparisons
    assert one.better == one.base
    assert operation_words(one, found.cells) == []
    cells = []
    for cell in found.cells:
        faster = [
            operation.model_copy(
                update={"response": operation.response.model_copy(update={"p50_ms": 0.0105, "p99_ms": 0.02})}
            )
            if cell.contestant == one.other and operation.operation == "read"
            else operation.model_copy(update={"response": operation.response.model_copy(update={"p50_ms": 0.375})})
            for operation in cell.by_operation
        ]
        cells.append(cell.model_copy(update={"by_operation": faster}))
    words = "But its read takes less time: p50 10.5 µs against 375 µs (not tested)."
    assert operation_words(one, cells) == [words]
    better = one.model_copy(update={"base": one.other, "other": one.base})
    assert operation_words(better, cells) == ["But its read takes longer: p50 375 µs against 10.5 µs (not tested)."]
