"""How the runs of a bundle stood to the limits that its plan asks for, in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.model.records import RunRecord
from bakeoff.report.conclusion import answer_of
from bakeoff.report.html import write_report
from bakeoff.report.limit_words import LimitLevel, words_of
from bakeoff.report.text import render_text
from builders.bundles import MARIADB, SQLITE, Story, invalid, write_bundle

STORY = Story(contenders=(MARIADB,), threads=(1, 4, 16), presets=("c",), repetitions=5, window_s=2, warm_up_s=1)


def level(threads: int, met: int, runs: int = 5, **reasons: int) -> LimitLevel:
    words = f"{threads} thread{'' if threads == 1 else 's'}"
    return LimitLevel(cell=f"c{threads}", level=threads, level_words=words, runs=runs, met=met, reasons=reasons)


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        (
            [level(1, 5), level(4, 5), level(16, 3), level(64, 0)],
            "met up to 4 threads; at 16 threads in 3 of 5 repetitions; not at 64 threads",
        ),
        ([level(1, 5), level(4, 0), level(16, 0)], "met at 1 thread; not from 4 to 16 threads"),
        ([level(1, 0), level(4, 0)], "not met at any level, 1 to 4 threads"),
        ([level(1, 5), level(4, 5)], "met at all levels, 1 to 4 threads"),
        (
            [level(1, 0), level(4, 2), level(16, 5)],
            "met at 16 threads; at 4 threads in 2 of 5 repetitions; not at 1 thread",
        ),
        ([level(1, 3), level(4, 5), level(16, 5)], "met from 4 to 16 threads; at 1 thread in 3 of 5 repetitions"),
        ([level(1, 0), level(4, 5), level(16, 0)], "met at 4 threads; not at 1 thread and at 16 threads"),
        ([level(1, 5), level(4, 0, overloaded=5)], "met at 1 thread; not at 4 threads (overloaded)"),
        (
            [level(1, 5), level(4, 3, overloaded=1)],
            "met at 1 thread; at 4 threads in 3 of 5 repetitions (1 overloaded)",
        ),
        ([level(4, 5)], "met at 4 threads in all 5 repetitions"),
        ([level(4, 0, 3)], "not met at 4 threads in any of 3 repetitions"),
    ],
)  # fmt: skip
def test_levels_are_told_in_what_was_met_what_at_times_and_what_not(levels: list[LimitLevel], words: str) -> None:
    assert words_of(levels, "threads") == words


def test_every_run_is_held_against_the_limit_over_the_swept_factor(tmp_path: Path) -> None:
    answer = answer_of(write_bundle(tmp_path / "b", replace(STORY, asked=["rate > 9000/s", "latency_p99 < 2ms"])))
    rate, p99 = answer.held
    assert [(found.level, found.met, found.runs) for found in rate.levels] == [(1, 0, 5), (4, 5, 5), (16, 5, 5)]
    assert answer.headline[0] == "rate above 9,000/s: met from 4 to 16 threads; not at 1 thread."
    assert p99.words == "met up to 4 threads; not at 16 threads"


def test_each_contestant_has_a_sentence_of_its_own(tmp_path: Path) -> None:
    story = replace(STORY, contenders=(MARIADB, SQLITE), asked=["rate > 9000/s"])
    answer = answer_of(write_bundle(tmp_path / "b", story))
    assert [sentence.partition(":")[0] for sentence in answer.headline[:2]] == [
        "rate above 9,000/s (mariadb)",
        "rate above 9,000/s (sqlite_full)",
    ]


def test_without_a_swept_factor_repetitions_are_counted(tmp_path: Path) -> None:
    def first_is_bad(run: RunRecord) -> RunRecord:
        return invalid(run) if run.block == 1 else run

    story = replace(STORY, threads=(4,), asked=["rate > 100/s"], change=first_is_bad)
    (found,) = answer_of(write_bundle(tmp_path / "b", story)).held
    assert found.words == "met in 4 of 5 repetitions (not valid)"


def test_text_page_and_json_have_the_finding(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", replace(STORY, asked=["rate > 9000/s"]))
    answer = answer_of(bundle)
    assert "rate above 9,000/s: met from 4 to 16 threads" in render_text(answer)
    assert answer.model_dump()["held"][0]["levels"][0]["reasons"] == {"not met": 5}
    page = write_report(bundle, answer=answer).html.read_text()
    assert "Limits that the plan asks for" in page
    assert "<td>rate above 9,000/s</td>" in page


def test_a_bundle_without_limits_says_nothing_of_them(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", STORY)
    assert answer_of(bundle).held == []
    assert "Limits that the plan asks for" not in write_report(bundle).html.read_text()
