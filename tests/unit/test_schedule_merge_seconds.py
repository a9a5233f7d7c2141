"""Seconds of all clients of a run put together: one row a second, one a tenth, and what each node did."""

from pathlib import Path
from typing import Any

import pytest
from bakeoff.analysis.histograms import Histogram, to_document
from bakeoff.bundle.write import BundleWriter
from bakeoff.model.boundary import (
    HistogramDoc,
    Interval,
    IntervalNode,
    IntervalSeries,
    OutcomeName,
    QueryCounts,
    Tenths,
)
from bakeoff.schedule.seconds import Seconds, merge_second

from tests.builders.bundles import write_bundle
from tests.builders.seconds import Kept, seconds_of


def document(values_ns: list[int]) -> HistogramDoc:
    return to_document(Histogram.from_values(values_ns)) if values_ns else HistogramDoc.empty()


def second(number: int, times_ns: list[int], **other: Any) -> Interval:
    one = IntervalSeries(operation="READ", part=False, outcome="ok", response=document(times_ns))
    fields: dict[str, Any] = {"length_s": 1.0, **other}
    return Interval(
        second=number,
        warm_up=number == 0,
        series=[one],
        queries=QueryCounts(),
        retries=0,
        retries_after_conflict=0,
        reconnects=0,
        **fields,
    )


def node(name: str, times_ns: list[int], **failed: int) -> IntervalNode:
    outcomes: dict[OutcomeName, int] = {"ok": len(times_ns), **failed}  # type: ignore[typeddict-item]
    return IntervalNode(name=name, outcomes=outcomes, response=document(times_ns), reconnects=1)


def test_seconds_of_all_clients_are_one_row() -> None:
    one, other = [second(0, [10] * 3), second(1, [20] * 4)], [second(0, [1000] * 5), second(1, [30] * 6)]
    seconds, kept = seconds_of(one, other)
    assert [row["ok"] for row in kept.intervals.rows] == [8, 10]
    assert [row.warm_up for row in seconds.rated] == [True, False]
    assert kept.intervals.rows[0]["max_ms"] == pytest.approx(1e-3, rel=1e-3)
    assert [(row["second"], row["seconds"]) for row in kept.histograms.rows] == [(0, 1), (1, 1)]
    assert kept.nodes.rows == []


def test_a_second_that_a_client_did_not_report_is_that_of_the_others() -> None:
    _, kept = seconds_of([second(0, [10]), second(1, [10])], [second(0, [10])])
    assert [row["ok"] for row in kept.intervals.rows] == [2, 1]


def stretches(kept: Kept) -> list[tuple[int, int]]:
    return [(row["second"], row["seconds"]) for row in kept.histograms.rows]


def test_histograms_after_an_hour_are_of_a_minute_each_and_lose_nothing() -> None:
    _, kept = seconds_of([second(at, [at]) for at in range(3595, 3663)])
    assert stretches(kept) == [*((at, 1) for at in range(3595, 3600)), (3600, 60), (3660, 3)]
    merged = Histogram.from_hdr(kept.histograms.rows[5]["hdr"])
    assert (merged.count, merged.min_ns) == (60, 3600)
    assert merged.max_ns == pytest.approx(3659, rel=1e-3)
    assert [row["ok.READ"] for row in kept.intervals.rows] == [1] * 68


def test_minutes_of_which_seconds_are_missing_stay_apart() -> None:
    _, kept = seconds_of([second(at, [at]) for at in range(3655, 3685) if at not in (3659, 3660)])
    assert stretches(kept) == [(3655, 4), (3661, 24)]


def test_a_minute_ends_with_the_warm_up() -> None:
    warm = [second(at, [at]).model_copy(update={"warm_up": True}) for at in range(3600, 3605)]
    _, kept = seconds_of([*warm, *(second(at, [at]) for at in range(3605, 3610))])
    assert stretches(kept) == [(3600, 5), (3605, 5)]


def test_seconds_do_not_wait_for_a_client_that_has_ended() -> None:
    kept = Kept()
    seconds = Seconds(kept, 2, 0.0, faults=False)  # type: ignore[arg-type]
    for client, at in ((0, 0), (1, 0), (0, 1), (1, 1), (1, 2), (1, 3)):
        seconds.add(client, second(at, [10]))
    assert [row["ok"] for row in kept.intervals.rows] == [2, 2]
    seconds.client_ended(0)
    assert [row["ok"] for row in kept.intervals.rows] == [2, 2, 1, 1]
    seconds.add(1, second(4, [10]))
    assert [row["second"] for row in kept.intervals.rows] == [0, 1, 2, 3, 4]


def test_tenths_of_all_clients_are_one_row_as_far_as_their_second_reaches() -> None:
    def tenths(ok: int, writes: int) -> Tenths:
        return Tenths(ok=[ok] * 10, writes=[writes] * 10)

    whole = merge_second([second(7, [10], tenths=tenths(3, 1)), second(7, [10], tenths=tenths(4, 2))])
    assert whole.tenths[:2] == [{"at_s": 7.0, "ok": 7, "writes": 3}, {"at_s": 7.1, "ok": 7, "writes": 3}]
    last = merge_second([second(8, [10], tenths=tenths(1, 0), length_s=0.25)])
    assert [row["at_s"] for row in last.tenths] == [8.0, 8.1, 8.2]


def test_nodes_of_all_clients_are_reported_by_name_in_a_row_a_second() -> None:
    here = [node("n1", [1_000_000] * 2), node("n2", [], unknown=2, fail_refused=1)]
    there = [node("n1", [3_000_000]), node("n2", [], unknown=1)]
    row = merge_second([second(4, [10], nodes=here), second(4, [10], nodes=there)]).nodes
    assert (row["second"], row["n1.ok"], row["n1.errors"], row["n1.reconnects"]) == (4, 3, 0, 2)
    assert row["n1.max_ms"] == pytest.approx(3, rel=1e-3)
    assert (row["n2.ok"], row["n2.errors"], row["n2.unknown"], row["n2.fail_refused"]) == (0, 4, 3, 1)
    assert row["n2.p99_ms"] is None


def test_a_bundle_keeps_tenths_and_nodes_and_one_from_before_has_none(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "made")
    run = bundle.runs[0].id
    assert (bundle.tenths(run), bundle.nodes(run)) == (None, None)
    tenths = Tenths(ok=[2] * 10, writes=[1] * 10)
    made = merge_second([second(0, [10], tenths=tenths, nodes=[node("n1", [10]), node("n2", [])])])
    BundleWriter(bundle.folder).run_tables(run, {"tenths": made.tenths, "nodes": [made.nodes]}, [])
    kept, nodes = bundle.tenths(run), bundle.nodes(run)
    assert kept is not None
    assert nodes is not None
    assert (kept.num_rows, sum(kept["writes"].to_pylist())) == (10, 10)
    assert (nodes["n1.ok"].to_pylist(), nodes["n2.ok"].to_pylist()) == ([1], [0])
    assert bundle.damage == []
