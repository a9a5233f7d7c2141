"""A plan on load machines: nothing is lost or averaged on the way, clocks that are hours apart do not matter, and what
is secret stays so."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.model.clients import ClientRecord
from bakeoff.model.records.run import RunRecord
from builders.hosts import lacks
from commands import bakeoff, finish, only_bundle, started, wait_until, write_plan
from fleet_on_hosts import Fleet, MariaDbOnHost, began_apart_s, event_log, fleet_on_hosts, is_engine
from hdrh.histogram import HdrHistogram

pytestmark = [pytest.mark.servers, pytest.mark.skipif(lacks() is not None, reason=str(lacks()))]

#: No bar: what a machine may take longer on which much else is tested.
BUSY_NS = 50_000_000

SIX_CLIENTS = """
title = "Six clients"
[systems.null]
latency_ns = 1_000_000
[workload]
kind = "ycsb"
preset = "a"
records = 1000
[factors]
clients = [6]
threads = [2]
[measure]
warm_up = "0s"
window = "2s"
repetitions = 1
event_log = true
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet_on_hosts(tmp_path_factory.mktemp("fleet")) as fleet:
        yield fleet


def ran(fleet: Fleet, folder: Path, plan: str) -> Bundle:
    path = write_plan(folder, plan + fleet.cluster.plan)
    done = bakeoff("run", path, "--together", cwd=folder, through=fleet.network.controller)
    assert done.code == 0, done.out + done.err
    return only_bundle(folder)


@pytest.fixture(scope="module")
def six(fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Of six clients on three machines."""
    return ran(fleet, tmp_path_factory.mktemp("six"), SIX_CLIENTS)


def only_run(bundle: Bundle) -> RunRecord:
    (run,) = bundle.runs
    assert run.state == "done", run.failure
    return run


def counts(encoded: str) -> dict[int, int]:
    """By value, as another implementation decodes them."""
    recorded = HdrHistogram.decode(encoded).get_recorded_iterator()
    return {one.value_iterated_to: one.count_at_value_iterated_to for one in recorded}


def assert_clocks_true(fleet: Fleet, clients: list[ClientRecord]) -> None:
    ahead_ns = {host.name: host.ahead_s * 1_000_000_000 for host in fleet.machines}
    for client in clients:
        error_ns = client.clock_offset_ns - ahead_ns[client.machine]
        print(f"{client.words}: clock off by {error_ns / 1e3:.0f} us, bound {client.clock_bound_ns / 1e3:.0f} us")
        assert abs(error_ns) <= client.clock_bound_ns > 0


def assert_begun_together(bundle: Bundle) -> None:
    """What a busy machine adds to the millisecond that is allowed is not the fleet's."""
    run = only_run(bundle)
    apart_s = began_apart_s(bundle, run)
    print(f"began within {apart_s * 1e6:.0f} us of each other")
    assert apart_s < (max(client.clock_bound_ns for client in run.clients) + BUSY_NS) / 1e9
    assert all(client.start_late_ns is not None for client in run.clients)


def test_clients_are_spread_evenly(fleet: Fleet, six: Bundle) -> None:
    assert [client.machine for client in only_run(six).clients] == fleet.clients_machines(6)


def test_merged_histogram_is_to_the_count_the_sum_of_the_clients_own(six: Bundle) -> None:
    run = only_run(six)
    summed: dict[int, int] = {}
    for client in run.clients:
        for value, count in counts(client.headline.hdr).items():
            summed[value] = summed.get(value, 0) + count
    assert counts(run.headline.hdr) == summed
    assert sum(summed.values()) == run.headline.count == sum(client.headline.count for client in run.clients)


def test_every_client_counted_what_it_logged_operation_by_operation(six: Bundle) -> None:
    run = only_run(six)
    for client in run.clients:
        with event_log(six, run, client).open(newline="") as file:
            rows = sum(row["Success"] == "true" for row in csv.DictReader(file))
        assert rows == client.ok > 0
    assert run.ok == sum(client.ok for client in run.clients)


def test_rate_is_the_sum_of_the_clients(six: Bundle) -> None:
    run = only_run(six)
    assert run.rate_ops_per_s == pytest.approx(sum(client.rate_ops_per_s for client in run.clients), rel=0.001)


def test_clocks_that_are_hours_apart_are_known_within_what_is_said_of_them(fleet: Fleet, six: Bundle) -> None:
    clients = only_run(six).clients
    assert_clocks_true(fleet, clients)
    assert_begun_together(six)
    assert min(client.clock_bound_ns for client in clients) < BUSY_NS


def test_the_same_holds_where_every_packet_takes_5_ms_longer_each_way(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    with fleet_on_hosts(tmp_path_factory.mktemp("slow"), delays_s=[0.005, 0.0]) as fleet:
        bundle = ran(fleet, tmp_path, SIX_CLIENTS.replace("[6]", "[2]"))
        clients = only_run(bundle).clients
        assert [client.machine for client in clients] == ["load1", "load2"]
        assert_clocks_true(fleet, clients)
        assert_begun_together(bundle)
        slow = clients[0]
        assert 5_000_000 <= slow.clock_bound_ns < 5_000_000 + BUSY_NS
        assert slow.round_trip_ns is not None
        assert slow.round_trip_ns >= 10_000_000


# -- a real server, and its password -----------------------------------------------------------------------------------

SECRET = "open-sesame-4711"
ON_MARIADB = """
title = "Across the network"
[systems.there]
kind = "mariadb"
address = "{address}"
user = "{user}"
password = {{ env = "DB_PASSWORD" }}
[workload]
kind = "ycsb"
preset = "a"
records = 300
[factors]
clients = [3]
[measure]
reset = "reload"
warm_up = "200ms"
window = "3s"
repetitions = 1
"""


@pytest.fixture(scope="module")
def server(fleet: Fleet, mariadb_program: object) -> MariaDbOnHost:
    server = MariaDbOnHost(fleet.network.host("server"))
    server.rows(f"SET PASSWORD FOR '{server.user}'@'%' = PASSWORD('{SECRET}')")
    return server


def said_by(pid: int) -> str:
    """What anybody who may look at a process finds of its command line and its environment."""
    return command_of(pid) + in_proc(pid, "environ")


def command_of(pid: int) -> str:
    return in_proc(pid, "cmdline")


def in_proc(pid: int, name: str) -> str:
    """Empty if the process has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except OSError:
        return ""


def test_a_server_is_loaded_from_three_machines_and_only_engines_receive_its_password(
    fleet: Fleet, server: MariaDbOnHost, tmp_path: Path
) -> None:
    plan = ON_MARIADB.format(address=server.address, user=server.user) + fleet.cluster.plan
    running = started(
        *("run", write_plan(tmp_path, plan), "--together"),
        cwd=tmp_path,
        env={"DB_PASSWORD": SECRET},
        through=fleet.network.controller,
    )
    wait_until(lambda: len(fleet.engines()) == 3 and server.sessions() >= 3, "three machines load it", of=running)
    engines = {pid for pids in fleet.engines().values() for pid in pids}
    others = {pid for host in fleet.network.hosts for pid in host.pids()} - engines
    # A process becomes an engine and gets an engine's environment at once: what has said it is looked at afterwards.
    assert [pid for pid in others if SECRET in said_by(pid) and not is_engine(pid)] == []
    assert [pid for pid in engines if SECRET in command_of(pid)] == []
    done = finish(running)
    assert done.code == 0, done.out + done.err
    run = only_run(only_bundle(tmp_path))
    assert run.valid, run.validity
    assert [client.machine for client in run.clients] == fleet.clients_machines(3)
    assert all(client.ok > 0 and client.server_round_trip_ns for client in run.clients)
    assert server.sessions() == 0
    written = [*fleet.network.folder.glob("*.log"), *tmp_path.rglob("*")]
    assert [path for path in written if path.is_file() and SECRET.encode() in path.read_bytes()] == []
    left = [Path(folder) / name for host in fleet.machines for folder, _, names in os.walk(host.tmp) for name in names]
    assert [path for path in left if SECRET.encode() in path.read_bytes()] == []
