"""Plans side by side: one comparison of what differs between them, and nothing that is measured otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.errors import PlanError
from bakeoff.findings.configuration import Difference
from bakeoff.findings.contestants import Contest, setting_words
from bakeoff.plan.read import read_plan
from bakeoff.plan.resolved import ResolvedPlan
from bakeoff.plan.several_plans import side_by_side
from bakeoff.report.answer import answer_of
from bakeoff.report.html.write import write_report
from bakeoff.report.text.terminal import render_text
from bakeoff.schedule.run_order import schedule
from builders.bundles import MARIADB, Story, write_bundle

PLAN = """
title = "Which is faster?"
[systems.sqlite]
settings = { synchronous = "FULL" }
[workload]
kind = "ycsb"
preset = "a"
records = 100
[factors]
threads = [1, 8]
[measure]
window = "10s"
"""
Both = Callable[[str, str], ResolvedPlan]


@pytest.fixture
def both(tmp_path: Path) -> Both:
    """The plan, and one in which something stands for something else."""

    def read(old: str, new: str) -> ResolvedPlan:
        assert old in PLAN
        (tmp_path / "before.toml").write_text(PLAN)
        (tmp_path / "after.toml").write_text(PLAN.replace(old, new))
        return side_by_side([read_plan(tmp_path / f"{name}.toml", must_run=False) for name in ("before", "after")])

    return read


def test_plans_are_contestants_by_the_names_of_their_files_and_meet_in_every_setting(both: Both) -> None:
    plan = both("FULL", "OFF")
    contest = Contest(plan.record)
    assert (contest.factor, contest.baseline, contest.contestants) == ("plan", "before", ["before", "after"])
    assert [setting_words(setting) for setting in contest.settings] == ["1 thread", "8 threads"]
    assert len({cell.record.id for cell in plan.cells}) == 4
    assert {cell.record.levels["plan"]: cell.system_options["settings"]["synchronous"] for cell in plan.cells} == {
        "before": "FULL",
        "after": "OFF",
    }
    slots = schedule([cell.record.id for cell in plan.cells], plan.record.repetitions, plan.record.seed)
    assert [slot.block for slot in slots] == [block for block in range(1, 6) for _ in range(4)]


def test_what_differs_is_said_and_nothing_else(both: Both) -> None:
    place = "systems.sqlite.settings.synchronous"
    assert both("FULL", "OFF").record.differences == {place: {"before": "FULL", "after": "OFF"}}
    assert both('"FULL"', '"FULL", cache_size = -100').record.differences == {
        "systems.sqlite.settings.cache_size": {"before": "not said", "after": "-100"}
    }
    assert both("Which", "What").record.differences == {}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"10s"', '"20s"', "`measure.window` is 10s in before and 20s in after"),
        ("[measure]", "[measure]\nrepetitions = 9", "`measure.repetitions` is 5 in before and 9 in after"),
        ("[measure]", '[measure]\nobjective = "latency_p99"', "`measure.objective` is rate in before"),
        ("[measure]", '[measure]\ncache = "cold"', "`measure.cache` is not said in before and cold in after"),
        ("title", "seed = 7\ntitle", "`seed` is 1 in before and 7 in after"),
        ("[measure]", '[compare]\nlimit = "latency_p99 < 2ms"\n[measure]', "`compare.limit` is"),
    ],
)
def test_what_would_be_measured_otherwise_is_refused_by_its_key(both: Both, old: str, new: str, said: str) -> None:
    with pytest.raises(PlanError) as refused:
        both(old, new)
    assert refused.value.what.startswith(said)
    assert refused.value.where.endswith("after.toml")


def test_a_search_is_refused_by_its_plan(both: Both) -> None:
    search = '[search]\nhighest = "rate"\nwhile = "latency_p99 < 2ms"\n[measure]\nwindow = "10s"'
    with pytest.raises(PlanError, match="after is a search") as refused:
        both('[factors]\nthreads = [1, 8]\n[measure]\nwindow = "10s"', search)
    assert refused.value.where.endswith("after.toml")


def test_other_data_are_never_compared(both: Both) -> None:
    with pytest.raises(PlanError, match="different data, which cannot be compared"):
        both("records = 100", "records = 101")


def test_levels_match_wherever_they_are_said_and_what_has_no_partner_is_warned_of(both: Both) -> None:
    plan = both("[factors]\nthreads = [1, 8]\n[measure]", "[measure]\nthreads = 8")
    assert [cell.record.levels for cell in plan.cells] == [
        {"plan": "before", "threads": 1},
        {"plan": "before", "threads": 8},
        {"plan": "after", "threads": 8},
    ]
    assert "before / sqlite / threads=1 is not compared: it is in no other plan" in plan.warnings
    more = both("threads = [1, 8]", "threads = [8, 16]")
    assert "after / sqlite / threads=16 is not compared: it is not in before" in more.warnings
    with pytest.raises(PlanError, match="no cell of after can be compared with one of before"):
        both("threads = [1, 8]", "threads = [2, 4]")


def test_systems_of_several_kinds_are_settings_and_the_same_plan_is_a_measure_of_noise(both: Both) -> None:
    plan = both("[workload]", "[workload]")
    assert plan.record.differences == {}
    assert len({cell.record.id for cell in plan.cells}) == 4
    two = both("[workload]", "[systems.lite]\nkind = 'sqlite'\n[workload]")
    assert [setting_words(setting) for setting in Contest(two.record).settings] == [
        "sqlite, 1 thread",
        "sqlite, 8 threads",
        "lite, 1 thread",
        "lite, 8 threads",
    ]


def test_plans_of_one_name_or_of_two_folders_are_refused(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for folder in (tmp_path, elsewhere):
        (folder / "plan.toml").write_text(PLAN)
    here = read_plan(tmp_path / "plan.toml", must_run=False)
    with pytest.raises(PlanError, match="two plans are called plan"):
        side_by_side([here, read_plan(tmp_path / "plan.toml", must_run=False)])
    with pytest.raises(PlanError, match="be in one folder"):
        side_by_side([here, read_plan(elsewhere / "plan.toml", must_run=False)])


def test_a_cell_keeps_its_id_from_run_to_run_and_has_another_in_each_plan(both: Both) -> None:
    first, again = both("FULL", "OFF"), both("FULL", "OFF")
    assert [cell.record.id for cell in first.cells] == [cell.record.id for cell in again.cells]
    assert first.text == again.text


def test_the_pair_of_the_examples_is_one_comparison() -> None:
    folder = Path(__file__).parents[2] / "plans" / "examples" / "regression"
    plan = side_by_side([read_plan(folder / f"{name}.toml", must_run=False) for name in ("before", "after")])
    assert list(plan.record.differences) == ["systems.mariadb.start.settings.innodb_buffer_pool_size"]


def test_an_answer_of_a_plan_and_its_copy_says_that_they_say_the_same(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", Story(contenders=(MARIADB, replace(MARIADB, name="again")), threads=(1,)))
    answer = answer_of(bundle).model_copy(update={"compared": "plan"})
    lines = render_text(answer).splitlines()
    at = lines.index("The plans say the same: what differs between their runs is noise.")
    assert lines[at - 1] == lines[at + 1] == ""
    said = Difference(name="systems.mariadb.version", values={"before": "10.6", "after": "10.11"})
    lines = render_text(answer.model_copy(update={"between_plans": [said]})).splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("the plans differ in"))
    assert lines[at + 2].split() == ["systems.mariadb.version", "10.6", "10.11"]


def test_the_head_of_a_page_names_what_plans_differ_in(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", Story(contenders=(MARIADB,), threads=(1,), presets=("a",), window_s=2))
    bundle.plan.differences = {f"systems.mariadb.{key}": {"a": "1", "b": "2"} for key in ("version", "tls", "user")}
    page = write_report(bundle).html.read_text()
    assert "The plans differ in systems.mariadb.version, systems.mariadb.tls and in 1 more." in page
