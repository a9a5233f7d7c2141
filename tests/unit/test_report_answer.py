"""The answer: what is said of each cell, and first of all."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean

import pytest
from bakeoff.analysis.wording import milliseconds_words, rate_words
from bakeoff.bundle.read import Bundle
from bakeoff.cli import main
from bakeoff.cli.commands.run import code_of
from bakeoff.errors import ExitCode
from bakeoff.model.records.run import RunRecord, Validity
from bakeoff.report.answer import Answer, answer_of
from bakeoff.report.html.write import write_report
from bakeoff.report.text.terminal import render_text
from bakeoff.report.words.pairs import operation_words
from builders.bundles import (
    MARIADB,
    SMALL,
    SQLITE,
    Story,
    answer,
    invalid,
    only,
    write_bundle,
)
from hdrh.histogram import HdrHistogram


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
    assert " slower than mariadb (95 % CI " in sentence
    assert sentence.endswith("/s.")
    assert sentence.count("/s") == 2


def test_more_than_twice_as_fast_is_also_said_as_times(tmp_path: Path) -> None:
    quick = replace(MARIADB, name="quick", rate_1=23_000.0, rate_max=100_000.0)
    _, found = answer(tmp_path, replace(SMALL, contenders=(MARIADB, quick), repetitions=5))
    assert re.search(
        r"quick is faster than mariadb in 2 of 2 settings: \d.\dx to \d.\dx as fast\.",
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
        r" slower \(95 % CI [\d.]+ % slower to [\d.]+ % faster\); smallest detectable change \+[\d.]+ % or"
        r" -[\d.]+ %\. About \d+ more repetitions would decide whether there is a difference of 1.0 %"
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


def test_one_run_is_described_in_the_singular(tmp_path: Path) -> None:
    story = replace(SMALL, contenders=(MARIADB,), threads=(1,), repetitions=1, change=invalid)
    _, found = answer(tmp_path, story)
    assert found.validity[0] == "0 of 1 run valid"
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


def test_a_result_that_cannot_be_read_is_the_first_sentence_and_no_success(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "bundle", SMALL).folder
    result = next(folder.glob("runs/b05-*/result.json"))
    result.write_text("{")
    bundle = Bundle.open(folder)
    found = answer_of(bundle)
    assert found.headline[0].startswith(
        "The result of 1 run could not be read, and what follows is without it: "
        f"{result.parent.name}/result.json cannot be read"
    )
    assert code_of(bundle, found) == ExitCode.CHECK_FAILED
    assert main(["report", str(folder)]) == ExitCode.CHECK_FAILED


def test_an_interrupted_bundle_says_so_and_still_answers(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", replace(SMALL, state="interrupted"))
    for run in bundle.folder.glob("runs/b05-*/result.json"):
        run.unlink()
    found = answer_of(Bundle.open(bundle.folder))
    assert found.incomplete == (
        "Not the whole plan: it was interrupted; 16 of 20 runs are here."
        f" `bakeoff run plan.toml --resume {bundle.folder}` makes the rest."
    )
    assert {c.verdict for c in found.comparisons} == {"too few"}
    assert {c.validity for c in found.cells} == {"valid; 4 of 5 made"}
    assert found.validity[0] == "16 of 16 runs valid"


def test_an_empty_bundle_has_an_answer_too(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", replace(SMALL, repetitions=0, state="failed"))
    found = answer_of(bundle)
    assert {c.validity for c in found.cells} == {"not run"}
    assert found.validity == ["no run was finished"]


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


def test_the_size_of_the_data_is_reported_in_caches_of_the_system(tmp_path: Path) -> None:
    _, found = answer(tmp_path)
    assert found.cells[0].data_to_cache_ratio == pytest.approx(150_000_000 / (1 << 30))
    said = next(words for words in found.limits if "own cache" in words)
    assert said.startswith("Data on disk over the system's own cache: mariadb 0.14, sqlite_full 2.2.")


def test_warnings_are_next_to_the_figure(tmp_path: Path) -> None:
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


def test_each_operation_is_distinguished(tmp_path: Path) -> None:
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
