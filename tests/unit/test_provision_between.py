"""A partition drops what two sides of processes send each other, a delay delays it, and neither touches what clients
send."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from bakeoff.errors import ServerError
from bakeoff.fleet.engine_program import engine_path
from bakeoff.provision import between as module
from bakeoff.provision.delay import Delay
from bakeoff.provision.partition import Partition

SERVER = """
import socketserver, threading
class Echo(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(line)
servers = [socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) for _ in range(2)]
for server in servers:
    threading.Thread(target=server.serve_forever).start()
print(*(server.server_address[1] for server in servers), flush=True)
"""
CLIENT = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5) as client:
    client.sendall(b"hello\\n")
    assert client.recv(100) == b"hello\\n"
"""
BRIEF_S, LONG_S = 0.3, 10.0
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the kernel lets only root filter TCP")


@dataclass
class Server:
    pid: int
    port: int
    host: str = "127.0.0.1"

    def pids(self) -> list[int]:
        return [self.pid]


@dataclass
class Pair:
    """A server, and ourselves as the other one."""

    server: Server
    port_of_nodes: int

    def partition(self) -> Partition:
        return Partition(cast(Any, self.server), [cast(Any, Server(os.getpid(), 1))])

    def delay(self, by_s: float) -> Delay:
        return Delay(cast(Any, self.server), [cast(Any, Server(os.getpid(), 1))], by_s, engine_path())

    def connect(self, timeout_s: float = LONG_S) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port_of_nodes), timeout_s)

    def client_is_served(self) -> bool:
        words = [sys.executable, "-c", CLIENT, str(self.server.port)]
        return subprocess.run(words, timeout=LONG_S, check=False).returncode == 0


@pytest.fixture
def pair() -> Iterator[Pair]:
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        of_nodes, of_clients = map(int, process.stdout.readline().split())
        yield Pair(Server(process.pid, of_clients), of_nodes)
        process.kill()


def test_nothing_passes_while_it_lasts_and_all_of_it_afterwards(pair: Pair) -> None:
    partition = pair.partition()
    with pair.connect() as node:
        node.sendall(b"before\n")
        assert node.recv(100) == b"before\n"
        partition.begin()
        node.sendall(b"meanwhile\n")
        node.settimeout(BRIEF_S)
        with pytest.raises(TimeoutError):
            node.recv(100)
        assert pair.client_is_served()
        partition.end()
        node.settimeout(LONG_S)
        assert node.recv(100) == b"meanwhile\n"


def test_no_new_connection_is_made_while_it_lasts(pair: Pair) -> None:
    partition = pair.partition()
    with pair.connect():
        partition.begin()
        with pytest.raises(TimeoutError):
            pair.connect(BRIEF_S)
        partition.end()
        pair.connect().close()


def test_a_new_connection_to_the_port_of_clients_is_found_and_cut(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOOKS_EVERY_S", 0.01)
    partition = pair.partition()
    with pair.connect():
        partition.begin()
        with socket.create_connection(("127.0.0.1", pair.server.port), LONG_S) as replica:
            replica.settimeout(BRIEF_S)
            assert not answered_for_ever(replica)
        partition.end()


def answered_for_ever(connection: socket.socket) -> bool:
    try:
        for _ in range(1_000_000):
            connection.sendall(b"row\n")
            connection.recv(100)
    except TimeoutError:
        return False
    return True


def test_servers_that_are_not_connected_cannot_be_parted(pair: Pair) -> None:
    partition = pair.partition()
    with pytest.raises(ServerError, match="no connection between this server and another one was found"):
        partition.begin()
    partition.end()


def test_a_machine_that_does_not_lend_sockets_says_so(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PIDFD_GETFD", 100_000)  # a system call that no kernel has
    with pair.connect(), pytest.raises(ServerError, match="cannot reach the sockets of a server"):
        pair.partition().begin()


DELAY_S = 0.02


def round_trip_s(node: socket.socket) -> float:
    """The shortest of some: others may keep this machine busy."""
    return min(once_there_and_back_s(node) for _ in range(5))


def once_there_and_back_s(node: socket.socket) -> float:
    begin_s = time.monotonic()
    node.sendall(b"hello\n")
    assert node.recv(100) == b"hello\n"
    return time.monotonic() - begin_s


@pytest.fixture
def needs_queues() -> None:
    asked = [engine_path(), "delay"]
    done = subprocess.run(asked, input='{"mark":1,"delay_us":1}\n', capture_output=True, text=True, check=False)
    if "No such file" in done.stderr:
        pytest.skip("this kernel has no NFQUEUE")


@pytest.mark.usefixtures("needs_queues")
def test_what_is_sent_arrives_later_while_a_delay_lasts(pair: Pair) -> None:
    delay = pair.delay(DELAY_S)
    with pair.connect() as node:
        assert round_trip_s(node) < DELAY_S
        delay.begin()
        assert round_trip_s(node) >= 2 * DELAY_S
        assert pair.client_is_served()
        with pair.connect() as new:
            assert round_trip_s(new) >= DELAY_S, "its first packets, whose way back is delayed"
        node.sendall(b"last\n")
        delay.end()
        assert node.recv(100) == b"last\n"
        assert round_trip_s(node) < DELAY_S


@pytest.mark.usefixtures("needs_queues")
def test_a_delay_that_ended_early_is_no_success(pair: Pair) -> None:
    delay = pair.delay(DELAY_S)
    with pair.connect() as node:
        delay.begin()
        assert delay._queue is not None
        delay._queue.kill()
        delay._queue.wait()
        assert round_trip_s(node) < DELAY_S, "its rule has gone with it"
        for _ in range(2):
            with pytest.raises(ServerError, match="ended before the delay did"):
                delay.end()


@pytest.mark.usefixtures("needs_queues")
def test_servers_that_are_not_connected_cannot_be_delayed(pair: Pair) -> None:
    with pytest.raises(ServerError, match="no connection between this server and another one was found"):
        pair.delay(DELAY_S).begin()


def test_a_delay_says_why_it_cannot_be(pair: Pair, tmp_path: Path) -> None:
    """Such as for a user who may not administer the network."""
    engine = tmp_path / "engine"
    engine.write_text("#!/bin/sh\necho 'error: Operation not permitted' >&2\nexit 3\n")
    engine.chmod(0o755)
    delay = Delay(cast(Any, pair.server), [], DELAY_S, engine)
    with pytest.raises(ServerError, match=r"needs root .* and the kernel's NFQUEUE: Operation not permitted"):
        delay.begin()
    delay.end()
