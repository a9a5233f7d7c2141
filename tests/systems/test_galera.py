"""A real Galera cluster of three nodes, one for the whole file: what it says, and nodes that end and come back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from typing import Any, cast

import pymysql
import pytest
from bakeoff.errors import BakeoffError
from bakeoff.provision.process import give_to_account
from bakeoff.systems.mysql import galera_process as galera_installations
from bakeoff.systems.mysql.galera import Galera
from builders.systems import running
from commands import wait_until
from pymysql.constants import ER

pytestmark = pytest.mark.servers

#: So that a test need not wait for the 5 s of the default.
SOON = (
    "evs.suspect_timeout=PT1S; evs.inactive_timeout=PT2S; evs.install_timeout=PT2S; evs.keepalive_period=PT0.3S; "
    "evs.inactive_check_period=PT0.3S"
)
SETTINGS = {"innodb_buffer_pool_size": "32M", "wsrep_sync_wait": 1, "wsrep_provider_options": SOON}


def need_galera() -> None:
    sources = galera_installations.SOURCES
    try:
        if not sources.here():
            sources.install(None, None, lambda _: None)
    except BakeoffError as error:
        pytest.skip(f"Galera is not installed and cannot be installed: {error}")


@pytest.fixture(scope="module")
def galera() -> Iterator[Galera]:
    need_galera()
    with running("galera", {"tls": True, "start": {"nodes": 3, "settings": SETTINGS}}) as system:
        system = cast(Galera, system)
        system.control.rows("CREATE TABLE bakeoff.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)")
        write(system, 1)
        yield system


def write(system: Galera, value: int, node: str = "n1") -> None:
    system.servers()[node].control.rows("INSERT INTO bakeoff.t (v) VALUES (%s)", value)


def values(system: Galera, node: str) -> list[int]:
    return [int(value) for (value,) in system.servers()[node].control.rows("SELECT v FROM bakeoff.t ORDER BY id")]


def logged_in(system: Galera, node: str, **changes: Any) -> closing[Any]:
    """As the load does, which trusts one authority."""
    server, tls = system.servers()[node], {"ssl_ca": str(system.server.authority), "ssl_verify_cert": True}
    login = {"host": "127.0.0.1", "port": server.port, "user": "bench", "password": server.bench_password}
    return closing(pymysql.connect(**{**login, **tls, "database": "bakeoff", **changes}))


def all_hold_the_same(system: Galera) -> list[int]:
    """Which it returns, once all are back."""
    wait_until(system.whole, "all nodes serve")
    assert system.caught_up(120)
    one, *others = (values(system, node) for node in system.servers())
    assert all(other == one for other in others)
    return one


def test_every_node_is_synced_and_tells_what_it_is(galera: Galera) -> None:
    assert [(node.name, node.role) for node in galera.nodes()] == [("n1", "writer"), ("n2", "reader"), ("n3", "reader")]
    assert galera.whole()
    for node in galera.nodes():
        facts, gauges, counters = node.facts(), node.gauges(), node.counters()
        assert facts.settings["wsrep_sync_wait"] == "1"
        assert facts.settings["evs.suspect_timeout"] == "PT1S"
        assert facts.settings["wsrep_provider_version"].startswith("4.")
        assert not any("127.0.0.1" in value for value in facts.settings.values())
        assert (gauges["wsrep_cluster_size"], gauges["wsrep_local_state"]) == (3, 4)
        assert counters["wsrep_last_committed"] > 0
        assert node.debt()["recv_queue_write_sets"] >= 0


def test_no_node_was_handed_all_data(galera: Galera) -> None:
    handed = [server.handed_over() for server in galera.processes().values()]
    assert handed[0] == ""
    assert all(words.startswith("incremental state transfer") for words in handed[1:]), handed


def test_the_load_logs_in_at_each_node_and_nobody_without_a_password(galera: Galera) -> None:
    for name, server in galera.servers().items():
        with logged_in(galera, name) as connection:
            connection.ping()
        with pytest.raises(pymysql.err.OperationalError, match="Access denied"):
            logged_in(galera, name, password="")
        assert server.root_password not in server.log.read_text()
        assert server.root_password not in (server.folder.path / "my.cnf").read_text()


def test_one_of_two_transactions_that_change_a_row_at_two_nodes_fails_by_conflict(galera: Galera) -> None:
    with logged_in(galera, "n1") as one, logged_in(galera, "n2") as two:
        for connection in (one, two):
            connection.cursor().execute("UPDATE t SET v = v + 1 ORDER BY id LIMIT 1")
        one.commit()
        with pytest.raises(pymysql.err.OperationalError) as refused:
            two.commit()
    assert refused.value.args[0] == ER.LOCK_DEADLOCK


def test_a_killed_node_is_handed_what_it_missed(galera: Galera) -> None:
    galera.servers()["n3"].kill()
    assert galera.answers()
    assert not galera.whole()
    write(galera, 3)  # once the others have noticed
    assert galera.rejoin("n3").startswith("incremental state transfer of ")
    assert all_hold_the_same(galera)[-1] == 3


def test_the_writer_is_a_node_as_any_other(galera: Galera) -> None:
    galera.servers()["n1"].end()
    write(galera, 4, "n2")
    assert galera.rejoin("n1").startswith("incremental state transfer of ")
    assert all_hold_the_same(galera)[-1] == 4


def test_a_frozen_node_comes_back_by_itself(galera: Galera) -> None:
    frozen = galera.servers()["n2"]
    frozen.freeze()
    write(galera, 5)
    wait_until(lambda: galera.processes()["n1"].group_size() == 2, "the others have noticed")
    frozen.thaw()
    wait_until(lambda: galera.processes()["n1"].group_size() == 3, "it is back")
    assert all_hold_the_same(galera)[-1] == 5


def test_without_a_majority_a_node_refuses_and_when_all_have_ended_nothing_is_lost(galera: Galera) -> None:
    galera.servers()["n2"].kill()
    galera.servers()["n3"].kill()
    alone = galera.processes()["n1"]
    wait_until(lambda: alone.status("wsrep_cluster_status") == "non-Primary", "it knows that it is alone")
    with pytest.raises(BakeoffError, match="1047"):
        values(galera, "n1")
    assert not galera.caught_up(0.0)
    alone.kill()
    galera.start()
    assert all_hold_the_same(galera)[-3:] == [3, 4, 5]


def test_whether_all_nodes_hold_the_same_is_found_out(galera: Galera) -> None:
    assert [(check.name, check.ok) for check in galera.agreement(["t"])] == [
        ("n2 has the same rows as n1", True),
        ("n3 has the same rows as n1", True),
    ]
    galera.servers()["n3"].control.rows("SET SESSION wsrep_on = OFF")
    galera.servers()["n3"].control.rows("UPDATE bakeoff.t SET v = v + 1 ORDER BY id LIMIT 1")
    galera.servers()["n3"].disconnect()
    same, other = galera.agreement(["t"])
    assert same.ok
    assert not other.ok
    assert other.expected != other.actual
    assert other.expected.startswith("t: ")


def test_a_snapshot_is_one_copy_and_all_begin_with_it(galera: Galera) -> None:
    copy = galera.server.folder.path.parent / "snapshot"
    galera.snapshot(copy)
    handed = [server.handed_over() for server in galera.processes().values()]
    assert [folder.name for folder in copy.iterdir()] == ["n1"]
    write(galera, 6)
    galera.restore(copy)
    assert all_hold_the_same(galera)[-1] == 5
    handed += [server.handed_over() for server in galera.processes().values()]
    assert "full state transfer" not in handed


def test_a_node_without_data_is_handed_all(galera: Galera) -> None:
    server = galera.servers()["n2"]
    server.end()
    shutil.rmtree(server.data)
    server.data.mkdir(mode=0o700)
    give_to_account(server.data)
    assert galera.rejoin("n2") == "full state transfer"
    assert all_hold_the_same(galera)[-1] == 5
