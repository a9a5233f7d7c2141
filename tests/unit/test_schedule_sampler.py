"""What the sampler makes of its looks, with a system and times of the test's own."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from bakeoff.provision import os_metrics
from bakeoff.schedule import sampler as sampler_module
from bakeoff.schedule.node_watch import Look
from bakeoff.schedule.sampler import Sampler
from bakeoff.systems.null import Null


def system(**changes: Any) -> Null:
    null = Null.configure(
        "null", {}, durability=None, isolation=None, workdir=Path("unused"), timeout_s=1.0, base_dir=Path()
    )
    assert isinstance(null, Null)
    for name, value in changes.items():
        setattr(null, name, value)
    return null


def looked(others_s: dict[float, float], *, window: tuple[float, float], cores: int = 2, **changes: Any) -> Sampler:
    sampler = Sampler(system(**changes), [os.getpid()], 0, window[0], window[1] - window[0], list(range(cores)))
    for at_s, value in others_s.items():
        sampler._looks.append(Look(at_s, {"machine.others_cpu_s": value, "machine.swapped_bytes": 4096.0 * at_s}))
    return sampler


def test_the_share_of_others_is_of_the_window_and_of_the_cores_in_use() -> None:
    sampler = looked({0: 100.0, 1: 150.0, 2: 150.5, 3: 151.0, 3.01: 151.0, 60: 170.0}, window=(1, 3))
    machine = sampler.machine()
    assert machine.other_cpu_ratio == pytest.approx(1.0 / 2.01 / 2, rel=0.01)
    assert machine.swapped_bytes == 8192
    assert machine.cores == [0, 1]


def test_idle_time_is_of_the_window_and_of_the_cores_in_use() -> None:
    sampler = looked({}, window=(1, 3))
    sampler._looks = [Look(at_s, {"machine.cores_idle_s": 50.0 + at_s * 0.5}) for at_s in (0.0, 1.0, 2.0, 3.0)]
    assert sampler.machine().idle_ratio == pytest.approx(0.5 / 2)
    assert looked({}, window=(1, 3)).machine().idle_ratio is None


def test_others_never_have_less_than_nothing() -> None:
    assert looked({1: 10.0, 2: 9.99, 3: 9.98}, window=(1, 3)).machine().other_cpu_ratio == 0.0


@pytest.mark.parametrize("others_s", [{}, {1: 10.0}, {1: 10.0, 1.5: 11.0}])
def test_a_share_of_less_than_a_second_is_not_known(others_s: dict[float, float]) -> None:
    assert looked(others_s, window=(1, 2)).machine().other_cpu_ratio is None


def test_beside_a_server_that_may_be_here_unseen_nobody_is_accused() -> None:
    sampler = Sampler(system(may_run_here_unseen=lambda: True), [os.getpid()], time.time_ns(), 0.0, 1.0, [0])
    sampler.last_look()
    assert "machine.others_cpu_s" not in sampler._looks[-1].counters
    assert sampler.machine().server_not_told_apart


def test_an_error_while_watching_is_kept_and_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> os_metrics.Sample:
        raise ValueError("not a number")

    monkeypatch.setattr(sampler_module, "sample_machine", broken)
    sampler = Sampler(system(), [os.getpid()], time.time_ns(), 0.0, 1.0, [0])
    sampler.start()
    sampler.stop()
    sampler.last_look()
    assert sampler.failure == "ValueError: not a number"
    assert sampler.machine().other_cpu_ratio is None


def test_memory_of_a_system_without_a_process_of_ours_is_not_known() -> None:
    sampler = looked({0: 0.0, 1: 0.0}, window=(0, 1))
    for look in sampler._looks:
        look.gauges["os.rss_bytes"] = 5e6  # the engine's: the null system lives in it
    assert sampler.window_usage().memory_peak_bytes is None
