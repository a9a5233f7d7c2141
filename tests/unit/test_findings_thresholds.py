"""A plan's `fail_if`: what failed, what is undecided, and the exit code that comes of it."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bakeoff.analysis.compare import ALPHA
from bakeoff.analysis.limit import Limit, Sign
from bakeoff.analysis.registry import metric
from bakeoff.analysis.statistics import alpha_at
from bakeoff.analysis.thresholds import RunReading, alpha_of_each, judge, parse_threshold
from bakeoff.cli import main
from bakeoff.cli.commands.run import all_held, beside_plan, code_of
from bakeoff.errors import ExitCode, PlanError
from bakeoff.model.records.run import RunRecord, Validity
from bakeoff.plan.comparison import refuse_unjudged
from bakeoff.plan.read import resolve
from bakeoff.plan.resolved import ResolvedPlan
from bakeoff.report.answer import answer_of
from builders.bundles import MARIADB, Contender, Story, timed_out, write_bundle
from builders.plans import read, refused

SLOW = Contender("slow", rate_1=1_000, rate_max=6_000)
STORY = Story(contenders=(MARIADB, SLOW), threads=(4,), presets=("c",), repetitions=5, window_s=2, warm_up_s=1)


@pytest.mark.parametrize(
    ("condition", "statuses"),
    [
        ("rate < -5%", ["failed"]),
        ("rate > +5%", ["passed"]),
        ("rate < 5000/s", ["passed", "failed"]),
        ("rate < 100/s", ["passed", "passed"]),
        ("latency_p99 > 1us", ["failed", "failed"]),
        ("pool_wait_mean > 1ms", ["not judged", "not judged"]),
        ("latency_p99 > 10%", ["failed"]),
    ],
)
def test_a_threshold_is_judged_by_the_whole_interval(tmp_path: Path, condition: str, statuses: list[str]) -> None:
    bundle = write_bundle(tmp_path / "b", replace(STORY, fail_if=[condition]))
    answer = answer_of(bundle)
    assert [found.status for found in answer.thresholds] == statuses
    assert all_held(bundle, answer) == (set(statuses) == {"passed"})
    told = [status.capitalize() for status in statuses if status != "passed"]
    if set(statuses) == {"passed"}:
        assert answer.headline[0] == f"{answer.thresholds[0].words.partition(': ')[0]}."
        assert answer.headline[0].startswith("Passed on throughput ")
    assert [words.partition(" on ")[0] for words in answer.headline[: len(told)]] == told


def test_where_only_the_middle_is_beyond_it_is_undecided_and_fails_nothing(tmp_path: Path) -> None:
    story = replace(STORY, contenders=(MARIADB,))
    (cell,) = answer_of(write_bundle(tmp_path / "a", story)).cells
    assert cell.rate_ops_per_s
    bundle = write_bundle(tmp_path / "b", replace(story, fail_if=[f"rate > {cell.rate_ops_per_s.value - 1:.3f}/s"]))
    answer = answer_of(bundle)
    assert [found.status for found in answer.thresholds] == ["undecided"]
    assert re.match(r"Undecided on throughput above [0-9,]+/s: mariadb has ", answer.headline[0])
    assert all_held(bundle, answer)


def _fails_in(*blocks: int) -> Callable[[RunRecord], RunRecord]:
    """These runs of the first contender exceed the error budget."""
    broken = Validity(name="errors", severity="invalid", ok=False, words="40 % of the operations did not end ok")
    return lambda run: run.model_copy(update={"validity": [broken]}) if run.block in blocks else run


@pytest.mark.parametrize("threads", [(4,), (1, 4, 16)], ids=["one cell", "a sweep"])
def test_runs_that_survived_decide_nothing(tmp_path: Path, threads: tuple[int, ...]) -> None:
    story = replace(STORY, contenders=(MARIADB,), threads=threads, change=_fails_in(1, 2, 4, 5), fail_if=["rate < 5/s"])
    bundle = write_bundle(tmp_path / "b", story)
    answer = answer_of(bundle)
    assert {cell.valid for cell in answer.cells} == {False}
    assert {found.status for found in answer.thresholds} == {"not judged"}
    assert "4 of 5 runs were invalid" in answer.thresholds[0].words
    assert any("4 of 5 runs were invalid (40 %" in words for words in answer.headline)
    assert not all_held(bundle, answer)
    whole = write_bundle(tmp_path / "c", replace(story, change=lambda run: run))
    assert all_held(whole, answer_of(whole))


P99 = metric("latency_p99")
FIRST = alpha_at(1, ALPHA)
TOO_LONG = Limit(P99, ">", 2.0, "latency_p99 > 2ms")


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ([1000.0], "failed"),
        ([1.0], "passed"),
        ([2.1, 2.2, 2.3, 2.5, 9.0], "failed"),
        ([1.1, 1.2, 1.3, 1.5, 1.9], "passed"),
        ([1.9, 2.1, 2.2, 2.3, 2.4], "undecided"),
        ([1.7, 1.8, 1.9, 1.9, 2.1], "undecided"),
        ([2.5, 2.5, 2.5], "failed"),
        ([20.0, 20.5, 21.0], "failed"),
        ([1.99, 2.02], "undecided"),
    ],
)
def test_one_run_decides_by_its_value_and_several_by_their_interval(values: list[float], status: str) -> None:
    found = judge(TOO_LONG, [RunReading(value) for value in values], alpha_of_each(1, FIRST))
    assert found.status == status
    assert found.beyond == sum(value > 2 for value in values)


@pytest.mark.parametrize(
    ("sign", "bound_ms", "status"),
    [(">", 500.0, "failed"), (">", 2000.0, "undecided"), ("<", 500.0, "passed"), ("<", 2000.0, "undecided")],
)
@pytest.mark.parametrize("runs", [1, 5])
def test_what_timed_out_took_at_least_so_long(sign: Sign, bound_ms: float, status: str, runs: int) -> None:
    limit = Limit(P99, sign, bound_ms, "")
    readings = [RunReading(1000.0 + run, at_least=True) for run in range(runs)]
    assert judge(limit, readings, alpha_of_each(1, FIRST)).status == status


def test_one_repetition_says_that_it_decides_alone(tmp_path: Path) -> None:
    story = replace(STORY, contenders=(MARIADB,), repetitions=1, fail_if=["latency_p99 > 1us", "latency_p99 > 9s"])
    bundle = write_bundle(tmp_path / "b", story)
    answer = answer_of(bundle)
    assert [found.status for found in answer.thresholds] == ["failed", "passed"]
    assert answer.thresholds[0].words.endswith(" in the only run, which decides")
    assert not all_held(bundle, answer)


def test_one_run_with_a_lower_bound_below_the_threshold_does_not_decide(tmp_path: Path) -> None:
    story = replace(STORY, contenders=(MARIADB,), repetitions=1, change=timed_out, fail_if=["latency_p99 > 2s"])
    (found,) = answer_of(write_bundle(tmp_path / "b", story)).thresholds
    assert found.status == "undecided"
    assert re.fullmatch(r".* has at least [0-9.]+ s in the only run", found.words), found.words


def test_a_run_that_timed_out_neither_passes_nor_hides(tmp_path: Path) -> None:
    thresholds = ["latency_p99 > 500ms", "latency_p99 > 2s"]
    story = replace(STORY, contenders=(MARIADB,), change=timed_out, fail_if=thresholds)
    found = answer_of(write_bundle(tmp_path / "b", story)).thresholds
    assert [one.status for one in found] == ["failed", "undecided"]
    assert "has at least 1.00 s" in found[0].words


def test_thresholds_at_their_bound_are_wrong_as_seldom_as_they_say() -> None:
    """The bound is what the system truly has: of plans with one cell, and with twenty, few fail or pass in any."""
    rng = np.random.default_rng(1)
    for cells, plans in ((1, 2000), (20, 200)):
        alpha = alpha_of_each(cells, FIRST)
        wrong = 0
        for _ in range(plans):
            values = 2.0 * np.exp(rng.normal(0, 0.05, (cells, 5)))
            wrong += any(judge(TOO_LONG, [RunReading(v) for v in one], alpha).status == "failed" for one in values)
        assert wrong / plans <= 0.05, (cells, wrong)


def test_a_threshold_that_is_none_is_refused_with_its_place() -> None:
    error: PlanError = refused(rest="[compare]\nfail_if = 'latency_p99 > 2'")
    assert error.what == "2 has no unit, and latency_p99 is a time"
    assert error.where.endswith("[compare] fail_if")
    assert refused(rest="[compare]\nfail_if = 'rte < -5%'").hint == "did you mean `rate`?"
    assert read(rest="[compare]\nfail_if = 'error_ratio > 1%'").record.fail_if == ["error_ratio > 1%"]


PLAN = """title = "t"
[systems.sqlite]
[workload]
kind = "ycsb"
preset = "c"
[compare]
fail_if = "latency_p99 > 5ms"
"""


def test_what_the_command_line_says_adds_to_the_plans_own() -> None:
    plan = resolve(PLAN, Path("."), fail_if=["rate < 100/s", "error_ratio > 1%"])
    assert plan.record.fail_if == ["latency_p99 > 5ms", "rate < 100/s", "error_ratio > 1%"]
    assert plan.text.endswith("# --fail-if rate < 100/s\n# --fail-if error_ratio > 1%\n"), "the bundle's copy says it"


def test_a_threshold_of_the_command_line_is_refused_as_one_of_the_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "my.toml"
    path.write_text(PLAN)
    assert main(["run", str(path), "--dry-run", "--fail-if", "rte < -5%"]) == ExitCode.USAGE
    said = capsys.readouterr().err
    assert "my.toml, --fail-if)" in said
    assert "did you mean `rate`?" in said
    assert main(["run", str(path), "--dry-run", "--fail-if", "rate < 5/s"]) == ExitCode.DONE


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (read(rest="[compare]\nfail_if = 'rate < -5%'"), "this plan has no baseline to compare with"),
        (
            read("threads = [1, 2, 4]", rest="[compare]\nfail_if = 'rate < -5%'"),
            "the levels of threads are analysed as a curve, not in pairs",
        ),
        (
            read(
                systems="[systems.a]\nkind = 'sqlite'\n[systems.b]\nkind = 'sqlite'",
                rest="[search]\nhighest = 'rate'\nwhile = 'latency_p99 < 2ms'\n[compare]\nfail_if = 'rate < -5%'",
            ),
            "a search compares no pairs",
        ),
    ],
)
def test_a_change_that_could_never_be_judged_is_refused_before_anything_is_run(plan: ResolvedPlan, why: str) -> None:
    with pytest.raises(PlanError) as caught:
        refuse_unjudged(plan)
    assert caught.value.what == f'"rate < -5%" is a change from a baseline, and {why}'
    assert caught.value.where == "the plan, [compare] fail_if"
    assert caught.value.hint == 'write a value, such as "rate < 5000/s"'


def test_a_change_between_systems_or_next_to_a_sweep_can_be_judged() -> None:
    two = "[systems.a]\nkind = 'sqlite'\n[systems.b]\nkind = 'sqlite'"
    for factors in ("", "threads = [1, 2, 4]"):
        refuse_unjudged(read(factors, systems=two, rest="[compare]\nfail_if = 'rate < -5%'"))


def test_how_to_run_it_again_repeats_the_thresholds_of_the_command_line() -> None:
    options = Namespace(said=["measure.window=5s"], only=[], fail_if=["rate < -5%", "latency_p99 > 2ms"])
    assert beside_plan(options) == [
        "--set", "measure.window=5s", "--fail-if", "rate < -5%", "--fail-if", "latency_p99 > 2ms",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("rate < -5%", "throughput lower by more than 5 %"),
        ("latency_p99 > 12.5%", "p99 higher by more than 12.5 %"),
        ("rate < 0%", "throughput lower"),
        ("rate < +5%", "throughput not higher by 5 %"),
        ("rate > -5%", "throughput not lower by 5 %"),
        ("latency_p99 > 200us", "p99 above 200 µs"),
        ("rate < 5k/s", "throughput below 5,000/s"),
        ("error_ratio >= 0.1%", "error ratio at least 0.1 %"),
        ("latency_mean <= 1.5ms", "mean response time at most 1.5 ms"),
        ("server_memory_peak_bytes > 1GiB", "server memory above 1 GiB"),
    ],
)
def test_a_threshold_is_reported_by_its_metrics_words(condition: str, words: str) -> None:
    assert parse_threshold(condition).words == words


def test_a_change_without_its_percent_sign_is_refused_with_the_right_spelling() -> None:
    with pytest.raises(ValueError, match=re.escape('a change is written in percent: "rate < -5%"')):
        parse_threshold("rate < -5")


@pytest.mark.parametrize(
    ("means", "code"), [("separate", ExitCode.UNDECIDED), ("pass", ExitCode.DONE), ("fail", ExitCode.CHECK_FAILED)]
)
def test_an_interval_that_crosses_the_threshold_never_passes(tmp_path: Path, means: str, code: ExitCode) -> None:
    like = replace(MARIADB, name="like")
    story = replace(STORY, contenders=(MARIADB, like), noise=0.1, fail_if=["rate < -5%"])
    bundle = write_bundle(tmp_path / "b", story)
    bundle.plan = bundle.plan.model_copy(update={"undecided": means})
    answer = answer_of(bundle)
    (found,) = answer.thresholds
    (only,) = answer.comparisons
    assert only.low is not None
    assert only.high is not None
    assert only.low < 0.95 < only.high
    assert found.status == "undecided"
    assert code_of(bundle, answer) == code


@pytest.mark.parametrize("condition", ["latency_p999 > 15%", "latency_p999 > 10ms"])
def test_too_few_operations_for_a_percentile_are_undecided_and_say_how_many_in_how_many_runs(
    tmp_path: Path, condition: str
) -> None:
    slow = Contender("slow", rate_1=500, rate_max=500)
    story = replace(STORY, contenders=(MARIADB, slow), window_s=3, fail_if=[condition], objective="latency_p999")
    bundle = write_bundle(tmp_path / "b", story)
    answer = answer_of(bundle)
    found = answer.thresholds[-1]
    assert (found.status, found.undecided_by) == ("undecided", "too few operations")
    why = r"too few operations for a p99.9 of slow in 5 of 5 runs \(1,\d{3} to 1,\d{3} of the 10,000 it needs\)"
    assert re.search(f"{why}: lengthen the window$", found.words)
    assert code_of(bundle, answer) == ExitCode.UNDECIDED
    (only,) = answer.comparisons
    assert re.fullmatch(f"not compared: {why}: lengthen the window", only.words)
    assert only.verdict == "too few operations"
