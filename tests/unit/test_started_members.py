"""A started system is a list of members: each a process in a folder of its own, and all of them one system."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bakeoff.errors import ServerError
from bakeoff.provision.instance import remove_stale
from bakeoff.provision.process import start_ticks
from bakeoff.systems.server.options import StartOptions
from builders.servers import Sleeper, Sleepers

#: For what is bound to happen: only ends a test that has failed.
TIMEOUT_S = 120.0


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.fixture
def three(place: Path) -> Iterator[Sleepers]:
    system = Sleepers(place / "system", "a", "b", "c")
    yield system
    system.stop()


def state(server: Sleeper) -> str:
    """As the kernel writes it: S of one that sleeps, T of one that is frozen."""
    return Path(f"/proc/{server.pids()[0]}/stat").read_text().rpartition(")")[2].split()[0]


def wait_for(server: Sleeper, wanted: str) -> bool:
    deadline = time.monotonic() + TIMEOUT_S
    while state(server) != wanted and time.monotonic() < deadline:
        time.sleep(0.002)
    return state(server) == wanted


def test_they_start_in_order_each_in_its_own_folder_and_stop_the_last_first(three: Sleepers, place: Path) -> None:
    three.start()
    assert [node.endpoint()["name"] for node in three.nodes()] == ["a", "b", "c"]
    assert [node.role for node in three.nodes()] == ["primary", "replica", "replica"]
    assert [server.data for server in three.servers().values()] == [place / "system" / n / "data" for n in "abc"]
    assert len({server.port for server in three.servers().values()} | {*three.pids()}) == 6
    three.stop()
    assert three.done == ["start a", "start b", "start c", "stop c", "stop b", "stop a"]
    assert not three.alive()


def test_all_take_the_same_password(three: Sleepers) -> None:
    assert len({server.bench_password for server in three.servers().values()}) == 1


def test_with_a_port_of_the_plan_they_have_that_and_the_next(place: Path) -> None:
    system = Sleepers(place / "system", "a", "b", start=StartOptions(port=20_000))
    assert [server.spec.port for server in system.servers().values()] == [20_000, 20_001]


def test_one_that_has_ended_leaves_the_system_alive_and_the_next_start_brings_it_back(three: Sleepers) -> None:
    three.start()
    port = three.sleeper("b").port
    three.sleeper("b").kill()
    assert three.alive()
    three.start()
    assert three.done[3:] == ["start b"]
    assert len(three.pids()) == 3
    assert three.sleeper("b").port == port  # the load and the other members know it


def test_a_frozen_one_lives_and_is_ended_before_the_next_start(three: Sleepers) -> None:
    three.start()
    frozen = three.sleeper("b")
    frozen.freeze()
    assert wait_for(frozen, "T")
    assert frozen.alive()
    frozen.thaw()
    assert wait_for(frozen, "S")
    frozen.freeze()
    three.start()
    assert three.done[3:] == ["stop b", "start b"]
    assert state(frozen) != "T"


def test_one_that_cannot_start_takes_the_others_with_it(three: Sleepers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(three.sleeper("c"), "command", lambda options: ["/bin/false"])
    monkeypatch.setattr(three.sleeper("c"), "answers", lambda: False)
    with pytest.raises(ServerError, match="c: exit code 1"):
        three.start()
    assert three.pids() == []


def test_all_are_stopped_even_if_one_cannot_be(three: Sleepers, monkeypatch: pytest.MonkeyPatch) -> None:
    three.start()

    def interrupted() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(three.sleeper("b"), "disconnect", interrupted)
        with pytest.raises(KeyboardInterrupt):
            three.stop()
    assert [name for name in "abc" if three.sleeper(name).alive()] == ["b"]


def test_a_snapshot_has_a_folder_for_each_and_is_put_back_to_each(three: Sleepers, place: Path) -> None:
    three.start()
    three.snapshot(place / "copy")
    assert three.done[3:9] == ["settle a", "settle b", "settle c", "end c", "end b", "end a"]
    assert three.done[9:] == ["start a", "start b", "start c"]
    (three.sleeper("b").data / "whose").write_text("changed")
    three.restore(place / "copy")
    assert [(server.data / "whose").read_text() for server in three.servers().values()] == ["a", "b", "c"]
    assert len(three.pids()) == 3


def test_no_snapshot_is_made_of_nodes_that_do_not_hold_the_same(
    three: Sleepers, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    three.start()
    monkeypatch.setattr(three, "caught_up", lambda timeout_s: False)
    with pytest.raises(ServerError, match="not all nodes had the loaded data within 1800 s"):
        three.snapshot(place / "copy")
    assert not (place / "copy").exists()
    assert len(three.pids()) == 3
    assert not three.drain_debt(1.0)


def test_a_cold_start_ends_all_before_the_first_starts_and_has_them_forget(three: Sleepers) -> None:
    three.start()
    three.make_cold()
    assert three.done[3:6] == ["end c", "end b", "end a"]
    assert three.done[6:] == ["start a forgetful", "start b forgetful", "start c forgetful"]


def test_their_size_is_reported_together_and_not_where_one_is_gone(three: Sleepers) -> None:
    three.start()
    assert three.size_on_disk_bytes() == 300
    three.sleeper("c").kill()
    assert three.size_on_disk_bytes() is None


def test_the_log_of_each_is_reported_by_its_name_and_that_of_a_single_one_as_it_is(
    three: Sleepers, place: Path
) -> None:
    for name, server in three.servers().items():
        server.log.write_text(f"words of {name}\n")
    assert three.log_tail() == "==> a <==\nwords of a\n\n==> b <==\nwords of b\n\n==> c <==\nwords of c"
    single = Sleepers(place / "single", "server")
    single.server.log.write_text(f"its password is {single.server.bench_password}\n")
    assert single.log_tail() == "its password is ***"


STARTER = """
import sys, time
from pathlib import Path
from bakeoff.provision.process import start_ticks
from builders.servers import Sleepers
system = Sleepers(Path(sys.argv[1]), "a", "b")
def never_ready():
    print(*(f"{pid} {start_ticks(pid)}" for pid in system.pids()), flush=True)
    time.sleep(600)
system.sleeper("b").answers = never_ready
system.start()
"""


def test_killed_in_the_middle_of_the_start_we_leave_no_server_behind(place: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    argv = [sys.executable, "-c", STARTER, str(place / "system")]
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        numbers = [int(word) for word in process.stdout.readline().split()]
        servers = list(zip(numbers[::2], numbers[1::2], strict=True))
        assert len(servers) == 2
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + TIMEOUT_S
    while any(start_ticks(pid) == ticks for pid, ticks in servers) and time.monotonic() < deadline:
        time.sleep(0.002)
    assert not [pid for pid, ticks in servers if start_ticks(pid) == ticks]
    assert remove_stale(place) == [place / "system"]
    assert list(place.iterdir()) == []


def test_all_servers_of_a_system_have_one_certificate(place: Path) -> None:
    """The load trusts one authority; and a server that is started again has the one that is trusted."""
    system = Sleepers(place, "a", "b")
    made = [server.make_certificate() for server in system.servers().values()]
    text = made[0].certificate.read_text()
    again = system.sleeper("b").make_certificate()
    assert made == [again, again]
    assert again.certificate.read_text() == text
