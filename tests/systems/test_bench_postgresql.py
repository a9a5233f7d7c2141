"""The benchmark suite against a real PostgreSQL, sysbench's pgsql driver and pgbench. Nothing here depends on how fast
any of them is."""

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bakeoff.fleet.engine_program import engine_path
from bakeoff.systems.postgresql.system import PostgreSql
from bench_rows import result_of

from benches.suite.bench import Bench, Options
from benches.suite.client import Client, Job, Tables
from benches.suite.ours import WAYS, Engine
from benches.suite.peers.pgbench import Pgbench
from benches.suite.peers.sysbench import Sysbench
from benches.suite.rows import WORKS, Row
from benches.suite.server import Server
from benches.suite.servers.postgresql import PostgreSqlServer

pytestmark = [pytest.mark.servers, pytest.mark.slow]

TABLES = Tables(rows=2000)
CORES = tuple(sorted(os.sched_getaffinity(0)))
#: A session adds to the server's counters once a second at most, so a window is longer than two.
QUICK = Options(rounds=1, window_s=2.5, warm_up_s=1, rows=TABLES.rows, distribution="uniform", seed=1)
#: What a session asks before its first event, each a transaction: settings, and statements to prepare.
TRANSACTIONS_OF_A_START_MAX = 40
ENDED_TIMEOUT_S = 60.0


@pytest.fixture(scope="module")
def server(postgresql: PostgreSql) -> Iterator[Server]:
    server = PostgreSqlServer(postgresql)
    yield server
    server.remove_tables()
    server.close()


@pytest.fixture
def clients(server: Server, tmp_path: Path) -> list[Client]:
    ours = Engine("epoll", engine_path(), WAYS["epoll"], server, tmp_path)
    return [Sysbench(server, tmp_path, print), Pgbench(server, tmp_path, print), ours]


def events_of(client: Client, output: str) -> int:
    if isinstance(client, Sysbench):
        return sum(map(int, re.findall(r"transactions:\s+(\d+)", output)))
    if isinstance(client, Pgbench):
        return sum(map(int, re.findall(r"actually processed: (\d+)", output)))
    seconds = [event for line in output.splitlines() if (event := json.loads(line))["event"] == "interval"]
    series = [one for second in seconds for one in second["series"] if not one["part"] and one["outcome"] == "ok"]
    return sum(one["response"]["count"] for one in series)


def count_when_all_have_left(server: Server, counter: str) -> int:
    """A connection tells the rest of what it has done when it ends."""
    until_s = time.monotonic() + ENDED_TIMEOUT_S
    while server.system.control.value("SELECT count(*) FROM pg_stat_activity WHERE usename = $1", server.user):
        assert time.monotonic() < until_s, "a client's connection did not end"
    return server.count(counter)


@pytest.mark.parametrize("work", ["point_select", "read_write"])
def test_an_event_is_a_transaction_to_the_server(server: Server, clients: list[Client], work: str) -> None:
    clients[0].prepare(TABLES)
    job = Job(WORKS[work].script, 1, "tcp", TABLES, "uniform", 1, 0.5, CORES, CORES)
    counter = server.counting(WORKS[work]).counter
    for client in clients:
        if work == "read_write" and isinstance(client, Pgbench):
            continue
        before = count_when_all_have_left(server, counter)
        running = client.begin(job)
        try:
            output = running.finish()
        finally:
            running.kill()
        counted = count_when_all_have_left(server, counter) - before
        client.report(output, job)
        # The last event may have been cut off.
        assert -1 <= counted - events_of(client, output) <= TRANSACTIONS_OF_A_START_MAX, client.name


def test_a_row_is_measured_against_its_own_peer_and_all_of_the_server_is_placed(
    server: Server, clients: list[Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(server, clients, [("epoll", "sysbench"), ("epoll", "pgbench")], QUICK, print)
    result = result_of(bench, Row("point_select", "tcp", 1, "postgresql"), monkeypatch)
    assert set(result.samples) == {"pgbench", "epoll"}
    assert [one.peer for one in result.comparisons] == ["pgbench"]
    for (sample,) in result.samples.values():
        assert sample.operations > 0
        assert sample.client_cpu_us > 0
        assert sample.error_ratio == 0
        # The server's work is done by a process of each connection: the first one alone does next to nothing.
        assert sample.server_cpu_us > 1
    with server.placed(CORES[:1]):
        assert {frozenset(os.sched_getaffinity(pid)) for pid in server.system.pids()} == {frozenset(CORES[:1])}
    assert {frozenset(os.sched_getaffinity(pid)) for pid in server.system.pids()} == {frozenset(CORES)}
