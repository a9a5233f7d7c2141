"""The control connection's half of MongoDB's protocol, against the standards' own examples and against noise."""

from __future__ import annotations

import socket
import threading
import uuid
from contextlib import suppress
from typing import Any

import pytest
from bakeoff.systems.mongodb.wire import NotMongo, NotTrusted, SaidError, Wire, decode, encode, prove
from hypothesis import given
from hypothesis import strategies as st

#: RFC 7677, section 3.
FIRST, NONCE = "n=user,r=rOprNGfwEbeRWgbNEkqO", "rOprNGfwEbeRWgbNEkqO"
CHALLENGE = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"


def test_the_standards_own_login() -> None:
    answer, expected = prove(FIRST, NONCE, "pencil", CHALLENGE)
    assert answer == (
        "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert expected == "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("r=rOpr", "r=other"),
        ("%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", ""),
        ("4096", "1"),
        ("4096", "4000000000"),
        ("s=", "m="),
    ],
)
def test_a_challenge_that_is_none_is_not_answered(word: str, other: str) -> None:
    with pytest.raises(NotTrusted):
        prove(FIRST, NONCE, "pencil", CHALLENGE.replace(word, other))


def test_a_document_is_written_as_the_specification_says() -> None:
    assert encode({"hello": "world"}) == b"\x16\0\0\0\x02hello\0\x06\0\0\0world\0\0"
    said = {"a": 1, "b": -(1 << 40), "c": [1.5, None, True], "d": {"e": b"\xff"}}
    assert decode(encode(said)) == said


def test_a_uuid_is_one() -> None:
    number = uuid.UUID(int=7)
    element = b"\x05u\0\x10\0\0\0\x04" + number.bytes
    assert decode((len(element) + 5).to_bytes(4, "little") + element + b"\0") == {"u": number}


def _json() -> st.SearchStrategy[Any]:
    names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
    leaves = st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1) | names | st.binary(max_size=8)
    return st.dictionaries(
        names, st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(names, inner), max_leaves=8)
    )


@given(_json())
def test_what_is_written_is_read(document: dict[str, Any]) -> None:
    assert decode(encode(document)) == document


@given(st.binary(max_size=200), st.booleans())
def test_noise_is_read_or_refused(noise: bytes, framed: bool) -> None:
    data = (len(noise) + 5).to_bytes(4, "little") + noise + b"\0" if framed else noise
    with suppress(NotMongo):
        decode(data)


def _asked(answer: bytes) -> dict[str, Any]:
    """What a client makes of these bytes after its request."""
    ours, theirs = socket.socketpair()

    def serve() -> None:
        theirs.recv(1 << 16)
        theirs.sendall(answer)
        theirs.close()

    serving = threading.Thread(target=serve)
    serving.start()
    try:
        return Wire(ours).ask("d", {"ping": 1})
    finally:
        serving.join()
        ours.close()


def _message(document: dict[str, Any], *, number: int = 1, flags: int = 0) -> bytes:
    body = encode(document)
    head = b"".join(part.to_bytes(4, "little") for part in (21 + len(body), 9, number, 2013, flags))
    return head + b"\0" + body


def test_an_answer_is_that_to_the_request_and_an_error_is_one() -> None:
    assert _asked(_message({"ok": 1.0, "n": 2})) == {"ok": 1.0, "n": 2}
    with pytest.raises(SaidError, match="no") as said:
        _asked(_message({"ok": 0, "code": 13, "errmsg": "no"}))
    assert said.value.code == 13
    for failed in (
        {"writeErrors": [{"code": 11000, "errmsg": "no"}]},
        {"writeConcernError": {"code": 64, "errmsg": "no"}},
    ):
        with pytest.raises(SaidError, match="no"):
            _asked(_message({"ok": 1, **failed}))
    for strange in (_message({"ok": 1}, number=2), _message({"ok": 1}, flags=2), b"HTTP/1.1 400 Bad Request\r\n\r\n"):
        with pytest.raises(NotMongo):
            _asked(strange)
    whole = _message({"ok": 1})
    for end in range(len(whole)):
        with pytest.raises(ConnectionResetError):
            _asked(whole[:end])
