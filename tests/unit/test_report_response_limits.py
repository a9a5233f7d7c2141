"""Response times that a workload asks for stand next to what was measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.findings.cells import LimitAnswer, limit_answers
from bakeoff.model.records.run import RunRecord
from bakeoff.model.resolve import ResponseLimit
from bakeoff.report.answer import answer_of
from bakeoff.report.html.write import write_report
from bakeoff.report.text.terminal import render_text
from builders.bundles import MARIADB, Story, write_bundle

STORY = Story(contenders=(MARIADB,), threads=(4,), presets=("a",), window_s=10, repetitions=2)


def limit(operation: str, most_s: float, share: float = 0.9) -> ResponseLimit:
    return ResponseLimit(operation=operation, percentile=share, most_s=most_s)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    story = replace(STORY, limits=[limit("READ", 5.0), limit("UPDATE", 0.0001)])
    return write_bundle(tmp_path_factory.mktemp("made") / "bundle", story)


def judged(runs: list[RunRecord], asked: ResponseLimit) -> LimitAnswer:
    (found,) = limit_answers([asked], runs)
    return found


def test_a_limit_is_met_where_its_share_of_all_repetitions_came_in_time(bundle: Bundle) -> None:
    found = judged(bundle.runs, limit("read", 5.0))
    assert found.met is True
    assert found.value_ms == pytest.approx(float(found.words.removesuffix(" µs")) / 1e3, rel=0.01)
    assert judged(bundle.runs, limit("read", found.value_ms * 0.99e-3)).met is False


def test_what_fails_is_not_in_time_however_soon(bundle: Bundle) -> None:
    (run,) = bundle.runs[:1]
    ok = next(series for series in run.series if series.operation == "read")
    failed = ok.model_copy(update={"outcome": "fail_other"})
    found = judged([run.model_copy(update={"series": [ok, failed]})], limit("read", 5.0))
    assert (found.met, found.value_ms, found.words) == (False, None, "not defined (50 % failed)")


def test_what_cannot_be_stated_is_neither_met_nor_missed(bundle: Bundle) -> None:
    assert judged(bundle.runs, limit("delete", 5.0)).met is None
    late = bundle.runs[0].model_copy(update={"due": bundle.runs[0].completed * 2, "backlog": bundle.runs[0].completed})
    assert judged([late], limit("read", 5.0)).met is None
    timed_out = [s.model_copy(update={"outcome": "unknown"}) for s in bundle.runs[0].series]
    found = judged([bundle.runs[0].model_copy(update={"series": timed_out})], limit("read", 5.0))
    assert (found.met, found.words.split()[:2]) == (None, ["at", "least"])


def test_text_and_page_say_which_were_not_met(bundle: Bundle, tmp_path: Path) -> None:
    answer = answer_of(bundle)
    text = render_text(answer)
    assert "Response-time limits of the workload: 1 of 2 met" in text
    assert "90 % within 100 µs" in text
    assert "90 % within 5.00 s" not in text, "those that were met are only counted"
    page = write_report(bundle, tmp_path, answer).html.read_text()
    assert "90\u00a0% within 5.00 s: met" in page
    assert "90\u00a0% within 100 µs: not met" in page


def test_a_workload_without_limits_has_no_words_of_them(tmp_path: Path) -> None:
    made = write_bundle(tmp_path / "bundle", STORY)
    answer = answer_of(made)
    assert "limits of the workload" not in render_text(answer)
    assert "the workload's own rules" not in write_report(made, tmp_path / "out", answer).html.read_text()


def test_the_table_of_missed_limits_has_settings_where_the_page_has_them(bundle: Bundle) -> None:
    """Where any cell of the plan has one, and not just the cells that missed a limit."""
    answer = answer_of(bundle)
    (cell,) = answer.cells
    elsewhere = cell.model_copy(update={"setting_words": "threads=8", "limits": []})
    told = render_text(answer.model_copy(update={"cells": [cell, elsewhere]}))
    (head,) = [line for line in told.splitlines() if "took" in line]
    assert head.split()[0] == "setting"
