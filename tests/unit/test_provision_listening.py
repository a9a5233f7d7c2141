"""A server that existed before us is found by where it listens."""

import os
import socket
from pathlib import Path

import pytest
from bakeoff.provision import sockets as listening


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_who_listens_at_a_port_is_found_and_who_is_connected_to_it_is_not(family: int, host: str) -> None:
    with socket.socket(family) as server:
        try:
            server.bind((host, 0))
        except OSError:
            pytest.skip(f"this machine has no {host}")
        server.listen()
        port = server.getsockname()[1]
        assert listening.at_port([host], port) == [os.getpid()]
        assert listening.at_port(["192.0.2.1"], port) == []
        with socket.create_connection((host, port)) as client:
            assert listening.at_port([host], client.getsockname()[1]) == []


def test_who_listens_at_every_address_listens_at_each() -> None:
    with socket.create_server(("0.0.0.0", 0)) as server:
        assert listening.at_port(["127.0.0.1"], server.getsockname()[1]) == [os.getpid()]


def test_who_listens_at_a_unix_socket_is_found(tmp_path: Path) -> None:
    path, link = tmp_path / "a socket", tmp_path / "link"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        assert listening.at_socket(str(path)) == []
        server.listen()
        link.symlink_to(path)
        assert listening.at_socket(str(path)) == listening.at_socket(str(link)) == [os.getpid()]
    assert listening.at_socket(str(path)) == []


def test_what_only_passes_a_port_on_to_a_container_is_not_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    name = Path("/proc/self/comm").read_text().strip()
    monkeypatch.setattr(listening, "FORWARDERS", frozenset({name}))
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert listening.at_port(["127.0.0.1"], server.getsockname()[1]) == []
