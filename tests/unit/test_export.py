"""`bakeoff export`: what a bundle holds as tables, with their units, for programs, spreadsheets and people."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bakeoff.analysis.registry import metric
from bakeoff.bundle.read import Bundle
from bakeoff.cli import main
from bakeoff.errors import ExitCode
from bakeoff.model.records.run import RunRecord
from bakeoff.report.tables import as_csv, cells_table, runs_table, told_of
from builders.bundles import MARIADB, SQLITE, Story, failed, invalid, write_bundle
from builders.clients import slowed

STORY = Story(threads=(4,), presets=("a",), window_s=10, warm_up_s=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(tmp_path_factory.mktemp("made") / "bundle", STORY).folder


@pytest.fixture(scope="module")
def spread(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of six clients on three machines, of which the last was slower."""
    machines = ["load1", "load1", "load2", "load2", "load3", "load3"]
    told = replace(STORY, repetitions=2, change=lambda run: slowed(run, machines, [5]))
    return write_bundle(tmp_path_factory.mktemp("made") / "spread", told).folder


@pytest.fixture
def bundle(folder: Path) -> Bundle:
    return Bundle.open(folder)


def exported(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["export", *arguments]) == ExitCode.DONE
    return capsys.readouterr().out


def test_runs_and_metrics_are_one_table(folder: Path, bundle: Bundle, capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader(io.StringIO(exported(capsys, str(folder)))))
    assert [row["run"] for row in rows] == [run.id for run in bundle.runs]
    assert [float(row["rate"]) for row in rows] == [run.rate_ops_per_s for run in bundle.runs]
    assert {row["server_cpu_us_per_op"] for row in rows if row["system"] == "sqlite_full"} == {""}
    assert "queries_per_s" not in rows[0]  # no run has it


def test_a_factor_that_is_called_as_a_metric_has_a_column_of_its_own(bundle: Bundle) -> None:
    cells = [cell.model_copy(update={"levels": {**cell.levels, "rate": 500}}) for cell in bundle.plan.cells]
    bundle.plan = bundle.plan.model_copy(update={"cells": cells})
    for table in (runs_table(bundle, [metric("rate")]), cells_table(bundle, [metric("rate")])):
        assert set(table.column("factor.rate").to_pylist()) == {500}
        assert min(table.column("rate").to_pylist()) > 500
        assert len(set(table.column_names)) == table.num_columns


def test_a_table_has_the_metrics_that_are_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [str(folder), "--metric", "latency_p99.read", "--metric", "db.Threads_running"]
    document = json.loads(exported(capsys, *asked, "--json"))
    assert [m["name"] for m in document["metrics"]] == ["latency_p99.read", "db.Threads_running"]
    assert document["runs"][0]["latency_p99.read"] > 0
    assert document["metrics"][0] == {"name": "latency_p99.read", "unit": "ms", "better": "lower"}
    text = exported(capsys, *asked, "--format", "markdown")
    assert text.splitlines()[0].endswith("| valid | standing | latency_p99.read (ms) | db.Threads_running |")


def test_a_parquet_table_goes_to_a_file(
    folder: Path, tmp_path: Path, bundle: Bundle, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exported(capsys, str(folder), "--format", "parquet", "--out", str(tmp_path / "runs.parquet")) == ""
    assert pq.ParquetFile(tmp_path / "runs.parquet").read().num_rows == len(bundle.runs)
    assert main(["export", str(folder), "--format", "parquet"]) == ExitCode.USAGE


def test_a_file_that_exists_is_written_over_only_where_that_is_said(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "runs.csv"
    kept.write_text("of last year")
    assert main(["export", str(folder), "--out", str(kept)]) == ExitCode.USAGE
    assert "the file exists already" in capsys.readouterr().err
    assert kept.read_text() == "of last year"
    assert exported(capsys, str(folder), "--out", str(kept), "--force") == ""
    assert kept.read_text().startswith("run,")


@pytest.mark.parametrize("name", ["bundle.json", "runs/b01-c01/result.json", "facts/new.csv"])
def test_no_file_of_a_bundle_is_written_over(
    folder: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "link").symlink_to(folder)
    before = (folder / "bundle.json").read_text()
    assert main(["export", str(folder), "--out", str(tmp_path / "link" / name), "--force"]) == ExitCode.USAGE
    assert "this is the name of one of the bundle's own files" in capsys.readouterr().err
    assert (folder / "bundle.json").read_text() == before


def test_a_table_may_lie_next_to_what_is_the_bundles(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exported(capsys, str(folder), "--out", str(folder / "runs.csv")) == ""


def test_runs_that_failed_or_are_invalid_are_in_the_table_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(run: RunRecord) -> RunRecord:
        return failed(run) if run.block == 1 else invalid(run) if run.block == 2 else run

    story = replace(STORY, contenders=(MARIADB, SQLITE), change=change)
    made = write_bundle(tmp_path / "bundle", story)
    rows = list(csv.DictReader(io.StringIO(exported(capsys, str(made.folder)))))
    assert {(row["valid"], row["rate"] == "") for row in rows if row["block"] == "1"} == {("false", True)}
    assert {(row["valid"], row["rate"] == "") for row in rows if row["block"] == "2"} == {("false", False)}
    assert {row["valid"] for row in rows if int(row["block"]) > 2} == {"true"}


def rows_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(exported(capsys, *arguments))))


def test_every_operation_and_all_that_was_watched_come_on_request(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (plain, *_), (every, *_) = rows_of(capsys, str(folder)), rows_of(capsys, str(folder), "--all-metrics")
    assert not {"latency_p99.update", "db.Threads_running"} & plain.keys()
    assert plain.items() <= every.items()
    assert float(every["latency_p99.update"]) > float(every["latency_p50.update"]) > 0
    assert float(every["db.Threads_running"]) > 0


def test_a_cell_is_its_typical_repetition_with_its_interval(
    folder: Path, bundle: Bundle, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = rows_of(capsys, str(folder), "--table", "cells", "--metric", "rate")
    assert [row["cell"] for row in rows] == [cell.id for cell in bundle.plan.cells]
    rates = [run.rate_ops_per_s for run in bundle.runs if run.cell == rows[0]["cell"]]
    assert (float(rows[0]["rate_minimum"]), float(rows[0]["rate_maximum"])) == (min(rates), max(rates))
    assert min(rates) < float(rows[0]["rate"]) < max(rates)
    assert float(rows[0]["rate_low"]) < float(rows[0]["rate"]) < float(rows[0]["rate_high"])
    assert (rows[0]["repetitions_valid"], rows[0]["repetitions_planned"]) == ("5", "5")
    assert 0 < float(rows[0]["rate_cv"]) < 0.1


def test_seconds_are_those_of_all_runs_and_of_them_the_columns_asked_for(
    folder: Path, bundle: Bundle, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = rows_of(capsys, str(folder), "--table", "seconds", "--metric", "p99_ms")
    assert len(rows) == len(bundle.runs) * (STORY.warm_up_s + STORY.window_s)
    assert list(rows[0]) == [
        *("run", "cell", "block", "started", "system", "workload", "valid", "standing"),
        *("second", "length_s", "warm_up", "p99_ms"),
    ]
    assert {row["warm_up"] for row in rows if int(row["second"]) < STORY.warm_up_s} == {"true"}
    looks = rows_of(capsys, str(folder), "--table", "samples", "--metric", "db.Threads_running")
    assert {row["run"] for row in looks} >= {run.id for run in bundle.runs if run.server.cpu_s is not None}


def test_the_long_form_has_a_row_for_each_value_that_there_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [str(folder), "--metric", "rate", "--metric", "server_cpu_us_per_op"]
    wide, long = rows_of(capsys, *asked), rows_of(capsys, *asked, "--long")
    assert list(long[0])[-3:] == ["metric", "value", "unit"]
    there = {(row["run"], name): row[name] for row in wide for name in ("rate", "server_cpu_us_per_op") if row[name]}
    assert {(row["run"], row["metric"]): row["value"] for row in long} == there
    assert {(row["metric"], row["unit"]) for row in long} == {("rate", "ops/s"), ("server_cpu_us_per_op", "µs/op")}


def test_units_are_in_the_head_where_the_name_does_not_end_in_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [str(folder), *(word for name in ("rate", "size_on_disk_bytes", "load_s") for word in ("--metric", name))]
    assert rows_of(capsys, *asked)[0].keys() >= {"rate", "size_on_disk_bytes"}
    head = exported(capsys, *asked, "--units").splitlines()[0]
    assert head.endswith(",rate (ops/s),size_on_disk_bytes,load_s")


@pytest.mark.parametrize(("name", "begin"), [("a.csv", b"run,"), ("a.md", b"| run"), ("a.parquet", b"PAR1")])
def test_the_ending_of_the_file_says_what_is_written(
    folder: Path, tmp_path: Path, name: str, begin: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exported(capsys, str(folder), "-o", str(tmp_path / name)) == ""
    assert (tmp_path / name).read_bytes().startswith(begin)
    assert exported(capsys, str(folder), "-o", str(tmp_path / name), "--force", "--format", "csv") == ""
    assert (tmp_path / name).read_bytes().startswith(b"run,")


def test_parquet_carries_the_units(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exported(capsys, str(folder), "--out", str(tmp_path / "runs.parquet"))
    read = pq.read_table(tmp_path / "runs.parquet")
    assert told_of(read, "latency_p99") == {"unit": "ms", "better": "lower"}
    assert told_of(read, "system") == {}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "runs.xlsx"], "no format is known for a .xlsx file"),
        (["-o", "runs.csv", "--json"], "--json prints to standard output"),
        (["--table", "seconds", "--metric", "p9_ms"], "did you mean `p99_ms`?"),
        (["--table", "samples", "--all-metrics"], "always has all columns"),
    ],
)
def test_what_cannot_be_is_answered_in_a_sentence(
    folder: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(folder), *words]) == ExitCode.USAGE
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", ["=1+1", "+x", "-x", "@SUM(A1)", "\tx"])
def test_no_name_is_a_formula_in_a_spreadsheet(name: str) -> None:
    (head, row) = csv.reader(io.StringIO(as_csv(pa.table({name: [name]}))))
    assert (head, row) == ([f"'{name}"], [f"'{name}"])


def test_numbers_below_zero_stay_numbers() -> None:
    assert as_csv(pa.table({"cache_size": ["-65536"], "change": [-0.5]})) == "cache_size,change\n-65536,-0.5\n"


def test_levels_of_one_factor_may_be_words_and_numbers(bundle: Bundle) -> None:
    levels: list[Any] = ["ON", 1]
    cells = [
        cell.model_copy(update={"levels": {**cell.levels, "settings.x": level}})
        for cell, level in zip(bundle.plan.cells, levels, strict=True)
    ]
    changed = replace(bundle, plan=bundle.plan.model_copy(update={"cells": cells}))
    assert set(runs_table(changed, []).column("settings.x").to_pylist()) == {"ON", "1"}


def test_a_bundle_without_runs_is_said_to_have_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = write_bundle(tmp_path / "bundle", replace(STORY, repetitions=0))
    for table in ("runs", "cells", "seconds", "samples"):
        code = main(["export", str(made.folder), "--table", table])
        assert code == (ExitCode.DONE if table == "cells" else ExitCode.USAGE)


def test_each_client_of_a_run_is_a_row(spread: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of(capsys, str(spread), "--table", "clients")
    assert len(rows) == 6 * 4
    last = rows[5]
    assert (last["client_number"], last["machine"], last["behind"]) == (
        "5",
        "load3",
        "50 % of the throughput of the others",
    )
    runs = {run.id: run for run in Bundle.open(spread).runs}
    assert sum(int(row["ok"]) for row in rows[:6]) == runs[last["run"]].ok
    assert (last["server_round_trip_ms"], last["clock_offset_s"], last["clock_bound_ms"]) == (
        "0.18",
        "108000.0",
        "0.12",
    )
    some = rows_of(capsys, str(spread), "--table", "clients", "--metric", "p99_ms")
    assert "cpu_s" not in some[0]
    assert float(some[0]["p99_ms"]) > 0


def test_clients_of_runs_that_tell_of_none_are_no_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(folder), "--table", "clients"]) == ExitCode.USAGE
    assert "this bundle has no clients" in capsys.readouterr().err
    assert main(["export", str(folder), "--table", "clients", "--metric", "p9_ms"]) == ExitCode.USAGE
    assert "did you mean `p99_ms`?" in capsys.readouterr().err


def test_the_slowest_client_and_the_least_known_clock_are_metrics(spread: Path, folder: Path) -> None:
    slowest, clock = metric("client_rate_min"), metric("clock_bound")
    table = runs_table(Bundle.open(spread), [slowest, clock])
    runs = Bundle.open(spread).runs
    assert table.column("client_rate_min").to_pylist() == [run.clients[5].rate_ops_per_s for run in runs]
    assert table.column("clock_bound").to_pylist() == [0.12] * 4
    single = runs_table(Bundle.open(folder), [slowest, clock])
    assert single.column("client_rate_min").null_count == single.column("clock_bound").null_count == len(single)
