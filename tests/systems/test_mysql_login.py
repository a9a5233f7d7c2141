"""Whom the control connection gives a password, and what it says of who is no server: against scripted servers."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bakeoff.errors import PlanError, ServerError
from bakeoff.systems.mysql.control import Control, read_server_key
from bakeoff.systems.server.control import Address, Login
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

PASSWORD = "hunter2"
NONCE = b"12345678901234567890"
_CAPABILITIES = 0x000A_A20D  # protocol 4.1, transactions, long passwords, schema, secure connection, plugins


def packet(number: int, payload: bytes) -> bytes:
    return struct.pack("<I", len(payload))[:3] + bytes([number]) + payload


def greeting(plugin: bytes) -> bytes:
    head = b"\x0a8.0.36\0" + struct.pack("<I", 7) + NONCE[:8] + b"\0" + struct.pack("<H", _CAPABILITIES & 0xFFFF)
    rest = b"\xff\x02\0" + struct.pack("<H", _CAPABILITIES >> 16) + b"\x15" + b"\0" * 10 + NONCE[8:] + b"\0"
    return packet(0, head + rest + plugin + b"\0")


FULL_LOGIN = [greeting(b"caching_sha2_password"), packet(2, b"\x01\x04")]
CLEAR_TEXT = [greeting(b"mysql_native_password"), packet(2, b"\xfemysql_clear_password\0")]
DIALOG = [greeting(b"mysql_native_password"), packet(2, b"\xfedialog\0\x04Password: ")]
OLD_SHA = [greeting(b"sha256_password"), packet(2, b"\xfesha256_password\0" + NONCE + b"\0")]


@contextmanager
def server(said: list[bytes], path: Path | None = None) -> Iterator[tuple[Address, list[bytes]]]:
    """Says one thing after each that it hears, and hangs up after the last answer; its address, and what it heard."""
    listener = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
    listener.bind(str(path) if path else ("127.0.0.1", 0))
    listener.listen()
    heard: list[bytes] = []

    def serve() -> None:
        peer = listener.accept()[0]
        with peer:
            for words in said:
                peer.sendall(words)
                heard.append(peer.recv(65536))

    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    with listener:
        yield (Address(socket=str(path)) if path else Address("127.0.0.1", listener.getsockname()[1])), heard
        serving.join(timeout=60)


def failure(address: Address, key_file: Path | None = None, timeout_s: float = 60) -> ServerError:
    login = Login(address, "bench", PASSWORD, server_key_file=key_file)
    control = Control(login, where="systems.ours", timeout_s=timeout_s)
    with pytest.raises(ServerError) as failed:
        control.value("SELECT 1")
    return failed.value


@pytest.mark.parametrize("said", [FULL_LOGIN, CLEAR_TEXT, DIALOG, OLD_SHA])
def test_over_plain_tcp_nobody_gets_the_password_by_asking_for_it(said: list[bytes]) -> None:
    with server(said) as (address, heard):
        error = failure(address)
    assert "anyone on the network could read" in error.what
    assert "server_public_key_file" in error.hint
    assert heard[1:] == [b""]  # not even a key is asked for


def test_the_password_is_given_to_who_has_the_key_that_the_plan_names(tmp_path: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    file = tmp_path / "public_key.pem"
    text = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    file.write_bytes(key.public_key().public_bytes(*text))
    with server(FULL_LOGIN) as (address, heard):
        failure(address, file)
    sealed = key.decrypt(heard[1][4:], padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None))
    assert bytes(a ^ b for a, b in zip(sealed, NONCE, strict=False)) == PASSWORD.encode() + b"\0"


def test_over_a_unix_socket_the_password_is_given_as_it_is(tmp_path: Path) -> None:
    with server(FULL_LOGIN, tmp_path / "s") as (address, heard):
        failure(address)
    assert heard[1][4:] == PASSWORD.encode() + b"\0"


def test_a_file_without_a_key_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    for text in (None, b"", b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"):
        if text is not None:
            file.write_bytes(text)
        with pytest.raises(PlanError, match=r"key\.pem"):
            read_server_key(file, "systems.ours")


@pytest.mark.parametrize(
    "said",
    [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x28", b"\xff" * 64, greeting(b"\xff\xfe")]
    + [packet(0, b"\x0a" + b"\xff" * length) for length in range(40)],
)
def test_who_is_no_server_is_reported_as_such(said: bytes) -> None:
    with server([said]) as (address, _):
        error = failure(address, timeout_s=2)  # two of them wait for more than they get
    assert str(address) in error.what
    assert "proxy" in error.hint
    assert "died" not in error.what
