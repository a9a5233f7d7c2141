"""What a managed MariaDB cannot be started with, and what is said then."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest
from bakeoff.errors import PlanError, ServerError
from builders.systems import configured, node_of
from mariadb_servers import bench_login, managed

pytestmark = [pytest.mark.servers, pytest.mark.usefixtures("mariadb_program")]


def test_an_unknown_setting_is_named_with_the_nearest_known_one(place: Path) -> None:
    system = managed(place, {"innodb_bufer_pool_size": "64M"})
    with pytest.raises(PlanError, match="does not know the setting 'innodb_bufer_pool_size'") as refused:
        system.start()
    assert refused.value.hint == "did you mean `innodb_buffer_pool_size`?"
    assert not system.alive()


@pytest.mark.parametrize(
    ("name", "value"),
    [("innodb_flush_method", "nosuch"), ("innodb_buffer_pool_size", "12Q"), ("innodb_doublewrite", "maybe")],
)
def test_a_value_the_server_does_not_take_is_named(place: Path, name: str, value: str) -> None:
    system = managed(place, {name: value})
    with pytest.raises(PlanError, match=f"does not take '{value}' as '{name}'"):
        system.start()
    assert not system.alive()


def test_a_value_the_server_adjusts_is_a_fact(place: Path) -> None:
    system = managed(place, {"innodb_log_file_size": "1000"})
    system.start()
    try:
        assert "adjusted to 4194304" in node_of(system).facts().portable["adjusted"]
    finally:
        system.stop()


@pytest.mark.parametrize(("value", "found"), [("OFF", "OFF"), ("on", "ON"), ("binlog", "ON")])
def test_a_binary_log_that_is_off_is_off(place: Path, value: str, found: str) -> None:
    """The server takes OFF for the name of a log."""
    system = managed(place, {"log_bin": value})
    system.start()
    try:
        assert node_of(system).facts().settings["log_bin"] == found
    finally:
        system.stop()


def test_more_memory_than_there_is_says_so(place: Path) -> None:
    with pytest.raises(ServerError, match="could not allocate the memory"):
        managed(
            place, {"innodb_buffer_pool_size": "100000T"}
        ).start()  # no address space has it, however much the kernel promises


def test_a_taken_port_is_named(place: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        system = configured("mariadb", place / "a", {"start": {"port": port}})
        with pytest.raises(ServerError, match=f"port {port} is used by another program"):
            system.start()


def test_a_port_taken_after_the_check_is_found_out_from_the_log(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bakeoff.provision.server.port_is_free", lambda *_: True)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        system = configured("mariadb", place / "a", {"start": {"port": port}})
        with pytest.raises(ServerError, match=f"port {port} is used by another program"):
            system.start()
        assert not system.alive()


def test_a_version_that_is_not_here_is_refused_with_what_is(place: Path, mariadb_program: Any) -> None:
    system = configured("mariadb", place / "a", {"start": {"version": "9.9"}})
    with pytest.raises(ServerError, match=f"no MariaDB server 9.9 .*{mariadb_program.version}") as refused:
        system.start()
    assert "bakeoff systems install mariadb@9.9" in refused.value.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's server may go where the user may")
def test_a_folder_closed_to_nobody_is_refused_by_name(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(ServerError, match=f"{closed} is closed to other users"):
        managed(closed).start()


def test_a_folder_with_a_long_name_works_all_the_same(place: Path) -> None:
    system = managed(place / ("long" * 25))
    system.start()
    try:
        bench_login(system, unix_socket=str(system.server.socket), host=None).close()
        assert len(str(system.server.socket)) < 108
    finally:
        system.stop()
