"""Metrics: every entry says something of a run, and any of them serves as objective, threshold, column and chart."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.analysis.estimate import Invalid
from bakeoff.analysis.metric import Metric, Observed
from bakeoff.analysis.registry import METRICS, UnknownMetric, metric
from bakeoff.bundle.read import Bundle
from bakeoff.cli import main
from bakeoff.errors import ExitCode
from bakeoff.findings.run_values import observed, run_values
from bakeoff.model.boundary import CapacityUnits, StalenessProbe
from bakeoff.model.records.run import RunRecord
from bakeoff.report.answer import answer_of
from bakeoff.report.html.write import write_report
from bakeoff.report.text.terminal import render_text
from builders.bundles import MARIADB, SQLITE, Story, invalid, overloaded, write_bundle
from builders.plans import read, refused
from builders.promises import under_load

STORY = Story(threads=(4,), presets=("a",), window_s=10, warm_up_s=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(tmp_path_factory.mktemp("made") / "bundle", STORY).folder


@pytest.fixture
def bundle(folder: Path) -> Bundle:
    return Bundle.open(folder)


def of(bundle: Bundle, name: str, run: int = 0) -> float | None:
    return metric(name).of(observed(bundle, bundle.runs[run]))


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("rate", "throughput"),
        ("latency_mean", "mean response time"),
        ("latency_max", "longest response time"),
        ("latency_p5", "p5"),
        ("latency_p99", "p99"),
        ("latency_p999", "p99.9"),
        ("latency_p9999", "p99.99"),
        ("latency_p97.read", "read p97"),
        ("db.Threads_running", "db.Threads_running"),
    ],
)
def test_metrics_are_known_by_name(name: str, label: str) -> None:
    assert (metric(name).name, metric(name).label) == (name, label)


@pytest.mark.parametrize("name", ["", "speed", "latency", "latency_p", "latency_p0", "latency_p555", "rate ", "rate."])
def test_an_unknown_metric_is_refused(name: str) -> None:
    with pytest.raises(UnknownMetric, match="unknown metric"):
        metric(name)


def test_a_refusal_names_the_nearest_metric() -> None:
    with pytest.raises(UnknownMetric) as caught:
        metric("latency_p909")
    assert caught.value.hint.startswith("did you mean `latency_p9")
    with pytest.raises(UnknownMetric, match="`load_s` is not available for single operations"):
        metric("load_s.read")


@pytest.mark.parametrize("entry", METRICS, ids=lambda entry: entry.name)
def test_every_entry_says_something_of_a_run_or_that_it_cannot(entry: Metric, bundle: Bundle) -> None:
    value = entry.of(observed(bundle, bundle.runs[0]))
    assert value is None or (value >= 0 and entry.words(value))


def test_of_an_embedded_system_there_is_no_server_cpu_and_no_sum(bundle: Bundle) -> None:
    sqlite = next(run for run in bundle.runs if run.cell == "c02")
    assert metric("server_cpu_us_per_op").of(observed(bundle, sqlite)) is None
    assert metric("cpu_us_per_op").of(observed(bundle, sqlite)) is None


def test_values_are_those_of_the_record(bundle: Bundle) -> None:
    run = bundle.runs[0]
    assert of(bundle, "rate") == run.rate_ops_per_s
    assert of(bundle, "latency_p99") == run.response.p99_ms
    reads = next(operation for operation in run.operations if operation.operation == "read")
    assert of(bundle, "latency_p99.read") == reads.response.p99_ms
    assert of(bundle, "latency_p99.READ") == reads.response.p99_ms
    assert of(bundle, "rate.read") == pytest.approx(reads.ok / run.window_s)
    assert of(bundle, "load_rate") == 11_764.0
    assert of(bundle, "write_bytes_per_op") == pytest.approx((run.server.write_bytes_with_debt or 0) / run.ok)
    assert of(bundle, "latency_p99.delete") is None


def test_a_conflict_counts_as_an_abort_whether_it_is_tried_again_or_not(bundle: Bundle) -> None:
    def ratio(errors: dict[str, int], retries: int, after_conflict: int | None) -> float | None:
        counts = {"ok": 90, "errors": errors, "retries": retries, "retries_after_conflict": after_conflict}
        return metric("abort_ratio").of(Observed(bundle.runs[0].model_copy(update=counts)))

    assert ratio({"fail_conflict": 10}, 0, 0) == pytest.approx(10 / 100)
    assert ratio({"fail_conflict": 4, "wrong": 6}, 25, 6) == pytest.approx(10 / 125)
    assert ratio({}, 0, None) == 0.0
    assert ratio({}, 5, None) is None, "a bundle from before they were distinguished"


def test_what_the_server_tells_is_averaged_over_the_window_alone(bundle: Bundle) -> None:
    run = bundle.runs[0]
    table = bundle.server(run.id)
    assert table is not None
    dirty = table.column("db.Innodb_buffer_pool_pages_dirty").to_pylist()
    expected = sum(dirty[STORY.warm_up_s :]) / STORY.window_s
    assert of(bundle, "db.Innodb_buffer_pool_pages_dirty") == pytest.approx(expected)
    assert of(bundle, "db.Unheard_of") is None


def test_transactions_that_the_server_counted_are_reported_per_minute(bundle: Bundle) -> None:
    seen = Observed(bundle.runs[0], server_mean={"db.transactions_per_s": 7.5}.get)
    found = metric("server_transactions_per_minute")
    value = found.of(seen)
    assert value == 450.0
    assert found.words(value) == "450/min"
    assert found.of(Observed(bundle.runs[0])) is None


def test_capacity_units_are_per_operation_and_none_where_a_system_has_no_such(bundle: Bundle) -> None:
    run = bundle.runs[0]
    achieved = run.rate_ops_per_s * run.window_s
    charged = run.model_copy(update={"capacity_units": CapacityUnits(read=achieved / 2, write=0.0)})
    assert metric("read_units_per_op").of(Observed(charged)) == pytest.approx(0.5)
    assert metric("write_units_per_op").of(Observed(charged)) == 0.0
    assert metric("read_units_per_op").of(Observed(run)) is None


def test_stale_reads_are_a_share_and_have_an_age_only_where_there_are_some(bundle: Bundle) -> None:
    run = bundle.runs[0]

    def of_probe(name: str, stale: int, reads: int) -> float | None:
        report = under_load(stale=stale, reads=reads, age_ns={"p99": 2_500_000, "max": 9_000_000})
        probe = StalenessProbe(sessions=1, writes=9, reads=reads, report=report, troubles=[])
        return metric(name).of(Observed(run.model_copy(update={"staleness_probe": probe})))

    assert of_probe("stale_read_ratio", 3, 60) == pytest.approx(0.05)
    assert of_probe("stale_age_p99", 3, 60) == 2.5
    assert of_probe("stale_read_ratio", 0, 60) == 0.0
    assert of_probe("stale_age_p99", 0, 60) is None
    assert of_probe("stale_read_ratio", 0, 0) is None
    failed = StalenessProbe(sessions=0, writes=0, reads=0, report=None, troubles=["no table"])
    assert metric("stale_read_ratio").of(Observed(run.model_copy(update={"staleness_probe": failed}))) is None
    assert metric("stale_read_ratio").of(Observed(run)) is None


def test_times_of_an_overloaded_run_are_not_stated(bundle: Bundle) -> None:
    late = overloaded(bundle.runs[0])
    for name in ("latency_p99", "latency_mean", "latency_max", "latency_p50.read"):
        assert metric(name).of(Observed(late)) is None


def test_a_load_is_one_piece_of_evidence_however_many_runs_share_it(bundle: Bundle) -> None:
    runs = [run for run in bundle.runs if run.cell == "c01"]
    assert len(runs) == 5
    assert list(run_values(bundle, runs, metric("load_s")).values()) == [8.5]
    reloaded = [run.model_copy(update={"reload_s": 8.0 + run.block}) for run in runs]
    assert run_values(bundle, reloaded, metric("load_s")) == {run.block: 8.0 + run.block for run in runs}
    assert len(run_values(bundle, runs, metric("rate"))) == 5
    assert isinstance(run_values(bundle, [invalid(runs[0])], metric("rate"))[1], Invalid)


def test_an_objective_may_be_any_metric_and_is_shown_in_text_and_page(tmp_path: Path) -> None:
    made = write_bundle(tmp_path / "bundle", replace(STORY, objective="client_cpu_us_per_op"))
    answer = answer_of(made, [metric("latency_p95.update"), metric("rate")])
    assert [shown.name for shown in answer.metrics] == ["client_cpu_us_per_op", "latency_p95.update"]
    assert answer.comparisons[0].base_value == pytest.approx(7.5)
    text = render_text(answer)
    assert "judged by client CPU per operation" in text
    assert "7.5 µs" in text
    report = write_report(made, tmp_path / "out", answer)
    assert "update p95" in report.html.read_text()
    assert {"metric-client_cpu_us_per_op.svg", "metric-latency_p95.update.svg"} <= {path.name for path in report.charts}


def test_a_plan_refuses_a_metric_that_does_not_exist(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'title = "t"\n[systems.null]\n[workload]\nkind = "ycsb"\npreset = "c"\n[measure]\nobjective = "latency_p9o"\n'
    )
    assert main(["run", str(plan), "--dry-run"]) == ExitCode.USAGE
    told = capsys.readouterr().err
    assert "unknown metric `latency_p9o`" in told
    assert "did you mean `latency_p99`?" in told
    assert "line 7" in told


@pytest.mark.parametrize(
    ("objective", "hint"),
    [
        ("latency_p99.reed", "did you mean `READ`?"),
        ("rate.update", "the closest known name is `READ`, of READ"),  # none is drawn in this mix
    ],
)
def test_a_plan_refuses_an_operation_that_its_workload_does_not_have(objective: str, hint: str) -> None:
    error = refused(measure=f'objective = "{objective}"')
    assert error.what == f"no workload of this plan has the operation `{objective.split('.')[1]}`"
    assert "[measure] objective" in error.where
    assert error.hint == hint


def test_a_plan_in_which_some_cells_lack_the_operation_says_so() -> None:
    plan = read("preset = ['a', 'c']", workload="", measure="objective = 'latency_p99.update'")
    (warning,) = (words for words in plan.warnings if "has no operation" in words)
    assert warning.startswith("YCSB C")
    for known in ("latency_p99.Read-Modify-Write:Read", "db.Threads_running"):
        plan = read(workload="preset = 'f'", measure=f"objective = '{known}'")
        assert not [words for words in plan.warnings if "has no operation" in words]


def test_a_comparison_says_who_asked_for_what_no_run_knows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = write_bundle(tmp_path / "bundle", replace(STORY, objective="latency_p99.reed"))
    assert main(["compare", str(made.folder), str(made.folder)]) == ExitCode.USAGE
    told = capsys.readouterr().err
    assert f"the plan of {made.folder}: objective" in told
    assert "--objective" not in told
    assert main(["compare", str(made.folder), str(made.folder), "--objective", "rate.reed"]) == ExitCode.USAGE
    assert "--objective rate.reed" in capsys.readouterr().err
    condition = ["--objective", "rate", "--fail-if", "rate.reed < -5%"]
    assert main(["compare", str(made.folder), str(made.folder), *condition]) == ExitCode.USAGE
    assert "--fail-if rate.reed" in capsys.readouterr().err


def test_a_threshold_may_be_set_on_one_operation(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    later = write_bundle(tmp_path / "later", replace(STORY, noise=0.021)).folder
    arguments = ["compare", str(folder), str(later), "--fail-if", "latency_p99.read > 900%"]
    assert main(arguments) == ExitCode.DONE
    assert "latency_p99.read > +900%: passed" in capsys.readouterr().out
    assert main([*arguments[:-1], "latency_p99.raed > 900%"]) == ExitCode.USAGE
    assert "did you mean `read`?" in capsys.readouterr().err


def in_capitals(run: RunRecord) -> RunRecord:
    """With the operations as YCSB names them."""
    series = [each.model_copy(update={"operation": each.operation.upper()}) for each in run.series]
    operations = [each.model_copy(update={"operation": each.operation.upper()}) for each in run.operations]
    return run.model_copy(update={"series": series, "operations": operations})


def test_every_command_takes_the_name_of_an_operation_in_capitals_or_not(tmp_path: Path) -> None:
    story = replace(STORY, contenders=(MARIADB, SQLITE), change=in_capitals, objective="latency_p99.read")
    folder = str(write_bundle(tmp_path / "bundle", story).folder)
    later = str(write_bundle(tmp_path / "later", replace(story, noise=0.021)).folder)
    for words in (
        ["compare", folder, later],
        ["compare", folder, later, "--objective", "latency_p95.Read"],
        ["compare", folder, later, "--fail-if", "rate.read < -90%"],
        ["report", folder, "--metric", "latency_p99.read"],
        ["export", folder, "--metric", "latency_p99.read", "--out", str(tmp_path / "runs.csv")],
    ):
        assert main(words) == ExitCode.DONE, words
    (row, *_) = csv.DictReader(io.StringIO((tmp_path / "runs.csv").read_text()))
    assert float(row["latency_p99.read"]) > 0
