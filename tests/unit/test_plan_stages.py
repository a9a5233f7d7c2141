"""`stages` of a plan: rates that change."""

from __future__ import annotations

import pytest
from bakeoff.model.boundary import Open, Stage, TimeLimit
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


def test_a_rate_as_a_factor_does_not_fit_stages() -> None:
    error = refused("rate = [5, 10]", systems=SQLITE, measure=RAMP)
    assert "the plan has `rate`, but `pacing` is stages" in error.what
