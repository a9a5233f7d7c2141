"""Load machines that SSH reaches: workers are started there and end with the run, and what is secret of it is in no
file and on no command line. The machines are this one, by names of its own sshd."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from bakeoff.errors import BakeoffError
from bakeoff.fleet.cluster import Cluster
from bakeoff.fleet.clusters import opened
from bakeoff.fleet.spec import FleetSpec, Ssh
from builders.sshd import AWAY, HOSTS, NoSshd, Sshd, started

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
        pytest.skip(str(why))


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


def names(cluster: Cluster) -> list[str]:
    return sorted(worker["name"] for worker in cluster.client().scheduler_info()["workers"].values())


def test_clients_run_on_the_machines_by_their_names_and_nothing_is_left_of_them(sshd: Sshd, tmp_path: Path) -> None:
    run = bakeoff(sshd, tmp_path, "1s")
    said = run.communicate(timeout=120)[1]
    assert run.returncode == 0, said
    assert "distributed" not in said, "Dask's own log is not for those who measure"
    (result,) = (tmp_path / "bundle/runs").glob("*/result.json")
    assert [client["ok"] > 0 for client in json.loads(result.read_text())["clients"]] == [True] * 3
    assert json.loads((tmp_path / "bundle/plan.json").read_text())["fleet"] == "load1, load2 (SSH)"
    until(lambda: not workers(sshd), 10)


def test_certificates_are_on_no_command_line_in_no_environment_and_in_no_file(
    here: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    with opened(FleetSpec(Ssh(HOSTS, sys.executable))) as cluster:
        assert names(cluster) == list(HOSTS)
        assert cluster.address.startswith("tls://")
        found = workers(here)
        assert len(found) >= len(HOSTS)
        for process in [*found, psutil.Process()]:
            assert "PRIVATE KEY" not in " ".join(process.cmdline())
            assert "PRIVATE KEY" not in str(process.environ())
        files = [path for folder in (scratch, here.home) for path in folder.rglob("*") if path.is_file()]
        known = {here.home / ".ssh" / name for name in ("id_ed25519", "host_key")}
        assert [path for path in files if path not in known and b"PRIVATE KEY" in path.read_bytes()] == []
    until(lambda: not workers(here), 10)


def test_a_worker_that_is_killed_is_started_again(here: Sshd) -> None:
    with opened(FleetSpec(Ssh(HOSTS[:1], sys.executable))) as cluster:
        (first,) = cluster.client().scheduler_info()["workers"]
        for process in workers(here):
            process.kill()
        until(lambda: set(cluster.client().scheduler_info()["workers"]) - {first} != set())
        assert names(cluster)[-1] == HOSTS[0]
    until(lambda: not workers(here), 10)


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
    ("script", "what", "hint"),
    [
        (
            f'exec {sys.executable} -S "$@"',
            "starts no Dask worker: ModuleNotFoundError: No module",
            "pip install",
        ),
        ('echo \'{"python": "3.2.1", "distributed": "1"}\'; cat', "load1 has Python 3.2.1", "`remote_python`"),
        (
            f"{sys.executable} -c 'import json, platform;"
            ' print(json.dumps({"python": platform.python_version(), "distributed": "2019.1.0"}))\'; cat',
            "load1 has distributed 2019.1.0",
            "install distributed",
        ),
    ],
)
def test_a_python_that_cannot_be_a_worker_is_told_by_its_machine(
    here: Sshd, tmp_path: Path, script: str, what: str, hint: str
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    with pytest.raises(BakeoffError) as caught, opened(FleetSpec(Ssh(HOSTS[:1], str(python)))):
        pass
    assert what in caught.value.what
    assert hint in caught.value.hint


def test_a_machine_that_ssh_does_not_reach_is_told_by_its_name(here: Sshd) -> None:
    with pytest.raises(BakeoffError) as caught, opened(FleetSpec(Ssh((AWAY,), sys.executable))):
        pass
    assert f"{AWAY} cannot be reached by SSH" in caught.value.what
    assert f"`ssh {AWAY} true`" in caught.value.hint
