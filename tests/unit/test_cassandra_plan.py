"""What a plan may say about a Cassandra, and what is made of it before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from bakeoff.errors import PlanError
from bakeoff.systems.cassandra.system import Cassandra
from builders.systems import configured


def cassandra(options: dict[str, Any], **levels: Any) -> Cassandra:
    return cast(Cassandra, configured("cassandra", Path("/tmp"), options, **levels))


def refused(options: dict[str, Any], **levels: Any) -> PlanError:
    with pytest.raises(PlanError) as caught:
        cassandra(options, **levels)
    return caught.value


@pytest.mark.parametrize(("nodes", "copies"), [(1, 1), (2, 2), (3, 3), (5, 3)])
def test_every_node_has_a_copy_up_to_three(nodes: int, copies: int) -> None:
    system = cassandra({"start": {"nodes": nodes}})
    assert list(system.roles().items()) == [(f"n{number}", "node") for number in range(1, nodes + 1)]
    assert system._options.copies == copies


def test_the_number_of_nodes_is_allowed_next_to_start() -> None:
    spelled = Cassandra.in_one_spelling({"nodes": 3, "version": "5.0"}, "systems.c")
    assert spelled == {"start": {"nodes": 3, "version": "5.0"}}


def test_nodes_of_an_existing_cluster_are_a_list() -> None:
    nodes = [{"name": "n1", "address": "db1"}, {"name": "n2", "address": "db2:9043"}]
    system = cassandra({"address": "db1", "nodes": nodes})
    assert [node.address for node in system.nodes()] == ["db1:9042", "db2:9043"]
    assert refused({"address": "db1", "nodes": 3}).where == "systems.cassandra.nodes"


def test_what_the_engine_receives_of_an_existing_cluster() -> None:
    system = cassandra({"address": "db1", "user": "bench", "keyspace": "k", "consistency": "all"})
    document, _ = system.engine_driver()
    assert (document["kind"], document["user"], document["keyspace"]) == ("cassandra", "bench", "k")
    assert (document["replication_factor"], document["consistency"]) == (None, "all")
    assert document["endpoints"] == [{"name": "server", "role": "primary", "address": "db1:9042"}]


@pytest.mark.parametrize(("said", "mib"), [("512MiB", 512), ("1GiB", 1024), ("2g", 2048), ("256 MB", 256)])
def test_a_heap_is_a_size(said: str, mib: int) -> None:
    assert cassandra({"start": {"heap": said}})._start.heap_mib == mib


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("64MiB", "64MiB is too little: a node needs at least 192 MiB"),
        ("1TiB", '"1TiB" is not a size in MiB or GiB, such as "512MiB" or "2GiB"'),
        ("much", '"much" is not a size in MiB or GiB, such as "512MiB" or "2GiB"'),
        ("-1GiB", '"-1GiB" is not a size in MiB or GiB, such as "512MiB" or "2GiB"'),
    ],
)
def test_a_heap_that_is_none_is_refused(said: str, why: str) -> None:
    error = refused({"start": {"heap": said}})
    assert (error.what, error.where) == (f"`heap`: {why}", "systems.cassandra.start.heap")


@pytest.mark.parametrize("name", ["x; drop", "", "schöne", "k" * 49])
def test_a_name_that_no_keyspace_can_have_is_refused(name: str) -> None:
    error = refused({"keyspace": name})
    assert error.what.startswith(f'`keyspace`: "{name}" cannot name a keyspace: a name has 1 to 48 letters')


@pytest.mark.parametrize("table", [{}, {"address": "db1"}], ids=["managed", "existing"])
@pytest.mark.parametrize("name", ["system", "system_auth", "System_Schema"])
def test_a_keyspace_of_the_servers_own_is_refused(name: str, table: dict[str, Any]) -> None:
    error = refused({**table, "keyspace": name})
    assert "is one of Cassandra's own keyspaces; the plan's tables need another" in error.what
    assert error.where == "systems.cassandra.keyspace"
    assert cassandra({**table, "keyspace": f"{name}_x"})._options.keyspace == f"{name}_x"


@pytest.mark.parametrize(
    ("options", "key", "numbers"),
    [
        ({"start": {}, "consistency": "two"}, "consistency", "2 copies of a row, and each row has 1"),
        (
            {"start": {"nodes": 2}, "read_consistency": "three"},
            "read_consistency",
            "3 copies of a row, and each row has 2",
        ),
        (
            {"start": {"nodes": 3}, "replication_factor": 1, "consistency": "two"},
            "consistency",
            "2 copies of a row, and each row has 1",
        ),
    ],
)
def test_a_level_that_waits_for_more_copies_than_there_are_is_refused(
    options: dict[str, Any], key: str, numbers: str
) -> None:
    error = refused(options)
    assert numbers in error.what
    assert error.where == f"systems.cassandra.{key}"


@pytest.mark.parametrize("level", ["one", "two", "quorum", "all", "local_quorum", "local_one", "each_quorum"])
def test_a_level_that_the_copies_can_answer_is_taken(level: str) -> None:
    cassandra({"start": {"nodes": 2}, "consistency": level})
    cassandra({"address": "db1", "consistency": level})


def test_more_copies_than_nodes_are_refused() -> None:
    error = refused({"start": {"nodes": 1}, "replication_factor": 3})
    assert error.what == "3 copies of each row need more than 1 node"


def test_relaxed_durability_takes_two_nodes_that_acknowledge() -> None:
    assert (
        "a write that only one node acknowledges never has durability 'relaxed' on Cassandra: a node that is"
        in refused({"start": {}}, durability="relaxed").what
    )
    assert "only one node" in refused({"start": {"nodes": 3}, "consistency": "one"}, durability="relaxed").what
    declared = cassandra({"start": {"nodes": 3}}, durability="relaxed").declared()
    assert declared == {"commitlog_sync": "periodic", "commitlog_sync_period": "10000ms"}


@pytest.mark.parametrize("setting", ["listen_address", "authenticator", "num_tokens"])
def test_what_keeps_it_private_is_not_the_plans(setting: str) -> None:
    assert refused({"start": {"settings": {setting: "x"}}}).what == f"{setting} of a managed server is set by bakeoff"


def test_the_load_goes_over_tcp_alone() -> None:
    assert refused({"start": {"connect": "socket"}}).where == "systems.cassandra.start.connect"


def test_memory_and_ways_of_asking_leave_what_is_stored_as_it_is() -> None:
    def shape(options: dict[str, Any]) -> dict[str, Any]:
        return Cassandra.shaping_options(options, None)

    assert shape({"start": {"heap": "1GiB"}, "consistency": "all"}) == shape({"start": {"heap": "2GiB"}})
    assert shape({"start": {"nodes": 3}}) != shape({"start": {"nodes": 1}})
    assert shape({"start": {}, "replication_factor": 1}) != shape({"start": {}})
