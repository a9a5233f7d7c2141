"""[search] in a plan: what may be sought, from where to where, and how the plan grows by the levels that were tried."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.bundle.resume import Present, refuse_changes
from bakeoff.bundle.write import BundleWriter, new_folder
from bakeoff.cli import main
from bakeoff.errors import BundleError, ExitCode
from bakeoff.machine import machine_facts
from bakeoff.model.records.bundle import BundleInfo
from bakeoff.plan.read import read_plan
from bakeoff.plan.resolved import ResolvedPlan
from bakeoff.plan.search import with_levels_of
from bakeoff.schedule.target_bundle import Target
from builders.plans import read, refused

SEARCH = "[search]\nhighest = 'rate'\nwhile = 'latency_p99 < 2ms'"


def sought(search: str = SEARCH, **parts: str) -> ResolvedPlan:
    return read(rest=search, **parts)  # type: ignore[arg-type]


def test_a_search_begins_with_one_cell_of_each_system_and_looks_for_a_rate() -> None:
    plan = sought(systems="[systems.a]\nkind = 'sqlite'\n[systems.b]\nkind = 'sqlite'")
    search = plan.record.search
    assert search
    assert (search.factor, search.highest, search.whole, search.runs) == ("rate", True, False, 25)
    assert [cell.record.levels for cell in plan.cells] == [{"system": name, "rate": 1000.0} for name in ("a", "b")]
    assert [cell.record.rate_ops_per_s for cell in plan.cells] == [1000, 1000]
    assert (plan.record.compare_factor, plan.record.runs_max) == ("system", 50)


def test_every_run_of_a_search_draws_its_own_operations_and_arrivals_from_the_same_data() -> None:
    plan = sought()
    assert [plan.seed_of_block(block) for block in (1, 2, 3)] == [2, 3, 4]
    assert [read(measure=f"vary_seed = {vary}").seed_of_block(3) for vary in ("true", "false")] == [4, 1]


def test_every_repetition_of_any_plan_meets_other_arrivals_the_same_for_all_cells() -> None:
    for plan in (read(), read(measure="vary_seed = true")):
        assert [plan.arrival_seed_of_block(block) for block in (1, 2, 3)] == [2, 3, 4]
    assert plan.cells[0].workload.spec == read().cells[0].workload.spec, "which holds the seed of the data"


def test_a_rate_begins_where_a_window_has_operations_enough_for_the_percentile() -> None:
    for limit, window, low in (("latency_p99", "10s", 130), ("latency_p999", "10s", 1300), ("latency_p99", "2s", 650)):
        plan = sought(f"[search]\nhighest = 'rate'\nwhile = '{limit} < 2ms'", measure=f"window = '{window}'")
        assert plan.record.search
        assert plan.record.search.low == low
    error = refused(rest=f"{SEARCH}\nfrom = 10", measure="window = '2s'")
    assert error.what == "at 10/s a window has too few operations for a percentile of `while`"
    assert error.hint == "start at 650/s or above, or make the window longer"


def test_from_and_to_bound_the_levels() -> None:
    search = sought("[search]\nlowest = 'threads'\nwhile = 'rate > 5000/s'\nfrom = 2\nto = 64").record.search
    assert search
    assert (search.low, search.first, search.high, search.highest, search.whole) == (2, 2, 64, False, True)


@pytest.mark.parametrize(
    ("search", "what", "hint"),
    [
        ("[search]\nwhile = 'latency_p99 < 2ms'", "a search needs `highest` or `lowest`", 'highest = "rate"'),
        (
            "[search]\nhighest = 'rate'\nlowest = 'threads'\nwhile = 'rate > 1'",
            "a search needs `highest` or `lowest`",
            "rate",
        ),
        ("[search]\nhighest = 'rate'", "while", ""),
        (
            "[search]\nhighest = 'preset'\nwhile = 'rate > 1/s'",
            "`preset` cannot be searched",
            "rate, threads, sessions",
        ),
        ("[search]\nhighest = 'rate'\nwhile = 'latency_p99 < 2'", "2 has no unit", '"2ms"'),
        (SEARCH.replace("< 2ms", "< 0ms"), " is not a limit: every time is above 0", "raise it"),
        (SEARCH.replace("<", ">"), " is easier to keep with more load, so no highest level exists", 'lowest = "rate"'),
        (f"{SEARCH}\nruns = 3", "`runs` is 3, and must be at least 8", ""),
        (f"{SEARCH}\nfrom = 5000\nto = 5000", "`to` (5000) is not above the start of the search (5000)", ""),
        (f"{SEARCH}\nto = 'fast'", "`rate`", "5000"),
        (f"{SEARCH}\nspeed = 3", "unknown key `speed`", "[search]"),
    ],
)
def test_what_cannot_be_sought_is_refused_with_what_can(search: str, what: str, hint: str) -> None:
    error = refused(rest=search)
    assert what in error.what
    assert hint in f"{error.hint} {error.where}"


def test_what_is_sought_is_said_once() -> None:
    assert "is set twice" in refused("rate = [1, 2]", rest=SEARCH).what
    assert "is what [search] looks for" in refused(rest=SEARCH.replace("rate", "threads"), measure="threads = 4").what
    assert "a search decides how often it runs a level" in refused(rest=SEARCH, measure="repetitions = 5").what
    assert "compares no sizes" in refused(rest=f"{SEARCH}\n[compare]\nmatters = '5%'").what


def test_runs_that_begin_with_what_others_left_cannot_be_compared_by_a_search() -> None:
    error = refused(rest=SEARCH, workload="preset = 'a'", measure="reset = 'none'")
    assert error.what == "in a search every run of sqlite must start with the same data"


def test_what_could_not_be_run_at_the_end_of_the_range_is_refused_before_anything_starts() -> None:
    error = refused(rest="[search]\nhighest = 'sessions'\nwhile = 'latency_p99 < 2ms'", measure="threads = 4")
    assert error.what == "sqlite / sessions=1: sqlite needs a session for each thread"
    assert "; or set `from` and `to` to a range in which all levels can run" in error.hint


@pytest.mark.parametrize("condition", ["fail_if = 'rte < 5/s'", "limit = 'latency_p99 < 2'"])
def test_what_is_wrong_outside_of_the_search_is_reported_with_its_place(condition: str) -> None:
    error = refused(rest=f"{SEARCH}\n[compare]\n{condition}")
    assert error.where.endswith(f"[compare] {condition.partition(' ')[0]}")
    assert "range" not in error.hint


def test_the_plan_grows_by_the_levels_that_were_tried_and_cells_stay_what_they_are() -> None:
    plan = sought(systems="[systems.a]\nkind = 'sqlite'\n[systems.b]\nkind = 'sqlite'")
    assert plan.with_levels
    assert plan.record.search
    a, b = (plan.record.search.subject(cell.record) for cell in plan.cells)
    grown = plan.with_levels({a: [1000.0, 4000.0], b: [250.0]})
    assert [(cell.record.system, cell.record.levels["rate"]) for cell in grown.cells] == [
        ("a", 1000.0),
        ("a", 4000.0),
        ("b", 250.0),
    ]
    assert grown.cells[0].record.id == plan.cells[0].record.id
    assert grown.record.compare_factor == "system"
    assert grown.record.runs_max == 50
    assert [cell.id for cell in with_levels_of(plan, grown.record).record.cells] == [c.id for c in grown.record.cells]


def test_other_factors_are_searched_each() -> None:
    plan = sought(workload="", **{"factors": "preset = ['a', 'c']"})
    assert [cell.record.levels for cell in plan.cells] == [
        {"system": "sqlite", "preset": preset, "rate": 1000.0} for preset in ("a", "c")
    ]
    assert plan.record.runs_max == 50


def test_repetitions_are_no_question_of_a_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "my.toml"
    path.write_text(f"[systems.sqlite]\n[workload]\nkind = 'ycsb'\npreset = 'c'\n{SEARCH}\n")
    for words in ("30", "+5"):
        assert main(["run", str(path), "--resume", "--repetitions", words]) == ExitCode.USAGE
        said = capsys.readouterr().err
        assert "a search decides how often it runs a level (--repetitions)" in said
        assert "--set search.runs=40" in said


def test_more_runs_that_override_the_plan_go_on_with_a_search_that_had_ended(tmp_path: Path) -> None:
    """The newest bundle is found though it is complete, and taken."""
    path = tmp_path / "my.toml"
    path.write_text(f"[systems.sqlite]\n[workload]\nkind = 'ycsb'\npreset = 'c'\n{SEARCH}\n")
    begun, more = read_plan(path), read_plan(path, said=["search.runs=40"])
    info = BundleInfo(bakeoff_version="", created="", title="my", state="complete", command="", demonstration=False)
    writer = BundleWriter(new_folder(tmp_path, "my"))
    writer.begin(info, begun.record, begun.text, machine_facts(tmp_path))
    target = Target(resume="latest", results=tmp_path)
    assert target.to_continue(more) == writer.folder
    with pytest.raises(BundleError, match="no unfinished bundle"):
        target.to_continue(begun)
    now = Present(with_levels_of(more, begun.record).record, {}, machine_facts(tmp_path), info)
    refuse_changes(Bundle.open(writer.folder), now)
