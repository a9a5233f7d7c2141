"""The ways in which a plan may spell what a server is to be, and the one that they come to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bakeoff.errors import PlanError, ServerError
from bakeoff.plan.document.tables import SystemTable
from bakeoff.systems import SYSTEMS
from bakeoff.systems.server.options import in_one_spelling
from bakeoff.systems.server.system import refuse_other_switches
from builders.systems import configured

KEYS = ("version", "settings", "nodes")
LISTED = [{"name": "a", "address": "db1:1"}, {"name": "b", "address": "db2:1"}]


def test_how_many_nodes_are_started_may_be_next_to_start() -> None:
    said = SystemTable.model_validate({"nodes": 3, "start": {"version": "5"}}).options()
    assert in_one_spelling(said, "systems.a", KEYS) == {"start": {"version": "5", "nodes": 3}}


def test_a_list_of_nodes_is_an_existing_system() -> None:
    said = SystemTable.model_validate({"nodes": LISTED}).options()
    assert in_one_spelling(said, "systems.a", KEYS) == {"address": "db1:1", "nodes": LISTED}


def test_nobody_starts_nodes_of_an_existing_system() -> None:
    said: dict[str, Any] = SystemTable.model_validate({"nodes": 3, "address": "db1:1"}).options()
    with pytest.raises(PlanError, match="`nodes` is an option of managed servers") as caught:
        in_one_spelling(said, "systems.a", KEYS)
    assert caught.value.where == "systems.a.nodes"


def test_a_switch_that_the_server_has_the_other_way_round_is_refused() -> None:
    refuse_other_switches(
        {"a": "OFF", "b": "1", "c": "0", "d": "64M", "e": "on"}, {"a": "off", "b": "ON", "c": "3", "d": "1"}
    )
    with pytest.raises(ServerError, match="the plan sets log_bin = OFF, and the server runs with log_bin = ON"):
        refuse_other_switches({"log_bin": "OFF"}, {"log_bin": "ON"})


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("mariadb", {"storage": {"sync_latency": "2"}}, "`sync_latency` is '2', which is no number with a unit"),
        ("redis", {"storage": {"jitter": "2ms"}}, "needs a sync_latency"),
        ("postgresql", {"storage": {"latency": "2ms"}}, "sync_latency"),
        (
            "mysql",
            {"start": {"image": "a/b", "storage": {"bandwidth": "5MB"}}},
            "storage cannot be slowed",
        ),
        (
            "mariadb",
            {"address": "db1:3306", "user": "u", "storage": {"bandwidth": "5MB"}},
            "of managed servers",
        ),
        ("sqlite", {"storage": {"bandwidth": "5MB"}}, "whose storage bakeoff does not slow"),
    ],
)
def test_storage_is_slowed_of_managed_servers_alone_and_in_units(
    tmp_path: Path, kind: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(PlanError) as caught:
        configured(kind, tmp_path, SYSTEMS[kind].in_one_spelling(options, "systems.a"))
    assert said in f"{caught.value.what} {caught.value.hint}"
