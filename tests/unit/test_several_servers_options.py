"""What a plan may not say of servers that belong together: refused when it is read, with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bakeoff.errors import PlanError
from builders.systems import configured

ONE = {"mariadb": {}, "postgresql": {}}
SEVERAL: dict[str, dict[str, Any]] = {
    "mariadb": {"replicas": 2},
    "postgresql": {"replicas": 2},
    "galera": {"nodes": 3},
    "cassandra": {"nodes": 3},
}


@pytest.mark.parametrize(
    ("kind", "setting", "value", "why"),
    [
        ("mariadb", "server_id", "7", "bakeoff gives every member its own number, which identifies its changes"),
        ("mariadb", "server-id", "7", "bakeoff gives every member its own number, which identifies its changes"),
        ("mariadb", "skip_log_bin", "ON", "follow the primary's binary log"),
        ("mariadb", "replicate_do_db", "other", "with a part of the log left out, replicas differ from their primary"),
        ("mariadb", "rpl_semi_sync_master_enabled", "ON", "semi_sync = true in `start`"),
        ("postgresql", "wal_level", "minimal", "the log level minimal records too little for a replica"),
        ("postgresql", "max_wal_senders", "1", "each of the 2 replicas needs one, and there would be 1"),
        ("postgresql", "primary_conninfo", "host=db1", "bakeoff sets each replica's primary and slot"),
        ("galera", "wsrep_cluster_address", "gcomm://db1", "bakeoff sets each node's name, addresses and group"),
        ("galera", "binlog_format", "MIXED", "ROW on every node"),
        (
            "galera",
            "wsrep_sst_donor",
            "n1",
            "bakeoff sets how a joining node receives its data, and from which node, as an unprivileged user",
        ),
    ],
)
def test_settings_that_would_part_them_are_refused_with_the_reason(
    tmp_path: Path, kind: str, setting: str, value: str, why: str
) -> None:
    with pytest.raises(PlanError) as caught:
        configured(kind, tmp_path, {"start": {**SEVERAL[kind], "settings": {setting: value}}})
    assert caught.value.what.startswith(f"{setting.replace('-', '_')} cannot be set here: ")
    assert why in caught.value.what
    assert caught.value.where == f"systems.{kind}.start.settings"
    if kind in ONE:
        configured(kind, tmp_path, {"start": {"settings": {setting: value}}})


def test_settings_that_leave_them_one_system_may_be_set(tmp_path: Path) -> None:
    for kind, setting, value in (
        ("mariadb", "slave_parallel_threads", "4"),
        ("postgresql", "wal_level", "logical"),
        ("postgresql", "max_wal_senders", "2"),
        ("galera", "wsrep_sync_wait", "1"),
    ):
        configured(kind, tmp_path, {"start": {**SEVERAL[kind], "settings": {setting: value}}})


@pytest.mark.parametrize(("kind", "highest"), [("mariadb", 65533), ("postgresql", 65533), ("galera", 65533)])
def test_the_last_of_several_servers_has_a_port_that_exists(tmp_path: Path, kind: str, highest: int) -> None:
    configured(kind, tmp_path, {"start": {**SEVERAL[kind], "port": highest}})
    with pytest.raises(PlanError) as caught:
        configured(kind, tmp_path, {"start": {**SEVERAL[kind], "port": highest + 1}})
    assert caught.value.what == "3 servers from port 65534 on would need port 65536, and ports end at 65535"
    assert caught.value.hint == "write port = 65533 or less, or leave out `port`: bakeoff finds free ones"
    assert caught.value.where == f"systems.{kind}.start.port"


def test_nodes_with_addresses_of_their_own_share_a_port(tmp_path: Path) -> None:
    configured("cassandra", tmp_path, {"start": {**SEVERAL["cassandra"], "port": 65535}})
