"""What the sampler makes of its looks, with a system and times of the test's own."""

from __future__ import annotations

import os
import time
from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bakeoff.provision import os_metrics, other_processes
from bakeoff.provision.os_metrics import Process, Sample
from bakeoff.schedule import nodes as nodes_module
from bakeoff.schedule import sampler as sampler_module
from bakeoff.schedule.nodes import Look
from bakeoff.schedule.sampler import Sampler
from bakeoff.systems.null import Null
from builders.seconds import Rows
from builders.systems import GivenNode, configured


def system(**changes: Any) -> Null:
    null = configured("null", Path("unused"), {})
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


def test_others_never_have_less_than_nothing_or_more_than_all() -> None:
    assert looked({1: 10.0, 2: 9.99, 3: 9.98}, window=(1, 3)).machine().other_cpu_ratio == 0.0
    late_to_read = looked({1: 10.0, 1.9: 12.0}, window=(1, 2))
    assert late_to_read.machine().other_cpu_ratio == 1.0


@pytest.mark.parametrize("others_s", [{}, {1: 10.0}, {1: 10.0, 1.4: 11.0}])
def test_a_share_of_less_than_half_a_second_is_not_known(others_s: dict[float, float]) -> None:
    assert looked(others_s, window=(1, 2)).machine().other_cpu_ratio is None


def test_next_to_a_server_that_may_be_here_unseen_nobody_is_accused() -> None:
    sampler = Sampler(system(may_run_here_unseen=lambda: True), [os.getpid()], time.time_ns(), 0.0, 1.0, [0])
    sampler.last_look()
    assert "machine.others_cpu_s" not in sampler._looks[-1].counters
    assert sampler.machine().server_not_distinguished


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
    sampler._process_looks = sampler._looks
    for look in sampler._looks:
        look.gauges["os.rss_bytes"] = 5e6  # the engine's: the null system lives in it
    assert sampler.window_usage().memory_peak_bytes is None


class Kernel:
    """A machine of two cores with a clock of its own: the server keeps one busy, others half of one. reading_s: how
    long it takes to read the processes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 0.0
        self.reading_s = 0.0
        self.server = [7]
        self.began_s = 0.0
        monkeypatch.setattr(sampler_module, "time", SimpleNamespace(time=lambda: self.now_s))
        monkeypatch.setattr(sampler_module, "sample_machine", lambda: Sample({"cpu_busy_s": 1.5 * self.now_s}))
        monkeypatch.setattr(sampler_module, "cores_idle_s", lambda cores: 0.5 * self.now_s)
        monkeypatch.setattr(sampler_module, "sample_processes", self.of_processes)
        monkeypatch.setattr(other_processes, "cores_busy_s", lambda cores: 1.5 * self.now_s)
        monkeypatch.setattr(other_processes, "process_table", self.table)

    def of_processes(self, pids: list[int], table: object) -> Sample:
        return Sample({"cpu_user_s": self.now_s - self.began_s, "cpu_system_s": 0.0} if pids else {})

    def table(self) -> other_processes.Table:
        self.now_s += self.reading_s / 2
        servers = {pid: Process(1, "server", False, self.now_s - self.began_s, 0.0) for pid in self.server}
        self.now_s += self.reading_s / 2
        return {os.getpid(): Process(1, "bakeoff", False, 0.0, 0.0), **servers}

    def begin_server(self, pid: int) -> None:
        self.server, self.began_s = [pid], self.now_s


def watched(kernel: Kernel) -> Sampler:
    node = GivenNode("server")
    node.pids = lambda: kernel.server  # type: ignore[method-assign]
    found = system(nodes=lambda: [node], capabilities=lambda: SimpleNamespace(embedded=False))
    return Sampler(found, [os.getpid()], 0, 0.0, 10.0, [0, 1])


def test_no_core_does_more_than_a_second_of_work_in_a_second_however_late_a_look_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a busy machine reading the processes took seconds, and looks were missed."""
    kernel = Kernel(monkeypatch)
    sampler = watched(kernel)
    for at_s, reading_s in ((0.0, 0.0), (1.0, 1.8), (3.0, 0.0), (7.0, 0.4), (8.0, 0.0)):
        kernel.now_s, kernel.reading_s = at_s, reading_s
        sampler.last_look()
    rows = sampler.rows()
    assert [row["length_s"] for row in rows] == [1.0, 2.0, 4.0, 1.0]
    assert [row["machine.cpu_busy_s_per_s"] for row in rows] == pytest.approx([1.5] * 4)
    assert [row["os.cpu_user_s_per_s"] for row in rows] == pytest.approx([1.0] * 4)
    assert all(0.0 <= row["machine.others_cpu_s_per_s"] <= 1.0 for row in rows)


def test_a_window_of_a_second_is_looked_at_before_its_engine_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(monkeypatch)
    sampler = Sampler(system(), kernel.server, 0, 0.2, 1.0, [0, 1])
    for kernel.now_s in takewhile(lambda at_s: at_s <= 1.2, sampler._times()):
        if kernel.now_s == 1.2:
            kernel.server = []  # the engine: it ends with the window
        sampler.last_look()
    assert sampler.machine().other_cpu_ratio == pytest.approx(0.5 / 2)


def test_a_server_that_is_killed_and_started_again_hides_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(monkeypatch)
    sampler = watched(kernel)
    for second in range(6):
        kernel.now_s = float(second)
        if second == 2:
            kernel.server = []
        if second == 3:
            kernel.begin_server(9)
        sampler.last_look()
    rows = sampler.rows()
    assert [row["os.cpu_user_s_per_s"] for row in rows] == [1.0, 0.0, 0.0, 1.0, 1.0]
    # What the server did between the last reading of it and its end, none can tell from what others did.
    assert [row["machine.others_cpu_s_per_s"] for row in rows] == [0.5, 1.5, 1.5, 0.5, 0.5]
    assert sampler.machine().other_process == "", "neither the server before nor the one after is another's"


def test_two_counts_of_the_kernel_that_disagree_by_a_tick_give_others_nothing() -> None:
    sampler = looked({0: 10.0, 1: 9.98, 2: 10.48}, window=(0, 2))
    sampler._process_looks = [Look(look.at_s) for look in sampler._looks]
    assert [row["machine.others_cpu_s_per_s"] for row in sampler.rows()] == pytest.approx([0.0, 0.5])


def stepped(*steps: tuple[float, float]) -> float | None:
    """Stalled, by looks: how long after the one before each came, and what is ours had used meanwhile."""
    sampler = Sampler(system(), [os.getpid()], 0, 1.0, 60.0, [0, 1])
    at_s, used_s = 0.0, 0.0
    for length_s, used in [(0.0, 0.0), *steps]:
        at_s, used_s = at_s + length_s, used_s + used
        sampler._looks.append(Look(at_s, {"machine.ours_cpu_s": used_s}))
    return sampler.machine().stalled_s


def test_a_stall_is_a_late_look_in_which_nothing_of_ours_ran() -> None:
    usual = [(1.0, 1.5)] * 5
    assert stepped(*usual, (6.0, 1.6), *usual) == pytest.approx(5.0)
    assert stepped(*usual, (6.0, 9.0), *usual) == 0.0, "only our thread had to wait: client and server ran on"
    assert stepped(*usual, (1.4, 1.5), *usual) == 0.0, "a late look as on any busy machine"
    assert stepped() is None


def test_a_stall_before_the_window_is_none_of_it() -> None:
    assert stepped((0.9, 0.0), (1.0, 1.5), (1.0, 1.5)) == 0.0


def test_the_swapped_memory_of_client_and_server_is_counted_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, own = iter([0.0, 4e6, 8e6, 8e6]), iter([1000, 5000, 2000])
    monkeypatch.setattr(sampler_module, "sample_machine", lambda: Sample({"swapped_bytes": next(machine)}))
    monkeypatch.setattr(sampler_module, "swapped_out_bytes", lambda pids, table: next(own))
    sampler = Sampler(system(), [os.getpid()], time.time_ns(), 0.0, None, [0])
    for _ in range(4):
        sampler.last_look()
    assert [look.counters["machine.own_swapped_bytes"] for look in sampler._looks] == [0, 4000, 7000, 7000]


def test_of_a_throttled_group_what_is_not_ours_is_others() -> None:
    sampler = looked({}, window=(1, 3))
    sampler._looks = [
        Look(at_s, {"machine.group_cpu_s": 50 + 2.0 * at_s, "machine.ours_cpu_s": 1.5 * at_s})
        for at_s in (1.0, 2.0, 3.0)
    ]
    assert sampler.machine().throttled_others_ratio == pytest.approx(0.25)


class Sampled:
    """A server of which every sample is kept, and the same one of which all but the latest are dropped. It commits
    twice a second, and is silent from second 500 to 510."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kernel = Kernel(monkeypatch)
        monkeypatch.setattr(
            nodes_module, "time", SimpleNamespace(time=lambda: self.kernel.now_s, monotonic=lambda: 0.0)
        )

    def sampled(self, seconds: int, window: tuple[float, float | None], table: Rows | None) -> Sampler:
        node = GivenNode("server")
        node.pids = lambda: self.kernel.server  # type: ignore[method-assign]
        found = system(nodes=lambda: [node], capabilities=lambda: SimpleNamespace(embedded=False))
        length_s = None if window[1] is None else window[1] - window[0]
        sampler = Sampler(found, [os.getpid()], 0, window[0], length_s, [0, 1], cast(Any, table))
        (watch,) = sampler._watches
        for second in range(seconds):
            self.kernel.now_s = float(second)
            watch.last_asked = Look(float(second), tick=sampler._tick)
            counters = {} if 500 < second < 510 else {"commits": 2.0 * second}
            watch.looks.append(Look(float(second), counters, tick=sampler._tick))
            sampler.last_look()
            if table is not None and len(sampler._looks) >= 240:
                sampler._drop_old()
        sampler.finish()
        return sampler


def test_a_row_of_a_minute_has_the_highest_gauge_of_its_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler_module, "EACH_SECOND_S", 0)
    sampler = looked({}, window=(0, 300))
    sampler._looks = [Look(float(at_s), {}, {"lag_s": 30.0 if at_s == 70 else 0.0}) for at_s in range(200)]
    sampler._process_looks = [Look(float(at_s)) for at_s in range(200)]
    assert [(row["second"], row["lag_s"]) for row in sampler.rows()] == [(0, 0), (60, 30), (120, 0), (180, 0)]


@pytest.mark.parametrize("window", [(0.0, 900.0), (100.5, 300.25), (30.0, None), (700.0, 999.0), (350.0, 360.0)])
@pytest.mark.parametrize("each_second_s", [3600, 400])
def test_samples_that_were_dropped_are_missed_nowhere(
    monkeypatch: pytest.MonkeyPatch, window: tuple[float, float | None], each_second_s: int
) -> None:
    monkeypatch.setattr(sampler_module, "EACH_SECOND_S", each_second_s)
    world, table = Sampled(monkeypatch), Rows()
    every, latest = world.sampled(1000, window, None), world.sampled(1000, window, table)
    assert len(latest._looks) < 240
    assert len(latest._watches[0].looks) < 240
    assert len(latest._old_looks) < 12
    assert table.rows == every.rows()
    # By the minute from 420 to 960, the last, and where the window begins.
    assert len(table.rows) == (999 if each_second_s == 3600 else 400 + 11 + (window[0] > 400))
    assert sum(row["length_s"] for row in table.rows) == 999.0
    for sampler in (every, latest):
        sampler.window_ended(window[1] or 990.0)
    assert latest.machine() == every.machine()
    assert latest.window_usage() == every.window_usage()
    assert latest.window_usage().cpu_s == pytest.approx((window[1] or 990.0) - window[0])
    assert latest.silences() == every.silences() != []
