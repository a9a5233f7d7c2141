"""Contestants, settings and what stands on an axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.findings.contestants import Contest, amount, factor_words, setting_words
from bakeoff.model.records.plan import CellRecord, PlanRecord, Scalar


def plan(*cells: Mapping[str, Scalar], compare: str = "system", baseline: Scalar | None = None) -> PlanRecord:
    records = [
        CellRecord(
            id=f"c{n:02d}",
            system=str(levels["system"]),
            kind="null",
            label="",
            levels=dict(levels),
            threads=1,
            clients=1,
            rate_ops_per_s=None,
            workload="",
            dataset="",
            durability=None,
            isolation=None,
        )
        for n, levels in enumerate(cells, 1)
    ]
    fields: dict[str, Any] = {
        "title": "t",
        "seed": 1,
        "objective": "rate",
        "repetitions": 5,
        "warm_up_s": 1,
        "window_s": 1,
        "operations": None,
        "pacing": "closed loop",
        "error_budget_ratio": 0,
        "reset": "reuse",
        "cache": "warm",
        "placement": {},
        "factors": {},
        "resolved": {},
    }
    return PlanRecord(cells=records, compare_factor=compare, baseline=baseline, **fields)


def grid(**factors: list[Scalar]) -> list[dict[str, Scalar]]:
    cells: list[dict[str, Scalar]] = [{}]
    for name, levels in factors.items():
        cells = [{**cell, name: level} for cell in cells for level in levels]
    return cells


def test_systems_meet_in_the_settings_they_share() -> None:
    contest = Contest(plan(*grid(system=["a", "b"], preset=["c"], threads=[1, 4])))
    assert contest.contestants == ["a", "b"]
    assert contest.settings == [(("threads", 1),), (("threads", 4),)]  # all have preset c: it tells nothing apart
    assert contest.axis == "threads"
    assert contest.panels == [()]


def test_threads_stand_on_the_axis_before_other_numbers() -> None:
    assert Contest(plan(*grid(system=["a"], rate=[10.0, 20.0], threads=[1, 2]))).axis == "threads"
    assert Contest(plan(*grid(system=["a"], rate=[10.0, 20.0]))).axis == "rate"


def test_words_and_switches_never_stand_on_the_axis() -> None:
    assert Contest(plan(*grid(system=["a"], preset=["a", "c"], binlog=[True, False]))).axis is None


def test_a_factor_of_one_system_makes_contestants() -> None:
    cells = [{"system": "a", "threads": 1}, *grid(system=["b"], threads=[1], **{"b.settings.x": [0, 1]})]
    contest = Contest(plan(*cells))
    assert contest.contestants == ["a", "b, x=0", "b, x=1"]
    assert contest.settings == [()]


def test_the_baseline_comes_first_and_is_the_plans() -> None:
    cells = grid(system=["a", "b"], threads=[1])
    assert Contest(plan(*cells, baseline="b")).contestants == ["b", "a"]


def test_another_factor_can_be_compared_and_systems_become_settings() -> None:
    contest = Contest(plan(*grid(system=["a", "b"], durability=["full", "none"]), compare="durability"))
    assert contest.contestants == ["full durability", "no durability"]
    assert contest.settings == [(("system", "a"),), (("system", "b"),)]


def test_the_leading_setting_is_not_an_end_of_the_sweep() -> None:
    contest = Contest(plan(*grid(system=["a"], preset=["a", "c"], threads=[64, 1, 8])))
    assert dict(contest.middle) == {"preset": "a", "threads": 8}


def test_settings_read_as_people_say_them() -> None:
    assert setting_words((("preset", "a"), ("threads", 1))) == "preset a, 1 thread"
    assert setting_words((("threads", 16), ("rate", 5000.0))) == "16 threads, 5,000/s offered"
    assert setting_words((("log_bin", True),)) == "log_bin on"
    assert (
        setting_words((("mariadb.settings.sync_binlog", 1000), ("records", 10_000)))
        == "sync_binlog=1000, 10,000 records"
    )


def test_a_compared_amount_becomes_the_axis_and_the_contestants_are_what_else_varies() -> None:
    contest = Contest(plan(*grid(system=["a", "b"], threads=[1, 2, 4]), compare="threads", baseline=1))
    assert (contest.is_sweep, contest.axis, contest.contestants) == (True, "threads", ["a", "b"])
    alone = Contest(plan(*grid(system=["a"], isolation=["rc", "rr"], rate=[1e3, 5e3, 6e3]), compare="rate"))
    assert (alone.axis, alone.contestants) == ("rate", ["rc isolation", "rr isolation"])
    assert [setting_words(setting) for setting in alone.settings][1] == "5,000/s offered"


def test_sizes_and_durations_are_amounts_in_the_order_of_their_values() -> None:
    contest = Contest(plan(*grid(system=["a"], **{"settings.pool": ["1G", "64M", "256M"]}), compare="settings.pool"))
    assert contest.is_sweep
    assert contest.axis_levels == ["64M", "256M", "1G"]
    assert [amount(level) for level in ("64M", "10ms", "10.11", "64 apples", True)] == [
        64 << 20,
        0.01,
        None,
        None,
        None,
    ]


def test_numbers_that_stand_for_names_are_no_amounts() -> None:
    """Three ways to flush the log; nothing lies between them, and no more can be had."""
    codes = Contest(plan(*grid(system=["a"], **{"a.settings.flush_log": [1, 0, 2]}), compare="a.settings.flush_log"))
    assert not codes.is_sweep
    assert codes.contestants == ["flush_log=1", "flush_log=0", "flush_log=2"]
    assert not Contest(plan(*grid(system=["a"], threads=[1, 8]), compare="threads")).is_sweep  # of two, which is more?
    assert Contest(plan(*grid(system=["a"], threads=[1, 8]), compare="threads")).contestants == [
        "1 thread",
        "8 threads",
    ]


def test_spans_of_levels_have_their_unit_once() -> None:
    assert factor_words("threads", 32, 64) == "32 to 64 threads"
    assert factor_words("rate", 1000.0, 20_000.0) == "1,000/s to 20,000/s offered"
    assert factor_words("settings.pool", "64M", "1G") == "pool=64M to 1G"


def test_an_option_of_one_workload_is_a_setting_of_it_and_no_contestant() -> None:
    readers: list[dict[str, Scalar]] = [
        {"system": system, "workload": "readers", "records": records} for system in ("a", "b") for records in (10, 20)
    ]
    scripts: list[dict[str, Scalar]] = [{"system": system, "workload": "scripts"} for system in ("a", "b")]
    contest = Contest(plan(*readers, *scripts))
    assert contest.contestants == ["a", "b"]
    assert [setting_words(setting) for setting in contest.settings] == [
        "workload readers, 10 records",
        "workload readers, 20 records",
        "workload scripts",
    ]
    assert contest.axis is None
