"""The benchmark suite against a real Redis and redis-benchmark. Nothing here depends on how fast either of them is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bakeoff.errors import BakeoffError
from bakeoff.fleet.engine_program import engine_path
from bakeoff.systems.redis.system import SOURCES
from bench_rows import result_of
from builders.systems import fetched

from benches.suite.bench import Bench, Options
from benches.suite.ours import WAYS, Engine
from benches.suite.peers.redis_benchmark import RedisBenchmark, read_report
from benches.suite.rows import WORKS, Row
from benches.suite.server import Server
from benches.suite.servers.redis import RedisServer

QUICK = Options(rounds=1, window_s=1.0, warm_up_s=1, rows=2000, distribution="uniform", seed=1)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    if not SOURCES.here():
        fetched(SOURCES, "7.0")
    with RedisServer.started(print) as server:
        yield server


@pytest.mark.parametrize("work", ["redis_read", "redis_pipeline"])
def test_both_clients_read_the_same_records(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: str
) -> None:
    clients = [RedisBenchmark(server, tmp_path, print), Engine("epoll", engine_path(), WAYS["epoll"], server, tmp_path)]
    bench = Bench(server, clients, [("epoll", "redis-benchmark")], QUICK, print)
    row = Row(work, "tcp", 4, "redis")
    bench.make_ready(WORKS[work], bench.job(row).tables)
    missed = misses(server)
    result = result_of(bench, row, monkeypatch)
    for samples in result.samples.values():
        (sample,) = samples
        assert sample.operations > 0
        assert sample.error_ratio == 0
    assert {comparison.peer for comparison in result.comparisons} == {"redis-benchmark"}
    # A table that is loaded again looks for each of its keys.
    assert misses(server) - missed <= QUICK.rows + 10, "each key of either client is a record"


def misses(server: Server) -> float:
    return server.system.nodes()[0].counters()["keyspace_misses"]


def test_its_report_is_read_and_an_error_of_the_server_is_none() -> None:
    said = "HMGET usertable:user__rand_int__ FIELD0: rps=51.0 (overall: 50.0) avg_msec=0.1 (overall: 0.1)\n"
    report = read_report(
        said + "HMGET usertable:user__rand_int__ FIELD0: 61274.51 requests per second, p50=0.415 msec\n"
    )
    assert (report.rate_ops_per_s, report.latency_ms_p50) == (61274.51, 0.415)
    for output in (said, "Error from server: NOPERM\n" + said + "x: 1.00 requests per second, p50=0.4 msec\n"):
        with pytest.raises(BakeoffError, match="did not report"):
            read_report(output)
