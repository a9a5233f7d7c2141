"""What is wrong with TPC-C's data is found on real servers as it is on SQLite, where each thing is tried by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from bakeoff.systems.server.started import StartedServer
from commands import engine_phase

pytestmark = pytest.mark.servers

#: Without foreign keys, which would not let all of this happen.
WORKLOAD = {"kind": "tpcc", "mini": True, "foreign_keys": False}
CORRUPTIONS = (
    "UPDATE {}.warehouse SET w_ytd = w_ytd + 1",
    "UPDATE {}.district SET d_ytd = d_ytd + 0.01 WHERE d_id = 2",
    "UPDATE {}.district SET d_next_o_id = NULL WHERE d_id = 3",
    "DELETE FROM {}.new_orders WHERE no_d_id = 4 AND no_o_id = 250",
    "UPDATE {}.orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 5 AND o_id = 1",
    "UPDATE {}.order_line SET ol_delivery_d = NULL WHERE ol_d_id = 6 AND ol_o_id = 1 AND ol_number = 1",
    "UPDATE {}.customer SET c_balance = NULL WHERE c_d_id = 7 AND c_id = 5",
    "DELETE FROM {}.customer WHERE c_d_id = 8 AND c_id = 5",
    "DELETE FROM {}.stock WHERE s_i_id = 77",
    "UPDATE {}.stock SET s_quantity = -5 WHERE s_i_id = 78",
    "DELETE FROM {}.district WHERE d_id = 10",
)


@pytest.fixture(params=[("mariadb", "bakeoff"), ("postgresql", "public")], ids=lambda param: str(param[0]))
def server(request: pytest.FixtureRequest) -> Iterator[tuple[StartedServer, str]]:
    """A running server, and where on it the tables are."""
    name, place = request.param
    system: StartedServer = request.getfixturevalue(name)
    yield system, place
    engine_phase(system, "drop", WORKLOAD)


def checked(system: StartedServer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = engine_phase(system, "check", WORKLOAD, check={"evidence": []})["checks"]
    return found


def test_every_check_finds_what_it_is_about(server: tuple[StartedServer, str]) -> None:
    system, place = server
    engine_phase(system, "load", WORKLOAD, threads=2, drop_existing=True)
    checks = checked(system)
    assert all(check["ok"] for check in checks), checks
    for corruption in CORRUPTIONS:
        system.control.rows(corruption.format(place))
    checks = checked(system)
    assert [check["name"] for check in checks if check["ok"] or not check["evidence"]] == []
    named = {check["name"].split(":")[0]: check["evidence"] for check in checks}
    assert named["condition 2"] == ["d_w_id 1, d_id 3, d_next_o_id NULL, highest o_id 300, highest no_o_id 300"]
    assert named["condition 11"] == ["d_w_id 1, d_id 4: 211 orders delivered"]
