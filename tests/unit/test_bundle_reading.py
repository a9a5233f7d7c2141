"""A bundle may come from anybody: what it says twice must agree, and nothing in it is believed, followed or endless."""

from __future__ import annotations

import base64
import gc
import gzip
import json
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bakeoff import input_files
from bakeoff.analysis import histograms
from bakeoff.analysis.histograms import Histogram, HistogramError
from bakeoff.bundle import read
from bakeoff.bundle.read import Bundle
from bakeoff.errors import BundleError
from bakeoff.report.html.write import write_report
from builders.bundles import MARIADB, SQLITE, Story, write_bundle
from builders.clients import shared_out

TINY = Story(contenders=(MARIADB, SQLITE), threads=(2,), presets=("a",), repetitions=2, window_s=3, warm_up_s=1)
FIRST = "runs/b01-c01/result.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "bundle", TINY).folder


def changed(folder: Path, change: Callable[[dict[str, Any]], Any], name: str = FIRST) -> Bundle:
    document = json.loads((folder / name).read_text())
    change(document)
    (folder / name).write_text(json.dumps(document))
    return Bundle.open(folder)


def sentences(folder: Path) -> list[str]:
    """What is said against the bundle."""
    try:
        bundle = Bundle.open(folder)
        _ = bundle.runs, bundle.facts, bundle.loads
    except BundleError as error:
        return [str(error)]
    return bundle.damage


def put(*place: str | int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: Any) -> None:
        for part in place[:-1]:
            document = document[part]
        document[place[-1]] = value

    return change


WRONG = {
    "rate_ops_per_s is not a number": put("rate_ops_per_s", value=float("nan")),
    "rate_ops_per_s is -5": put("rate_ops_per_s", value=-5),
    "impossible figure: rate_ops_per_s is impossibly large": put("rate_ops_per_s", value=1e308),
    "rate_ops_per_s is impossibly large": put("rate_ops_per_s", value=10**400),
    "rate_ops_per_s is 7, but": put("rate_ops_per_s", value=7.0),
    "server.cpu_s is impossibly large": put("server", "cpu_s", value=float("inf")),
    "ok is ": lambda d: d.update(ok=d["ok"] + 1000, rate_ops_per_s=(d["ok"] + 1000) / d["window_s"]),
    "client_cpu_us_per_op is 1, but": put("client_cpu_us_per_op", value=1.0),
    "client_cpu_us_per_op is not known, but": put("client_cpu_us_per_op", value=None),
    "server_cpu_us_per_op is 1, but": put("server_cpu_us_per_op", value=1.0),
    "offered_ops_per_s is 9, but computed from its parts it is not known": put("offered_ops_per_s", value=9.0),
    "error_ratio is 0.5": put("error_ratio", value=0.5),
    "headline.hdr: ": put("headline", "hdr", value="XXXX"),
    "headline.count is ": lambda d: d.update(headline=d["series"][0]["response"]),
    "headline.p99_ns is 1, but": put("headline", "p99_ns", value=1),
    "headline.min_ns is 0, but": put("headline", "min_ns", value=0),
    "headline.max_ns is 5000000000": put("headline", "max_ns", value=5_000_000_000),
    "headline.mean_ns is 1, but": put("headline", "mean_ns", value=1.0),
    "headline.out_of_range is 9, but": put("headline", "out_of_range", value=9),
    "series.0.response.count is ": lambda d: d["series"][0].update(response=d["headline"]),
    "response.p95_ms is 0.876031, above p99_ms, 1e-06": put("response", "p99_ms", value=1e-6),
    "response.p50_ms is 500, above p95_ms": put("response", "p50_ms", value=500.0),
    "response.mean_ms is 3, but": put("response", "mean_ms", value=3.0),
    "operations.0: 1 read ended ok, but": put("operations", 0, "ok", value=1),
    "has a window of 1.5 s, and the plan says 3 s": lambda d: d.update(window_s=1.5, rate_ops_per_s=d["ok"] / 1.5),
    "of block 9, and the plan has 2": put("block", value=9),
    "is of run b02-c01": put("id", value="b02-c01"),
    "is of cell c77, which the plan does not have": put("cell", value="c77"),
    "does not know: surprise": put("surprise", value=1),
}


@pytest.mark.parametrize("words", WRONG)
def test_a_figure_that_cannot_be_leaves_its_run_out_and_is_named_with_file_and_field(folder: Path, words: str) -> None:
    bundle = changed(folder, WRONG[words])
    assert "b01-c01" not in [run.id for run in bundle.runs]
    assert len(bundle.runs) == 3
    (said,) = bundle.damage
    assert said.startswith("b01-c01/result.json ")
    assert words in said
    assert "\n" not in said


NAMED = [{"name": name, "role": "primary", "address": f"{name}:1"} for name in "ab"]


def of_two_nodes(folder: Path, *, ours: bool = False) -> dict[str, Any]:
    """The first run's record, with all reads on one node and all updates on another. ours: servers that we start."""
    told = put("cells", 0, "nodes", value=["a", "b"])
    changed(folder, told if ours else put("resolved", "systems", value={"mariadb": {"nodes": NAMED}}), "plan.json")
    document: dict[str, Any] = json.loads((folder / FIRST).read_text())
    document["nodes"] = [
        {"name": name, "role": "primary", "operations": series["count"], "response": dict(series["response"])}
        for name, series in zip("ab", document["series"], strict=True)
    ]
    return document


WRONG_NODES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "nodes: operations is 1000": put("nodes", 0, "operations", value=10**8),
    "nodes: response.count is ": lambda d: d["nodes"][0].update(response=d["headline"]),
    "nodes.0: ": lambda d: (
        d["nodes"][1].update(operations=d["nodes"][1]["operations"] + 9),
        d["nodes"][0].update(operations=d["nodes"][0]["operations"] - 9),
    ),
    "nodes.0: its outcomes count 7 of ": put("nodes", 0, "outcomes", value={"ok": 7}),
    "nodes.1.response.p99_ns is 1, but": put("nodes", 1, "response", "p99_ns", value=1),
    "results of the nodes none, and the plan has a, b": put("nodes", value=[]),
    "results of the nodes a, a, and the plan has a, b": put("nodes", 1, "name", value="a"),
    "results of the nodes a, c, and the plan has a, b": put("nodes", 1, "name", value="c"),
}


@pytest.mark.parametrize("ours", [False, True])
def test_figures_of_nodes_that_agree_are_read(folder: Path, ours: bool) -> None:
    bundle = changed(folder, lambda d: d.update(of_two_nodes(folder, ours=ours)))
    assert [node.name for node in bundle.runs[0].nodes] == ["a", "b"]


@pytest.mark.parametrize("words", WRONG_NODES)
def test_figures_of_nodes_are_checked_against_those_of_their_run(folder: Path, words: str) -> None:
    document = of_two_nodes(folder)
    WRONG_NODES[words](document)
    bundle = changed(folder, lambda d: d.update(document))
    assert "b01-c01" not in [run.id for run in bundle.runs]
    assert any(said.startswith("b01-c01/result.json ") and words in said for said in bundle.damage)


def of_two_clients(folder: Path) -> dict[str, Any]:
    """The first run's record, as that of two clients."""
    run = Bundle.open(folder).runs[0]
    document: dict[str, Any] = json.loads((folder / FIRST).read_text())
    document["clients"] = shared_out(run, ["load1", "load2"]).model_dump(mode="json")["clients"]
    return document


WRONG_CLIENTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "clients: ok is ": put("clients", 0, "ok", value=1),
    "clients: completed is ": put("clients", 0, "completed", value=1),
    "clients: errors is 7 in all, but the run has 0": put("clients", 1, "errors", value={"wrong": 7}),
    "clients: headline.count is ": lambda d: d["clients"][0].update(headline=d["headline"]),
    "clients.1.headline.p99_ns is 1, but": put("clients", 1, "headline", "p99_ns", value=1),
    "clients.0.clock_bound_ns is -1, and cannot be negative": put("clients", 0, "clock_bound_ns", value=-1),
}


def test_figures_of_clients_that_agree_are_read_and_a_clock_may_be_behind(folder: Path) -> None:
    document = of_two_clients(folder)
    document["clients"][0]["clock_offset_ns"] = -5
    bundle = changed(folder, lambda d: d.update(document))
    assert [client.words for client in bundle.runs[0].clients] == ["client 0 on load1", "client 1 on load2"]


@pytest.mark.parametrize("words", WRONG_CLIENTS)
def test_figures_of_clients_are_checked_against_those_of_their_run(folder: Path, words: str) -> None:
    document = of_two_clients(folder)
    WRONG_CLIENTS[words](document)
    bundle = changed(folder, lambda d: d.update(document))
    assert "b01-c01" not in [run.id for run in bundle.runs]
    assert any(said.startswith("b01-c01/result.json ") and words in said for said in bundle.damage)


def test_whatever_was_really_written_is_read(folder: Path) -> None:
    bundle = Bundle.open(folder)
    assert len(bundle.runs) == 4
    assert bundle.damage == []


def test_a_report_decodes_each_histogram_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many runs this is what takes longest."""
    decoded: list[bytes] = []
    buckets = histograms._buckets

    def noted(data: Any) -> Any:
        decoded.append(data.tobytes())
        return buckets(data)

    monkeypatch.setattr(histograms, "_buckets", noted)
    monkeypatch.setattr(histograms, "_kept", {})
    histograms._decode.cache_clear()
    bundle = Bundle.open(folder)
    write_report(bundle)
    assert len(bundle.runs) == 4
    assert len(decoded) == len(set(decoded)) == sum(1 + len(run.series) for run in bundle.runs)


def test_reading_leaves_the_garbage_collector_as_it_was(folder: Path) -> None:
    for before, switch in ((False, gc.disable), (True, gc.enable)):
        switch()
        assert len(Bundle.open(folder).runs) == 4
        assert gc.isenabled() == before


def test_a_file_that_states_no_size_is_read_to_its_end() -> None:
    assert b"VmRSS" in input_files.read_bytes("/proc/self/status", 1 << 20)
    with pytest.raises(OSError, match="larger than 10 B"):
        input_files.read_bytes("/proc/self/status", 10)


def test_facts_that_are_missing_are_named(folder: Path) -> None:
    (folder / "facts/c02.json").unlink()
    (said,) = sentences(folder)
    assert said.startswith("facts/c02.json is missing")


def test_a_rate_may_be_rounded_to_the_next_operation(folder: Path) -> None:
    def round_down(document: dict[str, Any]) -> None:
        document["rate_ops_per_s"] = (document["ok"] - 0.4) / document["window_s"]

    assert changed(folder, round_down).runs[0].id == "b01-c01"


def test_two_results_of_one_cell_and_block_are_one(folder: Path) -> None:
    (folder / "runs/b01-c01").rename(folder / "runs/aside")
    bundle = changed(folder, put("id", value="aside"), "runs/aside/result.json")
    assert [run.id for run in bundle.runs if run.cell == "c01"] == ["aside", "b02-c01"]
    both = changed(folder, put("block", value=1), "runs/b02-c01/result.json")
    assert [run.id for run in both.runs if run.cell == "c01"] == ["aside"]
    assert both.damage == ["b02-c01/result.json is of the same cell and block as aside"]


def test_an_unknown_key_says_that_a_newer_version_may_have_written_it(folder: Path) -> None:
    with pytest.raises(BundleError, match="does not know: colour") as caught:
        changed(folder, put("colour", value="red"), "plan.json")
    assert "newer" in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"a":' * 200_000,
        '{"window_s": ' + "9" * 5_001 + "}",
        '{"window_s": 1e999}',
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
        "null",
        "",
    ],
    ids=["brackets", "braces", "digits", "exponent", "surrogate", "null", "nothing"],
)
@pytest.mark.parametrize("name", ["bundle.json", "plan.json", "machine.json", "facts/c01.json", FIRST])
def test_what_is_not_a_document_is_one_sentence(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="latin-1")
    (said,) = sentences(folder)
    assert said.startswith(name.removeprefix("runs/")) or name.removeprefix("runs/") in said
    assert "\n" not in said


def test_histograms_of_seconds_that_are_cut_short_are_noticed(folder: Path) -> None:
    packed = folder / "runs/b01-c01/histograms.json.gz"
    packed.write_bytes(packed.read_bytes()[:-4])
    bundle = Bundle.open(folder)
    assert len(bundle.runs) == 4
    assert bundle.damage[0].startswith("b01-c01/histograms.json.gz cannot be read")


def test_a_gzip_bomb_is_unpacked_to_the_limit_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "UNPACKED_MAX_BYTES", 3 << 20)
    (folder / "runs/b01-c01/histograms.json.gz").write_bytes(gzip.compress(bytes(64 << 20)))
    bundle = Bundle.open(folder)
    assert len(bundle.runs) == 4
    assert "b01-c01/histograms.json.gz" in bundle.damage[0]


def test_a_histogram_that_unpacks_without_end_is_refused() -> None:
    packed = zlib.compress(bytes(64 << 20))
    bomb = base64.b64encode(struct.pack(">II", 0x1C849314, len(packed)) + packed).decode()
    with pytest.raises(HistogramError, match="larger than any can be"):
        Histogram.from_hdr(bomb)


@pytest.mark.parametrize("column", [["x"], [float("nan")], [float("inf")], [[1]], [{"a": 1}]])
def test_a_table_of_other_things_than_numbers_is_left_out(folder: Path, column: list[Any]) -> None:
    pq.write_table(pa.table({"second": column, "ok": column}), folder / "runs/b01-c01/intervals.parquet")
    bundle = Bundle.open(folder)
    assert bundle.intervals("b01-c01") is None
    assert bundle.intervals("b01-c01") is None
    assert len(bundle.damage) == 1
    assert "b01-c01/intervals.parquet" in bundle.damage[0]


def test_a_table_of_impossibly_many_rows_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "TABLE_CELLS_MAX", 10)
    bundle = Bundle.open(folder)
    assert bundle.intervals("b01-c01") is None
    assert "b01-c01/intervals.parquet" in bundle.damage[0]


@pytest.mark.parametrize("name", ["plan.json", "machine.json", "facts/c01.json", FIRST])
@pytest.mark.parametrize("what", ["link", "pipe", "device", "large"])
def test_what_is_no_file_of_the_bundle_is_not_read(
    folder: Path, tmp_path: Path, name: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = folder / name
    if what == "large":
        monkeypatch.setattr(read, "DOCUMENT_MAX_BYTES", 10_000)
        victim.write_text(victim.read_text() + " " * 10_000)
    elif what == "link":
        victim.rename(tmp_path / "outside")
        victim.symlink_to(tmp_path / "outside")
    elif what == "pipe":
        victim.unlink()
        os.mkfifo(victim)
    else:
        victim.unlink()
        victim.symlink_to("/dev/zero")
    assert any(name.removeprefix("runs/") in said for said in sentences(folder))


def test_a_result_that_is_a_link_is_said_to_be_one(folder: Path, tmp_path: Path) -> None:
    (folder / FIRST).rename(tmp_path / "outside")
    (folder / FIRST).symlink_to(tmp_path / "outside")
    assert sentences(folder) == ["b01-c01/result.json is a link, and bakeoff follows no links in bundles"]


@pytest.mark.parametrize("name", ["facts", "runs", "runs/b01-c01"])
def test_a_folder_that_is_a_link_is_not_read(folder: Path, tmp_path: Path, name: str) -> None:
    (folder / name).rename(tmp_path / "outside")
    (folder / name).symlink_to(tmp_path / "outside")
    assert sentences(folder)


@pytest.mark.parametrize(("found", "hint"), [(1, "rerun its plan.toml"), (99, "install a newer bakeoff")])
def test_a_bundle_of_another_format_is_refused_kindly(folder: Path, found: int, hint: str) -> None:
    """Also one that has keys of its own."""
    with pytest.raises(BundleError, match=f"has format {found}") as caught:
        changed(folder, lambda document: document.update(format=found, something=1), "bundle.json")
    assert hint in caught.value.hint
