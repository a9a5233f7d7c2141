"""A bundle that was judged, got more repetitions and is judged again; and the line over all its settings."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.analysis.compare import Comparison
from bakeoff.analysis.estimate import Estimate, paired
from bakeoff.analysis.registry import metric
from bakeoff.analysis.statistics import alpha_after
from bakeoff.bundle.read import Bundle
from bakeoff.bundle.resume import Present
from bakeoff.bundle.write import BundleWriter
from bakeoff.cli import main
from bakeoff.errors import BakeoffError, BundleError
from bakeoff.findings import interim_analyses as analyses
from bakeoff.findings.between_bundles.comparison import compared
from bakeoff.model.records.bundle import AnalysisRecord
from bakeoff.model.records.run import RunRecord
from bakeoff.report.answer import Answer, analysed, answer_and_records, answer_of
from bakeoff.report.text.terminal import render_text
from builders.bundles import MARIADB, Story, write_bundle

SLOWER = replace(MARIADB, name="slower", rate_1=3_960.0, rate_max=23_760.0)
TWO = Story(contenders=(MARIADB, SLOWER), presets=("a",), threads=(8,), repetitions=8, noise=0.002, window_s=5)

ALIKE = replace(TWO, contenders=(MARIADB, replace(MARIADB, name="like")), noise=0.02)


def judged(
    folder: Path, story: Story, looks: list[int], rate_factor: Callable[[RunRecord], float] = lambda _: 1.0
) -> Answer:
    """rate_factor: of a run's rate, which is all that is changed of it."""
    bundle = write_bundle(folder / "b", story)
    bundle.info = bundle.info.model_copy(update={"analysed_repetitions": looks})
    bundle.runs = [
        run.model_copy(update={"rate_ops_per_s": run.rate_ops_per_s * rate_factor(run)}) for run in bundle.runs
    ]
    return answer_of(bundle)


def test_the_first_analysis_takes_four_of_the_five_percent(tmp_path: Path) -> None:
    found = judged(tmp_path, TWO, [])
    assert (found.analysis, found.comparisons[0].level) == (1, pytest.approx(0.96))
    assert "analysed before" not in " ".join(found.headline)


def test_a_second_look_is_judged_over_all_repetitions_at_what_the_first_left_and_says_so(tmp_path: Path) -> None:
    found = judged(tmp_path, ALIKE, [5])
    assert (found.analysis, found.comparisons[0].repetitions) == (2, 8)
    assert found.comparisons[0].level == pytest.approx(0.992)
    assert found.headline[1] == (
        "This bundle was analysed before, with 5 repetitions: a difference is now claimed at a chance of error of"
        " 0.8 %, so that all analyses of this bundle together stay within 5 %. Verdicts that were given stand."
    )


def test_the_answer_that_was_given_is_not_another_analysis_nor_one_at_too_few_to_compare(tmp_path: Path) -> None:
    assert judged(tmp_path / "again", TWO, [8]).analysis == 1
    assert judged(tmp_path / "few", TWO, [3, 8]).analysis == 1
    assert judged(tmp_path / "third", TWO, [5, 7, 8]).analysis == 3


def turned(run: RunRecord) -> float:
    """The second system is slower at first, and then faster."""
    return 1.0 if run.cell == "c01" else 0.95 if run.block <= 5 else 1.08


def test_what_an_analysis_has_shown_stands_and_the_estimate_is_the_latest(tmp_path: Path) -> None:
    found = judged(tmp_path, TWO, [5], turned)
    (only,) = found.comparisons
    assert (only.verdict, only.repetitions, only.level) == ("lower", 8, pytest.approx(0.96))
    assert only.ratio is not None
    assert only.low is not None
    assert only.high is not None
    assert only.low < 1 < only.high
    assert only.words.startswith("slower is slower than mariadb, as shown before; with all 8 repetitions -")
    assert only.notes[-1].startswith("shown with 5 repetitions: -5")
    assert judged(tmp_path / "unseen", TWO, [], turned).comparisons[0].verdict == "no difference"


def part(bundle: Bundle, blocks: int, cells: int = 1000) -> Bundle:
    """The bundle as it was when the plan had this number of blocks and of cells of each system."""
    systems: dict[str, list[str]] = {}
    for cell in bundle.plan.cells:
        systems.setdefault(cell.system, []).append(cell.id)
    kept = {one for ids in systems.values() for one in ids[:cells]}
    plan = {"cells": [cell for cell in bundle.plan.cells if cell.id in kept], "repetitions": blocks}
    then = replace(bundle, plan=bundle.plan.model_copy(update=plan))
    then.runs = [run for run in bundle.runs if run.block <= blocks and run.cell in kept]
    return then


def test_every_answer_is_recorded_and_the_same_data_again_are_no_further_analysis(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", replace(ALIKE, state="running"))
    first = analysed(part(bundle, 5))
    again = analysed(part(bundle, 5))
    assert (first.analysis, again.analysis, first.comparisons) == (1, 1, again.comparisons)
    third = [analysed(part(bundle, blocks)) for blocks in (6, 8)][-1]
    assert (third.analysis, third.comparisons[0].level) == (3, pytest.approx(0.9984))
    assert [one.alpha for one in bundle.analyses] == pytest.approx([0.04, 0.008, 0.0016])
    assert [one.verdicts[0].repetitions for one in bundle.analyses] == [5, 6, 8]


def test_fewer_repetitions_than_can_be_judged_are_no_analysis(tmp_path: Path) -> None:
    assert analysed(part(write_bundle(tmp_path / "b", TWO), 4)).analysis == 1
    assert not (tmp_path / "b" / "analyses.jsonl").exists()


def test_the_report_of_a_bundle_that_still_runs_is_an_analysis(tmp_path: Path) -> None:
    write_bundle(tmp_path / "b", replace(ALIKE, state="running", repetitions=5))
    assert main(["bundles", "show", str(tmp_path / "b"), "--json"]) == 0
    assert main(["bundles", "show", str(tmp_path / "b")]) == 0
    assert len(Bundle.open(tmp_path / "b").analyses) == 1


def test_comparing_the_bundle_with_another_takes_nothing_from_what_its_own_analyses_may_claim(tmp_path: Path) -> None:
    bundle, other = (
        write_bundle(tmp_path / name, replace(ALIKE, noise=noise)) for name, noise in (("b", 0.02), ("o", 0.03))
    )
    analysed(part(bundle, 5))
    compared([bundle], [other], [metric("rate")])
    assert len(bundle.analyses) == 2
    second = analysed(part(bundle, 8))
    assert (second.analysis, second.comparisons[0].level) == (2, pytest.approx(0.992))


def test_a_verdict_on_a_value_is_of_the_latest_runs_and_the_answer_says_so(tmp_path: Path) -> None:
    story = replace(TWO, contenders=(MARIADB,), state="running", noise=0.0, fail_if=["rate < 5000/s"])
    bundle = write_bundle(tmp_path / "b", story)
    bundle.runs = [
        run.model_copy(update={"rate_ops_per_s": 4_900.0 + run.block if run.block <= 6 else 5_500.0})
        for run in bundle.runs
    ]
    first, later = (analysed(part(bundle, blocks)) for blocks in (6, 8))
    assert [one.thresholds[0].status for one in (first, later)] == ["failed", "undecided"]
    assert "before" not in " ".join(first.headline)
    assert (
        "Values were compared with `fail_if` before. They are judged again, over all runs, at a chance of error of"
        " 0.8 %, so that all analyses of this bundle together stay within 5 %. What was said of a value before does not"
        " stand."
    ) in later.headline


@pytest.mark.parametrize(("fail_if", "asked"), [([], "`limit`"), (["rate < 5000/s"], "`fail_if` and `limit`")])
def test_a_verdict_on_a_limit_is_of_the_latest_runs_and_the_answer_says_so(
    tmp_path: Path, fail_if: list[str], asked: str
) -> None:
    story = replace(TWO, contenders=(MARIADB,), state="running", asked=["latency_p99 < 5ms"], fail_if=fail_if)
    bundle = write_bundle(tmp_path / "b", story)
    first, later = (" ".join(analysed(part(bundle, blocks)).headline) for blocks in (6, 8))
    assert "before" not in first
    assert f"Values were compared with {asked} before. They are judged again, over all runs, at a chance of" in later


def test_an_analysis_that_was_recorded_without_its_limits_is_the_same_analysis(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", replace(TWO, asked=["latency_p99 < 5ms"]))
    first = analysed(bundle)
    path = tmp_path / "b" / "analyses.jsonl"
    record = json.loads(path.read_text())
    assert record["family"].pop() == "limit latency_p99 < 5ms"
    path.write_text(json.dumps(record) + "\n")
    again = analysed(Bundle.open(bundle.folder))
    assert (again.analysis, again.held) == (1, first.held)
    assert len(Bundle.open(bundle.folder).analyses) == 1


def test_a_limit_that_is_added_to_recorded_limits_is_another_question() -> None:
    one = analyses.record("data", ["shape of rate", *analyses.limit_questions(["rate > 1/s"])], 0.04, {})
    grown = [*one.family, *analyses.limit_questions(["rate > 2/s"])]
    assert analyses.place_of([one], "data", one.family) == 0
    assert analyses.place_of([one], "data", grown) is None
    assert analyses.place_of([one], "other data", one.family) is None


def test_a_verdict_stands_when_the_plan_grows_by_cells_that_show_nothing(tmp_path: Path) -> None:
    story = replace(ALIKE, threads=tuple(range(1, 20)), noise=0.02)
    bundle = write_bundle(tmp_path / "b", story)
    first_of = {bundle.plan.cells[19].id: 0.96}
    bundle.runs = [
        run.model_copy(update={"rate_ops_per_s": run.rate_ops_per_s * first_of.get(run.cell, 1.0)})
        for run in bundle.runs
    ]
    (alone,) = analysed(part(bundle, 7, cells=1)).comparisons
    assert alone.verdict == "lower"
    grown = analysed(part(bundle, 7))
    assert len(grown.comparisons) == 19
    assert grown.comparisons[0].verdict == "lower"
    fresh = answer_of(part(write_bundle(tmp_path / "c", story), 7))
    assert fresh.comparisons[0].level != grown.comparisons[0].level


class Unwritable(Bundle):
    def record(self, records: list[AnalysisRecord], known: int) -> bool:
        raise BakeoffError("cannot write analyses.jsonl: Read-only file system")


def test_what_cannot_be_recorded_is_not_claimed_unless_it_was_given_before(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", replace(TWO, state="interrupted"))
    sealed = Unwritable(bundle.folder, bundle.info, bundle.plan, bundle.machine)
    refused = analysed(sealed)
    assert refused.comparisons[0].verdict == "not comparable"
    assert any(words.startswith("This analysis could not be recorded") for words in refused.headline)
    assert analysed(bundle).comparisons[0].verdict == "lower"
    assert analysed(sealed).comparisons[0].verdict == "lower"


def test_a_complete_bundle_from_before_analyses_were_recorded_was_answered_at_its_end(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", TWO)
    sealed = Unwritable(bundle.folder, bundle.info, bundle.plan, bundle.machine)
    assert analysed(sealed).comparisons[0].verdict == "lower"
    writer = BundleWriter(bundle.folder)
    assert (
        writer.resume(Present(bundle.plan, {}, bundle.machine, bundle.info), "title = 't'").info.analysed_repetitions
        == []
    )
    assert writer.info is not None
    assert writer.info.analysed_repetitions == [8]


@pytest.mark.parametrize("text", ["{", "[]\n", '{"when": "x"}\n', "\xff"])
def test_a_damaged_list_of_analyses_is_named(tmp_path: Path, text: str) -> None:
    bundle = write_bundle(tmp_path / "b", replace(TWO, repetitions=1))
    (tmp_path / "b" / "analyses.jsonl").write_text(text)
    with pytest.raises(BundleError, match=r"analyses.jsonl cannot be read"):
        analysed(bundle)


def test_a_list_of_analyses_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", replace(TWO, repetitions=1))
    (tmp_path / "elsewhere").write_text("")
    (tmp_path / "b" / "analyses.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BundleError, match=r"analyses.jsonl cannot be read"):
        analysed(bundle)


def test_two_commands_never_take_the_same_place_in_the_series(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", TWO)
    pending = answer_and_records(bundle)[1]
    assert len(pending) == 1
    assert bundle.record(pending, 0)
    assert not bundle.record(pending, 0)
    assert len(bundle.analyses) == 1


def test_the_relative_thresholds_are_of_one_family_with_the_comparison(tmp_path: Path) -> None:
    story = replace(ALIKE, fail_if=["latency_p99 > 10%", "rate < -5%", "latency_p50 > 10%"])
    found = answer_of(write_bundle(tmp_path / "b", story))
    assert found.comparisons[0].level == pytest.approx(1 - 0.04 / 3)
    assert len(found.thresholds) == 3


SETTINGS = replace(TWO, threads=(1, 2, 4, 8), repetitions=5, noise=0.02, seed=3)


def test_settings_that_lean_alike_have_one_line_that_decides_what_none_of_them_does(tmp_path: Path) -> None:
    found = judged(tmp_path, SETTINGS, [], of_second(0.98))
    assert [c.verdict for c in found.comparisons].count("no difference") >= 3
    (whole,) = found.over_all
    assert whole.verdict == "lower"
    sentence = f"Over all 4 settings, which all lean in the same direction: {whole.words}."
    assert sentence in found.headline
    assert "over all 4 settings" in render_text(found)


def of_second(factor: float) -> Callable[[RunRecord], float]:
    return lambda run: factor if run.cell in ("c05", "c06", "c07", "c08") else 1.0


def test_the_line_over_all_settings_has_its_own_place_in_the_family(tmp_path: Path) -> None:
    found = judged(tmp_path, SETTINGS, [], of_second(0.5))
    levels = sorted(c.level or 0 for c in [*found.comparisons, *found.over_all])
    assert levels == pytest.approx([1 - 0.04 / left for left in (1, 2, 3, 4, 5)])


def test_settings_that_lean_differently_or_are_all_decided_have_no_line_in_the_headline(tmp_path: Path) -> None:
    apart = judged(tmp_path / "apart", SETTINGS, [], lambda run: 0.8 if run.cell == "c05" else of_second(1.2)(run))
    assert apart.over_all == []
    decided = judged(tmp_path / "decided", SETTINGS, [], of_second(0.5))
    assert not any(words.startswith("Over all") for words in decided.headline)


def test_what_was_claimed_over_all_settings_stands_when_the_settings_turn_out_to_differ(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", replace(SETTINGS, repetitions=8))
    drop = dict(zip(("c05", "c06", "c07", "c08"), (0.99, 0.98, 0.9, 0.88), strict=True))
    bundle.runs = [
        run.model_copy(
            update={"rate_ops_per_s": run.rate_ops_per_s * (of_second(0.98)(run) if run.block <= 5 else later)}
        )
        for run in bundle.runs
        for later in [drop.get(run.cell, 1.0)]
    ]
    assert [one.verdict for one in answer_of(bundle).over_all] == []
    assert [one.verdict for one in analysed(part(bundle, 5)).over_all] == ["lower"]
    (whole,) = analysed(bundle).over_all
    assert whole.verdict == "lower"
    assert "the settings' effects differ: this mean describes none of them" in whole.notes


def steps(mean: float, count: int) -> Estimate:
    """Blocks around one log-ratio, 1 % apart."""
    values = {block: math.exp(mean + (0.01 if block % 2 else -0.01)) for block in range(count)}
    return paired("", metric("rate"), "base", "other", dict.fromkeys(values, 1.0), values)


def in_turn(*asked: tuple[Estimate, float | None]) -> list[Comparison]:
    """The same question each time, with the size that matters then."""
    past: list[AnalysisRecord] = []
    found = []
    for number, (estimate, matters) in enumerate(asked):
        alpha = alpha_after([one.alpha for one in past], 0.05)
        answers = analyses.judged({"q": estimate}, past, alpha, None, matters)
        past.append(analyses.record(str(number), ["q"], alpha, answers))
        found.append(answers["q"])
    return found


def test_a_difference_that_is_later_shown_to_be_smaller_than_what_matters_is_small() -> None:
    first, second, third = in_turn((steps(0.04, 6), 0.05), (steps(0.004, 60), 0.05), (steps(0.004, 70), 0.05))
    assert (first.verdict, first.size) == ("higher", "open")
    assert (second.verdict, second.size) == ("higher", "small")
    assert (third.verdict, third.size) == ("higher", "small")


def test_a_difference_is_not_hidden_by_an_earlier_equivalence_within_another_size() -> None:
    first, second, third = in_turn((steps(0.02, 30), 0.05), (steps(0.02, 40), None), (steps(0.02, 40), 0.05))
    assert first.size == "small" or first.verdict == "equivalent"
    assert second.verdict == "higher"
    assert (third.verdict, third.size) == ("higher", "small")
