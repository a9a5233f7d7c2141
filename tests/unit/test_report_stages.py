"""How each stage of a changing rate went, in the report: a table, a sentence that says where it broke, and tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from bakeoff.analysis.histograms import Histogram, to_document
from bakeoff.analysis.registry import UnknownMetric
from bakeoff.bundle.read import Bundle
from bakeoff.model.boundary import HistogramDoc
from bakeoff.model.records.run import RunRecord, StageRecord
from bakeoff.report.answer import Answer, answer_of
from bakeoff.report.charts.figures import figures_of
from bakeoff.report.tables import stages_table
from bakeoff.report.text.terminal import render_text
from builders.bundles import MARIADB, Story, write_bundle


def times(count: int, ms: float) -> HistogramDoc:
    return to_document(Histogram.from_values([round(ms * 1e6)] * count))


def stage(name: str, from_s: float, rate: float, done: float = 1.0, failed: int = 0, **more: float) -> StageRecord:
    """Of 20 s, of which a share was done."""
    ok = round(20 * rate * done)
    return StageRecord.model_validate(
        {
            "name": name,
            "from_s": from_s,
            "to_s": from_s + 20,
            "from_ops_per_s": rate,
            "to_ops_per_s": rate,
            "length_s": 20.0,
            "due": round(20 * rate) + failed,
            "ok": ok,
            "errors": {"fail_other": failed} if failed else {},
            "response": times(ok, 3.0),
            "service": times(ok, 1.0),
            **more,
        }
    )


BROKE = (
    stage("1", 0, 1000),
    stage("2", 20, 4000, done=0.75, overloaded=True, backlog=19_960),
    stage("3", 40, 500, backlog_before=19_960),
)


def bundle_of(folder: Path, stages: Sequence[StageRecord], repetitions: int = 1) -> Bundle:
    def change(run: RunRecord) -> RunRecord:
        return run.model_copy(update={"stages": list(stages)})

    told = Story(contenders=(MARIADB,), threads=(4,), presets=("a",), repetitions=repetitions, change=change)
    return write_bundle(folder / "made", told)


def answer(folder: Path, *stages: StageRecord, repetitions: int = 1) -> Answer:
    return answer_of(bundle_of(folder, stages, repetitions))


def sentence(told: Answer) -> str:
    (words,) = [one for one in told.headline if "stage" in one]
    return words


def test_the_report_says_at_which_stage_it_broke(tmp_path: Path) -> None:
    told = answer(tmp_path, *BROKE)
    assert sentence(told) == (
        "mariadb broke in stage 2 (4,000/s): it did 3,000/s of 4,000/s, and 19,960 operations were waiting at its end;"
        " it kept the stage before, up to 1,000/s; it kept the stage after."
    )
    assert told.first.answer == "mariadb broke in stage 2 (4,000/s)."


def test_a_rate_that_was_kept_is_said_with_its_highest(tmp_path: Path) -> None:
    told = answer(tmp_path, BROKE[0], BROKE[2])
    words = "mariadb kept the offered rate in every stage, up to 1,000/s"
    assert sentence(told) == f"{words}, with no more errors than the plan allows."


def test_a_stage_of_too_many_errors_broke_though_it_kept_its_rate(tmp_path: Path) -> None:
    told = answer(tmp_path, BROKE[0], stage("2", 20, 1000, failed=20_000))
    assert "broke in stage 2 (1,000/s): 50 % of its operations did not end ok, more than the error bu" in sentence(told)
    assert [one.broke for one in told.stages] == [False, True]


def test_each_stage_is_a_row_and_an_overloaded_one_states_no_response_time(tmp_path: Path) -> None:
    lines = render_text(answer(tmp_path, *BROKE)).splitlines()
    start = lines.index("Stage by stage:")
    rows = [line.split() for line in lines[start + 1 : start + 6]]
    assert rows[-3][1:9] == ["1", "1,000/s", "0", "to", "20", "yes", "1,000/s", "1,000/s"]
    assert rows[-3][10:13] == ["3.00", "ms", "3.00"]
    assert "no, 19,960 waiting at its end" in lines[start + 4]
    assert "3.00 ms" not in lines[start + 4]
    assert "1.00 ms" in lines[start + 4]
    assert "yes, after a queue of 19,960" in lines[start + 5]


def test_percentiles_that_too_few_operations_tell_are_not_stated(tmp_path: Path) -> None:
    (found,) = answer(tmp_path, stage("1", 0, 20)).stages
    assert set(found.response) == {"p50_ms"}
    assert found.words["p999_ms"] == "too few samples (400 of 10,000)"


def test_operations_that_timed_out_make_a_percentile_a_lower_bound(tmp_path: Path) -> None:
    lost = {"errors": {"unknown": 500}, "response": times(20_500, 3.0)}
    told = answer(tmp_path, stage("1", 0, 1000).model_copy(update=lost))
    assert told.stages[0].at_least == ["p99_ms", "p999_ms"]
    assert "at least 3.00 ms" in render_text(told)


def test_figures_are_of_all_repetitions_with_their_interval(tmp_path: Path) -> None:
    told = answer(tmp_path, *BROKE, repetitions=5)
    assert [one.runs for one in told.stages] == [5, 5, 5]
    assert told.stages[1].overloaded == 5
    assert told.stages[0].rate_ops_per_s is not None
    assert told.stages[0].rate_ops_per_s.low == pytest.approx(1000)


def test_a_stage_without_a_whole_second_has_no_figures(tmp_path: Path) -> None:
    none = stage("2", 20, 100).model_copy(update={"length_s": 0.0, "due": 0, "ok": 0, "errors": {}})
    empty = none.model_copy(update={"response": HistogramDoc.empty(), "service": HistogramDoc.empty()})
    told = answer(tmp_path, BROKE[0], empty)
    assert told.stages[1].offered_ops_per_s is None
    assert "no whole second" in render_text(told)


def test_a_bundle_from_before_stages_were_kept_has_no_table(tmp_path: Path) -> None:
    told = answer(tmp_path)
    assert told.stages == []
    assert "Stage by stage" not in render_text(told)


def test_stages_are_a_table_for_other_programs(tmp_path: Path) -> None:
    bundle = bundle_of(tmp_path, BROKE)
    rows = stages_table(bundle).to_pylist()
    assert [(row["stage"], row["kept"], row["offered_ops_per_s"]) for row in rows] == [
        ("1", True, 1000),
        ("2", False, 4000),
        ("3", True, 500),
    ]
    assert rows[0]["p99_ms"] == pytest.approx(3, rel=1e-3)
    assert (rows[1]["p99_ms"], rows[1]["rate_ops_per_s"]) == (None, 3000)
    assert rows[1]["service_p99_ms"] == pytest.approx(1, rel=1e-3)
    with pytest.raises(UnknownMetric):
        stages_table(bundle, ["p98_ms"])


def test_charts_over_time_show_where_each_stage_begins(tmp_path: Path) -> None:
    bundle = bundle_of(tmp_path, BROKE)
    overview = figures_of(bundle, answer_of(bundle)).overview
    assert overview is not None
    assert overview.canvas.standalone("").count("axis stage") == 3


def test_a_stage_whose_histogram_is_damaged_is_refused(tmp_path: Path) -> None:
    wrong = BROKE[0].model_copy(update={"ok": 1})
    assert bundle_of(tmp_path, [wrong]).runs == []
