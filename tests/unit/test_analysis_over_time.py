"""Figures of a run's seconds, with known answers and by counting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bakeoff.analysis.decision import Within
from bakeoff.analysis.estimate import of_steps
from bakeoff.analysis.over_time import (
    VARIATIONS,
    Change,
    by_interval,
    change_at,
    change_of,
    end_over_start,
    slope_weights,
)

DRAWS, RUNS = 400, 6


def series(random: np.random.Generator, after: float = 1.0, seconds: int = 60, at: int = 40) -> list[np.ndarray]:
    """Runs whose seconds depend on those before them, with a level that changes to `after`."""
    found = []
    for _ in range(RUNS):
        noise = np.zeros(seconds)
        for n in range(1, seconds):
            noise[n] = 0.7 * noise[n - 1] + random.normal(0, 0.05)
        found.append(1000 * np.exp(noise) * np.where(np.arange(seconds) < at, 1.0, after))
    return found


def status(ratios: list[float | None], alpha: float = 0.05) -> str:
    assert None not in ratios
    return Within(of_steps(np.log(np.asarray(ratios, dtype=float))), 0.0).status(alpha)


def ratios(runs: list[np.ndarray]) -> list[float | None]:
    found = change_of(runs)
    assert found is not None
    return [*found.ratios]


def rate_of(decided: int) -> float:
    return decided / DRAWS


@pytest.mark.parametrize("alpha", [0.05, 0.005])
def test_runs_without_a_change_or_a_trend_rarely_have_one(alpha: float) -> None:
    random = np.random.default_rng(31)
    changes = trends = 0
    for _ in range(DRAWS):
        runs = series(random)
        changes += status(ratios(runs), alpha) != "open"
        trends += status([end_over_start(np.arange(60.0), run) for run in runs], alpha) != "open"
    most = alpha + 3 * math.sqrt(alpha * (1 - alpha) / DRAWS)
    assert rate_of(changes) <= most
    assert rate_of(trends) <= most


def test_a_drop_of_a_quarter_is_found_and_so_is_its_direction() -> None:
    random = np.random.default_rng(32)
    found = [status(ratios(series(random, after=0.75))) for _ in range(50)]
    assert found.count("fails") >= 48
    assert found.count("holds") == 0


def test_a_drop_of_exactly_its_bound_is_rarely_decided() -> None:
    random = np.random.default_rng(33)
    bound, decided = 0.75, 0
    for _ in range(DRAWS):
        logs = np.log(np.asarray(ratios(series(random, after=bound)), dtype=float))
        decided += Within(of_steps(logs, both=True), high=math.log(bound)).status(0.05) != "open"
    assert rate_of(decided) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / DRAWS)


def test_a_change_is_found_where_it_is() -> None:
    run = np.concatenate([np.full(40, 100.0), np.full(20, 60.0)])
    assert change_at(run) == 40
    assert change_of([run, run * 2, run]) == Change(40, 1, pytest.approx([0.6, 0.6]))  # type: ignore[arg-type]
    assert change_of([run]) is None
    assert change_of([run[:5]] * 3) is None
    assert change_of([run, np.concatenate([np.ones(40), np.zeros(20)])]) is None


def test_the_end_over_the_start_is_that_of_the_line() -> None:
    seconds = np.arange(20.0)
    assert end_over_start(seconds, 100 + 100 * seconds / 19) == pytest.approx(2.0)
    assert end_over_start(seconds[:5], seconds[:5]) is None
    assert end_over_start(seconds, seconds - 5) is None


def test_intervals_are_whole_ones() -> None:
    seconds = np.arange(25.0)
    assert by_interval(seconds, seconds, 10).tolist() == [4.5, 14.5]
    assert by_interval(seconds[:20], np.ones(20), 10).tolist() == [1, 1]


def test_variations_are_as_they_are_called() -> None:
    values = np.array([90.0, 100.0, 100.0, 100.0, 115.0])
    assert VARIATIONS["largest"](values) == pytest.approx(14 / 101)
    assert VARIATIONS["cv"](values) == pytest.approx(values.std(ddof=1) / 101)
    assert VARIATIONS["iqr"](values) == 0


def test_the_weights_of_a_slope_give_its_change_over_the_whole_range() -> None:
    assert slope_weights([0, 1, 3]) @ np.array([5.0, 7.0, 11.0]) == pytest.approx(6.0)
