"""Figures of each stage, from the seconds of all clients."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.analysis.histograms import Histogram, to_document
from bakeoff.model.boundary import Interval, IntervalSeries, OutcomeName, QueryCounts, Stage
from bakeoff.model.records.run import StageRecord
from bakeoff.schedule.seconds import merge_second
from bakeoff.schedule.stages import StageSums

STEPS = [Stage(for_s=3, from_ops_per_s=100, to_ops_per_s=100), Stage(for_s=3, from_ops_per_s=400, to_ops_per_s=400)]


def second(number: int, due: int, ok: int, time_ns: int = 1_000, length_s: float = 1.0, **failed: int) -> Interval:
    outcomes: dict[OutcomeName, int] = {"ok": ok, **failed}  # type: ignore[typeddict-item]
    of = to_document(Histogram.from_values([time_ns] * ok)) if ok else None
    series = [
        IntervalSeries(
            operation=operation,
            part=part,
            outcome=outcome,
            response=to_document(Histogram.from_values([time_ns] * count)),
        )
        for outcome, count in outcomes.items()
        for operation, part in (("READ", False), ("FETCH", True))
        if count
    ]
    return Interval(
        second=number,
        length_s=length_s,
        warm_up=number == 0,
        due=due,
        service=of,
        series=series,
        queries=QueryCounts(),
        retries=0,
        retries_after_conflict=0,
        reconnects=0,
    )


def stages_of(*clients: Sequence[Interval], users: int = 10, warm_up_s: float = 1.0) -> list[StageRecord]:
    sums = StageSums(STEPS, len(clients), users, warm_up_s)
    for group in zip(*clients, strict=True):
        sums.add(group)
    return sums.records()


def test_a_stage_has_the_seconds_within_it_and_the_rates_of_all_clients() -> None:
    of_one = [
        second(0, 100, 100),
        *(second(at, 100, 100) for at in (1, 2, 3)),
        *(second(at, 400, 400) for at in (4, 5, 6)),
    ]
    first, then = stages_of(of_one, of_one)
    assert (first.from_ops_per_s, first.length_s, first.due, first.ok) == (200, 3, 600, 600)
    assert (then.from_ops_per_s, then.length_s, then.due, then.ok) == (800, 3, 2400, 2400)
    assert (then.response.count, then.service.count) == (2400, 2400)
    assert not first.overloaded
    assert not then.overloaded


def test_operations_of_all_kinds_count() -> None:
    def both(at: int) -> Interval:
        read, update = second(at, 100, 60), second(at, 100, 40)
        update.series[0].operation = "UPDATE"
        return read.model_copy(update={"series": [*read.series, *update.series]})

    first, _ = stages_of([both(at) for at in range(7)])
    assert (first.due, first.ok, first.response.count) == (300, 300, 300)


def test_seconds_across_a_boundary_belong_to_neither_stage() -> None:
    first, then = stages_of([second(at, 50, 50) for at in range(7)], warm_up_s=0.5)
    assert (first.length_s, first.due) == (2, 100)  # 1 to 3 of 0.5 to 3.5
    assert (then.length_s, then.due) == (2, 100)


def test_a_stage_whose_queue_grows_did_not_keep_its_rate_and_the_next_one_that_answers_it_did() -> None:
    over = [
        second(0, 100, 100),
        *(second(at, 400, 300) for at in (1, 2, 3)),
        *(second(at, 100, 200) for at in (4, 5, 6)),
    ]
    first, then = stages_of(over)
    assert (first.overloaded, first.backlog_before, first.backlog) == (True, 0, 290)  # 10 are in flight
    assert (then.overloaded, then.backlog_before, then.backlog) == (False, 290, 0)


def test_what_is_in_flight_is_no_queue() -> None:
    slow = [
        second(0, 0, 0),
        second(1, 100, 92),
        *(second(at, 100, 100) for at in (2, 3)),
        *(second(at, 0, 0) for at in (4, 5, 6)),
    ]
    first, _ = stages_of(slow)
    assert (first.overloaded, first.backlog) == (False, 0)


def test_failures_count_as_ended_and_as_no_time() -> None:
    failing = [second(0, 0, 0), *(second(at, 100, 60, fail_other=30, unknown=10) for at in range(1, 4))]
    first, then = stages_of([*failing, *(second(at, 0, 0) for at in (4, 5, 6))])
    assert (first.ok, first.failures, first.unknown, first.overloaded) == (180, 90, 30, False)
    assert (first.response.count, first.service.count) == (210, 180)
    assert (then.due, then.length_s, then.response.count) == (0, 3, 0)


def test_a_run_that_ends_early_has_stages_without_seconds() -> None:
    _, then = stages_of([second(at, 100, 100) for at in range(4)])
    assert (then.length_s, then.due, then.overloaded) == (0, 0, False)


def test_seconds_have_what_fell_due_where_the_rate_changes_and_else_no_such_column() -> None:
    assert merge_second([second(3, 7, 5), second(3, 8, 5)]).row["due"] == 15
    assert "due" not in merge_second([second(3, 7, 5).model_copy(update={"due": None})]).row
