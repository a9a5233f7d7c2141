"""What a terminal shows."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from bakeoff.model.records.run import RunRecord
from bakeoff.report.answer import answer_of
from bakeoff.report.html.write import write_report
from bakeoff.report.text.terminal import render_text
from builders.bundles import MARIADB, SQLITE, Story, invalid, write_bundle
from builders.golden import assert_golden

SMALL = Story(threads=(1, 8), presets=("a",), window_s=20, warm_up_s=2)


def rendered(folder: Path, story: Story) -> str:
    return render_text(answer_of(write_bundle(folder / "bundle", story)))


def test_the_table_is_as_agreed(tmp_path: Path) -> None:
    story = replace(
        SMALL,
        demonstration=True,
        skipped={"postgres": "no postgres on the PATH"},
        change=lambda run: invalid(run) if (run.cell, run.block) == ("c02", 3) else run,
    )
    assert_golden("report.txt", rendered(tmp_path, story))


def test_columns_stand_under_their_heads(tmp_path: Path) -> None:
    lines = rendered(tmp_path, SMALL).splitlines()
    head = next(n for n, line in enumerate(lines) if line.startswith("setting") and "p99.9" in line)
    end = lines[head].index("p99.9") + len("p99.9")
    assert all(line[end - 1] == "s" for line in lines[head + 2 : head + 6])  # ms, right-aligned


def test_what_is_compared_heads_its_column(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", replace(SMALL, contenders=(MARIADB,)))
    bundle.plan = bundle.plan.model_copy(update={"compare_factor": "threads", "baseline": None})
    (head,) = [line.split() for line in render_text(answer_of(bundle)).splitlines() if "p99.9" in line]
    assert head[0] == "threads"
    page = write_report(bundle).html.read_text(encoding="utf-8")
    assert page.count("<th>Threads</th>") >= 4
    assert "<th>Run</th><th>Threads</th>" in page


def test_what_an_operation_costs_is_no_power_of_ten(tmp_path: Path) -> None:
    def slow(run: RunRecord) -> RunRecord:
        return run.model_copy(update={"server": run.server.model_copy(update={"cpu_s": run.ok * 2090.4e-6})})

    costly = replace(SMALL, change=slow)
    bundle = write_bundle(tmp_path / "bundle", costly)
    assert "2,090" in render_text(answer_of(bundle))
    page = write_report(bundle).html.read_text(encoding="utf-8")
    assert "+ 2,090" in page
    assert "2.09e+03" not in page


def test_what_a_database_said_cannot_steer_the_terminal(tmp_path: Path) -> None:
    story = replace(SMALL, skipped={"evil\x1b[2J": "first\r\nsecond\x07"}, title="t\x1b]0;pwned\x07")
    text = rendered(tmp_path, story)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "skipped evil [2J: first  second" in text


def test_without_other_factors_there_is_no_setting_column(tmp_path: Path) -> None:
    text = rendered(tmp_path, replace(SMALL, threads=(4,), contenders=(MARIADB, SQLITE)))
    assert "setting  " not in text
    assert re.search(r"Compared with mariadb:\n *value +base +finding\n", text)


def test_a_note_on_many_settings_is_said_once(tmp_path: Path) -> None:
    loose = replace(SQLITE, durability="relaxed")
    text = rendered(tmp_path, replace(SMALL, contenders=(MARIADB, loose)))
    assert text.count("note: ") == 1
    assert "note: sqlite_full, in 2 settings: durability differs, as the plan declares: relaxed against full" in text


def test_what_the_plan_does_not_declare_is_reported_with_what_decides_first(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", SMALL)
    for cell, facts in bundle.facts.items():
        settings = {f"a_setting_{n}": facts.product for n in range(8)}
        bundle.facts[cell] = facts.model_copy(update={"settings": settings, "declared": {}})
    said = [line for line in render_text(answer_of(bundle)).splitlines() if "does not say so (" in line]
    assert "memory differs, and the plan does not say so (mariadb: 1 GiB; sqlite_full: 64 MiB)" in said[0]
    assert len(said) == 5
    assert "- and 4 more such differences: see the report" in render_text(answer_of(bundle))


def test_an_open_loop_that_did_all_its_work_says_so_in_place_of_an_interval(tmp_path: Path) -> None:
    def paced(lacking: int) -> Story:
        return replace(
            SMALL,
            contenders=(MARIADB,),
            threads=(8,),
            change=lambda run: run.model_copy(update={"due": run.ok + lacking, "backlog": lacking}),
        )

    bundle = write_bundle(tmp_path / "all", paced(lacking=0))
    cells = [cell.model_copy(update={"rate_ops_per_s": 20_000.0}) for cell in bundle.plan.cells]
    bundle.plan = bundle.plan.model_copy(update={"cells": cells})
    answer = answer_of(bundle)
    assert answer.cells[0].rate_ops_per_s is not None
    assert answer.cells[0].due_and_done_ops_per_s == answer.cells[0].rate_ops_per_s.value
    assert "all operations due" in render_text(answer)
    page = write_report(bundle, answer=answer).html.read_text()
    assert "all operations due" in page
    assert ">20,000/s offered<" in page
    assert "all operations due" not in rendered(tmp_path / "less", paced(lacking=5_000))
