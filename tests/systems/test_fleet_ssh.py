"""Load machines that SSH reaches: keepers are started there and end with the run. The machines are this one, by names
of its own sshd."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from bakeoff.errors import BakeoffError
from bakeoff.fleet.hosts import fleet_host
from bakeoff.fleet.load_machines import LoadMachines
from bakeoff.fleet.machine_check import check_machines
from bakeoff.fleet.spec import FleetSpec, Ssh
from builders.sshd import AWAY, HOSTS, NoSshd, Sshd, started
from fleet_on_hosts import is_engine

pytestmark = pytest.mark.servers

PLAN = f"""
title = "t"
clients = 3
[systems.null]
latency_ns = 100_000
[workload]
kind = "ycsb"
preset = "c"
records = 100
[measure]
window = "WINDOW"
warm_up = "0s"
repetitions = 1
[fleet]
ssh = {list(HOSTS)}
remote_python = "{sys.executable}"
"""


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    try:
        with started(tmp_path_factory.mktemp("home")) as found:
            yield found
    except NoSshd as why:
        pytest.skip(f"no load machines by SSH: {why}")


@pytest.fixture
def here(sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> Sshd:
    """Known to SSH in this process."""
    monkeypatch.setenv("HOME", str(sshd.home))
    return sshd


def workers(sshd: Sshd) -> list[psutil.Process]:
    """All that was started over SSH, without sshd's own processes."""
    found = []
    for process in psutil.Process(sshd.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            found += [process] if "sshd" not in process.name() else []
    return found


def until(true: Callable[[], bool], timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def bakeoff(sshd: Sshd, folder: Path, window: str) -> subprocess.Popen[str]:
    plan = folder / "p.toml"
    plan.write_text(PLAN.replace("WINDOW", window))
    command = [sys.executable, "-m", "bakeoff", "run", str(plan), "--out", str(folder / "bundle"), "--quiet"]
    return subprocess.Popen(
        [*command, "--together", "--no-report", "--allow-disturbed", "--work-dir", str(folder)],
        env=sshd.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def opened(hosts: tuple[str, ...], python: str = sys.executable) -> Iterator[LoadMachines]:
    with fleet_host(FleetSpec(Ssh(hosts, python)), lambda _: None) as host:
        yield host


def test_clients_run_on_the_machines_by_their_names_and_nothing_is_left_of_them(sshd: Sshd, tmp_path: Path) -> None:
    run = bakeoff(sshd, tmp_path, "1s")
    said = run.communicate(timeout=120)[1]
    assert run.returncode == 0, said
    (result,) = (tmp_path / "bundle/runs").glob("*/result.json")
    assert [client["ok"] > 0 for client in json.loads(result.read_text())["clients"]] == [True] * 3
    assert json.loads((tmp_path / "bundle/plan.json").read_text())["fleet"] == "load1, load2 (SSH)"
    until(lambda: not workers(sshd), 10)


def test_a_machine_that_was_lost_is_connected_again(here: Sshd) -> None:
    with opened(HOSTS) as host:
        assert [machine.name for machine in host.free()] == list(HOSTS)
        for process in psutil.Process(here.pid).children(recursive=True):
            process.kill()  # of sshd, the processes that hold the connections
        until(lambda: host.free() == [])
        until(lambda: len(host.free()) == len(HOSTS))


def test_a_keeper_that_is_frozen_is_lost_and_ended_with_its_engine(sshd: Sshd, tmp_path: Path) -> None:
    run = bakeoff(sshd, tmp_path, "10s")
    try:
        until(lambda: sum(is_engine(process.pid) for process in workers(sshd)) == 3)
        keeper = next(process for process in workers(sshd) if "-I" in process.cmdline())
        keeper.suspend()
        until(lambda: not keeper.is_running(), 20)
        said = run.communicate(timeout=60)[1]
    finally:
        run.kill()
        run.wait()
    assert "was lost: received nothing from it for 5 s" in said
    assert run.returncode == 0, "the run was repeated"
    until(lambda: not workers(sshd), 15)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_and_no_engine_outlives_the_run(sshd: Sshd, tmp_path: Path, sign: signal.Signals) -> None:
    run = bakeoff(sshd, tmp_path, "60s")
    try:
        until(lambda: len(workers(sshd)) > len(HOSTS))  # keepers and engines, too
        run.send_signal(sign)
        run.communicate(timeout=60)
    finally:
        run.kill()
        run.wait()
    until(lambda: not workers(sshd), 15)


@pytest.mark.parametrize(
    ("script", "what"),
    [("echo 3.2.1", "cannot run a client: it is Python 3.2.1"), ("echo no such room >&2; exit 1", "no such room")],
)
def test_a_python_that_can_hold_no_client_is_reported_by_its_machine(
    here: Sshd, tmp_path: Path, script: str, what: str
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    with pytest.raises(BakeoffError) as caught, opened(HOSTS[:1], str(python)):
        pass
    assert "on load1 " in caught.value.what
    assert what in caught.value.what
    assert "`remote_python`" in caught.value.hint


def test_a_python_that_does_not_begin_is_given_up(here: Sshd, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\n[ ${#3} -lt 200 ] && echo 3.11.7 || exec sleep 20\n")
    python.chmod(0o755)
    with opened(HOSTS[:1], str(python)) as host:
        (machine,) = check_machines(host, {})
        assert "it has not started its client within 9 s" in machine.unfit
        assert [free.name for free in host.free()] == ["load1"]


def test_a_machine_that_ssh_does_not_reach_is_reported_by_its_name(here: Sshd) -> None:
    with pytest.raises(BakeoffError) as caught, opened((AWAY,)):
        pass
    assert f"{AWAY} cannot be reached by SSH" in caught.value.what
    assert f"`ssh {AWAY} true`" in caught.value.hint
