"""What planned faults did, in the report: a row for each, a sentence, metrics, and who is compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.analysis.histograms import Histogram
from bakeoff.analysis.metric import Observed
from bakeoff.analysis.registry import metric
from bakeoff.findings.faults import unknown_may_have_written
from bakeoff.model.faults import FaultEffect, FaultRecord, PlannedFault
from bakeoff.model.records.run import RunRecord, Validity
from bakeoff.report.answer import Answer, answer_of
from bakeoff.report.text.terminal import render_text
from builders.bundles import MARIADB, SQLITE, Contender, Story, write_bundle

KILL = PlannedFault(at_s=20, node="server", do="kill", for_s=5)
FREEZE = PlannedFault(at_s=40, node="server", do="freeze", for_s=2)
OTHER = Contender("other", rate_1=3_000.0, rate_max=20_000.0)


def effect(gap_s: float = 5.4, full_s: float | None = 6.0, **more: float) -> FaultEffect:
    whole = FaultEffect(
        detect_s=0.024,
        without_success_s=gap_s,
        without_writes_s=gap_s,
        rate_before_ops_per_s=4_000,
        full_rate_s=full_s,
        felt_s=7,
        watched_s=20,
        longest_wait_s=5.6,
        unknown=16,
    )
    return whole.model_copy(update=more)


def killed(run: RunRecord, **more: float | None) -> FaultRecord:
    jitter_s = 0.1 * run.block
    seen = effect(5.4 + jitter_s, 6.0 + jitter_s).model_copy(update=more)
    return FaultRecord(planned=KILL, begun_s=20.0, ended_s=25.0, back_s=25.3, effect=seen)


def frozen(run: RunRecord) -> FaultRecord:
    seen = effect(2.0, 2.0, unknown=0, longest_wait_s=2.0).model_copy(update={"detect_s": None})
    return FaultRecord(planned=FREEZE, begun_s=40.0, ended_s=42.0, back_s=42.0, effect=seen)


def answer(
    folder: Path,
    done: Callable[[RunRecord], list[FaultRecord]],
    *contenders: Contender,
    faults: dict[str, Sequence[PlannedFault]] | None = None,
) -> Answer:
    told = Story(
        contenders=contenders or (MARIADB,),
        threads=(4,),
        presets=("a",),
        change=lambda run: run.model_copy(update={"faults": done(run)}),
        faults={"mariadb": [KILL, FREEZE]} if faults is None else faults,
    )
    return answer_of(write_bundle(folder / "bundle", told))


def test_each_fault_has_a_row_and_a_sentence(tmp_path: Path) -> None:
    found = answer(tmp_path, lambda run: [killed(run), frozen(run)])
    assert [one.fault for one in found.faults] == [KILL.words, FREEZE.words]
    lines = render_text(found).splitlines()
    row = next(line for line in lines if "kill server at 20 s, restart it after 5 s" in line)
    assert "24.0 ms" in row
    assert "5.7 s (5.5 s to 5.9 s)" in row
    assert row.split()[-2:] == ["0", "80"], "over all repetitions"
    assert "by no failure" in next(line for line in lines if "freeze server at 40 s" in line)
    said = [words for words in found.headline if words.startswith("mariadb, ")]
    assert said == [
        "mariadb, kill server: nothing was written for 5.7 s (5.5 s to 5.9 s); throughput recovered after 6.3 s"
        " (6.1 s to 6.5 s); 16 operations failed or are unknown in each run.",
        "mariadb, freeze server: nothing was written for 2 s; throughput recovered after 2 s; a lost update could pass"
        " unseen: no check after the run counts what was acknowledged.",
    ]


def test_a_rate_that_did_not_come_back_is_a_lower_bound(tmp_path: Path) -> None:
    found = answer(tmp_path, lambda run: [killed(run, full_rate_s=None), frozen(run)])
    assert any("throughput did not recover within 20 s" in words for words in found.headline)
    assert "at least 20 s" in render_text(found)
    assert found.faults[0].not_back == 5


def test_faults_of_one_event_have_one_row(tmp_path: Path) -> None:
    also = PlannedFault(at_s=20.5, node="n2", do="freeze", for_s=2)

    def both(run: RunRecord) -> list[FaultRecord]:
        return [killed(run), FaultRecord(planned=also, begun_s=20.5, ended_s=22.5, back_s=22.5), frozen(run)]

    found = answer(tmp_path, both, faults={"mariadb": [KILL, also, FREEZE]})
    assert [one.label for one in found.faults] == ["kill server and freeze n2", "freeze server"]
    assert found.faults[0].fault == f"{KILL.words} and {also.words}"
    assert "rejoin_s" in found.faults[0].figures


def test_of_a_rate_that_cannot_be_judged_nothing_is_said(tmp_path: Path) -> None:
    unknown = dict.fromkeys(("rate_before_ops_per_s", "full_rate_s"))
    found = answer(tmp_path, lambda run: [killed(run, **unknown), frozen(run)])
    (told,) = (words for words in found.headline if words.startswith("mariadb, kill server"))
    assert "throughput" not in told
    assert found.faults[0].not_back == 0
    run = RunRecord(id="r", block=1, cell="c", order=0, started="", state="done", seed=1)
    run.faults = [killed(run, **unknown)]
    full = metric("time_to_full_rate_s")
    assert full.of(Observed(run)) is None
    assert not full.at_least(Observed(run))


def test_what_readers_noticed_is_said_of_reads(tmp_path: Path) -> None:
    both = answer(tmp_path / "both", lambda run: [killed(run, without_reads_s=4.0), frozen(run)])
    assert "nothing was read for 4 s and nothing was written for 5.7 s" in both.headline[0]
    alone = answer(
        tmp_path / "alone", lambda run: [killed(run, without_reads_s=4.0, without_writes_s=None), frozen(run)]
    )
    assert "kill server: nothing was read for 4 s; throughput" in alone.headline[0]
    older = answer(
        tmp_path / "older", lambda run: [killed(run, without_writes_s=None, without_success_s=3.0), frozen(run)]
    )
    assert "kill server: nothing was read for 3.0 s; throughput" in older.headline[0]


def test_a_read_without_an_answer_is_not_perhaps_applied(tmp_path: Path) -> None:
    (run, *_) = write_bundle(tmp_path / "bundle", Story(contenders=(MARIADB,), threads=(4,), presets=("a",))).runs

    def may_have_written(*operations: str) -> bool:
        series = [run.series[0].model_copy(update={"operation": name, "outcome": "unknown"}) for name in operations]
        return unknown_may_have_written([run.model_copy(update={"series": [*run.series, *series]})])

    assert not may_have_written("READ", "SCAN")
    assert may_have_written("READ", "UPDATE")
    assert may_have_written(), "nobody knows what it was"


def test_a_pause_is_no_contradiction_to_a_rate_that_never_fell(tmp_path: Path) -> None:
    found = answer(tmp_path, lambda run: [killed(run, without_writes_s=0.5, full_rate_s=0.0), frozen(run)])
    words = "mariadb, kill server: nothing was written for 0.5 s; otherwise throughput never dropped; 16 operations"
    assert any(told.startswith(words) for told in found.headline)


def fallen(run: RunRecord, at_s: float = 12.0) -> FaultRecord:
    return killed(run, second_drop_s=at_s + run.block, second_drop_for_s=3.0, second_drop_to_ops_per_s=1_000)


def test_a_rate_that_falls_again_is_said(tmp_path: Path) -> None:
    found = answer(tmp_path / "all", lambda run: [fallen(run), frozen(run)])
    words = (
        "; throughput recovered after 6.3 s (6.1 s to 6.5 s); in 5 of 5 runs it dropped again 13 s to 17 s"
        " after the fault,"
    )
    (said,) = (told for told in found.headline if "kill server" in told)
    assert f"{words} to 25 % of the throughput before, for up to 3 s; 16 operations" in said
    some = answer(
        tmp_path / "some",
        lambda run: [fallen(run) if run.block == 2 else killed(run, second_drop_for_s=0.0), frozen(run)],
    )
    assert any("in 1 of 5 runs it dropped again 14 s after the fault" in told for told in some.headline)
    at_once = answer(
        tmp_path / "late", lambda run: [fallen(run).model_copy(update={"effect": at_first(fallen(run))}), frozen(run)]
    )
    assert any("throughput did not drop at once; in 5 of 5 runs it dropped again" in told for told in at_once.headline)


def at_first(fault: FaultRecord) -> FaultEffect:
    assert fault.effect is not None
    return fault.effect.model_copy(update={"full_rate_s": 0.0})


def test_times_of_a_fault_count_from_the_fault(tmp_path: Path) -> None:
    text = render_text(answer(tmp_path, lambda run: [killed(run), frozen(run)]))
    row = next(line for line in text.splitlines() if "kill server at 20 s" in line)
    assert "serves after" in text
    assert "5.30 s (300 ms from its start)" in row


def test_a_closed_loop_does_not_lead_with_a_percentile(tmp_path: Path) -> None:
    closed = answer(tmp_path / "closed", lambda run: [killed(run), frozen(run)])
    first, *others = closed.headline
    assert first.startswith("mariadb, kill server: nothing was written for")
    assert not any("p99" in words for words in closed.headline)
    (waited,) = (words for words in others if "closed loop" in words)
    assert "operations waited longer than 1 s in each run, the longest" in waited
    assert "Set `rate`" in waited
    assert "p99" in answer(tmp_path / "none", lambda run: [], faults={}).headline[0]


def test_what_waited_is_counted_from_the_response_times() -> None:
    assert Histogram.from_values([900_000_000, 1_100_000_000, 5_000_000_000]).count_from(1_000_000_000) == 2
    assert Histogram.empty().count_from(1) == 0


def test_an_open_loop_leads_with_its_figures(tmp_path: Path) -> None:
    told = Story(contenders=(MARIADB,), threads=(4,), presets=("a",), faults={"mariadb": [KILL]})
    found = write_bundle(
        tmp_path / "bundle", replace(told, change=lambda r: r.model_copy(update={"faults": [killed(r)]}))
    )
    found.plan.cells[0].rate_ops_per_s = 4_000
    headline = answer_of(found).headline
    assert "p99" in headline[0]
    assert not any("closed loop" in words for words in headline)


def test_a_server_that_did_not_come_back_leads_and_the_budget_is_of_what_ended_outside_of_the_faults(
    tmp_path: Path,
) -> None:
    away = Validity(name="planned faults", severity="invalid", ok=False, words="n2 did not come back")
    budget = "of the operations outside of the planned faults did not end ok"
    beyond = Validity(name="errors", severity="invalid", ok=False, words=f"0.4 % {budget}; the budget is 0.1 %")

    def conflicts(*found: Validity) -> Callable[[RunRecord], RunRecord]:
        errors = {"unknown": 4, "fail_conflict": 18}
        seen = {"errors": errors, "error_ratio_outside_faults": 0.004, "validity": list(found), "error_samples": []}
        return lambda run: run.model_copy(update={**seen, "faults": [killed(run)]})

    told = Story(contenders=(MARIADB,), threads=(4,), presets=("a",), faults={"mariadb": [KILL]})
    both = answer_of(write_bundle(tmp_path / "both", replace(told, change=conflicts(away, beyond))))
    assert f"mariadb: no valid run: n2 did not come back; 0.4 % {budget}; the budget is 0.1 %." in both.headline
    alone = answer_of(write_bundle(tmp_path / "alone", replace(told, change=conflicts(beyond))))
    assert any(f"0.4 % {budget}, the budget is 0.1 %: raise error_budget" in words for words in alone.headline)


def test_a_fault_of_one_of_two_systems_makes_them_incomparable(tmp_path: Path) -> None:
    both = answer(tmp_path, lambda run: [killed(run), frozen(run)] if run.cell == "c01" else [], MARIADB, OTHER)
    assert "not the same faults were planned for both" in both.comparisons[0].words
    same = {"mariadb": [KILL], "other": [KILL.model_copy(update={"node": "n1"})]}
    alike = answer(tmp_path / "alike", lambda run: [killed(run)], MARIADB, OTHER, faults=same)
    assert alike.comparisons[0].verdict in ("higher", "lower")


def test_a_plan_without_faults_says_nothing_of_them(tmp_path: Path) -> None:
    found = answer(tmp_path, lambda run: [], MARIADB, SQLITE, faults={})
    assert found.faults == []
    assert "fault" not in render_text(found)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("time_to_detect_s", 0.024),
        ("time_without_writes_s", 5.5),
        ("time_to_full_rate_s", 6.1),
        ("time_to_server_recovery_s", 5.3),
        ("rejoin_s", 0.3),
        ("longest_wait_s", 5.6),
        ("fault_errors", 16),
    ],
)
def test_of_several_faults_the_metric_is_the_longest(name: str, value: float) -> None:
    run = RunRecord(id="r", block=1, cell="c", order=0, started="", state="done", seed=1)
    assert metric(name).of(Observed(run)) is None
    run.faults = [killed(run), frozen(run), FaultRecord(planned=KILL, failure="the run had already ended")]
    assert metric(name).of(Observed(run)) == pytest.approx(value)
    assert not metric(name).at_least(Observed(run))


def test_a_metric_of_a_rate_that_did_not_come_back_is_at_least_as_long_as_it_was_watched() -> None:
    run = RunRecord(id="r", block=1, cell="c", order=0, started="", state="done", seed=1)
    run.faults = [killed(run, full_rate_s=None)]
    full = metric("time_to_full_rate_s")
    assert full.of(Observed(run)) == 20
    assert full.at_least(Observed(run))
    assert full.words(20.0) == "20.0 s"


def test_work_that_only_reads_is_reported_by_any_success() -> None:
    run = RunRecord(id="r", block=1, cell="c", order=0, started="", state="done", seed=1)
    run.faults = [killed(run, without_writes_s=None, without_success_s=3.0)]
    assert metric("time_without_writes_s").of(Observed(run)) == 3.0


def test_the_share_that_failed_is_in_the_words_of_each_run(tmp_path: Path) -> None:
    shares = {1: 0.0041, 2: 0.0042, 3: 0.0040, 4: 0.0041, 5: 0.0042}

    def beyond(run: RunRecord) -> RunRecord:
        share = shares[run.block]
        seen = {
            "errors": {"unknown": 4},
            "error_ratio_outside_faults": share,
            "validity": [Validity(name="errors", severity="invalid", ok=False, words=f"{share:.2%} too many")],
        }
        return run.model_copy(update=seen)

    told = Story(contenders=(MARIADB,), threads=(4,), presets=("a",), faults={"mariadb": [KILL]}, change=beyond)
    found = answer_of(write_bundle(tmp_path / "bundle", told))
    (said,) = (words for words in found.headline if "raise error_budget" in words)
    assert "0.4 % to 0.42 % of the operations outside of the planned faults did not end ok" in said
