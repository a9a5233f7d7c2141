"""Statements of ours to Cassandra, over its own protocol."""

from __future__ import annotations

import struct
import uuid
from contextlib import closing

import pytest
from bakeoff.errors import ServerError
from bakeoff.systems.cassandra.control import Control, NotNow, listens
from bakeoff.systems.cassandra.node import CassandraNode
from bakeoff.systems.server.control import Address, Login, Refused
from bakeoff.systems.server.system import Access
from builders import cql
from builders.cql import BIGINT, BOOLEAN, DOUBLE, INT, TEXT, Said, kind, rows, serving, value


def control(port: int, password: str = "") -> Control:
    return Control(Login(Address("127.0.0.1", port), "bench", password), "ks", where="systems.c")


def test_every_type_that_is_asked_for_is_read() -> None:
    number = uuid.UUID(int=7)
    columns = [
        ("text", kind(TEXT)), ("bigint", kind(BIGINT)), ("int", kind(INT)), ("boolean", kind(BOOLEAN)),
        ("double", kind(DOUBLE)), ("uuid", kind(0x0C)), ("inet", kind(0x10)), ("list", kind(0x20, TEXT)),
        ("map", kind(0x21, TEXT, INT)), ("none", kind(TEXT)), ("blob", kind(0x03)),
    ]  # fmt: skip
    cells = [
        "é".encode(), struct.pack(">q", -5), struct.pack(">i", 6), b"\x01", struct.pack(">d", 0.5), number.bytes,
        bytes([127, 0, 0, 2]), struct.pack(">i", 2) + value(b"a") + value(b"b"),
        struct.pack(">i", 1) + value(b"k") + value(struct.pack(">i", 9)), None, b"\xff",
    ]  # fmt: skip
    with serving(lambda _, __: rows(columns, cells)) as port, closing(control(port)) as asked:
        assert asked.rows("SELECT") == [
            ("é", -5, 6, True, 0.5, number, "127.0.0.2", ["a", "b"], {"k": 9}, None, b"\xff")
        ]


def test_what_the_server_warns_of_is_no_part_of_the_answer() -> None:
    counted = rows([("count", kind(BIGINT))], [struct.pack(">q", 3)])
    with serving(lambda _, __: counted, warnings=["Aggregation query used"]) as port, closing(control(port)) as asked:
        assert asked.value("SELECT count(*) FROM t") == 3


def test_parameters_and_the_password_reach_the_server() -> None:
    heard: list[tuple[str, list[str]]] = []

    def answer(statement: str, parameters: object) -> bytes:
        heard.append((statement, list(parameters)))  # type: ignore[call-overload]
        return cql.VOID

    with serving(answer, password="secret") as port, closing(control(port, "secret")) as asked:
        assert asked.rows("INSERT INTO t (k, v) VALUES (?, ?)", "a", "é") == []
    assert heard == [("INSERT INTO t (k, v) VALUES (?, ?)", ["a", "é"])]


def test_a_wrong_password_is_reported() -> None:
    with (
        serving(lambda _, __: cql.VOID, password="secret") as port,
        closing(control(port, "guess")) as asked,
        pytest.raises(ServerError, match=r"refused user 'bench'.*incorrect"),
    ):
        asked.rows("SELECT")


@pytest.mark.parametrize(
    ("code", "kind"),
    [(0x1000, NotNow), (0x1200, NotNow), (0x2200, Refused)],
)
def test_what_may_succeed_later_is_distinguished(code: int, kind: type[ServerError]) -> None:
    def answer(_: str, __: object) -> bytes:
        raise Said(code, "no")

    with serving(answer) as port, closing(control(port)) as asked, pytest.raises(ServerError) as caught:
        asked.rows("SELECT")
    assert type(caught.value) is kind


def test_nobody_there_is_one_sentence() -> None:
    with serving(lambda _, __: cql.VOID) as port:
        assert listens(Address("127.0.0.1", port), None, 5)
    assert not listens(Address("127.0.0.1", port), None, 5)
    with (
        closing(control(port)) as asked,
        pytest.raises(ServerError, match=r"could not connect to 127\.0\.0\.1") as caught,
    ):
        asked.rows("SELECT")
    assert "is the server running" in caught.value.hint


class Unasked(Control):
    """It has a version, and no tables."""

    def value(self, statement: str, *parameters: object) -> object:
        return "5.0.4"

    def rows(self, statement: str, *parameters: object) -> list[tuple[object, ...]]:
        return []


def test_a_node_says_what_is_isolated_in_place_of_a_level() -> None:
    asked = Unasked(Login(Address("127.0.0.1", 1), "bench", ""), "ks", where="systems.c")
    facts = CassandraNode("n1", "node", "127.0.0.1:1", Access(lambda: asked, lambda: [], dict, managed=True)).facts()
    assert facts.portable["isolation"] == "each row by itself, no transactions"
