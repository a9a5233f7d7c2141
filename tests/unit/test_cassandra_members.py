"""The nodes of a cluster on this machine: where they listen, which rows are whose, and what each receives."""

from __future__ import annotations

import json
import socket
from itertools import pairwise
from pathlib import Path

import pytest
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.java import JavaInstallation
from bakeoff.provision.process import free_port_on, port_is_free
from bakeoff.provision.server import ServerSpec
from bakeoff.systems.cassandra.process import TOKENS, CassandraProcess, Member, members


@pytest.fixture
def node(tmp_path: Path) -> CassandraProcess:
    return made(tmp_path, Member(1, ("127.0.0.1", "127.0.0.2"), 9042, 7000, 256))


def made(folder: Path, member: Member, **settings: str) -> CassandraProcess:
    (folder / "jars").mkdir(exist_ok=True)
    (folder / "jars" / "jamm-0.4.0.jar").touch()
    installation = JavaInstallation("5.0.9", "maven", "", Path("/java"), jars=folder / "jars")
    spec = ServerSpec(installation, settings, "ks")
    return CassandraProcess(spec, InstanceFolder(folder, for_servers=False), where="systems.c", member=member)


def configured(node: CassandraProcess) -> dict[str, str]:
    node.write_config()
    lines = (line.partition(": ") for line in node.config.read_text().splitlines())
    return {name: value for name, _, value in lines}


@pytest.mark.parametrize("count", [1, 3, 5])
def test_the_ring_is_shared_evenly(count: int) -> None:
    owners = sorted((token, one.place) for one in members(count, 512, None) for token in one.tokens)
    tokens = [token for token, _ in owners]
    assert [place for _, place in owners] == list(range(count)) * TOKENS
    assert tokens[0] == -(1 << 63)
    assert max(b - a for a, b in pairwise(tokens)) <= (1 << 64) // (TOKENS * count) + 1


def test_nodes_have_addresses_of_loopback_and_the_same_ports() -> None:
    found = members(3, 512, 9999)
    assert [one.host for one in found] == ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
    assert {one.port for one in found} == {9999}
    assert len({one.storage_port for one in found} - {9999}) == 1


def test_a_port_is_free_where_each_of_them_wants_it() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.2", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert port_is_free(port)
        assert not port_is_free(port, "127.0.0.2")
    assert port_is_free(free_port_on(["127.0.0.1", "127.0.0.2"]), "127.0.0.2")


def test_a_node_listens_at_its_own_address_and_asks_for_passwords(node: CassandraProcess) -> None:
    told = configured(node)
    assert {json.loads(told[name]) for name in ("listen_address", "rpc_address")} == {"127.0.0.2"}
    assert json.loads(told["authenticator"]) == "PasswordAuthenticator"
    assert "127.0.0.1:7000,127.0.0.2:7000" in told["seed_provider"]


def test_a_setting_stands_as_the_plan_has_it(tmp_path: Path) -> None:
    member = Member(0, ("127.0.0.1",), 9042, 7000, 256)
    told = configured(made(tmp_path, member, commitlog_sync="batch", memtable="{configurations: {}}"))
    assert (told["commitlog_sync"], told["memtable"]) == ("batch", "{configurations: {}}")


@pytest.mark.parametrize(
    ("sync", "period"), [("batch", None), ("group", None), ("periodic", "10000ms"), (None, "10000ms")]
)
def test_a_period_is_said_where_it_may_be(tmp_path: Path, sync: str | None, period: str | None) -> None:
    """With another way to sync the server refuses one, and without one this way."""
    member = Member(0, ("127.0.0.1",), 9042, 7000, 256)
    told = configured(made(tmp_path, member, **({"commitlog_sync": sync} if sync else {})))
    assert told.get("commitlog_sync_period") == period


def test_java_receives_its_memory_size_and_opens_no_port(node: CassandraProcess) -> None:
    words = [str(word) for word in node.command([])]
    assert words[0] == "/java"
    assert {"-Xms256m", "-Xmx256m"} < set(words)
    assert not [word for word in words if "jmx" in word and word.startswith("-D")]


def test_no_word_of_a_command_line_is_a_password(node: CassandraProcess) -> None:
    told = [*map(str, node.command([])), *configured(node).values()]
    assert not [word for word in told if node.root_password in word or node.bench_password in word]


def test_a_copy_of_another_cluster_forgets_where_the_nodes_were(node: CassandraProcess, tmp_path: Path) -> None:
    copy = tmp_path / "snapshot"
    (copy / "data" / "system" / "peers_v2-1" / "backups").mkdir(parents=True)
    (copy / "data" / "system" / "local-1").mkdir()
    node.load_data(copy)
    assert [path.name for path in (node.data / "data" / "system").iterdir()] == ["local-1"]
