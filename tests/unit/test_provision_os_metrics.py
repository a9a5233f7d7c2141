"""What the operating system says, checked against processes whose behaviour is known."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bakeoff.provision import os_metrics


@contextmanager
def running(code: str) -> Iterator[subprocess.Popen[str]]:
    """A Python process that has said it is ready."""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def test_cpu_time_of_a_busy_process_is_what_it_has_used_itself() -> None:
    code = (
        "import time\nwhile time.process_time() < 0.5: pass\n"
        "print(time.process_time(), flush=True)\nwhile True: time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as busy:
        assert busy.stdout is not None
        own_s = float(busy.stdout.readline())
        counters = os_metrics.sample_processes([busy.pid]).counters
        busy.kill()
    cpu_s = counters["cpu_user_s"] + counters["cpu_system_s"]
    assert cpu_s == pytest.approx(own_s, abs=0.05)  # two figures in ticks of 10 ms, and the way to its sleep


def made_up(proc: Path, pid: int, *, parent: int = 1, state: str = "S", own: int = 0, ended: int = 0) -> None:
    """/proc/PID/stat; own and ended: ticks of the process and of the children it has waited for."""
    (proc / str(pid)).mkdir(exist_ok=True)
    words = [state, parent, *[0] * 9, own, 0, ended, 0, 20, 0, 1, 0, 0, 0, 0]
    (proc / str(pid) / "stat").write_text(f"{pid} (server) {' '.join(map(str, words))}\n")


def test_cpu_time_does_not_go_back_when_a_child_ends_before_its_parent_has_waited_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os_metrics, "_PROC", str(tmp_path))

    def ticks() -> float:
        sample = os_metrics.sample_processes([10])
        return sample.counters["cpu_user_s"] * os.sysconf("SC_CLK_TCK")

    made_up(tmp_path, 10, own=100)
    made_up(tmp_path, 11, parent=10, own=50)
    assert ticks() == 150
    made_up(tmp_path, 11, parent=10, state="Z", own=60)
    assert ticks() == 160
    assert os_metrics.sample_processes([10]).gauges["processes"] == 1
    (tmp_path / "11" / "stat").unlink()
    made_up(tmp_path, 10, own=100, ended=60)
    assert ticks() == 160


def test_written_bytes_are_counted() -> None:
    with tempfile.NamedTemporaryFile(dir=Path.cwd()) as file:
        code = (
            f"import os, sys; f = os.open({file.name!r}, os.O_WRONLY); print(1, flush=True); sys.stdin.read(1);"
            "os.write(f, b'x' * 1000000); os.fsync(f); print(2, flush=True); sys.stdin.read(1)"
        )
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen([sys.executable, "-c", code], text=True, **pipes) as writer:  # type: ignore[call-overload]
            assert writer.stdin
            assert writer.stdout
            writer.stdout.readline()
            before = os_metrics.sample_processes([writer.pid])
            writer.stdin.write("\n")
            writer.stdin.flush()
            writer.stdout.readline()
            after = os_metrics.sample_processes([writer.pid])
            writer.kill()
    assert after.counters["write_bytes"] - before.counters["write_bytes"] >= 1_000_000
    assert after.counters["write_calls"] > before.counters["write_calls"]


def test_descendants_are_part_of_a_process() -> None:
    code = "import subprocess; p = subprocess.Popen(['sleep', '60']); print(1, flush=True); p.wait()"
    with running(code) as parent:
        sample = os_metrics.sample_processes([parent.pid])
        family = os_metrics.family([parent.pid], os_metrics.process_table())
        assert len(family) == 2
        assert sample.gauges["processes"] == 2
        assert sample.gauges["rss_bytes"] > os_metrics.sample_processes(family[1:]).gauges["rss_bytes"]
        os.kill(family[1], 9)


def test_a_process_that_has_gone_gives_no_figures() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    sample = os_metrics.sample_processes([process.pid])
    assert sample == os_metrics.Sample()
    assert os_metrics.sample_processes([]) == os_metrics.Sample()


def test_a_figure_that_one_process_withholds_is_absent_and_not_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    read = os_metrics._text
    monkeypatch.setattr(os_metrics, "_text", lambda path: "" if path.endswith("/io") else read(path))
    sample = os_metrics.sample_processes([os.getpid()])
    assert "write_bytes" not in sample.counters
    assert sample.counters["cpu_user_s"] > 0


def test_the_machines_figures_are_plausible() -> None:
    sample = os_metrics.sample_machine()
    assert sample.counters["cpu_busy_s"] > 0
    assert sample.counters["cpu_steal_s"] >= 0
    assert sample.gauges["memory_available_bytes"] > 1 << 20
    assert {"dirty_bytes", "writeback_bytes", "load_1min", "runnable"} <= sample.gauges.keys()


def test_waiting_for_write_back_ends_when_the_kernel_is_quiet_or_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sync", lambda: None)
    readings = iter([{"Dirty": 1 << 30}, {"Dirty": 1 << 20, "Writeback": 1 << 30}, {"Dirty": 4096, "Writeback": 0}])
    monkeypatch.setattr(os_metrics, "meminfo_bytes", lambda: next(readings))
    assert os_metrics.wait_for_writeback(600.0)
    monkeypatch.setattr(os_metrics, "meminfo_bytes", lambda: {"Dirty": 1 << 30})
    assert not os_metrics.wait_for_writeback(0.1)


def test_pinning_moves_every_thread() -> None:
    with running("import threading, time; print(1, flush=True); time.sleep(60)") as process:
        core = min(os.sched_getaffinity(0))
        os_metrics.pin(process.pid, [core])
        assert os.sched_getaffinity(process.pid) == {core}


_THREE = """
import mmap, os, time
shared = mmap.mmap(-1, 64 << 20)
for page in range(0, 64 << 20, 4096):
    shared[page] = 1
for _ in range(2):
    if os.fork() == 0:
        for page in range(0, 64 << 20, 4096):
            shared[page]
        os.write(1, b"ready\\n")
        time.sleep(3600)
time.sleep(3600)
"""


def test_memory_that_processes_share_is_counted_once() -> None:
    """As of a server with a process for each connection and one cache."""
    with running(_THREE) as first:
        assert first.stdout is not None
        first.stdout.readline()
        sample = os_metrics.sample_processes([first.pid])
        for pid in os_metrics.family([first.pid], os_metrics.process_table()):
            os.kill(pid, 9)
    assert sample.gauges["processes"] == 3
    assert 64 << 20 <= sample.gauges["rss_bytes"] < 2 * (64 << 20)
    assert "shared_bytes" not in sample.gauges


def test_cpu_time_of_a_connections_process_stays_when_it_has_ended() -> None:
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    while time.process_time() < 0.3: pass\n"
        "    os._exit(0)\n"
        "os.wait(); print(1, flush=True); time.sleep(3600)"
    )
    with running(code) as server:
        counters = os_metrics.sample_processes([server.pid]).counters
    assert counters["cpu_user_s"] + counters["cpu_system_s"] >= 0.25
