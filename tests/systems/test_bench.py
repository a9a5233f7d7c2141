"""The benchmark suite against the real server and the real sysbench. Nothing here depends on how fast either is."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from bakeoff.fleet.engine_program import engine_path
from bakeoff.systems.mysql.mariadb import MariaDb
from bench_rows import result_of

from benches.suite.bench import Bench, Options
from benches.suite.client import Client, Job, Tables
from benches.suite.ours import WAYS, Engine
from benches.suite.peers.sysbench import Sysbench
from benches.suite.rows import WORKS, Row
from benches.suite.server import Server
from benches.suite.servers.mariadb import MariaDbServer

pytestmark = pytest.mark.servers

QUICK = Options(rounds=1, window_s=4.0, warm_up_s=1, rows=2000, distribution="uniform", seed=1)
TABLES = Tables(rows=2000)
CORES = tuple(sorted(os.sched_getaffinity(0)))
#: What a session asks before its first event: settings, and statements to prepare.
STATEMENTS_OF_A_START_MAX = 40


@pytest.fixture(scope="module")
def server(mariadb: MariaDb) -> Iterator[Server]:
    server = MariaDbServer(mariadb)
    yield server
    server.remove_tables()
    mariadb.control.rows("DROP TABLE IF EXISTS bakeoff.usertable")
    server.close()


@pytest.fixture
def sysbench(server: Server, tmp_path: Path) -> Sysbench:
    return Sysbench(server, tmp_path, print)


def engine(server: Server, folder: Path, way: str) -> Engine:
    return Engine(way, engine_path(), WAYS[way], server, folder)


def affinities(server: Server) -> set[frozenset[int]]:
    threads = os.listdir(f"/proc/{server.pid}/task")
    return {frozenset(os.sched_getaffinity(int(thread))) for thread in threads}


@pytest.mark.parametrize("work", ["read_only", "read_write", "write_only", "insert", "lua_read_write"])
@pytest.mark.parametrize("who", ["sysbench", "epoll"])
def test_an_event_has_as_many_statements_as_the_suite_divides_by(
    server: Server, sysbench: Sysbench, tmp_path: Path, work: str, who: str
) -> None:
    client: Client = sysbench if who == "sysbench" else engine(server, tmp_path, who)
    client.prepare(TABLES)
    # One session: a deadlock between two would add the statements of the event it ended.
    job = Job(WORKS[work].script, 1, "tcp", TABLES, "uniform", 1, 0.5, CORES, CORES)
    before = server.count("Questions")
    running = client.begin(job)
    try:
        output = running.finish()
    finally:
        running.kill()
    asked = server.count("Questions") - before
    client.report(output, job)  # refuses another way than was asked for
    events = sysbench_events(output) if who == "sysbench" else engine_events(output)
    statements = WORKS[work].counting.per_operation
    # The last event may have been cut off.
    assert -statements <= asked - events * statements <= STATEMENTS_OF_A_START_MAX + statements


def sysbench_events(output: str) -> int:
    return sum(map(int, re.findall(r"transactions:\s+(\d+)", output)))


def engine_events(output: str) -> int:
    """Of all seconds, the warm-up's too."""
    seconds = [event for line in output.splitlines() if (event := json.loads(line))["event"] == "interval"]
    series = [one for second in seconds for one in second["series"] if not one["part"] and one["outcome"] == "ok"]
    return sum(one["response"]["count"] for one in series)


def test_a_row_is_measured_from_outside_for_both_and_the_server_is_where_it_was(
    server: Server, sysbench: Sysbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = engine(server, tmp_path, "epoll")
    clients: list[Client] = [sysbench, ours]
    bench = Bench(server, clients, [(ours.name, sysbench.name)], QUICK, print)
    before = affinities(server)
    result = result_of(bench, Row("ycsb_c", "socket", 1), monkeypatch)
    assert affinities(server) == before
    assert result.placement == f"client and server on core {CORES[0]}"
    for (sample,) in result.samples.values():
        assert sample.operations > 0
        assert sample.client_cpu_us > 0
        assert sample.server_cpu_us > 0
        assert sample.error_ratio == 0
        assert sample.ready_s > 0
        assert sample.memory_peak_bytes > 1_000_000
        assert sample.latency_ms_p50 is not None
        assert sample.latency_ms_p99 is not None
        assert sample.latency_ms_p50 <= sample.latency_ms_p99
    (comparison,) = result.comparisons
    ours_us, theirs_us = (result.samples[name][0].total_cpu_us for name in (ours.name, sysbench.name))
    assert comparison.total_cpu.mid == ours_us / theirs_us
