"""Who else used the processor, from recorded texts of /proc and with a child that is known to be busy."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from bakeoff.provision import os_metrics, other_processes
from bakeoff.provision.os_metrics import Process, cores_busy_s, family, parse_process, process_table, throttled_s

TICK_S = 1 / os.sysconf("SC_CLK_TCK")

STAT = """\
cpu  1000 20 300 5000 60 7 80 9 0 0
cpu0 600 10 200 2500 30 4 40 5 0 0
cpu1 300 10 50 2400 30 3 40 4 0 0
cpu10 100 0 50 100 0 0 0 0 0 0
intr 12345
"""
LINE = (
    "4321 (a (b) c) R 17 4321 1 0 -1 4194304 100 0 0 0 250 50 30 20 20 0 1 0 5000 1000000 200 18446744073709551615"
    " 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0"
)


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What /proc and the control groups say, by path."""
    texts: dict[str, str] = {}
    monkeypatch.setattr(os_metrics, "_text", lambda path: texts.get(path, ""))
    return texts


def process(parent: int, cpu_s: float, ended_s: float = 0.0, *, name: str = "x", kernel: bool = False) -> Process:
    return Process(parent, name, kernel, cpu_s, ended_s)


def test_a_line_of_the_process_table_is_read_whatever_the_name() -> None:
    found = parse_process(LINE)
    assert found == Process(17, "a (b) c", False, pytest.approx(300 * TICK_S), pytest.approx(50 * TICK_S))
    assert parse_process(LINE.replace("4194304", str(4194304 | 0x200000))).kernel is True  # type: ignore[union-attr]
    assert parse_process(LINE[:30]) is None
    assert parse_process("") is None


def test_the_time_of_some_cores_is_theirs_alone_and_without_interrupts(files: dict[str, str]) -> None:
    files["/proc/stat"] = STAT
    assert cores_busy_s([0]) == pytest.approx(810 * TICK_S)
    assert cores_busy_s([0, 1]) == pytest.approx((810 + 360) * TICK_S)
    assert cores_busy_s([7]) == 0.0


def test_what_is_neither_ours_nor_the_kernels_is_others(files: dict[str, str]) -> None:
    """The engine (10), a server (20) with a child (21) that ends, our controller (5), a kernel thread (2)."""
    before = {
        5: process(1, 3.0, 100.0),
        10: process(5, 10.0),
        20: process(5, 20.0, 1.0),
        21: process(20, 2.0),
        2: process(0, 4.0, kernel=True),
        99: process(1, 50.0, name="other"),
    }
    after = {
        5: process(1, 3.5, 100.0),
        10: process(5, 11.0),
        20: process(5, 20.5, 1.0 + 2.0 + 0.3),  # the child has ended after another 0.3 s
        2: process(0, 4.25, kernel=True),
        99: process(1, 50.75, name="other"),
    }
    ours_s = 0.5 + 1.0 + 0.5 + 0.3 + 0.25
    first = other_processes.others_cpu_s(1000.0, [10, 20], 5, before)
    last = other_processes.others_cpu_s(1000.0 + ours_s + 0.75, [10, 20], 5, after)
    assert first is not None
    assert last is not None
    assert last - first == pytest.approx(0.75)
    assert sorted(family([20], before)) == [20, 21]
    assert other_processes.busiest_other(before, after, [10, 20]) == "other, pid 99"


def test_once_one_of_ours_has_ended_nothing_can_be_said() -> None:
    """Its time would count as another's."""
    table = {5: process(1, 3.0), 10: process(5, 10.0)}
    assert other_processes.others_cpu_s(50.0, [10], 5, table) is not None
    assert other_processes.others_cpu_s(50.0, [10, 20], 5, table) is None


def test_a_pid_that_was_given_again_counts_from_its_beginning() -> None:
    before = {7: process(1, 500.0, name="old"), 8: process(1, 1.0, name="idle")}
    after = {7: process(1, 2.0, name="new"), 8: process(1, 1.0, name="idle")}
    assert other_processes.busiest_other(before, after, []) == "new, pid 7"
    assert other_processes.busiest_other(after, after, []) == ""


def test_a_planted_busy_process_is_found_and_named() -> None:
    code = "import time\nprint(1, flush=True)\nwhile time.process_time() < 0.5: pass\nprint(2, flush=True); input()"
    cores = sorted(os.sched_getaffinity(0))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], text=True, **pipes) as busy:  # type: ignore[call-overload]
        busy.stdout.readline()
        before, before_s = process_table(), cores_busy_s(cores)
        busy.stdout.readline()
        after, after_s = process_table(), cores_busy_s(cores)
        busy.kill()

    def grown_s(ours: list[int]) -> float:
        first = other_processes.others_cpu_s(before_s, ours, os.getpid(), before)
        last = other_processes.others_cpu_s(after_s, ours, os.getpid(), after)
        assert first is not None
        assert last is not None
        return last - first

    assert grown_s([]) > 0.3  # of its 0.5 s; the kernel samples it in ticks
    assert grown_s([]) - grown_s([busy.pid]) == pytest.approx(0.5, abs=0.1)


def test_swapping_and_pressure_are_read(files: dict[str, str]) -> None:
    files["/proc/vmstat"] = "nr_free_pages 5\npswpin 3\npswpout 4\npgfault 9\n"
    files["/proc/pressure/cpu"] = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\nfull avg10=0.00 total=7\n"
    counters = os_metrics.sample_machine().counters
    assert counters["swapped_bytes"] == 7 * os.sysconf("SC_PAGE_SIZE")
    assert counters["pressure_cpu_s"] == 1.5
    assert "pressure_io_s" not in counters
    assert "throttled_s" not in counters


@pytest.mark.parametrize(
    ("membership", "path", "text"),
    [
        ("0::/a/b\n", "/sys/fs/cgroup/a/cpu.stat", "usage_usec 5\nnr_throttled 2\nthrottled_usec 2500000\n"),
        ("3:cpu,cpuacct:/a\n", "/sys/fs/cgroup/cpu,cpuacct/a/cpu.stat", "nr_throttled 2\nthrottled_time 2500000000\n"),
    ],
)
def test_throttling_of_our_group_or_of_one_around_it_is_read(
    files: dict[str, str], membership: str, path: str, text: str
) -> None:
    files["/proc/self/cgroup"] = f"9:memory:/else\n{membership}"
    files[path] = text
    assert os_metrics.sample_machine().counters["throttled_s"] == 2.5


def test_a_group_without_a_limit_says_nothing_of_throttling() -> None:
    assert throttled_s("usage_usec 5\nuser_usec 3\n") is None
    assert throttled_s("") is None
