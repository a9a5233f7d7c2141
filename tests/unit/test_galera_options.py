"""What a Galera cluster is made of and who begins it, without a server."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from bakeoff.errors import PlanError, ServerError
from bakeoff.systems.durability import of_galera, of_innodb
from bakeoff.systems.mysql.galera import Galera
from bakeoff.systems.mysql.galera_process import SOURCES, Position, kind_of_wsrep, provider_options, transfer
from builders.systems import configured


def cluster(tmp_path: Path, **start: Any) -> Galera:
    return cast(Galera, configured("galera", tmp_path / "g", {"start": start}))


class Fake:
    """A node. done: what was done to all, in order."""

    def __init__(self, name: str, done: list[str], seqno: int, *, alive: bool = False, sees: int = 0) -> None:
        self.name, self.done, self.seqno, self.lives, self.sees = name, done, seqno, alive, sees
        self.data = Path(name)

    def alive(self) -> bool:
        return self.lives

    def answers(self) -> bool:
        return self.lives

    def is_synced(self) -> bool:
        return self.lives

    def has_data(self, _: Path) -> bool:
        return True

    def group_size(self) -> int:
        """One less each time it is asked."""
        self.done.append(f"{self.name} sees {self.sees}")
        self.sees -= 1
        return self.sees + 1

    def last_committed(self) -> int:
        self.seqno += 1
        return self.seqno - 1

    def position(self) -> Position:
        return Position("u", self.seqno)

    def begin_group(self, *_: str) -> None:
        self.done.append(f"{self.name} begins")
        self.lives, self.sees = True, 1

    def start(self, *_: str) -> None:
        self.done.append(f"{self.name} joins")
        self.lives, self.sees = True, 1

    def handed_over(self) -> str:
        return "what it had missed"


def of(tmp_path: Path, *nodes: Fake) -> Galera:
    system = cluster(tmp_path)
    system._servers = cast(Any, {node.name: node for node in nodes})
    return system


def test_the_first_node_writes_and_the_others_read(tmp_path: Path) -> None:
    assert cluster(tmp_path).roles() == {"n1": "writer", "n2": "reader", "n3": "reader"}
    assert list(cluster(tmp_path, nodes=5).roles()) == ["n1", "n2", "n3", "n4", "n5"]


@pytest.mark.parametrize("nodes", [1, 6])
def test_a_cluster_has_two_to_five_nodes(tmp_path: Path, nodes: int) -> None:
    with pytest.raises(PlanError, match="nodes"):
        cluster(tmp_path, nodes=nodes)


def test_where_a_node_listens_no_plan_says(tmp_path: Path) -> None:
    settings = {"wsrep-provider-options": "gcache.size = 1G; gmcast.listen_addr = tcp://0.0.0.0:4567"}
    with pytest.raises(PlanError, match="is set by bakeoff"):
        cluster(tmp_path, settings=settings)


def test_of_nodes_that_have_all_ended_the_one_that_holds_most_begins(tmp_path: Path) -> None:
    done: list[str] = []
    of(tmp_path, Fake("n1", done, 7), Fake("n2", done, 9), Fake("n3", done, 8))._start_those_that_do_not_run()
    assert [words for words in done if "sees" not in words] == ["n2 begins", "n1 joins", "n3 joins"]


def test_a_node_that_misses_commits_does_not_begin_alone(tmp_path: Path) -> None:
    done: list[str] = []
    system = of(tmp_path, Fake("n1", done, 7), Fake("n2", done, 9))
    with pytest.raises(ServerError, match="n2 has commits that n1 does not") as refused:
        system.rejoin("n1")
    assert refused.value.hint == "start n2 first"
    assert system.rejoin("n2") == "what it had missed"
    assert done == ["n2 begins"]


def test_a_node_joins_once_the_others_have_seen_that_it_had_ended(tmp_path: Path) -> None:
    done: list[str] = []
    system = of(
        tmp_path, Fake("n1", done, 9, alive=True, sees=3), Fake("n2", done, 9, alive=True, sees=9), Fake("n3", done, 5)
    )
    assert system.rejoin("n3") == "what it had missed"
    assert done[-2:] == ["n1 sees 2", "n3 joins"]


def test_all_have_caught_up_when_each_has_what_any_had_committed(tmp_path: Path) -> None:
    behind, ahead = Fake("n1", [], 3, alive=True), Fake("n2", [], 9, alive=True)
    assert of(tmp_path, behind, ahead).caught_up(60.0)
    assert behind.seqno > 9
    assert not of(tmp_path, Fake("n1", [], 3, alive=True), Fake("n2", [], 10**9, alive=True)).caught_up(0.0)


def test_one_copy_of_the_data_serves_all_nodes(tmp_path: Path) -> None:
    assert {cluster(tmp_path).copied_from(node) for node in ("n1", "n2", "n3")} == {"n1"}


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("WSREP_SST: [INFO] mariabackup IST completed on joiner\n WSREP: Receiving IST: 3 writesets, seqnos 14-16",
         "incremental state transfer of 3 write sets"),
        ("WSREP_SST: [INFO] mariabackup SST completed on joiner\n WSREP: Receiving IST: 1 writesets, seqnos 9-9",
         "full state transfer"),
        ("WSREP: Synchronized with group, ready for connections", ""),
    ],
)  # fmt: skip
def test_the_log_tells_what_a_node_was_handed(log: str, words: str) -> None:
    assert transfer(log) == words


def test_counters_and_gauges_of_the_group_are_distinguished() -> None:
    kinds = {
        name: kind_of_wsrep(name) for name in ("wsrep_local_recv_queue", "wsrep_local_bf_aborts", "Threads_running")
    }
    assert kinds == {"wsrep_local_recv_queue": "gauge", "wsrep_local_bf_aborts": "counter", "Threads_running": "gauge"}
    assert kind_of_wsrep("wsrep_local_recv_queue_avg") is None
    assert provider_options("gcs.fc_limit = 16; socket.ssl = NO; ") == {"gcs.fc_limit": "16", "socket.ssl": "NO"}


@pytest.mark.parametrize("flush", ["0", "1", "2"])
def test_what_a_node_alone_would_lose_a_cluster_loses_with_all_nodes(flush: str) -> None:
    settings = {"innodb_flush_log_at_trx_commit": flush}
    cluster, one = of_galera(settings), of_innodb(settings)
    assert cluster.level == one.level
    told = (cluster.lost_when_killed, cluster.lost_at_power_loss)
    assert told == {
        "0": ("commits of the last 1 s, if all nodes are killed at once",
              "commits of the last 1 s, if all nodes lose their power"),
        "1": ("nothing", "nothing"),
        "2": ("nothing", "commits of the last 1 s, if all nodes lose their power"),
    }[flush]  # fmt: skip


@pytest.fixture
def place() -> Iterator[Path]:
    """That a server may reach which runs as nobody."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.skipif(not SOURCES.here(), reason="Galera is not installed; its own tests install it")
def test_a_transfer_that_outlived_its_server_is_ended_with_it(place: Path) -> None:
    """It is a program of its own group, which the next start would find running."""
    process = cluster(place).processes()["n2"]
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    argv = [[*sleep, "wsrep_sst_mariabackup", f"{folder}/"] for folder in (process.data, place / "another")]
    own, another = (subprocess.Popen(words, process_group=0) for words in argv)
    try:
        process.kill()
        assert own.wait(30.0) == -signal.SIGKILL
        assert another.poll() is None
    finally:
        for left in (own, another):
            left.kill()
            left.wait()
