"""What a report says of a sweep: the answer to "where is the peak"."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from bakeoff.model.records.run import RunRecord
from bakeoff.report.answer import Answer, answer_of
from bakeoff.report.html.write import write_report
from bakeoff.report.text.terminal import render_text
from builders.bundles import MARIADB, SQLITE, Contender, Story, invalid, write_bundle


@dataclass(frozen=True)
class Peaked(Contender):
    """Past 32 threads each further doubling costs a tenth."""

    def rate(self, threads: int) -> float:
        return super().rate(threads) * 0.9 ** max(0, threads.bit_length() - 6)


PEAKED = Peaked("mariadb", rate_1=8_000)
SWEEP = Story(contenders=(PEAKED,), threads=(2, 8, 32, 128), presets=("c",), window_s=2, warm_up_s=1, noise=0.005)


def answer(folder: Path, story: Story, compare: str = "threads") -> Answer:
    bundle = write_bundle(folder / "bundle", story)
    bundle.plan = bundle.plan.model_copy(update={"compare_factor": compare})
    return answer_of(bundle)


def test_a_sweep_is_answered_by_its_peak_and_not_by_pairs(tmp_path: Path) -> None:
    found = answer(tmp_path, SWEEP)
    assert found.comparisons == []
    first, knee = found.headline
    value = found.cells[2].rate_ops_per_s
    assert value
    assert first.startswith(f"The throughput is highest at 32 threads: {value.value:,.0f}/s (95 % CI ")
    nearest = [rf"\S+ % slower at {threads} threads \(95 % CI \S+ % to \S+ %\)" for threads in (8, 128)]
    assert re.search(f"; {'; '.join(nearest)}[.]$", first), "the nearest on either side that was shown to be slower"
    assert "at 2 threads" not in first
    assert knee == "The knee, beyond which response time grows faster than throughput, is at 2 threads or less."
    (shape,) = found.shapes
    assert (shape.top, shape.best, shape.knee) == (32, [32], [2])


def test_a_peak_at_the_end_of_the_range_asks_for_more(tmp_path: Path) -> None:
    first = answer(tmp_path, replace(SWEEP, threads=(2, 8, 32))).headline[0]
    assert "still rises at 32 threads, the end of the range: " in first
    assert " % slower at 8 threads " in first
    assert first.endswith("; extend the range.")


def test_levels_that_cannot_be_distinguished_are_a_plateau_with_the_smallest_detectable_difference(
    tmp_path: Path,
) -> None:
    flat = Contender("mariadb", rate_1=20_000, rate_max=20_100)
    (first, *_) = answer(tmp_path, replace(SWEEP, contenders=(flat,), threads=(8, 16, 32))).headline
    words = r"The throughput shows no difference from 8 to 32 threads: \S+/s to \S+/s; "
    assert re.fullmatch(words + r"smallest detectable change \+\S+ % or -\S+ %\.", first)


def test_levels_far_apart_in_the_estimate_are_undecided_and_not_as_good_as_each_other(tmp_path: Path) -> None:
    """Of a size: nobody may read that 16M will do from runs that could not have shown otherwise."""
    pool = "settings.innodb_buffer_pool_size"
    bundle = write_bundle(tmp_path / "bundle", replace(SWEEP, contenders=(MARIADB,), threads=(1, 2, 8, 16), noise=0.55))
    sizes = dict(zip((1, 2, 8, 16), ("8M", "16M", "64M", "128M"), strict=True))
    cells = [
        cell.model_copy(update={"levels": {pool: sizes[cell.threads]}, "threads": 1}) for cell in bundle.plan.cells
    ]
    bundle.plan = bundle.plan.model_copy(
        update={"cells": cells, "compare_factor": pool, "factors": {pool: list(sizes.values())}}
    )
    found = answer_of(bundle)
    (shape,) = found.shapes
    assert (shape.top, shape.best) == ("128M", ["16M", "64M", "128M"])
    first = found.headline[0]
    assert first.startswith(
        "The throughput was measured highest at innodb_buffer_pool_size=128M, the end of the range: "
    )
    assert re.search(
        r"; 16M to 64M are undecided \(16M measured \d+ % less\); \d+ % slower at 8M \(95 % CI .*\)\.$", first
    )
    assert "no difference" not in first


def test_the_page_of_a_sweep_says_how_levels_whose_intervals_lie_apart_can_be_undecided(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", SWEEP)
    bundle.plan = bundle.plan.model_copy(update={"compare_factor": "threads"})
    page = write_report(bundle).html.read_text(encoding="utf-8")
    assert "intervals that do not overlap may belong to levels that are undecided" in page


def test_few_repetitions_are_said_to_judge_nothing(tmp_path: Path) -> None:
    (first,) = answer(tmp_path, replace(SWEEP, repetitions=3)).headline
    assert first.startswith("The throughput was highest at 32 threads: ")
    assert first.endswith("; with 3 repetitions nothing is judged, 5 are needed.")


def test_a_level_with_invalid_runs_is_left_out_and_named(tmp_path: Path) -> None:
    def change(run: RunRecord) -> RunRecord:
        return invalid(run) if (run.cell, run.block) == ("c03", 2) else run

    first = answer(tmp_path, replace(SWEEP, change=change)).headline[0]
    assert first.startswith("The throughput may be highest at 8, 128 threads, the end of the range: ")
    assert "; 32 threads left out: 1 of 5 runs of 32 threads was invalid (errors)." in first


def test_a_level_that_was_never_run_is_left_out_and_named(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", SWEEP)
    bundle.plan = bundle.plan.model_copy(update={"compare_factor": "threads"})
    bundle.runs[:] = [run for run in bundle.runs if run.cell != "c04"]
    first = answer_of(bundle).headline[0]
    assert "128 threads left out: too few repetitions to compare (0, needs 5)" in first


def test_of_response_times_the_lowest_is_reported(tmp_path: Path) -> None:
    first = answer(tmp_path, replace(SWEEP, objective="latency_p99")).headline[0]
    assert first.startswith("The p99 is lowest at 2 threads: ")
    assert re.search(r"; \S+x as high at 8 threads \(95 % CI ", first)


def test_systems_over_threads_are_compared_and_each_has_its_shape(tmp_path: Path) -> None:
    found = answer(tmp_path, replace(SWEEP, contenders=(PEAKED, SQLITE)), "system")
    assert found.headline[0].startswith("sqlite_full is slower than mariadb in 4 of 4 settings")
    assert found.headline[1].startswith("Over threads, the throughput of mariadb is highest at 32 threads, ")
    assert "; that of sqlite_full " in found.headline[1]
    assert len(found.shapes) == 2


def test_that_less_load_is_answered_sooner_is_not_reported_next_to_pairs(tmp_path: Path) -> None:
    story = replace(SWEEP, contenders=(PEAKED, SQLITE), objective="latency_p99")
    assert not any("Over threads" in sentence for sentence in answer(tmp_path, story, "system").headline)


def test_two_levels_are_a_pair(tmp_path: Path) -> None:
    found = answer(tmp_path, replace(SWEEP, contenders=(MARIADB,), threads=(2, 32)))
    assert found.shapes == []
    assert found.headline[0].startswith("32 threads is ")


def test_terminal_and_page_show_every_level_against_the_highest(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", SWEEP)
    bundle.plan = bundle.plan.model_copy(update={"compare_factor": "threads"})
    lines = render_text(answer_of(bundle)).splitlines()
    start = lines.index("Over threads, against the highest:")
    assert [line.split()[0] for line in lines[start + 3 : start + 7]] == ["2", "8", "32", "128"]
    assert lines[start + 5].endswith("highest")
    page = write_report(bundle).html.read_text(encoding="utf-8")
    assert "<h3>Over threads, against the highest</h3>" in page


def test_a_second_look_is_judged_at_what_the_first_left(tmp_path: Path) -> None:
    """With repetitions added after the answer was read, intervals are wider than at the first analysis."""
    bundle = write_bundle(tmp_path / "bundle", replace(SWEEP, repetitions=6))
    bundle.plan = bundle.plan.model_copy(update={"compare_factor": "threads"})
    levels = []
    for looks in ([], [5]):
        bundle.info = bundle.info.model_copy(update={"analysed_repetitions": looks})
        (shape,) = answer_of(bundle).shapes
        last = shape.levels[-1].against
        assert last is not None
        levels.append(last.level or 0)
    assert levels[0] < levels[1] < 1
