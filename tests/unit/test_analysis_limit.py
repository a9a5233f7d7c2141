"""Limits as people write them, and how a run stands to one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bakeoff.analysis.histograms import Histogram, to_document
from bakeoff.analysis.limit import LimitError, parse
from bakeoff.analysis.metric import Observed
from bakeoff.analysis.registry import UnknownMetric
from bakeoff.model.records.run import RunRecord, Validity
from bakeoff.model.resolve import Rate


def run(milliseconds: float = 1.0, operations: int = 10_000, **changes: object) -> Observed:
    """Of a second in which every operation took the same time."""
    times = Histogram.from_values(np.full(operations, milliseconds * 1e6, dtype=np.int64))
    record = RunRecord(
        id="b01-a", block=1, cell="a", order=0, started="", state="done", seed=1, window_s=1.0, ok=operations,
        completed=operations, rate_ops_per_s=operations, headline=to_document(times),
    )  # fmt: skip
    return Observed(record.model_copy(update=changes))


@pytest.mark.parametrize(
    ("text", "bound", "written"),
    [
        ("latency_p99 < 2ms", 2.0, "latency_p99 < 2ms"),
        (" latency_p99.read<=500us ", 0.5, "latency_p99.read <= 500us"),
        ("latency_p999 < 0.25 s", 250.0, "latency_p999 < 0.25 s"),
        ("error_ratio < 0.1%", 0.001, "error_ratio < 0.1%"),
        ("error_ratio < 0.001", 0.001, "error_ratio < 0.001"),
        ("rate > 5000/s", 5000.0, "rate > 5000/s"),
        ("rate >= 5k/s", 5000.0, "rate >= 5k/s"),
        ("rate > 300_000/min", 5000.0, "rate > 300_000/min"),
        ("size_on_disk_bytes < 2GiB", 2.0 * 2**30, "size_on_disk_bytes < 2GiB"),
        ("size_on_disk_bytes < 64MB", 2.0**26, "size_on_disk_bytes < 64MB"),
        ("size_on_disk_bytes < 64M", 2.0**26, "size_on_disk_bytes < 64M"),
        ("db.Threads_running < 20", 20.0, "db.Threads_running < 20"),
        ("cpu_us_per_op < 50us", 50.0, "cpu_us_per_op < 50us"),
        ("load_s < 2m", 120.0, "load_s < 2m"),
        ("orders < 2k/min", 2000.0, "orders < 2k/min"),
    ],
)
def test_a_limit_is_read_into_the_unit_of_its_metric(text: str, bound: float, written: str) -> None:
    rates = [Rate(name="orders", label="orders", about="Orders.", per="minute", operations=["order"])]
    found = parse(text, rates)
    assert found.bound == pytest.approx(bound)
    assert str(found) == written


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("latency_p99 < 2", "2 has no unit, and latency_p99 is a time", '"2ms"'),
        ("latency_p99 < 2%", '"%" is not a unit of latency_p99', '"2ms"'),
        ("rate > 5 ms", '"ms" is not a unit of rate', '"5000/s"'),
        ("latency_p99 < soon", '"soon" is not a value of latency_p99', '"2ms"'),
        ("latency_p99 < -2ms", '"-2ms" is not a value of latency_p99', '"2ms"'),
        ("latency_p99 2ms", '"latency_p99 2ms" is not a limit', "latency_p99 < 2ms"),
        ("", '"" is not a limit', "latency_p99 < 2ms"),
    ],
)
def test_what_is_no_limit_is_refused_with_how_it_is_written(text: str, what: str, hint: str) -> None:
    with pytest.raises(LimitError) as caught:
        parse(text)
    assert str(caught.value) == what
    assert hint in caught.value.hint


def test_a_metric_that_is_none_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownMetric) as caught:
        parse("latency_99 < 2ms")
    assert "latency_p99" in caught.value.hint


def test_a_run_is_compared_with_the_limit_and_the_distance_is_a_log_ratio() -> None:
    ceiling, floor = parse("latency_p99 < 2ms"), parse("rate > 5000/s")
    assert ceiling.status(run(1.0)) == "met"
    assert ceiling.excess(run(1.0)) == pytest.approx(-math.log(2), abs=0.002)
    assert ceiling.status(run(4.0)) == "not met"
    assert ceiling.excess(run(4.0)) == pytest.approx(math.log(2), abs=0.002)
    assert floor.status(run(operations=10_000)) == "met"
    assert floor.excess(run(operations=10_000)) == pytest.approx(-math.log(2))
    assert floor.excess(run(operations=2_500)) == pytest.approx(math.log(2))


def test_a_run_that_does_not_say_the_metric_does_not_meet_the_limit() -> None:
    limit = parse("latency_p99 < 2ms")
    wrong = Validity(name="errors", severity="invalid", ok=False, words="too many")
    for seen, why in (
        (run(due=20_000, backlog=10_000), "overloaded"),
        (run(validity=[wrong]), "not valid"),
        (run(errors={"fail_other": 500}), "too many failed"),
    ):
        assert limit.status(seen) == why
        assert limit.excess(seen) == math.inf


def test_too_few_operations_are_no_evidence_unless_half_of_them_were_beyond_the_limit() -> None:
    limit = parse("latency_p99 < 2ms")
    assert limit.status(run(1.0, operations=100)) == "too few operations"
    assert math.isnan(limit.excess(run(1.0, operations=100)))
    assert limit.status(run(3.0, operations=100)) == "not met"
    assert limit.excess(run(3.0, operations=100)) == math.inf
    assert limit.status(run(1.0, operations=100, errors={"fail_other": 5})) == "too many failed", "failures reach it"


def test_a_lower_bound_below_the_limit_says_nothing_and_one_above_it_does() -> None:
    timed_out = {"errors": {"unknown": 200}}
    assert parse("latency_p99 < 2ms").status(run(1.0, **timed_out)) == "not stated"
    assert parse("latency_p99 < 0.5ms").status(run(1.0, **timed_out)) == "not met"


def test_nothing_at_all_is_within_every_ceiling() -> None:
    assert parse("error_ratio < 0.1%").excess(run()) == -math.inf


def test_a_value_that_would_read_as_the_bound_says_on_which_side_it_is() -> None:
    limit = parse("latency_p99 < 20ms")
    assert limit.value_words(19.99) == "just below 20.0 ms"
    assert limit.value_words(20.004) == "just above 20.0 ms"
    assert limit.value_words(20.0) == "20.0 ms"
    assert limit.value_words(19.4) == "19.4 ms"
