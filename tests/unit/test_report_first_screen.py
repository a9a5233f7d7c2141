"""The first screen of each kind of question: reviewed by eye in tests/golden/first_screens.txt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from bakeoff.analysis.compare import ComparisonAnswer
from bakeoff.analysis.registry import metric
from bakeoff.bundle.read import Bundle
from bakeoff.cli import main
from bakeoff.findings.limits_and_searches.evidence import LimitLevel, Verdict
from bakeoff.findings.limits_and_searches.limits import LimitFinding
from bakeoff.model.faults import FaultEffect, FaultRecord, PlannedFault
from bakeoff.model.records.plan import SearchRecord
from bakeoff.model.records.run import RunRecord
from bakeoff.report.answer import answer_of
from bakeoff.report.html.write import write_report
from bakeoff.report.text.first_screen import WIDTH, first_lines
from bakeoff.report.words.answer_sentence import WORDS_MAX, _of_limits, _one, _Terms
from builders.bundles import MARIADB, PEER, SMALL, SQLITE, Contender, Story, busy, invalid, only, write_bundle
from builders.golden import assert_golden

ONE = Story(threads=(8,), presets=("a",), window_s=2, warm_up_s=1)
SLOW = replace(MARIADB, name="slow", rate_1=1_000, rate_max=6_000)
ALIKE = replace(MARIADB, name="alike")
SWEEP = Story(contenders=(MARIADB,), threads=(2, 8, 32, 128), presets=("c",), window_s=2, warm_up_s=1, noise=0.005)
KILL = PlannedFault(do="kill", node="server", at_s=20, for_s=5)
SEARCH = SearchRecord(
    factor="threads", highest=True, limits=["latency_p99 < 2ms"], low=1, high=64, first=1, whole=True,
    precision_ratio=0.05, runs=25,
)  # fmt: skip


def of_threads(bundle: Bundle) -> None:
    bundle.plan = bundle.plan.model_copy(update={"compare_factor": "threads"})


def searched(bundle: Bundle) -> None:
    runs = [run.model_copy(update={"block": block}) for block, run in enumerate(bundle.runs, 1)]
    bundle.runs = runs
    bundle.plan = bundle.plan.model_copy(update={"search": SEARCH, "repetitions": SEARCH.runs})


def with_one_unreadable(bundle: Bundle) -> None:
    bundle.runs = bundle.runs[:-1]
    bundle.unreadable_runs.append("result.json is cut off")


def busy_and_allowed(run: RunRecord) -> RunRecord:
    return busy(run).model_copy(update={"disturbance_allowed": True})


def killed(run: RunRecord) -> RunRecord:
    jitter_s = 0.1 * run.block
    effect = FaultEffect(
        detect_s=0.024,
        without_success_s=5.4 + jitter_s,
        without_writes_s=6.0 + jitter_s,
        rate_before_ops_per_s=4_000,
        full_rate_s=6.5,
        felt_s=7,
        watched_s=20,
        longest_wait_s=5.6,
        unknown=16,
    )
    done = FaultRecord(planned=KILL, begun_s=20.0, ended_s=25.0, back_s=25.3, effect=effect)
    return run.model_copy(update={"faults": [done]})


def unfelt(run: RunRecord) -> RunRecord:
    effect = FaultEffect(without_writes_s=0.0, rate_before_ops_per_s=4_000, full_rate_s=0.0, felt_s=7, watched_s=20)
    done = FaultRecord(planned=KILL, begun_s=20.0, ended_s=25.0, back_s=25.3, effect=effect)
    return run.model_copy(update={"faults": [done]})


def one_cell_fails(run: RunRecord) -> RunRecord:
    return invalid(run) if only(run, "c02", 2) else run


STORIES: dict[str, tuple[Story, Callable[[Bundle], None] | None]] = {
    "two systems": (replace(ONE, contenders=(MARIADB, SLOW)), None),
    "two systems that differ little": (replace(ONE, noise=0.001), None),
    "two systems that are alike": (replace(ONE, contenders=(MARIADB, ALIKE)), None),
    "equivalent within the size that matters": (replace(ONE, contenders=(MARIADB, ALIKE), matters=0.2), None),
    "three systems": (replace(ONE, contenders=(MARIADB, SLOW, SQLITE)), None),
    "two systems in four settings": (SMALL, None),
    "two systems in eight settings": (Story(window_s=2, warm_up_s=1), None),
    "by a percentile": (replace(ONE, contenders=(MARIADB, SLOW), objective="latency_p99"), None),
    "by the longest time": (replace(ONE, contenders=(MARIADB, SLOW), objective="latency_max"), None),
    "one system": (replace(ONE, contenders=(MARIADB,)), None),
    "a sweep": (SWEEP, of_threads),
    "a sweep that is not decided": (replace(SWEEP, noise=0.4), of_threads),
    "a sweep of two systems": (replace(SWEEP, contenders=(MARIADB, SQLITE)), of_threads),
    "a limit": (replace(SWEEP, asked=("latency_p99 < 2ms",)), of_threads),
    "a limit for two systems": (replace(SWEEP, contenders=(MARIADB, SLOW), asked=("latency_p99 < 2ms",)), None),
    "a search": (replace(SWEEP, threads=(1, 4, 8, 12, 16), repetitions=2), searched),
    "a fault": (
        replace(ONE, contenders=(MARIADB,), faults={"mariadb": [KILL]}, change=killed),
        None,
    ),
    "a fault that nobody felt": (
        replace(ONE, contenders=(MARIADB,), faults={"mariadb": [KILL]}, change=unfelt),
        None,
    ),
    "too busy": (replace(ONE, change=busy), None),
    "disturbed runs that count": (replace(ONE, contenders=(MARIADB, SLOW), change=busy_and_allowed), None),
    "a run that is not valid": (replace(ONE, contenders=(MARIADB, SLOW), change=one_cell_fails), None),
    "a run that cannot be read": (replace(ONE, contenders=(MARIADB, SLOW), repetitions=6), with_one_unreadable),
    "a demonstration": (replace(ONE, contenders=(MARIADB, SLOW), demonstration=True), None),
    "a peer": (replace(ONE, contenders=(PEER,)), None),
    "a peer and a product": (replace(ONE, contenders=(MARIADB, PEER), demonstration=True), None),
    "a sweep of a peer": (replace(SWEEP, contenders=(PEER,)), of_threads),
}


def screen(folder: Path, name: str) -> tuple[Bundle, list[str]]:
    story, changed = STORIES[name]
    bundle = write_bundle(folder / name.replace(" ", "-"), story)
    if changed is not None:
        changed(bundle)
    return bundle, list(first_lines(answer_of(bundle).first))


def test_each_kind_of_question_is_answered_on_the_first_screen(tmp_path: Path) -> None:
    text = []
    for name in STORIES:
        bundle, lines = screen(tmp_path, name)
        first = answer_of(bundle).first
        assert len(first.answer.split()) <= WORDS_MAX, first.answer
        assert max(map(len, lines)) <= WIDTH, name
        assert len(lines) <= 24, name
        text.append("\n".join([f"--- {name}", *lines]))
    assert_golden("first_screens.txt", "\n\n".join(text) + "\n")


@pytest.mark.parametrize("name", ["two systems", "a sweep", "a limit", "a search", "a fault", "too busy"])
def test_the_page_begins_with_the_same(tmp_path: Path, name: str) -> None:
    bundle, _ = screen(tmp_path, name)
    first = answer_of(bundle).first
    page = write_report(bundle, tmp_path / "out").html.read_text()
    answer = page.index(first.answer.replace("'", "&#39;").replace(" %", "\u00a0%"))
    assert page.index(f">{first.certainty_words}<") > answer
    for row in first.rows:
        assert page.index(row.value_words.replace(" %", "\u00a0%"), answer) > answer


def test_a_disturbed_bundle_is_never_called_shown(tmp_path: Path) -> None:
    bundle, lines = screen(tmp_path, "too busy")
    first = answer_of(bundle).first
    assert first.certainty == "not trustworthy"
    assert "other processes" in first.doubt
    assert any(line.startswith("NOT TRUSTWORTHY") for line in lines)


def test_colours_only_where_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle, lines = screen(tmp_path, "two systems")
    assert not any("\x1b" in line for line in lines)
    coloured = list(first_lines(answer_of(bundle).first, colour=True))
    assert [strip(line) for line in coloured] == lines
    assert main(["report", str(bundle.folder)]) == 0
    assert "\x1b" not in capsys.readouterr().out, "a pipe is no terminal"


def strip(line: str) -> str:
    for code in ("\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m"):
        line = line.replace(code, "")
    return line


def test_a_name_from_a_plan_steers_no_terminal(tmp_path: Path) -> None:
    story = replace(ONE, contenders=(MARIADB, Contender("evil\x1b[2J")))
    bundle = write_bundle(tmp_path / "b", story)
    assert not any("\x1b" in line for line in first_lines(answer_of(bundle).first))


def _rows(found: Any) -> list[tuple[str, str]]:
    return [(row.name, row.verdict) for row in found.rows]


def test_rows_say_who_is_faster_and_by_how_much(tmp_path: Path) -> None:
    bundle, _ = screen(tmp_path, "two systems")
    first = answer_of(bundle).first
    assert _rows(first) == [("mariadb", "baseline"), ("slow", "slower")]
    assert first.rows[1].change.startswith("-7")


def test_colours_reach_a_terminal_and_names_do_not_steer_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = write_bundle(tmp_path / "b", replace(ONE, contenders=(MARIADB, Contender("evil\x1b[2J"))))
    monkeypatch.setattr("bakeoff.report.text.first_screen.wants_colour", lambda: True)
    assert main(["report", str(bundle.folder)]) == 0
    shown = capsys.readouterr().out
    assert "\x1b[1m" in shown
    assert "\x1b[2J" not in shown


def test_a_level_without_valid_runs_is_neither_shown_nor_forgotten(tmp_path: Path) -> None:
    story = replace(SWEEP, change=lambda run: invalid(run) if only(run, "c04") else run)
    bundle = write_bundle(tmp_path / "b", story)
    of_threads(bundle)
    first = answer_of(bundle).first
    assert first.certainty == "partly shown"
    assert "1 of 4 levels" in first.answer
    assert "the end of the range" not in first.answer


def verdicts(words: str) -> LimitFinding:
    """ "yes no yes": of one limit, level by level."""
    levels = [
        LimitLevel(cell=f"c{n}", level=n, level_words=f"{n} threads", verdict=cast(Verdict, verdict), runs=5, met=5)
        for n, verdict in enumerate(words.split(), 2)
    ]
    found = {"limit": "latency_p99 < 2ms", "limit_words": "p99 below 2 ms", "contestant": "a", "setting_words": ""}
    return LimitFinding(**found, axis="threads", levels=levels, words="")


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ("yes yes no", "p99 below 2 ms holds up to 3 threads"),
        ("yes no yes", "p99 below 2 ms holds at 2 threads and 4 threads"),
        ("yes yes", "p99 below 2 ms holds at all levels, up to 3 threads"),
        ("no no", "p99 below 2 ms does not hold at any of 2 levels"),
        ("undecided no", "p99 below 2 ms is not shown to hold at any of 2 levels"),
        ("undecided", "p99 below 2 ms is undecided"),
        ("yes undecided", "p99 below 2 ms holds up to 2 threads, with 3 threads undecided"),
    ],
)
def test_a_limit_holds_up_to_the_first_level_at_which_it_does_not(found: str, words: str) -> None:
    assert next(iter(_of_limits([verdicts(found)]))) == words


def compared(verdict: str, ratio: float, low: float, high: float) -> ComparisonAnswer:
    sides = {"base": "a", "other": "b", "base_value": 1.0, "other_value": ratio}
    return ComparisonAnswer(
        **sides, verdict=cast(Any, verdict), words="", ratio=ratio, low=low, high=high, repetitions=5
    )


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([compared("no difference", 1, 0.9, 1.1), compared("invalid runs", 1, 1, 1)],
         "b cannot be distinguished from a in 1, is not compared in 1"),
        ([compared("higher", 0.99, 0.95, 1.02)], "b is faster than a, as shown before"),
        ([compared("higher", 5.8, 3.6, 9.3)], "b is 5.8x as fast as a"),
        ([compared("no difference", 1, 0.9, 1.1)] * 2, "b cannot be distinguished from a in any of 2 settings"),
    ],
)  # fmt: skip
def test_what_is_said_of_one_contestant_counts_every_setting(found: list[ComparisonAnswer], words: str) -> None:
    assert _one(found, "a", _Terms(metric("rate")), True) == words


def doubt_of(folder: Path, story: Story, changed: Callable[[Bundle], None] | None = None) -> str:
    bundle = write_bundle(folder / "doubt", story)
    if changed is not None:
        changed(bundle)
    return answer_of(bundle).first.doubt


@pytest.mark.parametrize(
    ("threads", "objective", "words"),
    [
        ((2, 8, 32), "rate", "the peak may lie beyond 32 threads"),
        ((2, 8, 32), "latency_p99", "the minimum may lie below 2 threads"),
        ((1, 8, 32), "latency_p99", "nothing was measured between 1 and 8 threads"),
        ((1, 2, 32), "latency_p99", ""),
    ],
)
def test_a_sweep_says_where_its_best_may_lie_instead(
    tmp_path: Path, threads: tuple[int, ...], objective: str, words: str
) -> None:
    assert doubt_of(tmp_path, replace(SWEEP, threads=threads, objective=objective), of_threads) == words


def test_a_pool_of_a_session_for_each_thread_cannot_be_larger(tmp_path: Path) -> None:
    def of_sessions(bundle: Bundle) -> None:
        cells = [
            cell.model_copy(update={"threads": 32, "levels": {"sessions": cell.threads}}) for cell in bundle.plan.cells
        ]
        bundle.plan = bundle.plan.model_copy(update={"cells": cells, "factors": {"sessions": [8, 16, 32]}})

    found = doubt_of(tmp_path, replace(SWEEP, threads=(8, 16, 32)), of_sessions)
    assert found == "nothing was measured between 16 and 32 sessions"


def test_a_limit_says_which_levels_were_not_measured(tmp_path: Path) -> None:
    story = replace(SWEEP, asked=("latency_p99 < 2ms",))
    assert doubt_of(tmp_path, story, of_threads) == "nothing was measured between 8 and 32 threads"
