"""A rate that a workload declares of its own is a metric like any other, where that workload ran."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.analysis import thresholds
from bakeoff.analysis.registry import UnknownMetric, metric
from bakeoff.bundle.read import Bundle
from bakeoff.cli import main
from bakeoff.errors import ExitCode
from bakeoff.findings.run_values import observed
from bakeoff.fleet.engine_program import resolve
from bakeoff.model.resolve import Answer, Rate, Request, Resolved
from bakeoff.plan import workload
from bakeoff.report.answer import answer_of
from bakeoff.report.html.write import write_report
from bakeoff.report.text.terminal import render_text
from builders.bundles import MARIADB, SQLITE, Story, write_bundle
from builders.plans import read, refused

UPDATES = Rate(
    name="updates_per_minute",
    label="number of updates per minute",
    about="Right updates per minute.",
    per="minute",
    operations=["UPDATE"],
)
#: Preset a updates, c does not, and only a has the rate.
STORY = Story(
    contenders=(MARIADB, SQLITE),
    threads=(4,),
    presets=("a", "c"),
    window_s=10,
    warm_up_s=2,
    rates=[UPDATES],
    rates_of="a",
)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return write_bundle(tmp_path_factory.mktemp("made") / "bundle", replace(STORY, objective=UPDATES.name))


def test_it_counts_the_right_ones_of_its_operations_in_the_time_that_it_names(bundle: Bundle) -> None:
    run = bundle.runs[0]
    updates = next(operation for operation in run.operations if operation.operation == "update")
    found = metric(UPDATES.name, [UPDATES])
    assert found.of(observed(bundle, run)) == pytest.approx(60 * updates.ok / run.window_s)
    assert (found.unit, found.better, found.words(12_345.4)) == ("1/min", "higher", "12,345/min")
    per_second = UPDATES.model_copy(update={"per": "second", "operations": ["update", "read"]})
    seen = replace(observed(bundle, run), rates=[per_second])
    assert metric(UPDATES.name, [per_second]).of(seen) == pytest.approx(run.ok / run.window_s)


def test_where_the_workload_does_not_have_it_it_is_absent_and_not_zero(bundle: Bundle) -> None:
    of_c = next(run for run in bundle.runs if run.cell == "c02")
    assert metric(UPDATES.name, [UPDATES]).of(observed(bundle, of_c)) is None
    answer = answer_of(bundle)
    assert {cell.setting["preset"]: UPDATES.name in cell.metrics for cell in answer.cells} == {"a": True, "c": False}


def test_it_is_judged_by_exported_and_shown(bundle: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = render_text(answer_of(bundle))
    assert "judged by number of updates per minute (right updates per minute; more is better)" in text
    assert "/min" in text
    assert "metric-updates_per_minute.svg" in {path.name for path in write_report(bundle, tmp_path).charts}
    assert main(["export", str(bundle.folder)]) == ExitCode.DONE
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {(row["workload"][:6], row[UPDATES.name] != "") for row in rows} == {("YCSB A", True), ("YCSB C", False)}


def test_bundles_are_compared_by_it(bundle: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(bundle.folder)
    later = str(write_bundle(tmp_path / "later", replace(STORY, objective=UPDATES.name, noise=0.021)).folder)
    assert main(["compare", folder, later, "--fail-if", "updates_per_minute < -5%"]) == ExitCode.CHECK_FAILED
    out = capsys.readouterr().out
    assert "updates_per_minute < -5%: passed in mariadb / preset=a" in out
    assert "updates_per_minute < -5%: not judged in mariadb / preset=c" in out
    assert main(["compare", folder, later, "--fail-if", "update_per_minute < -5%"]) == ExitCode.USAGE
    assert "did you mean `updates_per_minute`?" in capsys.readouterr().err


def test_a_threshold_knows_it_and_others_do_not() -> None:
    (condition,) = thresholds.parse("updates_per_minute < -5%", [UPDATES])
    assert condition.objective.name == UPDATES.name
    with pytest.raises(UnknownMetric, match="unknown metric"):
        thresholds.parse("updates_per_minute < -5%")
    with pytest.raises(UnknownMetric, match="not available for single operations"):
        metric("updates_per_minute.update", [UPDATES])


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """YCSB declares the rate where it updates."""

    def declaring(requests: Sequence[Request]) -> list[Answer]:
        def own(answer: Answer) -> list[Rate]:
            return [UPDATES] if isinstance(answer, Resolved) and "UPDATE" in answer.operations else []

        return [answer.model_copy(update={"rates": own(answer)}) for answer in resolve(requests)]

    monkeypatch.setattr(workload, "resolve", declaring)


@pytest.mark.usefixtures("declared")
def test_a_plan_may_be_judged_by_it_and_its_cells_keep_it() -> None:
    said = {"measure": 'objective = "updates_per_minute"', "workload": "preset = 'a'"}
    assert read(**said).cells[0].record.rates == [UPDATES]
    plan = read("preset = ['a', 'c']", measure=said["measure"], workload="")
    assert any("has no updates_per_minute, so those are not compared" in words for words in plan.warnings)


@pytest.mark.usefixtures("declared")
def test_a_plan_whose_workloads_do_not_have_it_refuses_it() -> None:
    error = refused(measure='objective = "updates_per_minute"', workload="preset = 'c'")
    assert error.what == "unknown metric `updates_per_minute`"
    error = refused(measure='objective = "update_per_minute"', workload="preset = 'a'")
    assert error.hint == "did you mean `updates_per_minute`?"
    assert "line 7, [measure] objective" in error.where
