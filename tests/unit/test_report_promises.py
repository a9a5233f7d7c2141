"""A verdict on what each system promises is next to every figure, and no violation is missed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.analysis.registry import metric
from bakeoff.bundle.read import Bundle
from bakeoff.bundle.write import BundleWriter
from bakeoff.cli.commands.run import code_of
from bakeoff.errors import ExitCode
from bakeoff.findings.between_bundles.both_sides import Joined
from bakeoff.findings.between_bundles.comparison import compared
from bakeoff.findings.promises import promise_answers, promises_by_cell
from bakeoff.model.boundary import StalenessProbe
from bakeoff.model.records.verification import VerificationRecord
from bakeoff.report.answer import Answer, answer_of
from bakeoff.report.between_bundles import answer_between
from bakeoff.report.html.write import write_report
from bakeoff.report.tables import as_markdown, cells_table
from bakeoff.report.text.terminal import render_text
from builders.bundles import answer
from builders.promises import CIRCLE, PAIR, checked, lists, under_load, verifying

HELD = checked("c01", judged=[lists()])
BROKEN = checked("c01", seen=["P4", "G1a", "G2"], judged=[lists("VIOLATED", CIRCLE)])
NOTHING = checked("c02", system="sqlite_full", not_applicable="it has no transactions in SQL", schedules=[])


def reported(folder: Path, *records: VerificationRecord) -> tuple[Bundle, Answer]:
    bundle = verifying(folder / "b", *records)
    return bundle, answer_of(bundle)


def test_without_verify_nothing_is_said_of_promises(tmp_path: Path) -> None:
    _, found = answer(tmp_path, PAIR)
    assert found.promises == []
    assert "promise" not in render_text(found)
    assert {cell.promise for cell in found.cells} == {""}


def test_each_system_has_a_verdict_and_one_without_sql_never_a_pass(tmp_path: Path) -> None:
    bundle, found = reported(tmp_path, HELD, NOTHING)
    assert {cell.contestant: cell.promise for cell in found.cells} == {"mariadb": "HELD", "sqlite_full": "N/A"}
    text = render_text(found)
    assert re.search(r"mariadb +[\d,]+ +\S+ to \S+ +HELD", text)
    assert re.search(r"sqlite_full +serializable +N/A +- +it has no transactions in SQL", text)
    assert "VIOLATED" not in text
    assert code_of(bundle, found) is ExitCode.DONE


def test_a_violation_is_on_the_first_screen_in_the_comparison_and_in_the_exit_code(tmp_path: Path) -> None:
    bundle, found = reported(tmp_path, BROKEN, NOTHING)
    words = "mariadb violates what serializable promises: aborted read (G1a), lost update (P4), 2 more"
    assert found.first.certainty == "shown"
    assert found.first.doubt_words.startswith(f"but {words}; ")
    assert [row.stamp for row in found.first.rows] == ["VIOLATED", ""]
    assert found.headline[0] == f"{words}. Its figures are shown, and marked VIOLATED."
    assert words in found.comparisons[0].notes
    text = render_text(found)
    assert "baseline, VIOLATED" in text
    assert re.search(r"mariadb +[\d,]+ +\S+ to \S+ +VIOLATED", text)
    assert "G1a, P4, G2; VIOLATED: appends to lists" in text
    assert code_of(bundle, found) is ExitCode.CHECK_FAILED


def test_what_was_not_checked_is_no_pass_either(tmp_path: Path) -> None:
    bundle, found = reported(tmp_path, HELD)
    assert {cell.contestant: cell.promise for cell in found.cells} == {"mariadb": "HELD", "sqlite_full": "not checked"}
    assert found.headline[0] == "What they promise was not checked: sqlite_full at read-committed."
    assert code_of(bundle, found) is ExitCode.CHECK_FAILED


def test_each_violation_has_a_page_with_a_column_for_each_session(tmp_path: Path) -> None:
    bundle, found = reported(tmp_path, BROKEN, NOTHING)
    page = write_report(bundle, tmp_path / "out", found).html.read_text()
    assert [int(number) for number in re.findall(r'id="violation-(\d+)"', page)] == [1, 2, 3, 4]
    assert page.count('href="#violation-1"') == 1
    first = page.split('id="violation-1"')[1].split("</section>")[0]
    assert "<th>Session 1</th><th>Session 2</th>" in first
    assert "<div>UPDATE t SET value = 12 WHERE id = 1</div><div>(waited)</div><div>ERROR 1213</div>" in first
    last = page.split('id="violation-4"')[1].split("</section>")[0]
    assert "T1, session 3 on node 0, ok" in last
    assert "T2 read what T1 wrote" in last
    assert "<div>append 5 to key 3</div></td>" in last


def probed(
    folder: Path, verdict: str, stale: int, *troubles: str, records: Sequence[VerificationRecord] = (HELD, NOTHING)
) -> tuple[Bundle, Answer]:
    """With a probe next to each run of the first cell."""
    bundle = verifying(folder / "b", *records)
    report = under_load(verdict, reads=8_000, exposed=4_000, stale=stale, age_ns={"p99": 2_000_000, "max": 3_000_000})
    probe = StalenessProbe(sessions=1, writes=4_000, reads=8_000, report=report, troubles=list(troubles))
    writer = BundleWriter(folder / "b")
    for run in bundle.runs:
        if run.cell == "c01":
            writer.run_result(run.model_copy(update={"staleness_probe": probe}))
    bundle = Bundle.open(folder / "b")
    return bundle, answer_of(bundle)


def test_stale_reads_under_load_violate_what_one_node_promises(tmp_path: Path) -> None:
    bundle, found = probed(tmp_path, "VIOLATED", 3)
    assert found.headline[0].startswith("mariadb violates what serializable promises: reads under load.")
    assert "reads under load: 15 of 40,000 reads on 1 node; 99 % of them" in " ".join(render_text(found).split())
    assert code_of(bundle, found) is ExitCode.CHECK_FAILED


def test_stale_reads_under_load_are_a_violation_before_any_check_after_the_runs(tmp_path: Path) -> None:
    _, found = probed(tmp_path, "VIOLATED", 3, records=())
    assert [one.verdict for one in found.promises] == ["VIOLATED", "not checked"]
    assert found.headline[0].startswith("mariadb violates what ")
    assert "reads under load: 15 of 40,000 reads on 1 node" in " ".join(render_text(found).split())


def test_a_violation_in_an_attempt_that_does_not_count_is_one(tmp_path: Path) -> None:
    bundle, _ = probed(tmp_path, "VIOLATED", 3)
    bundle.attempts = list(bundle.attempts)
    bundle.runs = [run.model_copy(update={"staleness_probe": None}) for run in bundle.attempts]
    assert promise_answers(bundle)[0].verdict == "VIOLATED"


def test_the_worst_of_several_answers_is_that_of_a_cell(tmp_path: Path) -> None:
    bundle, _ = reported(tmp_path, HELD, NOTHING)
    open_one = checked("c01", judged=[lists("INCONCLUSIVE")])
    for order in ([HELD, open_one], [open_one, HELD]):
        bundle.verifications = order
        assert promises_by_cell(bundle)["c01"].verdict == "INCONCLUSIVE"


def test_reads_under_load_have_their_figures_and_too_few_of_them_change_no_verdict(tmp_path: Path) -> None:
    _, found = probed(tmp_path, "INCONCLUSIVE", 0, "n3 lost its session once")
    (promise, _) = found.promises
    assert promise.verdict == "HELD"
    assert "n3 lost its session once" in " ".join(render_text(found).split())


def test_what_servers_said_is_text_on_the_page(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>\u202e"
    steps = [step.model_copy(update={"statement": evil}) for step in BROKEN.schedules[0].tries[0].steps]
    tried = BROKEN.schedules[1].tries[0].model_copy(update={"steps": steps})
    schedules = [BROKEN.schedules[1].model_copy(update={"tries": [tried]})]
    hostile = BROKEN.model_copy(update={"schedules": schedules, "label": evil, "product": evil, "level": evil})
    bundle, found = reported(tmp_path, hostile, NOTHING)
    page = write_report(bundle, tmp_path / "out", found).html.read_text()
    assert "<script>alert" not in page
    assert "\u202e" not in page + render_text(found)


def test_the_verdict_is_a_column_of_exported_tables(tmp_path: Path) -> None:
    bundle, _ = reported(tmp_path, BROKEN, NOTHING)
    table = cells_table(bundle, [])
    assert table["promise"].to_pylist() == ["VIOLATED", "N/A"]
    assert "| promise |" in as_markdown(table)
    assert "promise" not in cells_table(answer(tmp_path / "other", PAIR)[0], []).column_names


def test_bundles_that_are_compared_say_whose_promise_is_violated(tmp_path: Path) -> None:
    before = verifying(tmp_path / "before", HELD, NOTHING)
    after = verifying(tmp_path / "after", BROKEN, NOTHING, story=replace(PAIR, noise=0.02))
    found = compared([before], [after], [metric("rate", before.plan.rates)], [], None)
    (change,) = [one for one in found.changed if one.key == "promise"]
    assert str(change) == "mariadb's promise: HELD before, VIOLATED after"
    assert change.weight == "loud"
    joined = Joined([before], [after], found.matches, "rate", "bakeoff compare before after")
    told_of, _ = answer_between(joined, found)
    assert "after: mariadb violates what serializable promises" in told_of.first.doubt_words
    assert {one.system: one.verdict for one in promise_answers(joined)} == {
        "before: mariadb": "HELD",
        "before: sqlite_full": "N/A",
        "after: mariadb": "VIOLATED",
        "after: sqlite_full": "N/A",
    }


@pytest.mark.parametrize("verdict", ["INCONCLUSIVE", "OBSERVED"])
def test_other_verdicts_are_said_and_end_as_done(tmp_path: Path, verdict: str) -> None:
    said = {"allowed": None} if verdict == "OBSERVED" else {"judged": [lists(verdict)]}
    bundle, found = reported(tmp_path, checked("c01", **said), NOTHING)
    assert found.cells[0].promise == verdict
    assert code_of(bundle, found) is ExitCode.DONE
