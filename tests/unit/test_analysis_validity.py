"""What may be believed of a run: each finding with its severity and its words."""

import heapq
from typing import Any

import numpy as np
import pytest
from bakeoff.analysis.validity.checks import COULD_BE_CHECKED, findings, overloaded
from bakeoff.analysis.validity.judged_run import JudgedRun
from bakeoff.analysis.validity.steady import judge
from bakeoff.bundle.consistency import bad_number
from bakeoff.model.boundary import Check, LoggedEvents
from bakeoff.model.faults import FaultRecord, PlannedFault
from bakeoff.model.records.run import NodeSilence, Validity

from tests.builders.judged import judged


def check(name: str, ok: bool, expected: str = "", actual: str = "") -> Check:
    return Check(name=name, ok=ok, expected=expected, actual=actual, evidence=[])


GOOD: dict[str, Any] = {
    "error_ratio": 0.0,
    "server_alive": True,
    "checks": [check("row count", True)],
    "swapped_bytes": 0,
    "steal_ratio": 0.0,
    "throttled_s": 0.0,
    "other_cpu_ratio": 0.02,
    "debt_drained": True,
    "due": 50_000,
    "completed": 49_990,
    "counted": 49_990,
    "late_p99_ns": 20_000,
    "p99_ns": 2_000_000,
    "steady": judge(np.random.default_rng(0).normal(1000, 20, 60)),
}


def good(**changes: Any) -> JudgedRun:
    return judged(**GOOD | changes)


def usable(found: list[Validity]) -> bool:
    return not any(f.severity == "invalid" and f.ok is False for f in found)


def finding(run: JudgedRun, name: str) -> Validity:
    return next(f for f in findings(run) if f.name == name)


def test_data_that_nobody_could_look_at_are_no_failed_check() -> None:
    unseen = check(COULD_BE_CHECKED, False, "an answer", "the server had ended")
    words = next(f.words for f in findings(judged(checks=[unseen])) if f.name == "integrity")
    assert words == "the data could not be checked after the run: the server had ended"


def test_a_good_run_has_no_finding_against_it() -> None:
    assert [f for f in findings(good()) if f.ok is not True] == []
    assert usable(findings(good()))


def test_more_done_than_fell_due_is_no_share_below_zero() -> None:
    """What had fallen due in the warm-up is worked off in the window."""
    assert finding(good(completed=60_000, counted=60_000), "offered rate").value == 0


BAD = [
    ("completed", "invalid", "interrupted before its window was over", {"interrupted": True}),
    ("completed", "invalid", "only 1 of 4 clients reported", {"clients_expected": 4}),
    ("server", "invalid", "the server died or froze during the run", {"server_alive": False}),
    (
        "errors",
        "invalid",
        "0.2 % of the operations did not end ok; the budget is 0.1 %",
        {"error_ratio": 0.002},
    ),
    (
        "integrity",
        "invalid",
        "1 of 2 checks of the data failed, first row count: expected 10, found 9",
        {"checks": [check("row count", False, "10", "9"), check("values", True)]},
    ),
    (
        "wrong answers",
        "invalid",
        "1,234 operations were acknowledged with a wrong answer; no budget allows for that",
        {"errors": {"wrong": 1234}},
    ),
    ("operations", "invalid", "no operation that counts ended in the window", {"counted": 0, "error_ratio": 1.0}),
    (
        "operations",
        "invalid",
        "nothing fell due in the window: raise the rate, or make the window longer",
        {"due": 0, "counted": 0, "error_ratio": 1.0},
    ),
    ("connections", "warning", "3 connections were lost", {"connections_lost": 3}),
    ("connections", "warning", "1 connection was lost", {"connections_lost": 1}),
    (
        "wrong answers",
        "invalid",
        "1 operation was acknowledged with a wrong answer; no budget allows for that",
        {"errors": {"wrong": 1}},
    ),
    (
        "offered rate",
        "warning",
        "overloaded: 40,000 operations ended while 50,000 fell due (80.0 %); 7 unfinished, 9,000 not begun when the"
        " window ended; percentiles are not stated",
        {"completed": 40_000, "counted": 40_000, "unfinished": 7, "backlog": 9000},
    ),
    (
        "offered rate",
        "warning",
        "overloaded: 4,000 operations ended while 50,000 fell due (8.00 %); 3,000 of them had fallen due in the warm-up"
        "; 0 unfinished, 50,000 not begun when the window ended; percentiles are not stated",
        {"completed": 4000, "counted": 1000, "backlog": 50_000},
    ),
    (
        "client",
        "warning",
        "the client may have been the limit (worker 0 busy 93 %): the figure shows what this client could send at most",
        {"client_limited": True, "signs": ["worker 0 busy 93 %"]},
    ),
    (
        "lateness",
        "warning",
        "the client began 1 in 100 operations at least 500 µs late (25 % of the p99 response time, which counts from"
        " when they were due)",
        {"late_p99_ns": 500_000},
    ),
    (
        "swapping",
        "warning",
        "410 B/s swapped by other processes (the machine swapped 4 KiB) (from 1 MiB/s on a run is disturbed)",
        {"swapped_bytes": 4096, "window_s": 10.0},
    ),
    (
        "hypervisor",
        "warning",
        "3.0 % of the CPU time was taken by the hypervisor (from 5.0 % on a run is disturbed)",
        {"steal_ratio": 0.03},
    ),
    (
        "other processes",
        "disturbed",
        "30 % of the CPU time went to other processes (from 10 % on a run is disturbed)",
        {"other_cpu_ratio": 0.3},
    ),
    (
        "throttling",
        "warning",
        "the control group's share of the CPU was used up for 1.25 s",
        {"throttled_s": 1.25},
    ),
    (
        "other processes",
        "disturbed",
        "30 % of the CPU time went to other processes, most to cc1, pid 7 (from 10 % on a run is disturbed)",
        {"other_cpu_ratio": 0.3, "other_process": "cc1, pid 7"},
    ),
    (
        "quiet disk",
        "warning",
        "the disk was still busy with earlier writes when the wait for them ended",
        {"disk_was_quiet": False},
    ),
    (
        "watching",
        "warning",
        "server and machine were not watched to the end (ValueError: x): their figures are incomplete",
        {"watching_failure": "ValueError: x"},
    ),
    ("engine", "warning", "the engine warned: began late", {"engine_warnings": ["began late"]}),
    ("engine", "warning", "the engine warned: began late (and 2 more)", {"engine_warnings": ["began late", "b", "c"]}),
    (
        "write-back debt",
        "warning",
        "work was still owed to the disk when waiting for it ended: the bytes written are too low",
        {"debt_drained": False},
    ),
    (
        "unknown outcomes",
        "note",
        "2 operations timed out or lost their connection: perhaps applied, perhaps not",
        {"errors": {"unknown": 2}},
    ),
    ("revoked", "note", "5 operations were taken back: their transaction did not commit", {"revoked": 5}),
    ("range", "note", "1 time was longer than an hour and is recorded as one hour", {"out_of_range": 1}),
]


@pytest.mark.parametrize(("name", "severity", "words", "change"), BAD, ids=lambda x: str(x)[:30])
def test_what_went_wrong_is_found_and_only_that(
    name: str, severity: str, words: str, change: dict[str, object]
) -> None:
    run = good(**change)
    against = [f for f in findings(run) if f.ok is not True]
    assert [(f.name, f.ok, f.severity, f.words) for f in against] == [(name, False, severity, words)]
    assert usable(against) == (severity != "invalid")


def test_errors_exactly_at_the_budget_are_within_it() -> None:
    assert finding(good(error_ratio=0.001), "errors").ok is True
    assert finding(good(error_ratio=0.0011), "errors").ok is False
    assert finding(good(error_budget_ratio=0.0), "errors").words == "no errors"


def test_what_was_not_tested_is_said_and_never_passes_for_a_yes() -> None:
    bare = findings(judged())
    untested = {f.name: f for f in bare if f.ok is None}
    assert set(untested) == {"integrity", "steady state"}
    assert all(f.words.startswith("not tested") for f in untested.values())
    assert usable(bare)
    short = finding(good(steady=judge([1.0] * 10)), "steady state")
    assert (short.ok, short.severity) == (None, "note")


def test_an_unsettled_series_is_a_warning() -> None:
    falling = judge(np.linspace(1000, 500, 90))
    assert (finding(good(steady=falling), "steady state").severity) == "warning"
    assert usable(findings(good(steady=falling)))


def test_overloaded_means_that_more_than_one_percent_of_what_fell_due_joined_a_queue() -> None:
    assert not overloaded(1000, 990, backlog=10)
    assert overloaded(1000, 989, backlog=11)
    assert not overloaded(None, 5, backlog=0), "a closed loop"
    assert not overloaded(0, 0, backlog=0)


def test_operations_in_flight_at_the_end_of_a_short_window_are_no_queue() -> None:
    """32 threads that keep up with 340/s for 2 s."""
    assert not overloaded(677, 664, backlog=0)
    found = finding(good(due=677, completed=664, counted=658, unfinished=19), "offered rate")
    assert found.ok
    assert found.words == (
        "664 operations ended while 677 fell due (98.1 %): 19 were in flight when the window ended, none was waiting"
    )


def test_a_backlog_that_did_not_grow_is_no_overload() -> None:
    assert not overloaded(10_000, 10_000, backlog=500), "as many waited when the window began"
    assert overloaded(10_000, 9_700, backlog=800)


def open_loop(load: float, window: int, seed: int, threads: int = 32) -> tuple[int, int, int]:
    """What fell due in a window, what ended in it, and what had not begun at its end: threads that take operations in
    turn, each for 1 on average, after a warm-up of 20. load: of all threads."""
    rng = np.random.default_rng(seed)
    due_at = np.cumsum(rng.exponential(1 / (load * threads), int(2 * load * threads * (20 + window)) + 100))
    free_at = [0.0] * threads
    begins, ends = [], []
    for at in due_at:
        begin = max(at, heapq.heappop(free_at))
        begins.append(begin)
        ends.append(begin + rng.exponential())
        heapq.heappush(free_at, ends[-1])
    begun, ended, end = np.array(begins), np.array(ends), 20 + window
    due = int(((due_at >= 20) & (due_at < end)).sum())
    return due, int(((ended >= 20) & (ended < end)).sum()), int(((due_at < end) & (begun >= end)).sum())


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_a_simulated_system_that_keeps_up_is_not_overloaded_in_a_short_window(load: float) -> None:
    seen = [open_loop(load, 10, seed) for seed in range(40)]
    assert sum(completed < 0.99 * due for due, completed, _ in seen) > 5, "completed operations alone say so"
    assert sum(overloaded(*one) for one in seen) <= 2


@pytest.mark.parametrize(("load", "window"), [(1.2, 30), (1.5, 30), (1.1, 200), (3.0, 10)])
def test_a_queue_that_grows_is_found_in_every_simulated_run(load: float, window: int) -> None:
    assert all(overloaded(*open_loop(load, window, seed)) for seed in range(20))


def test_more_that_ended_than_fell_due_is_no_figure_that_a_bundle_refuses() -> None:
    """What fell due in the warm-up may end in the window. A negative figure cost the bundle the run."""
    caught_up = finding(good(due=1000, completed=1010), "offered rate")
    assert (caught_up.ok, caught_up.value) == (True, 0.0)
    assert bad_number(caught_up.model_dump(), signed=False) is None


def test_what_a_thread_takes_to_wake_is_no_lateness_however_soon_the_answers_come() -> None:
    assert finding(good(late_p99_ns=60_000, p99_ns=200_000), "lateness").ok
    assert not finding(good(late_p99_ns=110_000, p99_ns=200_000), "lateness").ok


def test_what_an_existing_server_here_uses_is_not_called_somebody_elses() -> None:
    found = finding(good(server_not_distinguished=True, other_cpu_ratio=None), "other processes")
    assert (found.ok, found.severity) == (None, "note")
    assert "seems to run on this machine" in found.words


def test_a_window_too_short_for_the_share_of_others_is_no_quiet_one() -> None:
    found = finding(good(cores=[0, 1], other_cpu_ratio=None), "other processes")
    assert (found.ok, found.severity) == (None, "note")
    assert "window was too short" in found.words
    elsewhere = findings(good(other_cpu_ratio=None))
    assert not [f for f in elsewhere if f.name == "other processes"]


def planned(failure: str = "", **changes: Any) -> JudgedRun:
    faults = [FaultRecord(planned=PlannedFault(at_s=20, node="n3", do="kill"), failure=failure)]
    return good(faults=faults, connections_lost=4, errors={"unknown": 4}, **changes)


def test_what_was_planned_speaks_against_no_run() -> None:
    found = findings(planned())
    assert usable(found)
    assert not [f.name for f in found if f.ok is False and f.severity == "warning"]
    assert finding(planned(), "planned faults").words == "as planned: kill n3 at 20 s"
    assert finding(planned(), "connections").words == "4 connections were lost; faults were planned"
    assert finding(planned(), "errors").words == "no errors outside of the planned faults"


def test_errors_outside_of_planned_faults_still_count() -> None:
    run = planned(error_ratio=0.02)
    assert not usable(findings(run))
    assert "2.0 % of the operations outside of the planned faults did not end ok" in finding(run, "errors").words


def test_a_fault_that_was_not_carried_out_makes_another_run_than_was_planned() -> None:
    run = planned("the run had already ended")
    assert not usable(findings(run))
    words = finding(run, "planned faults").words
    assert "was not carried out as planned: kill n3 at 20 s: the run had already ended" in words


def test_a_node_that_nobody_hurt_and_that_did_not_answer_is_named() -> None:
    run = good(silences=[NodeSilence(node="n2", from_s=4, to_s=9)])
    assert finding(run, "nodes").severity == "warning"
    assert finding(run, "nodes").words.startswith("n2 did not answer from second 4")


def test_operations_that_the_event_log_lacks_are_reported() -> None:
    assert [f for f in findings(good()) if f.name == "event log"] == []
    whole, cut = (finding(good(event_log=[LoggedEvents(rows=3000, lost=lost)]), "event log") for lost in (0, 17))
    assert (whole.ok, whole.words) == (True, "3,000 operations were written to the event log one by one, all of them")
    assert (cut.ok, cut.severity) == (False, "warning")
    assert "and 17 were not: it could not keep up, or the disk was full" in cut.words
    costly = finding(good(event_log=[LoggedEvents(rows=3000, lost=0, cpu_ns=1_263_900)]), "event log")
    assert costly.words.endswith("one by one, all of them; it cost the client 0.42 us of CPU for each")


def test_of_many_runs_the_latest_one_is_quoted_and_not_the_first() -> None:
    """What a summary picks the worst by is kept with each finding."""
    late = [good(late_p99_ns=ns, p99_ns=4 * ns) for ns in (160_000, 2_440_000, 300_000)]
    found = [finding(run, "lateness") for run in late]
    assert [one.value_words for one in found] == ["160 µs", "2.44 ms", "300 µs"]
    assert max(found, key=lambda one: one.value or 0.0).words.startswith(
        "the client began 1 in 100 operations at least 2.44 ms late"
    )
