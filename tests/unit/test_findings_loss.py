"""Whether anything acknowledged is gone after a fault: the headline says what the workload's checks can see of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.analysis.histograms import Histogram, to_document
from bakeoff.findings.faults import COUNTED, READING, loss_of
from bakeoff.model.boundary import Check, Series
from bakeoff.model.faults import FaultEffect, FaultRecord, PlannedFault
from bakeoff.model.records.run import RunRecord
from bakeoff.report.answer import answer_of
from builders.bundles import MARIADB, Story, write_bundle

CRATES = Path(__file__).parents[2] / "crates/workloads/src"
COUNT = Check(name="row count", ok=True, expected="21818 to 21820 rows", actual="21819 rows", evidence=[])
SAMPLE = Check(name="sample of rows", ok=True, expected="100 rows present", actual="100 rows right", evidence=[])


def run(*operations: str, checks: tuple[Check, ...] = (COUNT, SAMPLE), number: int = 1) -> RunRecord:
    times = to_document(Histogram.empty())
    series = [
        Series(operation=name, part_of=None, outcome="ok", count=9, service=times, response=times)
        for name in operations
    ]
    return RunRecord(
        id=f"r{number}", block=number, cell="c", order=0, started="", state="done", seed=1, series=series
    ).model_copy(update={"checks": list(checks)})


EXACT = COUNT.model_copy(update={"expected": "21819 rows"})


def keyed(read: int, total: int, doubt: str = "", *, ok: bool = True, evidence: tuple[str, ...] = ()) -> Check:
    expected = f"{read} of {total} acknowledged rows present, read by key"
    actual = f"{read} present, 0 missing, 0 wrong{doubt}" if ok else f"{read - 1} present, 1 missing, 0 wrong"
    return Check(name="acknowledged rows", ok=ok, expected=expected, actual=actual, evidence=list(evidence))


def loss_words(runs: list[RunRecord]) -> str:
    return loss_of(runs)[1]


def test_rows_that_were_read_by_their_keys_are_said_to_be_all_or_a_number() -> None:
    assert loss_words([run("READ", "INSERT", checks=(COUNT, keyed(818, 818)))]) == (
        "every acknowledged INSERT (818) was read by its key after the run, and none is missing"
    )
    assert loss_words([run("INSERT", checks=(COUNT, keyed(50_000, 81_800)))]) == (
        "50,000 of 81,800 acknowledged INSERTs were read by key after the run, and none of these is missing"
    )


def test_what_became_of_inserts_without_an_answer_is_said_by_name() -> None:
    stored = "user17: stored without an acknowledgement"
    doubtful = keyed(818, 818, "; of 2 without an answer 1 present", evidence=(stored,))
    assert loss_words([run("INSERT", checks=(COUNT, doubtful))]).endswith(
        "none is missing; of 2 that got no answer 1 are stored (user17)"
    )


def test_a_row_that_is_missing_is_named_although_the_count_may_be_right() -> None:
    lost = keyed(818, 818, ok=False, evidence=("user9: row missing",))
    assert loss_words([run("INSERT", checks=(COUNT, lost))]) == (
        "acknowledged rows are lost or wrong: 817 present, 1 missing, 0 wrong (user9: row missing)"
    )


def test_where_nobody_knows_what_an_earlier_run_did_a_count_shows_nothing() -> None:
    unbounded = COUNT.model_copy(update={"expected": "at least 21818 rows"})
    assert loss_words([run("INSERT", checks=(unbounded,))]).startswith("acknowledged INSERT could be missing")


def test_a_count_with_a_span_says_how_many_rows_it_can_hide() -> None:
    assert loss_words([run("READ", "INSERT")]) == (
        "up to 1 acknowledged INSERT could be missing in a run: only rows were counted"
        " (21,819 rows, 21,818 to 21,820 expected)"
    )
    assert loss_words([run("READ", "INSERT", checks=(EXACT,))]) == (
        "no acknowledged INSERT is missing by the count of rows (21,819 rows, 21,819 expected)"
    )
    both = loss_words([run("READ", "INSERT"), run("READ", "INSERT", number=2)])
    assert both.endswith("(in the first run 21,819 rows, 21,818 to 21,820 expected)")


def test_a_lost_change_is_not_said_to_be_seen() -> None:
    assert loss_words([run("READ", "UPDATE")]) == (
        "a lost UPDATE could pass unseen: the checks after the run count rows"
    )
    assert loss_words([run("UPDATE", "INSERT", checks=(EXACT,))]) == (
        "no acknowledged INSERT is missing by the count of rows (21,819 rows, 21,819 expected);"
        " a lost UPDATE could pass unseen"
    )
    assert loss_words([run("pay", checks=())]) == (
        "a lost pay could pass unseen: no check after the run counts what was acknowledged"
    )


def test_what_is_missing_is_said() -> None:
    less = COUNT.model_copy(update={"ok": False, "actual": "20000 rows"})
    assert loss_words([run("INSERT"), run("INSERT", checks=(less,), number=2)]) == (
        "the data are not what was acknowledged in 1 of 2 runs: 20,000 rows, 21,818 to 21,820 expected"
    )


def test_reading_loses_nothing() -> None:
    assert loss_words([run("READ", "SCAN")]) == ""


@pytest.mark.parametrize("name", sorted(READING.union(*COUNTED.values())))
def test_operations_are_named_as_workloads_name_them(name: str) -> None:
    assert any(f'"{name}"' in source.read_text() for source in CRATES.rglob("*.rs"))


def test_the_sentence_of_the_last_fault_ends_with_it(tmp_path: Path) -> None:
    planned = [PlannedFault(at_s=at_s, node="server", do="kill", for_s=5) for at_s in (20, 40)]
    done = [FaultRecord(planned=fault, begun_s=fault.at_s, effect=FaultEffect()) for fault in planned]
    story = Story(
        contenders=(MARIADB,),
        threads=(4,),
        presets=("a",),
        faults={"mariadb": planned},
        change=lambda made: made.model_copy(update={"faults": done, "checks": [COUNT]}),
    )
    said = [words for words in answer_of(write_bundle(tmp_path / "bundle", story)).headline if "kill" in words]
    assert [words.endswith("could pass unseen: the checks after the run count rows.") for words in said] == [
        False,
        True,
    ]
