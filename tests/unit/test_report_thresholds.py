"""A plan's `fail_if`: what failed, what is undecided, and the exit code that comes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.cli.run import all_held
from bakeoff.errors import PlanError
from bakeoff.report.conclusion import answer_of
from builders.bundles import MARIADB, Contender, Story, write_bundle
from builders.plans import read, refused

SLOW = Contender("slow", rate_1=1_000, rate_max=6_000)
STORY = Story(contenders=(MARIADB, SLOW), threads=(4,), presets=("c",), repetitions=5, window_s=2, warm_up_s=1)


@pytest.mark.parametrize(
    ("condition", "statuses"),
    [
        ("rate < -5%", ["failed"]),
        ("rate > +5%", ["passed"]),
        ("rate < 5000/s", ["passed", "failed"]),
        ("rate < 100/s", ["passed", "passed"]),
        ("latency_p99 > 1us", ["failed", "failed"]),
        ("pool_wait_mean > 1ms", ["not judged", "not judged"]),
        ("latency_p99 > 10%", ["failed"]),
    ],
)
def test_a_threshold_is_judged_by_the_whole_interval(tmp_path: Path, condition: str, statuses: list[str]) -> None:
    bundle = write_bundle(tmp_path / "b", replace(STORY, fail_if=[condition]))
    answer = answer_of(bundle)
    assert [found.status for found in answer.thresholds] == statuses
    assert all_held(bundle, answer) == (set(statuses) == {"passed"})
    said = [words for words in answer.headline if words.startswith(condition.partition(" ")[0] + " ")]
    assert len(said) >= sum(status != "passed" for status in statuses)


def test_where_only_the_middle_is_beyond_it_is_undecided_and_fails_nothing(tmp_path: Path) -> None:
    story = replace(STORY, contenders=(MARIADB,))
    (cell,) = answer_of(write_bundle(tmp_path / "a", story)).cells
    assert cell.rate_ops_per_s
    bundle = write_bundle(tmp_path / "b", replace(story, fail_if=[f"rate > {cell.rate_ops_per_s.value - 1:.3f}/s"]))
    answer = answer_of(bundle)
    assert [found.status for found in answer.thresholds] == ["undecided"]
    assert "undecided: mariadb has " in answer.headline[0]
    assert all_held(bundle, answer)


def test_a_threshold_that_is_none_is_refused_where_it_stands() -> None:
    error: PlanError = refused(rest="[compare]\nfail_if = 'latency_p99 > 2'")
    assert error.what == "2 has no unit, and latency_p99 is a time"
    assert error.where.endswith("[compare] fail_if")
    assert refused(rest="[compare]\nfail_if = 'rte < -5%'").hint == "did you mean `rate`?"
    assert read(rest="[compare]\nfail_if = 'error_ratio > 1%'").record.fail_if == ["error_ratio > 1%"]
