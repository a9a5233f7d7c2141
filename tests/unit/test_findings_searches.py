"""What a search found, in the headline, the page and the data."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.analysis.histograms import Histogram, to_document
from bakeoff.analysis.limit import parse
from bakeoff.analysis.registry import metric
from bakeoff.analysis.search import Outcome, Trial
from bakeoff.bundle.read import Bundle
from bakeoff.cli import main
from bakeoff.errors import BundleError, ExitCode
from bakeoff.findings.between_bundles.comparison import compare
from bakeoff.findings.between_bundles.search_check import check_search
from bakeoff.findings.contestants import Contest
from bakeoff.findings.limits_and_searches import searches
from bakeoff.findings.limits_and_searches.contradictions import contradictions
from bakeoff.findings.limits_and_searches.search_verdict import SearchVerdict, search_verdict
from bakeoff.findings.limits_and_searches.thresholds import ThresholdAnswer
from bakeoff.model.records.plan import SearchRecord
from bakeoff.model.records.run import RunRecord
from bakeoff.report.answer import Answer, answer_of
from bakeoff.report.html.write import write_report
from bakeoff.report.text.terminal import render_text
from builders.bundles import MARIADB, Contender, Story, busy, overloaded, write_bundle

SLOW = Contender("slow", rate_1=1_000, rate_max=6_000)
STORY = Story(contenders=(MARIADB,), presets=("c",), threads=(1, 4, 8, 12, 16), repetitions=2, window_s=2, warm_up_s=1)
SEARCH = SearchRecord(
    factor="threads", highest=True, limits=["latency_p99 < 2ms"], low=1, high=64, first=1, whole=True,
    precision_ratio=0.05, runs=25,
)  # fmt: skip


def searched(folder: Path, story: Story = STORY, search: SearchRecord = SEARCH, state: str = "complete") -> Bundle:
    """A bundle of threads that were tried in turn, as a search would have: a block is a step of each system."""
    bundle = write_bundle(folder, story)
    cells = {cell.id: cell for cell in bundle.plan.cells}
    runs: list[RunRecord] = []
    for run in bundle.runs:
        block = 1 + sum(cells[made.cell].system == cells[run.cell].system for made in runs)
        runs.append(run.model_copy(update={"block": block}))
    bundle.plan = bundle.plan.model_copy(update={"search": search, "repetitions": search.runs})
    bundle.info = bundle.info.model_copy(update={"state": state})
    bundle.runs = runs
    return bundle


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return searched(tmp_path_factory.mktemp("made") / "b")


def first(answer: Answer) -> str:
    """What was found, without at which levels the limits hold."""
    return answer.headline[0].partition(" Held: ")[0]


def test_the_headline_leads_with_the_capacity_and_how_sure_it_is(one: Bundle) -> None:
    answer = answer_of(one)
    assert answer.search
    (found,) = answer.search.found
    assert found.low is not None
    assert found.high is not None
    assert 5 <= found.low <= found.high <= 15
    said = (
        r"The highest number of threads with p99 below 2 ms: about \d+ threads"
        r" \(95 % CI \d+ threads to \d+ threads, wider than asked for; 10 runs\)\."
    )
    assert re.fullmatch(said, first(answer)), first(answer)
    assert len(answer.headline) == 1
    assert answer.comparisons == []
    assert answer.incomplete == ""
    assert "searched in 10 runs" in answer.measured
    assert {cell.validity for cell in answer.cells} == {"valid"}


def test_what_bounds_it_on_one_side_alone_is_said_so(tmp_path: Path) -> None:
    story = replace(STORY, threads=(8, 16), repetitions=3)
    words, rows, says = {}, {}, {}
    for name, limit in {"always": "latency_p99 < 1s", "never": "latency_p99 < 1us"}.items():
        search = SEARCH.model_copy(update={"limits": [limit], "low": 8, "high": 16})
        answer = answer_of(searched(tmp_path / name, story, search))
        words[name], says[name] = first(answer), answer.first.answer
        rows[name] = [(row.value_words, row.verdict) for row in answer.first.rows]
    assert words["always"].endswith(": above 16 threads, the highest number of threads tried (met even there; 6 runs).")
    assert words["never"].endswith(": below 8 threads, the lowest number of threads tried (missed even there; 6 runs).")
    assert says["never"].endswith(" is below 8 threads, the lowest number of threads tried.")
    assert rows == {
        "always": [("above 16 threads", "above the range")],
        "never": [("below 8 threads", "below the range")],
    }


def test_a_limit_close_to_what_an_idle_server_takes_is_said_to_be_no_question_of_load(
    one: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "so_far", lambda *_: Outcome("flat", None, None, None, 12, margin=-0.035))
    answer = answer_of(one)
    assert answer.search
    assert (answer.search.found[0].status, answer.search.found[0].estimate) == ("flat", None)
    assert first(answer) == (
        "The highest number of threads with p99 below 2 ms: the limit is within 4 % of what mariadb takes with hardly"
        " any load, so the level at which it is reached is unknown: set a limit that load can break (12 runs)."
    )
    write_report(one)


def test_a_search_of_one_level_has_a_page(tmp_path: Path) -> None:
    bundle = searched(tmp_path / "b", replace(STORY, threads=(1,), repetitions=3))
    cells = [cell.model_copy(update={"levels": {**cell.levels, "threads": 1}}) for cell in bundle.plan.cells]
    bundle.plan = bundle.plan.model_copy(update={"cells": cells})
    assert write_report(bundle).html.exists()


def test_a_page_of_a_search_begins_with_its_chart_and_is_not_judged_by_another_metric(one: Bundle) -> None:
    page = write_report(one).html.read_text()
    assert "Ring: one run" in page.partition("<h2")[0]
    assert "Judged by" not in page
    assert "judged by" not in render_text(answer_of(one))


def test_thresholds_of_a_search_are_judged_at_what_was_found_and_not_at_levels_that_were_passed(tmp_path: Path) -> None:
    story = replace(STORY, fail_if=["rate < 10000/s"])
    (cell, *_) = (one := answer_of(searched(tmp_path / "found", story))).cells
    assert cell.rate_ops_per_s
    assert cell.rate_ops_per_s.value < 10_000, "at 1 thread"
    (judged,) = one.thresholds
    assert judged.status == "passed", judged.words
    assert re.search(r"mariadb at (8|12) threads has", judged.words)
    never = SEARCH.model_copy(update={"limits": ["latency_p99 < 1us"], "low": 8, "high": 16})
    none = answer_of(searched(tmp_path / "none", replace(story, threads=(8, 16), repetitions=3), never))
    words = ["Not judged on throughput below 10,000/s: no level was found for mariadb"]
    assert [found.words for found in none.thresholds] == words


def test_too_few_operations_are_no_claim_about_the_limit(tmp_path: Path) -> None:
    rare = Contender("rare", rate_1=100, rate_max=800)
    search = SEARCH.model_copy(update={"limits": ["latency_p99 < 1s"], "high": 4})
    story = replace(STORY, contenders=(rare,), threads=(1, 4), repetitions=1)
    few = first(answer_of(searched(tmp_path / "few", story, search)))
    said = (
        r".*: could not be judged at 4 threads and below \(2 runs\): a window of 2 s has too few operations for a p99"
        r" \(\d\d\d at most\): make it longer\."
    )
    assert re.fullmatch(said, few), few


def test_why_runs_did_not_say_whether_they_kept_the_limit_is_reported(tmp_path: Path) -> None:
    story = replace(STORY, threads=(8, 16), repetitions=3, change=overloaded)
    search = SEARCH.model_copy(update={"low": 8, "high": 16})
    found = first(answer_of(searched(tmp_path / "b", story, search)))
    assert found.endswith("tried (missed even there; 6 runs); of these runs 6 were overloaded."), found


def test_a_search_that_was_cut_short_says_what_it_knew(tmp_path: Path) -> None:
    answer = answer_of(searched(tmp_path / "b", state="interrupted"))
    assert "cut short after 10 runs: between" in first(answer)
    assert answer.incomplete.startswith("Not the whole plan: it was interrupted; 10 of at most 25 runs are here. `")


def test_of_several_systems_each_is_reported_and_which_takes_more(tmp_path: Path) -> None:
    story = replace(STORY, contenders=(MARIADB, SLOW), threads=(1, 2, 4, 16, 48), repetitions=4)
    search = SEARCH.model_copy(update={"limits": ["latency_p99 < 4ms"]})
    answer = answer_of(searched(tmp_path / "b", story, search))
    assert answer.search
    (gap,) = answer.search.differences
    assert gap.high < 1
    assert [sentence.partition(":")[0][-9:] for sentence in answer.headline[:2]] == ["(mariadb)", "ms (slow)"]
    assert answer.headline[-1].startswith("slow's highest number of threads is ")
    assert "lower than mariadb's (95 % CI" in answer.headline[-1]
    assert [(row.name, row.verdict) for row in answer.first.rows] == [("mariadb", "baseline"), ("slow", "found")]


def test_the_cells_of_a_search_are_sorted_by_contestant_and_level(tmp_path: Path) -> None:
    story = replace(STORY, contenders=(MARIADB, SLOW), threads=(8, 1, 16), repetitions=1)
    answer = answer_of(searched(tmp_path / "b", story))
    assert [(cell.contestant, cell.threads) for cell in answer.cells] == [
        ("mariadb", 1), ("mariadb", 8), ("mariadb", 16), ("slow", 1), ("slow", 8), ("slow", 16),
    ]  # fmt: skip


def test_page_and_data_have_the_search_and_its_chart(one: Bundle) -> None:
    paths = write_report(one)
    page = paths.html.read_text()
    assert "What the search tried, and p99 below 2 ms" in page
    (chart,) = (path for path in paths.charts if path.name == "search-latency_p99.svg")
    drawn = chart.read_text()
    assert drawn.count("<title>mariadb") == 10 + 1, "every run says what it is, and so does the band"
    assert ">p99 below 2 ms</text>" in drawn
    assert "wider than asked for" in drawn
    assert answer_of(one).model_dump()["search"]["limits"] == ["latency_p99 < 2ms"]


def test_an_interval_that_is_too_wide_for_a_capacity_is_all_that_is_known(tmp_path: Path) -> None:
    found = first(answer_of(searched(tmp_path / "b", replace(STORY, threads=(1, 64)))))
    assert "not found in 4 runs: between " in found
    assert found.endswith(" threads is all that is known (95 % CI).")


def test_searches_are_compared_by_what_they_found_and_not_by_the_levels_tried(tmp_path: Path) -> None:
    old = searched(tmp_path / "old")
    slower = replace(MARIADB, rate_1=MARIADB.rate_1 / 1.5, rate_max=MARIADB.rate_max / 1.5)
    new = searched(tmp_path / "new", replace(STORY, contenders=(slower,), threads=(1, 3, 5, 8, 11)))
    found = compare([old], [new], [metric("rate")])
    (only,) = found.comparisons
    assert found.searches
    assert (only.objective.name, only.objective.label) == ("capacity", "highest number of threads")
    sides = [answer_of(bundle).search for bundle in (old, new)]
    assert [only.base_value, only.other_value] == [side.found[0].estimate for side in sides if side]
    assert only.ratio == pytest.approx(sides[1].found[0].estimate / sides[0].found[0].estimate)  # type: ignore
    assert "these two bundles" in only.words


def test_a_search_that_found_nothing_is_said_to_have_found_nothing(tmp_path: Path) -> None:
    tight = SEARCH.model_copy(update={"limits": ["latency_p99 < 1us"]})
    sides = [searched(tmp_path / str(n), replace(STORY, seed=n), search=tight) for n in (1, 2)]
    (only,) = compare([sides[0]], [sides[1]], [metric("rate")], ["seed"]).comparisons
    assert only.verdict == "not comparable"
    assert only.words.startswith("not compared: before found no highest number of threads: below 1 thread, the lowest")


def test_searches_for_different_things_are_refused(tmp_path: Path) -> None:
    other = SEARCH.model_copy(update={"limits": ["latency_p99 < 5ms"]})
    old, new = searched(tmp_path / "old"), searched(tmp_path / "new", replace(STORY, seed=2), search=other)
    with pytest.raises(BundleError, match="do not seek the same"):
        compare([old], [new], [metric("rate")])


def test_it_says_at_which_levels_the_limit_holds_and_what_was_measured_there(one: Bundle) -> None:
    answer = answer_of(one)
    assert answer.search
    (found,) = answer.search.found
    said = r"Held: yes up to 8 threads \([0-9.]+ ms\); no from 12 threads \([0-9.]+ ms\); not decided between"
    assert re.fullmatch(said, found.held.words), found.held.words
    assert answer.headline[0].endswith(f" {found.held.words}.")
    assert (found.held.verdict, found.held.holds_at, found.held.misses_at) == ("yes", 8, 12)
    assert [(tried.level, tried.verdict) for tried in found.held.tried] == [
        (1, "yes"), (4, "yes"), (8, "yes"), (12, "no"), (16, "no"),
    ]  # fmt: skip
    assert found.held.against == []


def slow_at(bundle: Bundle, threads: int, milliseconds: float) -> Bundle:
    """With the same time for all operations of the runs at this level."""
    cells = {cell.id for cell in bundle.plan.cells if cell.levels.get("threads") == threads}
    times = to_document(Histogram.from_values([int(milliseconds * 1e6)] * 30_000))
    runs = [run.model_copy(update={"headline": times}) if run.cell in cells else run for run in bundle.runs]
    bundle.runs = bundle.attempts = runs
    return bundle


def test_runs_on_the_wrong_side_of_what_was_found_are_named(tmp_path: Path) -> None:
    answer = answer_of(slow_at(searched(tmp_path / "b", replace(STORY, repetitions=4)), 1, 2.2))
    assert answer.search
    (found,) = answer.search.found
    assert found.held.verdict == "yes"
    assert {run.words for run in found.held.against} >= {"run 1 at 1 thread missed it (2.20 ms)"}
    assert "Against that: run 1 at 1 thread missed it (2.20 ms), " in answer.headline[0]


def test_a_limit_of_the_plan_that_says_otherwise_than_its_search_is_a_contradiction_in_one_sentence(
    tmp_path: Path,
) -> None:
    story = replace(STORY, repetitions=4, asked=["latency_p99 < 2ms"])
    answer = answer_of(slow_at(searched(tmp_path / "b", story), 1, 2.2))
    (found,) = answer.contradictions
    assert (found.level, found.search, found.fixed) == (1, "yes", "no")
    assert answer.headline[0] == f"{found.words}."
    assert re.fullmatch(
        r"Contradiction for mariadb at 1 thread: the search found .*, so p99 below 2 ms holds there, but its runs"
        r" there, judged alone by p99 below 2 ms, missed it \(2\.20 ms; all 4 runs missed it\)",
        found.words,
    ), found.words
    assert answer_of(searched(tmp_path / "c", story)).contradictions == []


def test_a_single_run_at_a_level_does_not_contradict_the_search_that_it_is_part_of(tmp_path: Path) -> None:
    story = replace(STORY, repetitions=4, asked=["latency_p99 < 2ms"])
    bundle = slow_at(searched(tmp_path / "b", story), 1, 2.2)
    (first, *others) = [run for run in bundle.runs if run.cell == "c01"]
    bundle.runs = bundle.attempts = [run for run in bundle.runs if run not in others]
    answer = answer_of(bundle)
    assert answer.search
    assert [run.run for run in answer.search.found[0].held.against] == [first.id]
    assert answer.held[0].levels[0].verdict == "no"
    assert answer.contradictions == []


@pytest.mark.parametrize(("low", "contradicts"), [(None, False), (2.1, True)])
def test_a_value_of_fail_if_contradicts_a_search_where_more_than_one_run_says_it(
    one: Bundle, low: float | None, *, contradicts: bool
) -> None:
    judged = ThresholdAnswer(
        condition="latency_p99 > 2ms", status="failed", words="", cell="c01", value=2.2, low=low, high=low and 2.3
    )
    found = contradictions(Contest(one.plan), answer_of(one).search, [], [judged])
    assert bool(found) == contradicts


@pytest.mark.parametrize(
    ("highest", "words"),
    [
        (True, "Held: yes up to 11,900/s; no from 12,100/s; not decided between"),
        (False, "Held: yes down to 12,100/s; no from 11,900/s down; not decided between"),
    ],
)
def test_ends_are_rounded_away_from_what_is_not_decided(one: Bundle, words: str, *, highest: bool) -> None:
    search = SEARCH.model_copy(update={"factor": "rate", "highest": highest, "whole": False})
    found = Outcome("found", 12_000, 11_960, 12_040, 12)
    tried = tried_at(one, {11_000: highest, 13_000: not highest})
    held = search_verdict(search, found, (11_960, 12_040), tried, [], one, [P99], ended=True)
    assert without_figures(held) == words
    exact = search_verdict(search, found, (11_900, 12_100), tried, [], one, [P99], ended=True)
    assert without_figures(exact) == words


P99 = parse("latency_p99 < 2ms")


def without_figures(held: SearchVerdict) -> str:
    return re.sub(r" \([^)]*\)", "", held.words)


def tried_at(bundle: Bundle, kept: dict[float, bool]) -> list[tuple[RunRecord, Trial]]:
    """Runs that kept the limit, or did not, at these levels."""
    return [(run, Trial(level, -0.5 if kept[level] else 0.5)) for run, level in zip(bundle.runs, kept, strict=False)]


def test_nothing_is_claimed_of_levels_beyond_those_that_were_measured(one: Bundle) -> None:
    """Runs that contradict each other make the interval reach below the lowest level that was tried."""
    search = SEARCH.model_copy(update={"factor": "rate", "whole": False})
    found = Outcome("not found", 280, 167, 470, 4)
    tried = tried_at(one, {340: False, 390: True, 430: True, 520: False})
    held = search_verdict(search, found, (167, 470), tried, [], one, [P99], ended=True)
    assert without_figures(held) == "Held: no from 470/s; not decided below it"
    assert (held.verdict, held.holds_at, held.misses_at) == ("undecided", None, 470)
    above = search_verdict(search, found, (350, 600), tried, [], one, [P99], ended=True)
    assert (above.holds_at, above.misses_at) == (350, None)


HALF = replace(MARIADB, rate_1=MARIADB.rate_1 / 2, rate_max=MARIADB.rate_max / 2)
FIXED = replace(STORY, threads=(4, 8, 16), repetitions=1)


def test_a_search_and_runs_at_fixed_levels_that_contradict_each_other_are_named(tmp_path: Path) -> None:
    search, slow = searched(tmp_path / "search"), write_bundle(tmp_path / "slow", replace(FIXED, contenders=(HALF,)))
    for sides in ((search, slow), (slow, search)):
        checked = check_search(*sides)
        assert checked
        found, _ = checked
        assert [(one.level, one.search, one.fixed, one.agreement) for one in found.levels] == [
            (4, "yes", "no", "contradicts"), (8, "yes", "no", "contradicts"), (16, "no", "no", "agrees"),
        ]  # fmt: skip
        assert re.fullmatch(
            r"Contradiction for mariadb at 4 threads: the search found about 9 threads \(95 % CI .*\), so p99"
            r" below 2 ms holds there, but the runs at that fixed level missed it"
            r" \([0-9.]+ ms; the only run decides\)\.",
            found.headline[0],
        ), found.headline[0]
        assert len(found.contradictions) == 2


def test_a_search_and_runs_at_fixed_levels_that_agree_say_so(tmp_path: Path) -> None:
    checked = check_search(searched(tmp_path / "search"), write_bundle(tmp_path / "fixed", FIXED))
    assert checked
    assert checked[0].contradictions == []
    assert checked[0].headline[0].startswith("Search and fixed runs agree at ")


def test_compare_tells_of_a_search_and_fixed_levels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_bundle(tmp_path / "search", STORY)
    write_bundle(tmp_path / "fixed", replace(FIXED, contenders=(HALF,)))
    path = tmp_path / "search" / "plan.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "search": SEARCH.model_dump()}))
    sides = [str(tmp_path / "search"), str(tmp_path / "fixed")]
    assert main(["compare", *sides]) == ExitCode.DONE
    assert "* Contradiction for mariadb at 4 threads: the search found" in capsys.readouterr().out
    assert main(["compare", *sides, "--json"]) == ExitCode.DONE
    found = json.loads(capsys.readouterr().out)
    assert found["levels"][0]["limits"]["latency_p99 < 2ms"]["verdict"] == "no"
    assert main(["compare", *sides, "--fail-if", "rate < -5%"]) == ExitCode.USAGE
    damaged = next((tmp_path / "fixed" / "runs").glob("*/result.json"))
    damaged.write_text("{")
    for said in (sides, sides[1:] * 2):
        assert main(["compare", *said]) == ExitCode.CHECK_FAILED
        words = f"{sides[1]}: The result of 1 run could not be read, and what follows is without it: "
        assert words in capsys.readouterr().out
        assert main(["compare", *said, "--json"]) == ExitCode.CHECK_FAILED
        found = json.loads(capsys.readouterr().out)
        assert found["failed"]
        assert found["headline"][0].startswith(words)


def test_a_disturbed_level_that_a_search_did_not_need_is_no_reason_to_doubt_it(tmp_path: Path) -> None:
    def change(run: RunRecord) -> RunRecord:
        return busy(run) if run.cell == "c01" else run

    answer = answer_of(searched(tmp_path / "b", replace(STORY, repetitions=4, change=change)))
    assert not answer.too_busy
    assert "too busy" not in answer.first.answer
    assert any(words.startswith("4 of 20 runs were disturbed") for words in answer.headline)
