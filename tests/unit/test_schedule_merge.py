"""Clients of one run put together: counts add up, percentiles come from the merged histogram alone."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
from bakeoff.analysis.histograms import Histogram, to_document
from bakeoff.analysis.metric import Observed
from bakeoff.analysis.percentiles import (
    decode,
    merge_documents,
    operation_distribution,
    operation_summaries,
    percentiles,
)
from bakeoff.analysis.registry import metric
from bakeoff.model.boundary import (
    ClientCost,
    ClientSpec,
    HistogramDoc,
    NodeResult,
    OperationTimes,
    QueryCounts,
    RunResult,
    Series,
)
from bakeoff.model.records.run import RunRecord
from bakeoff.schedule.merge import merge_results
from hypothesis import given
from hypothesis import strategies as st

TIMES_NS = st.lists(st.integers(1, 3_600_000_000_000), min_size=1, max_size=200)


def document(values_ns: list[int]) -> HistogramDoc:
    return to_document(Histogram.from_values(values_ns)) if values_ns else HistogramDoc.empty()


def series(values_ns: list[int], outcome: str = "ok", **other: Any) -> Series:
    times = document(values_ns)
    fields = {"operation": "READ", "part_of": None, "count": len(values_ns)} | other
    return Series(outcome=outcome, response=times, service=times, **fields)  # type: ignore[arg-type]


def result(*parts: Series, client: int = 0, nodes: Sequence[NodeResult] = (), **other: Any) -> RunResult:
    fields: dict[str, Any] = {
        "unfinished": document([]),
        "backlog": document([]),
        "revoked": 0,
        "due": 0,
        "ok_from_warm_up": 0,
        "user_bytes_written": 20,
        "evidence": {"inserted": 2},
        "queries": QueryCounts(read=10, write=4, other=2),
        **other,
    }
    return RunResult(
        format=1, phase="run", client=ClientSpec(index=client, count=2), seed=1, rows=0, elapsed_s=0.0,
        window_start_s=1.0, window_end_s=11.0, epoch_unix_ns=0, interrupted=False, series=list(parts),
        completed=0, lateness=document([]), pool_wait=document([]), retries=0, retries_after_conflict=0, reconnects=0,
        connections_lost=0,
        error_ratio=0.0, error_budget_exceeded=False, errors=[], stream_hashes=[], nodes=list(nodes),
        cost=ClientCost(
            cpu_user_s=0, cpu_system_s=0, memory_peak_bytes=0, context_switches_voluntary=0,
            context_switches_involuntary=0, workers=[], steal_ratio=0, cpu_mhz=None,
        ),
        latency_probe=None, checks=[], **fields,
    )  # fmt: skip


@given(TIMES_NS, TIMES_NS)
def test_merging_encoded_histograms_is_the_histogram_of_all_values(a: list[int], b: list[int]) -> None:
    merged = merge_documents([document(a), document(b)])
    whole = document(a + b)
    assert merged.model_dump(exclude={"mean_ns"}) == whole.model_dump(exclude={"mean_ns"})
    assert decode(merged).count == len(a) + len(b)


def test_encoded_histograms_are_read_by_the_fields_own_library() -> None:
    from hdrh.histogram import HdrHistogram

    values = [1, 2, 2, 900, 12_345, 70_000_000, 3_600_000_000_000]
    foreign = HdrHistogram.decode(document(values).hdr)
    assert foreign.get_total_count() == len(values)
    assert foreign.get_value_at_percentile(100) == pytest.approx(3_600_000_000_000, rel=1e-3)


def test_the_rate_counts_only_what_was_acknowledged_and_right() -> None:
    merged = merge_results(
        [result(series([1000] * 70), series([1000] * 20, "wrong")), result(series([1000] * 30), client=1)],
    )
    assert merged.rate_ops_per_s == 10.0  # 100 in 10 s
    assert merged.errors == {"wrong": 20}
    assert merged.user_bytes_written == 40


@pytest.mark.parametrize(
    ("ok", "ok_from_warm_up", "due", "rate_ops_per_s"),
    [
        (80, 20, 100, 10.0),  # keeps up: as much was on its way at one edge as at the other
        (35, 163, 1000, 19.8),  # overloaded: most of what it did was for the queue
        (0, 100, 1000, 10.0),
        (100, 50, 100, 10.0),  # made up for a stall of the warm-up
        (100, 0, 0, 10.0),  # closed loop
    ],
)
def test_the_rate_of_an_open_loop_is_what_ended_but_never_more_than_fell_due(
    ok: int, ok_from_warm_up: int, due: int, rate_ops_per_s: float
) -> None:
    merged = merge_results([result(series([1000] * ok), ok_from_warm_up=ok_from_warm_up, due=due)])
    assert merged.rate_ops_per_s == rate_ops_per_s
    assert merged.ok == ok


def test_parts_of_an_operation_do_not_count_as_operations() -> None:
    merged = merge_results([result(series([1000] * 10), series([500] * 10, operation="RMW-READ", part_of="READ"))])
    assert merged.ok == 10


def test_errors_are_a_share_of_what_ended() -> None:
    mixed = [result(series([1000] * 6), series([1000] * 2, "wrong"))]
    assert merge_results(mixed).error_ratio == 0.25
    revoked = [result(series([1000] * 8), revoked=2)]
    assert merge_results(revoked).error_ratio == 0.25
    assert merge_results([result(series([]))]).error_ratio == 1.0


def test_what_did_not_commit_is_taken_back() -> None:
    merged = merge_results([result(series([1000] * 10), revoked=4)])
    assert merged.ok == 6
    assert merged.errors == {"revoked": 4}


def test_statements_are_those_of_the_operations_that_count() -> None:
    results = [result(series([1000] * 10)), result(series([1000] * 10), client=1)]
    assert merge_results(results).queries == QueryCounts(read=20, write=8, other=4)


def test_a_short_timeout_is_not_rewarded() -> None:
    """Unknown operations are in the headline with the time they waited; failures rank above everything."""
    good, timed_out = [1_000_000] * 900, [5_000_000_000] * 100
    merged = merge_results([result(series(good), series(timed_out, "unknown"))])
    assert percentiles(merged.distribution).p99_ms == pytest.approx(5000, rel=1e-3)
    merged = merge_results([result(series(good), series([1000] * 100, "fail_other"))])
    stated = percentiles(merged.distribution)
    assert stated.p50_ms == pytest.approx(1, rel=1e-3)
    assert stated.p95_ms is None
    assert "not defined" in stated.words["p95_ms"]


def test_an_overloaded_run_leads_with_no_percentile() -> None:
    merged = merge_results([result(series([1000] * 5000))])
    stated = percentiles(merged.distribution, overloaded=True)
    assert stated.p50_ms is None
    assert "overloaded" in stated.words["p50_ms"]


def test_nodes_of_all_clients_are_one_and_a_single_node_is_none() -> None:
    def node(name: str, operations: int, *times_ns: int) -> NodeResult:
        ok = len(times_ns)
        return NodeResult(
            name=name,
            role="replica",
            operations=operations,
            outcomes={"ok": ok, "unknown": operations - ok},
            response=document(list(times_ns)),
            reconnects=operations - ok,
        )

    here = [node("a", 3, 1_000_000, 1_000_000), node("b", 1)]
    there = [node("a", 2, 1_000_000), node("b", 5, 2_000_000)]
    merged = merge_results([result(series([1000]), nodes=here), result(series([1000]), client=1, nodes=there)])
    assert [(n.name, n.operations, n.response.count) for n in merged.nodes] == [("a", 5, 3), ("b", 6, 1)]
    assert [(n.outcomes, n.reconnects) for n in merged.nodes] == [
        ({"ok": 3, "unknown": 2}, 2),
        ({"ok": 1, "unknown": 5}, 5),
    ]
    assert merge_results([result(series([1000]), nodes=here[:1])]).nodes == []


def test_what_users_still_waited_for_is_in_the_percentiles_of_their_operation() -> None:
    """The server froze in the last quarter of a second: what was under way is known by operation, and what had not
    begun is shared out as the operations that did."""

    def times(age_ns: int, count: int) -> HistogramDoc:
        return document([age_ns] * count)

    reads, scans = times(1_000_000, 9_000), times(1_000_000, 3_000)
    ended = [
        Series(operation=name, part_of=part, outcome="ok", count=doc.count, response=doc, service=doc)
        for name, part, doc in (("read", None, reads), ("scan", None, scans), ("commit", "scan", scans))
    ]

    def run(stalled: bool) -> RunRecord:
        unfinished = [OperationTimes(operation="read", times=times(250_000_000, 100))] if stalled else []
        return RunRecord(
            id="b01-a",
            block=1,
            cell="a",
            order=0,
            started="",
            state="done",
            seed=1,
            window_s=30.0,
            series=ended,
            unfinished_by_operation=unfinished,
            backlog_ages=times(200_000_000, 2_000) if stalled else HistogramDoc.empty(),
        )

    stalled = Observed(run(stalled=True))
    assert metric("latency_p99.read").of(Observed(run(stalled=False))) == pytest.approx(1.0, rel=0.01)
    assert metric("latency_p99.read").of(stalled) == pytest.approx(200, rel=0.01)
    assert metric("latency_max.read").of(stalled) == pytest.approx(250, rel=0.01)
    assert metric("latency_p99.scan").of(stalled) == pytest.approx(200, rel=0.01)
    assert metric("latency_p99.commit").of(stalled) == pytest.approx(1.0, rel=0.01)
    found = operation_distribution([stalled.run], "read")
    assert found is not None
    assert found.count == 9_000 + 100 + math.ceil(2_000 * 9_100 / 12_100)
    summaries = {one.operation: one for one in operation_summaries([stalled.run])}
    assert summaries["read"].response.p99_ms == pytest.approx(200, rel=0.01)
