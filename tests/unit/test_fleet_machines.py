"""What load machines are called, and which way to them is one that others may listen on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from bakeoff.errors import PlanError
from bakeoff.fleet.dask import DaskHost, _names
from bakeoff.fleet.load_machines import natural


def test_a_machine_is_called_what_its_worker_is_or_else_by_its_host() -> None:
    workers = {
        "tls://10.0.0.1:4001": {"name": "load1"},
        "tls://10.0.0.2:4001": {"name": "tls://10.0.0.2:4001"},
        "tls://10.0.0.3:4001": {"name": "tls://10.0.0.3:4001"},
        "tls://10.0.0.3:4002": {"name": "tls://10.0.0.3:4002"},
        "tcp://127.0.0.1:4001": {"name": 0},
    }
    assert list(_names(workers).values()) == ["load1", "10.0.0.2", "10.0.0.3:4001", "10.0.0.3:4002", "Dask worker 1"]


def test_machines_are_in_the_order_that_people_count_in() -> None:
    names = ["load10", "load2", "load1", "10.0.0.10", "10.0.0.9"]
    assert sorted(names, key=natural) == ["10.0.0.9", "10.0.0.10", "load1", "load2", "load10"]


@pytest.mark.parametrize(
    ("host", "encrypted", "refused"),
    [("127.0.0.1", False, False), ("::1", False, False), ("10.0.0.1", True, False), ("10.0.0.1", False, True)],
)
def test_a_password_goes_in_plain_sight_to_this_machine_alone(host: str, encrypted: bool, refused: bool) -> None:
    board = SimpleNamespace(host=host, encrypted=encrypted)
    fleet = cast(Any, SimpleNamespace(board=board, _cluster=SimpleNamespace(address="tcp://scheduler:8786")))
    if not refused:
        DaskHost.refuse_plain(fleet)
        return
    with pytest.raises(PlanError, match="would be sent to the load machines unencrypted"):
        DaskHost.refuse_plain(fleet)
