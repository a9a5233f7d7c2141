"""Servers are started, watched and ended for certain. `sleep` replaces one."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bakeoff.errors import ServerError
from bakeoff.provision.process import ServerProcess, end_process, free_port, port_is_free, server_account, start_ticks

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
#: For what is bound to happen: only ends a test that has failed.
TIMEOUT_S = 120.0


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def start(place: Path, *argv: str) -> ServerProcess:
    return ServerProcess(argv, env=ENVIRONMENT, log=place / "log", cwd=place)


def wait_for(condition: object, timeout_s: float = TIMEOUT_S) -> bool:
    assert callable(condition)
    deadline = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(condition())


def test_a_log_that_is_a_link_is_not_followed(place: Path) -> None:
    (place / "log").symlink_to(place / "precious")
    with pytest.raises(OSError, match="it is a link"):
        start(place, "echo", "words")
    assert not (place / "precious").exists()


def test_a_stopped_server_has_ended_by_itself(place: Path) -> None:
    server = start(place, "sleep", "60")
    assert server.alive()
    assert server.exit_text() == ""
    assert server.stop(TIMEOUT_S)
    assert not server.alive()
    assert server.exit_text() == "killed by SIGTERM"
    assert server.stop(TIMEOUT_S)


def test_a_product_is_stopped_by_its_own_signal_and_what_it_started_is_its_own_affair(place: Path) -> None:
    """PostgreSQL waits for its clients on SIGTERM, and its children take SIGINT for something else."""
    server = start(
        place, "sh", "-c", "sh -c 'trap \"echo child\" INT; sleep 0.2' & trap 'wait; exit 3' INT; echo up; wait"
    )
    assert wait_for(lambda: "up" in (place / "log").read_text())
    assert server.stop(TIMEOUT_S, signal.SIGINT)
    assert server.exit_text() == "exit code 3"
    assert (place / "log").read_text() == "up\n"


def test_a_server_that_ignores_sigterm_is_killed_with_what_it_started(place: Path) -> None:
    server = start(place, "sh", "-c", "trap '' TERM; sleep 61 & echo $!; wait; sleep 60")
    assert wait_for(lambda: (place / "log").read_text().endswith("\n"))
    child = int((place / "log").read_text())
    assert not server.stop(0.2)
    assert server.exit_text() == "killed by SIGKILL"
    assert wait_for(lambda: start_ticks(child) is None)


def test_a_server_has_a_process_group_of_its_own_in_our_session(place: Path) -> None:
    server = start(place, "sleep", "60")
    assert (os.getpgid(server.pid), os.getsid(server.pid)) == (server.pid, os.getsid(0))
    assert server.stop(TIMEOUT_S)


def test_a_frozen_server_is_thawed_to_end(place: Path) -> None:
    server = start(place, "sleep", "60")
    os.kill(server.pid, signal.SIGSTOP)
    assert wait_for(lambda: ") T " in Path(f"/proc/{server.pid}/stat").read_text())
    assert server.stop(TIMEOUT_S)
    assert server.exit_text() == "killed by SIGTERM"


def test_a_server_that_dies_is_seen_and_its_output_is_in_the_log(place: Path) -> None:
    server = start(place, "sh", "-c", "echo out; echo err >&2; exit 7")
    assert wait_for(lambda: not server.alive())
    assert server.exit_text() == "exit code 7"
    assert (place / "log").read_text() == "out\nerr\n"


def test_a_server_outlives_the_thread_that_asked_for_it(place: Path) -> None:
    """The kernel ends it with the thread that forked it, which is none of the callers'."""
    started: list[ServerProcess] = []
    thread = threading.Thread(target=lambda: started.append(start(place, "sh", "-c", "echo up; sleep 60")))
    thread.start()
    thread.join()
    assert wait_for(lambda: (place / "log").read_text() == "up\n")
    assert started[0].alive()
    assert started[0].stop(5.0)


def test_a_machine_without_setpriv_is_reported_with_why_that_matters(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(place))
    with pytest.raises(ServerError, match="setpriv is missing") as refused:
        start(place, "sleep", "60")
    assert "util-linux" in refused.value.hint


@pytest.mark.parametrize("delay_s", [0.0, 0.002, 0.005, 0.3])  # also while the server is only about to be started
def test_a_server_dies_with_a_parent_that_is_killed(place: Path, delay_s: float) -> None:
    code = (
        "import sys, time; from pathlib import Path; from bakeoff.provision.process import ServerProcess;"
        "p = Path(sys.argv[1]); s = ServerProcess(['sleep', '60'], env={'PATH': '/usr/bin:/bin'}, log=p / 'l', cwd=p);"
        "print(s.pid, flush=True); time.sleep(60)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "python")}
    argv = [sys.executable, "-c", code, str(place)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        time.sleep(delay_s)
        parent.kill()
    assert wait_for(lambda: start_ticks(pid) is None)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root drops privileges")
def test_started_by_root_it_is_nobody_with_no_groups(place: Path) -> None:
    account = server_account()
    assert account is not None
    server = start(place, "sh", "-c", "id -u; id -G")
    assert wait_for(lambda: not server.alive())
    assert (place / "log").read_text() == f"{account.uid}\n{account.gid}\n"


def test_a_process_is_known_by_pid_and_start_time(place: Path) -> None:
    server = start(place, "sleep", "60")
    ticks = start_ticks(server.pid)
    assert ticks == server.start_ticks
    assert not end_process(server.pid, ticks + 1)
    assert server.alive()
    assert end_process(server.pid, ticks, TIMEOUT_S)
    assert server.exit_text() == "killed by SIGKILL"
    assert start_ticks(server.pid) is None


def test_a_free_port_can_be_bound_and_is_then_taken() -> None:
    port = free_port()
    assert port_is_free(port)
    with socket.socket() as taker:
        taker.bind(("127.0.0.1", port))
        taker.listen()
        assert not port_is_free(port)
