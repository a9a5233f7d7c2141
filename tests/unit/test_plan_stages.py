"""`stages` of a plan: rates that change."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.errors import PlanError
from bakeoff.model.boundary import Open, Stage, TimeLimit
from bakeoff.plan.dry_run.describe import describe
from bakeoff.plan.read import resolve
from builders.plans import SQLITE, read, refused

RAMP = "pacing = { stages = [{ rate = '1k/s', for = '20s' }, { rate = [1000, 5000], for = '40s' }] }"


def test_stages_are_the_window_and_are_shared_by_the_clients() -> None:
    (cell,) = read("clients = 2", systems=SQLITE, measure=RAMP).cells
    first = Stage(for_s=20, from_ops_per_s=500, to_ops_per_s=500)
    second = Stage(for_s=40, from_ops_per_s=500, to_ops_per_s=2500)
    mean = (20 * 500 + 40 * 1500) / 60
    assert cell.pacing == Open(rate_ops_per_s=mean, arrival="poisson", stages=[first, second])
    assert cell.limit == TimeLimit(window_s=60)
    assert cell.record.rate_ops_per_s == pytest.approx(2 * mean)


def test_the_plan_says_its_stages_in_words_and_as_it_was_written() -> None:
    record = read(systems=SQLITE, measure=RAMP).record
    assert record.pacing == "open loop, 2 stages of 2333.33/s on average, Poisson arrivals"
    assert record.window_s == 60
    assert record.resolved["measure"]["pacing"]["stages"] == [
        {"rate": [1000.0], "for": "20s"},
        {"rate": [1000.0, 5000.0], "for": "40s"},
    ]


def test_other_stages_are_another_cell() -> None:
    ids = {
        read(systems=SQLITE, measure=f"pacing = {{ stages = [{{ rate = {rate}, for = '30s' }}] }}").cells[0].record.id
        for rate in ("5", "[4, 6]", "[6, 4]")
    }
    assert len(ids) == 3


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ("pacing = { rate = 5, stages = [{ rate = 5, for = '1s' }] }", "`pacing` has a rate and stages"),
        ("pacing = { stages = [] }", "`stages`: an empty list has no rate"),
        ("pacing = { stages = [{ rate = 0, for = '1s' }] }", "every stage has the rate 0"),
        ("pacing = { stages = [{ rate = [1, 2, 3], for = '1s' }] }", "a stage has 3 rates"),
        ("pacing = { stages = [{ rate = 5, fro = '1s' }] }", "unknown key `fro`"),
        (
            "pacing = { stages = [{ rate = 5, for = '5s' }] }\nwindow = '6s'",
            "the stages last 5 s, and `window` says 6 s",
        ),
        ("pacing = { stages = [{ rate = 5, for = '5s' }] }\noperations = 6", "stages last a time"),
    ],
)
def test_stages_that_do_not_fit_are_refused(measure: str, words: str) -> None:
    assert words in refused(systems=SQLITE, measure=measure).what


IN_BRACKETS = """
pacing.stages = [
    { rate = 5, for = "2s" }, # no { of a table
    { rate = 5, for = "2" },
]"""
WITH_HEADERS = """
[[measure.pacing.stages]]
rate = 5
for = "2s"
[[measure.pacing.stages]]
rate = 5
for = "2"
"""


@pytest.mark.parametrize(("measure", "last"), [(IN_BRACKETS, "{ rate = 5, for = "), (WITH_HEADERS, "for = ")])
def test_what_is_wrong_with_a_stage_has_its_line(measure: str, last: str) -> None:
    text = f'title = "t"\n[systems.sqlite]\n[workload]\nkind = "ycsb"\n[measure]{measure}\n'
    (wrong,) = [number for number, line in enumerate(text.splitlines(), 1) if line.strip().startswith(last + '"2"')]
    with pytest.raises(PlanError, match="there is no unit") as caught:
        resolve(text, Path())
    assert caught.value.where == f"the plan, line {wrong}, [measure] pacing.stages.for"


DAY = """time,rate,note
2026-11-28T08:00:00,100,
2026-11-28T09:00:00,2000,the shop opens
2026-11-28T11:00:00,500.5,
"""


@pytest.mark.parametrize("day", [DAY, "\ufeffrate, time\n100,28800\n2000,32400\n\n500.5,39600\n"])
def test_a_recorded_day_is_stages(tmp_path: Path, day: str) -> None:
    (tmp_path / "day.csv").write_text(day)
    measure = 'pacing = { stages = { file = "day.csv", speed = 60, scale = 0.5 } }'
    found = read(systems=SQLITE, measure=measure, folder=tmp_path)
    pacing = found.cells[0].pacing
    assert isinstance(pacing, Open)
    assert [(stage.for_s, stage.from_ops_per_s) for stage in pacing.stages] == [(60, 50), (120, 1000), (120, 250.25)]
    assert found.record.resolved["measure"]["pacing"]["stages"][1] == {"rate": [1000.0], "for": "120s"}


def test_a_dry_run_says_how_a_recorded_rate_changes(tmp_path: Path) -> None:
    (tmp_path / "day.csv").write_text(DAY)
    recorded = 'pacing = { stages = { file = "day.csv", speed = 60, scale = 0.5 } }'
    said = describe(read(systems=SQLITE, measure=recorded, folder=tmp_path), tmp_path).stages
    assert said == (
        "rate from day.csv (60 times as fast, rates times 0.5): 3 points over 5 min 00 s, from 50/s to 1,000/s,"
        " 510/s on average"
    )
    written = describe(read(systems=SQLITE, measure=RAMP), tmp_path)
    assert written.stages == "2 stages over 1 min 00 s, from 1,000/s to 5,000/s, 2,333/s on average"
    assert written.to_json()["stages"] == written.stages
    assert describe(read(systems=SQLITE), tmp_path).stages == ""


@pytest.mark.parametrize(
    ("stages", "day", "words"),
    [
        ('{ file = "night.csv" }', DAY, "cannot read night.csv: No such file"),
        ('{ fil = "day.csv" }', DAY, "unknown key `fil`"),
        ("{ speed = 2 }", DAY, "needs `file`"),
        ('{ file = "day.csv", speed = 0 }', DAY, "`speed` of `stages` must be a number above 0 and at most 1,000,000"),
        ('{ file = "day.csv", speed = 1e12 }', DAY, "`speed` of `stages` must be a number above 0"),
        ('{ file = "day.csv", speed = 1e-6 }', DAY, "a row of day.csv, at this `speed`, lasts longer than a year"),
        ('{ file = "day.csv", speed = 1e5 }', DAY, "the stages are too short"),
        ('{ file = "day.csv", scale = 1e6 }', DAY, "the highest rate of day.csv, times `scale`, is 2e+09 per second"),
        ('{ file = "day.csv" }', "", "day.csv is empty"),
        ('{ file = "day.csv" }', "time,rate\n", "day.csv has no rows"),
        ('{ file = "day.csv" }', "time,rate\n1,5\n", "day.csv has 1 row of"),
        ('{ file = "day.csv" }', "1,5\n2,6\n", "day.csv has no column `time` or no column `rate`"),
        (
            '{ file = "day.csv" }',
            "time,rate\n2026-11-28,6\n40,5\n",
            "line 3: its time has seconds, and those before it a date",
        ),
        ('{ file = "day.csv" }', "time,rate\nnoon,6\n", "line 2: `time` is neither seconds nor a date and time"),
        ('{ file = "day.csv" }', "time,rate\n" + "9" * 200_000, "line 2: field larger than field limit"),
        ('{ file = "day.csv", speed = 1' + "0" * 400 + " }", DAY, "`speed` of `stages` must be a number above 0"),
        ('{ file = "day.csv" }', "time,rate\n" + "".join(f"{n},5\n" for n in range(10_001)), "more than 10,000 rows"),
        ('{ file = "day.csv" }', "time,rate\n1,5\n1,6\n", "line 3: its time is not later than the one before"),
        ('{ file = "day.csv" }', "time,rate\n1,5\n2,-6\n", "line 3: `rate` is not a number from 0 on"),
        ('{ file = "day.csv" }', "time,rate\n1,5\n2\n", "line 3: `rate` is not a number from 0 on"),
        ('{ file = "day.csv" }', "time,rate\n1,0\n2,0\n", "every stage has the rate 0"),
    ],
)
def test_a_recorded_day_that_cannot_be_read_is_refused(tmp_path: Path, stages: str, day: str, words: str) -> None:
    (tmp_path / "day.csv").write_text(day)
    error = refused(systems=SQLITE, measure=f"pacing = {{ stages = {stages} }}", folder=tmp_path)
    assert words in error.what
    assert "[measure] pacing" in error.where


def test_a_rate_as_a_factor_does_not_fit_stages() -> None:
    error = refused("rate = [5, 10]", systems=SQLITE, measure=RAMP)
    assert "the plan has `rate`, but `pacing` is stages" in error.what
