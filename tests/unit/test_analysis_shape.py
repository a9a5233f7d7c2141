"""Where over a swept number a metric is best, with known answers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from bakeoff.analysis.compare import judge
from bakeoff.analysis.estimate import Invalid, RunValue, paired
from bakeoff.analysis.registry import metric
from bakeoff.analysis.shape import Direction, Shape, Sweep

from benches import shape as bench

RATE = metric("rate")
#: Of five runs of a level; their spread is some 1 %.
NOISE = (0.99, 1.0, 1.01, 0.995, 1.005)
SERVER_DIED = Invalid(frozenset({"server"}))


def runs(**means: float) -> dict[str, dict[int, RunValue]]:
    """Five each; the noise of two levels is never in step."""
    return {
        name: {block: mean * NOISE[(block * (n + 1)) % 5] for block in range(5)}
        for n, (name, mean) in enumerate(means.items())
    }


def shape(values: Mapping[str, Mapping[int, RunValue]], direction: Direction = "higher") -> Shape[str]:
    sweep = Sweep(values, direction)
    estimates = [paired("", RATE, *pair, values[pair[0]], values[pair[1]]) for pair in sweep.pairs]
    found = sweep.shape(dict(zip(sweep.pairs, judge(estimates), strict=True)))
    assert found is not None
    return found


def test_a_peak_is_alone_where_all_others_are_shown_to_be_lower() -> None:
    found = shape(runs(a=100, b=200, c=150))
    assert (found.top, found.best, found.detectable_ratio) == ("b", ["b"], None)
    assert found.against["c"].verdict == "lower"
    assert found.against["c"].low is not None
    assert found.against["c"].low < 0.75 < (found.against["c"].high or 0)


def test_levels_that_cannot_be_distinguished_from_the_best_are_named_with_it() -> None:
    found = shape(runs(a=100, b=200, c=200.4, d=150))
    assert (found.top, found.best) == ("c", ["b", "c"])
    assert found.detectable_ratio
    assert 0.01 < found.detectable_ratio < 0.1


def test_of_times_the_lowest_is_best() -> None:
    assert shape(runs(a=1.0, b=0.5, c=3.0), "lower").best == ["b"]


def test_few_repetitions_show_a_top_and_judge_nothing() -> None:
    few = {level: {block: value for block, value in of.items() if block < 3} for level, of in runs(a=1, b=9).items()}
    found = shape(few)
    assert (found.top, found.best, found.judged, found.left_out) == ("b", ["b"], False, [])


@pytest.mark.parametrize("value", [SERVER_DIED, None])
def test_a_level_with_a_run_that_does_not_count_is_left_out_and_the_others_are_judged(value: RunValue) -> None:
    values = runs(a=100, b=200, c=150)
    values["b"][2] = value
    found = shape(values)
    assert (found.top, found.best, found.left_out) == ("c", ["c"], ["b"])
    assert "1 of 5 runs" in found.against["b"].words


def test_a_system_that_failed_at_every_level_of_a_block_has_no_best_level() -> None:
    """Nothing says that it was the machine: the levels are of one system."""
    values = {level: {**of, 5: SERVER_DIED} for level, of in runs(a=100, b=200, c=150).items()}
    assert Sweep(values, "higher").top is None


def test_a_level_of_fewer_runs_than_are_judged_is_left_out_where_others_have_enough() -> None:
    values = runs(a=100, b=200, c=300)
    del values["c"][0]
    found = shape(values)
    assert (found.best, found.left_out) == (["b"], ["c"])
    assert found.against["c"].verdict == "too few"


def test_where_no_level_has_a_value_there_is_no_shape() -> None:
    empty: dict[str, dict[int, RunValue]] = {"a": {0: None}, "b": {0: None}}
    sweep = Sweep(empty, "higher")
    assert sweep.pairs == []
    assert sweep.shape({}) is None


def test_of_shares_zero_is_a_value_and_the_best() -> None:
    values = {**runs(b=0.2, c=0.4), "a": dict.fromkeys(range(5), 0.0)}
    sweep = Sweep(values, "lower", shares=True)
    aborts = metric("abort_ratio")
    judged = judge(paired("", aborts, *pair, values[pair[0]], values[pair[1]]) for pair in sweep.pairs)
    found = sweep.shape(dict(zip(sweep.pairs, judged, strict=True)))
    assert found is not None
    assert (found.best, found.left_out) == (["a"], [])


@pytest.mark.parametrize(
    ("curve", "noise", "draws", "at_least"),
    # On a level curve all are as good as the best: 5 % may be wronged, and a standard error.
    [("level", (0.005, 0.05), 400, 0.939), ("a flat peak", (0.02, 0.02), 100, 1.0)],
)
def test_the_true_best_is_named_and_none_as_good_is_called_worse(
    curve: str, noise: tuple[float, float], draws: int, at_least: float
) -> None:
    """The figures of benches/shape.py with fewer draws."""
    rng, values = np.random.default_rng(3), bench.CURVES[curve]
    shapes = [bench.found(rng, values, 5, noise) for _ in range(draws)]
    assert all(bench.best_is_named(each, values) for each in shapes)
    assert sum(bench.none_is_wronged(each, values) for each in shapes) >= at_least * draws
