"""How a managed MariaDB ends: killed, frozen, with its bakeoff, under another user."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bakeoff.provision.cache import cache_dir
from bakeoff.provision.instance import remove_stale
from bakeoff.provision.process import start_ticks
from bakeoff.systems.mysql.mariadb import MariaDb
from builders.pages import cached_pages
from builders.systems import node_of
from mariadb_servers import managed, wait_until_gone

pytestmark = [pytest.mark.servers, pytest.mark.usefixtures("mariadb_program")]


def test_a_killed_server_is_noticed(own: MariaDb) -> None:
    os.kill(own.pids()[0], signal.SIGKILL)
    deadline = time.monotonic() + 120
    while own.alive() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not own.alive()
    assert own.pids() == []
    assert node_of(own).counters() == {}
    assert node_of(own).debt() == {}
    assert "ready for connections" in own.log_tail()


def all_stopped(pid: int) -> bool:
    """Every thread: until then one of them may still answer."""
    stats = [stat.read_text() for stat in Path(f"/proc/{pid}/task").glob("*/stat")]
    return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)


def test_a_frozen_server_neither_hangs_us_nor_survives(own: MariaDb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own.server, "stop_timeout_s", 600.0)  # this one is to end by itself, however slowly
    pid, ticks = own.pids()[0], start_ticks(own.pids()[0])
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + 120
    while not all_stopped(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert node_of(own).counters() == {}  # and not never
    assert own.alive()
    own.stop()
    assert start_ticks(pid) != ticks
    assert "Shutdown complete" in own.log_tail()  # thawed to end cleanly


def test_the_clock_of_a_server_is_wrong_when_it_is_skewed_and_right_again_afterwards(place: Path) -> None:
    system = managed(place)
    system.server.lend_clock()
    system.start()
    try:
        for by_s in (0.0, 3600.0, -90.0, 0.0):
            system.server.skew_clock(by_s)
            ((now,),) = system.control.rows("SELECT UNIX_TIMESTAMP(NOW(6))")
            assert float(str(now)) - time.time() == pytest.approx(by_s, abs=30)
    finally:
        system.stop()


def test_stopping_twice_or_before_the_start_is_fine(place: Path) -> None:
    system = managed(place)
    system.stop()
    system.start()
    system.stop()
    system.stop()
    assert system.pids() == []


STARTER = """
import json, sys, time
from pathlib import Path
from bakeoff.provision.process import start_ticks
from bakeoff.systems import SYSTEMS
from bakeoff.systems.base import Configuration
system = SYSTEMS["mariadb"].configure(Configuration("m", {"start": json.loads(sys.argv[2])}, durability=None,
    isolation=None, workdir=Path(sys.argv[1]) / "m", timeout_s=10.0, base_dir=Path("/")))
system.start()
uid = Path(f"/proc/{system.pids()[0]}").stat().st_uid
print(json.dumps([system.pids()[0], start_ticks(system.pids()[0]), uid, system.nodes()[0].facts().version]), flush=True)
time.sleep(60)
"""


@contextmanager
def starter(
    place: Path, *prefix: str, python: str = sys.executable, start: object = True
) -> Iterator[tuple[subprocess.Popen[str], list[Any]]]:
    """Another bakeoff that starts a server and then does nothing; and what it says about the server."""
    paths = [str(Path(__file__).parents[2] / "python"), sysconfig.get_path("purelib")]
    environment = {
        **os.environ,
        "PYTHONPATH": ":".join(paths),
        "BAKEOFF_CACHE": str(cache_dir()),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    argv = [*prefix, python, "-c", STARTER, str(place), json.dumps(start)]
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, text=True, cwd="/") as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, "the starter ended at once"
            yield process, json.loads(line)
        finally:
            process.kill()


def test_a_killed_bakeoff_leaves_no_server_and_the_next_one_clears_its_folder(place: Path) -> None:
    with starter(place) as (process, (pid, ticks, _, _)):
        assert start_ticks(pid) == ticks
        process.kill()
        process.wait()
        assert wait_until_gone(pid, ticks)
    assert (place / "m").exists()
    assert remove_stale(place) == [place / "m"]
    assert not (place / "m").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="we are an ordinary user already: all tests show it")
def test_an_ordinary_user_can_start_one_too(place: Path) -> None:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    as_nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", f"HOME={place}")
    pythons = [sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"]
    probes = {
        python: subprocess.run([*as_nobody, python, "-c", ""], capture_output=True).returncode for python in pythons
    }
    python = next((python for python, code in probes.items() if code == 0), None)
    if python is None:
        pytest.skip(f"there is no {version} that another user may run")
    os.chown(place, 65534, 65534)
    with starter(place, *as_nobody, python=python) as (process, (pid, ticks, uid, server_version)):
        assert uid == 65534
        assert server_version
        process.terminate()
        process.wait()
        assert wait_until_gone(pid, ticks)


def test_a_cold_server_reads_everything_from_its_files(place: Path) -> None:
    """Whether it ran on (reuse, reload) or was just restored; and it does not read back what its pool held before."""
    system = managed(place, {"innodb_buffer_pool_dump_pct": 100})

    def pages_read_by_a_scan() -> int:
        def read() -> int:
            return int(system.control.rows("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_reads'")[0][1])

        before = read()
        system.control.rows("SELECT SUM(LENGTH(v)) FROM bakeoff.t")
        return read() - before

    try:
        system.start()
        system.control.rows("CREATE TABLE bakeoff.t (id INT PRIMARY KEY, v VARCHAR(2000))")
        system.control.rows("INSERT INTO bakeoff.t SELECT seq, REPEAT('x', 2000) FROM bakeoff.seq_1_to_4000")
        pages_read_by_a_scan()
        assert pages_read_by_a_scan() == 0
        system.make_cold()
        (table,) = system.server.data.rglob("t.ibd")
        assert cached_pages(table) * 4096 < table.stat().st_size / 10  # the server looked into it as it started
        assert pages_read_by_a_scan() > 0
        system.snapshot(place / "copy")
        system.restore(place / "copy")
        system.make_cold()
        assert pages_read_by_a_scan() > 0
    finally:
        system.stop()
