"""How the runs of a bundle stood to the limits that its plan asks for, in words."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.analysis.histograms import Histogram, to_document
from bakeoff.analysis.limit import parse
from bakeoff.analysis.percentiles import decode
from bakeoff.bundle.read import Bundle
from bakeoff.findings.limits_and_searches.evidence import LimitLevel, Verdict
from bakeoff.findings.limits_and_searches.limits import words_of
from bakeoff.model.records.run import RunRecord, Validity
from bakeoff.report.answer import answer_of
from bakeoff.report.html.write import write_report
from bakeoff.report.text.terminal import render_text
from builders.bundles import MARIADB, SQLITE, Story, invalid, overloaded, timed_out, write_bundle
from builders.golden import assert_golden

STORY = Story(contenders=(MARIADB,), threads=(1, 4, 16), presets=("c",), repetitions=5, window_s=2, warm_up_s=1)
LIMIT = parse("latency_p99 < 2ms")


def level(threads: int, verdict: Verdict, value: float | None = None, **said: object) -> LimitLevel:
    words = f"{threads} thread{'' if threads == 1 else 's'}"
    facts = {"value": value, "value_words": "" if value is None else LIMIT.metric.words(value), "runs": 5, "met": 0}
    return LimitLevel(cell=f"c{threads}", level=threads, level_words=words, verdict=verdict, **{**facts, **said})


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        (
            [level(1, "yes", 1.0), level(4, "yes", 1.5), level(16, "undecided", 2.01, why="missed by run 2"),
             level(64, "no", 9.0)],
            "yes up to 4 threads (at most 1.50 ms); not decided at 16 threads (2.01 ms; missed by run 2); no at 64"
            " threads (9.00 ms)",
        ),
        ([level(1, "yes", 1.0), level(4, "no", 3.0), level(16, "no", 4.0)],
         "yes at 1 thread (1.00 ms); no from 4 to 16 threads (at least 3.00 ms)"),
        ([level(1, "no", 3.0), level(4, "no", 4.0)], "no at all levels, 1 to 4 threads (at least 3.00 ms)"),
        ([level(1, "yes", 1.0), level(4, "yes", 1.1)], "yes at all levels, 1 to 4 threads (at most 1.10 ms)"),
        ([level(1, "no", 3.0), level(4, "yes", 1.0), level(16, "no", 4.0)],
         "yes at 4 threads (1.00 ms); no at 1 thread (3.00 ms) and at 16 threads (4.00 ms)"),
        ([level(4, "no", reasons={"overloaded": 5}), level(16, "no", reasons={"overloaded": 5})],
         "no at all levels, 4 to 16 threads (10 of 10 runs overloaded)"),
        ([level(1, "undecided", obstacle="too few undisturbed runs"), level(4, "undecided", obstacle="invalid runs")],
         "not decided at all levels, 1 to 4 threads (too few undisturbed runs, invalid runs)"),
    ],
)  # fmt: skip
def test_levels_are_reported_in_what_holds_what_is_not_decided_and_what_does_not(
    levels: list[LimitLevel], words: str
) -> None:
    assert words_of(levels, "threads", LIMIT) == words


def test_several_runs_are_judged_by_the_interval_of_the_typical_one(tmp_path: Path) -> None:
    answer = answer_of(write_bundle(tmp_path / "b", replace(STORY, asked=["rate > 9000/s", "latency_p99 < 2ms"])))
    rate, p99 = answer.held
    assert [(found.level, found.verdict, found.met, found.runs) for found in rate.levels] == [
        (1, "no", 0, 5), (4, "yes", 5, 5), (16, "yes", 5, 5),
    ]  # fmt: skip
    assert re.fullmatch(
        r"throughput above 9,000/s: yes from 4 to 16 threads \(at least [0-9,]+/s\); no at 1 thread \([0-9,]+/s,"
        r" [0-9,]+/s to [0-9,]+/s; all 5 runs missed it\)\.",
        answer.headline[0],
    ), answer.headline[0]
    assert re.match(r"yes up to 4 threads \(at most [0-9.]+ ms\); no at 16 threads", p99.words)
    last = p99.levels[-1]
    assert last.low is not None
    assert last.value is not None
    assert last.high is not None
    assert 2 < last.low < last.value < last.high
    assert [run.words for run in last.missed] == [
        f"run {block} ({LIMIT.metric.words(run.value or 0)})" for block, run in enumerate(last.missed, 1)
    ]
    assert last.why.startswith("missed by all: run 1 (")


def slow_in(*blocks: int) -> Callable[[RunRecord], RunRecord]:
    """Twice as long as what it was."""
    return lambda run: slower(run) if run.block in blocks else run


def slower(run: RunRecord) -> RunRecord:
    times = decode(run.headline)
    headline = to_document(Histogram.from_values([2 * (times.quantile(n / 1000) or 0) for n in range(1, 1001)] * 30))
    return run.model_copy(update={"headline": headline})


def changed(folder: Path, story: Story, change: Callable[[RunRecord], RunRecord]) -> Bundle:
    """The runs are changed as read: times alone would not agree with the rest of their records."""
    bundle = write_bundle(folder, story)
    bundle.runs = bundle.attempts = [change(run) for run in bundle.runs]
    return bundle


def held(folder: Path, story: Story, change: Callable[[RunRecord], RunRecord] = lambda run: run) -> LimitLevel:
    (found,) = answer_of(changed(folder, replace(story, threads=(4,), asked=["latency_p99 < 2ms"]), change)).held
    (only,) = found.levels
    return only


def test_a_run_that_missed_is_named_with_its_value_and_leaves_it_undecided(tmp_path: Path) -> None:
    found = held(tmp_path / "b", STORY, slow_in(3))
    assert (found.verdict, found.met, found.runs) == ("undecided", 4, 5)
    (missed,) = found.missed
    assert missed.block == 3
    assert missed.value is not None
    assert missed.value > 2
    assert found.why == f"missed by run 3 ({LIMIT.metric.words(missed.value)})"


DISTURBED = Validity(
    name="other processes", severity="disturbed", ok=False, words="85 % went to others", value=0.85, value_words="85 %"
)


def test_a_run_that_missed_only_while_disturbed_is_no_evidence_and_is_named(tmp_path: Path) -> None:
    def change(run: RunRecord) -> RunRecord:
        return slower(run).model_copy(update={"validity": [DISTURBED]}) if run.block == 3 else run

    found = held(tmp_path / "b", replace(STORY, repetitions=6), change)
    assert (found.verdict, found.met, found.runs) == ("yes", 5, 5)
    assert re.fullmatch(
        r"all 5 runs met it; left out: run 3 \([0-9.]+ ms\), which missed it while disturbed by other processes, at"
        r" worst 85 %",
        found.why,
    ), found.why
    assert [run.block for run in found.disturbed] == [3]
    few = held(tmp_path / "few", STORY, change)
    assert (few.verdict, few.obstacle) == ("undecided", "too few undisturbed runs")
    assert few.why.startswith("1 of 5 runs was disturbed (other processes, at worst 85 %); left out: run 3 (")


@pytest.mark.parametrize(("blocks", "verdict"), [((), "yes"), ((1,), "no")])
def test_one_run_decides_by_its_value_and_says_that_it_is_one(
    tmp_path: Path, blocks: tuple[int, ...], verdict: Verdict
) -> None:
    found = held(tmp_path / "b", replace(STORY, repetitions=1), slow_in(*blocks))
    assert (found.verdict, found.low, found.why) == (verdict, None, "the only run decides")


def test_one_run_with_a_lower_bound_only_decides_nothing(tmp_path: Path) -> None:
    story = replace(STORY, repetitions=1, threads=(4,), asked=["latency_p99 < 2s"], change=timed_out)
    (found,) = answer_of(write_bundle(tmp_path / "b", story)).held
    assert found.levels[0].verdict == "undecided"
    assert re.fullmatch(r"not decided \(at least [0-9.]+ s; the only run has a lower bound only\)", found.words), (
        found.words
    )


@pytest.mark.parametrize(("blocks", "verdict"), [(range(1, 6), "no"), (range(1, 5), "undecided")])
def test_runs_that_were_overloaded_missed_the_limit(tmp_path: Path, blocks: range, verdict: Verdict) -> None:
    def change(run: RunRecord) -> RunRecord:
        return overloaded(run) if run.block in blocks else run

    found = held(tmp_path / "b", STORY, change)
    assert (found.verdict, found.value, found.reasons) == (verdict, None, {"overloaded": len(blocks)})
    assert found.missed[0].words == "run 1 (overloaded)"


def test_each_contestant_has_a_sentence_of_its_own(tmp_path: Path) -> None:
    story = replace(STORY, contenders=(MARIADB, SQLITE), asked=["rate > 9000/s"])
    answer = answer_of(write_bundle(tmp_path / "b", story))
    assert [sentence.partition(":")[0] for sentence in answer.headline[:2]] == [
        "throughput above 9,000/s (mariadb)",
        "throughput above 9,000/s (sqlite_full)",
    ]


def test_an_invalid_run_decides_nothing(tmp_path: Path) -> None:
    found = held(tmp_path / "b", STORY, lambda run: invalid(run) if run.block == 1 else run)
    assert (found.verdict, found.obstacle) == ("undecided", "invalid runs")
    assert found.why.startswith("1 of 5 runs was invalid (")


def test_text_page_and_json_have_the_verdict(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", replace(STORY, asked=["rate > 9000/s"]))
    answer = answer_of(bundle)
    assert_golden("report_limits.txt", render_text(answer))
    first = answer.model_dump()["held"][0]["levels"][0]
    assert (first["verdict"], first["reasons"]) == ("no", {"not met": 5})
    page = write_report(bundle, answer=answer).html.read_text()
    assert "Limits that the plan asks for" in page
    assert "<td>throughput above 9,000/s</td><td>1 thread</td><td>no</td>" in page


def test_limits_and_thresholds_of_one_plan_are_judged_alike(tmp_path: Path) -> None:
    story = replace(STORY, threads=(4,), asked=["latency_p99 < 2ms"], fail_if=["latency_p99 > 2ms"])
    answer = answer_of(changed(tmp_path / "b", story, slow_in(3)))
    ((limit,),), (threshold,) = [found.levels for found in answer.held], answer.thresholds
    assert (limit.verdict, threshold.status) == ("undecided", "undecided")
    assert (limit.value, limit.low, limit.high) == (threshold.value, threshold.low, threshold.high)


def test_a_bundle_without_limits_says_nothing_of_them(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", STORY)
    assert answer_of(bundle).held == []
    assert "Limits that the plan asks for" not in write_report(bundle).html.read_text()
