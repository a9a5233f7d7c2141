"""What `INFO` of a primary and a replica of Redis means: whether one follows the other, and how far it has come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bakeoff.errors import PlanError
from bakeoff.systems.redis.replication import follows, is_copying, online, position
from builders.systems import configured

PRIMARY = {"role": "master", "master_replid": "a1", "master_repl_offset": "900", "rdb_bgsave_in_progress": "0"}


def replica(**said: str) -> dict[str, str]:
    """One that follows PRIMARY, but for what is said."""
    usual = {"role": "slave", "master_link_status": "up", "master_replid": "a1", "slave_repl_offset": "870"}
    return {**usual, "loading": "0", "master_sync_in_progress": "0", **said}


def test_a_position_counts_only_in_the_stream_that_the_primary_has_now() -> None:
    assert position(PRIMARY, replica()) == 870
    assert position(PRIMARY, replica(master_link_status="down")) == 870, "it has what it had received"
    restarted = {**PRIMARY, "master_replid": "b2", "master_repl_offset": "14"}
    assert position(restarted, replica()) == 0
    assert position(PRIMARY, replica(master_replid="0f")) == 0, "before its first copy"


def test_a_replica_follows_if_it_is_connected_to_what_the_primary_does_now() -> None:
    assert follows(PRIMARY, replica())
    assert not follows(PRIMARY, replica(master_link_status="down"))
    assert not follows({**PRIMARY, "master_replid": "b2"}, replica()), "it has not noticed yet that it started again"
    assert not follows(PRIMARY, {"role": "master", "master_replid": "a1"})


@pytest.mark.parametrize("name", ["loading", "master_sync_in_progress", "aof_rewrite_in_progress"])
def test_a_copy_is_under_way_until_it_is_in_the_log_of_the_replica(name: str) -> None:
    assert not is_copying(PRIMARY, replica())
    assert is_copying(PRIMARY, replica(**{name: "1"}))
    assert is_copying({**PRIMARY, "rdb_bgsave_in_progress": "1"}, replica())


def test_replicas_that_are_connected_are_counted() -> None:
    lines = {
        "slave0": "ip=127.0.0.1,port=1,state=online,offset=9,lag=0",
        "slave1": "ip=127.0.0.1,port=2,state=send_bulk",
    }
    assert online({**PRIMARY, "connected_slaves": "2", "slave_expires_tracked_keys": "0", **lines}) == 1
    assert online(PRIMARY) == 0


@pytest.mark.parametrize("kind", ["redis", "valkey"])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"start": {"replicas": 1}, "wait_replicas": 2}, "would wait for 2, and there are 1 replicas"),
        ({"wait_replicas": 1}, "would wait for 1, and there are 0 replicas"),
        ({"start": {"replicas": 1, "settings": {"replicaof": "a 1"}}}, "replicaof cannot be set here: bakeoff sets"),
        ({"start": {"replicas": 1, "settings": {"replica-read-only": False}}}, "a replica that takes writes differs"),
        ({"start": {"replicas": 10}}, "replicas"),
        ({"address": "a:1", "replicas": 1}, "`replicas` is an option of managed servers"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, kind: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        configured(kind, tmp_path, options)


def test_its_nodes_are_named_as_those_of_sql_systems(tmp_path: Path) -> None:
    roles = {"primary": "primary", "replica1": "replica", "replica2": "replica"}
    assert configured("redis", tmp_path, {"replicas": 2, "wait_replicas": 2}).roles() == roles
    assert configured("redis", tmp_path, {}).roles() == {"server": "primary"}
