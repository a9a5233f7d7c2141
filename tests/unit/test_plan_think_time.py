"""`think_time` of a plan: users of a closed loop who wait before each operation."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.errors import PlanError
from bakeoff.model.boundary import Closed, Thinking
from bakeoff.plan.read import resolve
from builders.plans import SQLITE, read, refused


@pytest.mark.parametrize(
    ("measure", "pacing", "words"),
    [
        ("think_time = '100ms'", Thinking(mean_s=0.1), "closed loop, users think for 0.1 s on average"),
        (
            "think_time = { mean = '2s', distribution = 'constant' }",
            Thinking(mean_s=2, distribution="constant"),
            "closed loop, users think for 2 s",
        ),
        ("", Closed(), "closed loop"),
        ("think_time = 0", Closed(), "closed loop"),
        ("think_time = '0s'", Closed(), "closed loop"),
    ],
)
def test_users_think_as_the_plan_says(measure: str, pacing: Closed | Thinking, words: str) -> None:
    found = read(systems=SQLITE, measure=measure)
    (cell,) = found.cells
    assert cell.pacing == pacing
    assert cell.pauses == isinstance(pacing, Thinking)
    assert cell.record.rate_ops_per_s is None
    assert found.record.pacing == words


def test_users_of_a_workload_with_pauses_of_its_own_do_not_think_twice() -> None:
    workload = "[workload]\nkind = 'tpcc'\nwarehouses = 1\nkeying_and_think = true"
    text = f"title = 't'\nthreads = 10\n{SQLITE}\n{workload}\n[measure]\nthink_time = '1s'"
    with pytest.raises(PlanError, match="users of this workload pause as it says itself"):
        resolve(text, Path())


def test_another_think_time_is_another_cell() -> None:
    ids = {
        read(systems=SQLITE, measure=measure).cells[0].record.id
        for measure in ("", "think_time = '1s'", "think_time = '2s'")
    }
    assert len(ids) == 3


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ("think_time = { mean = '1s', distribution = 'normal' }", '`distribution` cannot be the text "normal"'),
        ("think_time = 50", "`think_time`: a duration needs a unit"),
        ("think_time = { men = '1s' }", "unknown key `men`"),
        ("think_time = '1s'\nrate = 5", "users think in a closed loop alone, and the plan has a rate"),
    ],
)
def test_what_cannot_be_is_refused(measure: str, words: str) -> None:
    assert words in refused(systems=SQLITE, measure=measure).what
