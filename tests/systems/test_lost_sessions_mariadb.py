"""What a server has left of operations that timed out, and what a run says where lost sessions are not let in again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bakeoff.bundle.write import dumps
from bakeoff.fleet.hosts import LocalHost
from bakeoff.model.boundary import Interval, Phase, RunResult, RunSpec, TimeLimit, Warning
from bakeoff.systems.mysql.mariadb import MariaDb
from commands import wait_until
from mariadb_servers import bench_login, managed

pytestmark = [pytest.mark.servers, pytest.mark.usefixtures("mariadb_program")]

UPDATES = {"kind": "ycsb", "records": 100, "field_count": 1, "read_proportion": 0, "update_proportion": 1}
THREADS = 4


@pytest.fixture
def mariadb(place: Path) -> Iterator[MariaDb]:
    # A statement that waits for a row would go on for longer than any test.
    system = managed(place, {"innodb_lock_wait_timeout": 3600})
    system.start()
    try:
        yield system
    finally:
        system.stop()


def carry_out(
    system: MariaDb, place: Path, phase: Phase, each: Callable[[Interval], bool] = lambda _: False, **other: object
) -> tuple[RunResult, list[str]]:
    """With the engine's warnings. each: told of every second; True ends the run."""
    driver, env = system.engine_driver()
    spec = RunSpec(phase=phase, driver=driver, workload=UPDATES, workers=1, **other)  # type: ignore[arg-type]
    path = place / f"{phase}.json"
    path.write_text(dumps(spec))
    warnings = []
    with LocalHost().engines("test") as engines:
        engines.start(path, env, place / "engine.log")
        engines.wait_ready(60.0)
        engines.begin(time.time_ns())
        for _, event in engines.events(silence_s=60.0):
            if isinstance(event, Warning):
                warnings.append(event.what)
            if isinstance(event, Interval) and each(event):
                engines.stop()
        return engines.results()[0], warnings


def of_bench(system: MariaDb, more: str) -> int:
    where = f"FROM information_schema.PROCESSLIST WHERE USER = 'bench' AND {more}"
    return int(system.control.value(f"SELECT COUNT(*) {where}"))


def test_statements_that_timed_out_do_not_stay_on_the_server(mariadb: MariaDb, tmp_path: Path) -> None:
    carry_out(mariadb, tmp_path, "load")
    most = 0

    def each(_: Interval) -> bool:
        nonlocal most
        most = max(most, of_bench(mariadb, "LEFT(INFO, 6) = 'UPDATE'"))
        return False

    with bench_login(mariadb, database="bakeoff") as holder, holder.cursor() as cursor:
        cursor.execute("SELECT * FROM usertable FOR UPDATE")
        result, _ = carry_out(
            mariadb,
            tmp_path,
            "run",
            each,
            threads=THREADS,
            timeout_s=0.2,
            limit=TimeLimit(window_s=3.0),
            error_budget_ratio=1.0,
        )
        (series,) = result.series
        assert series.outcome == "unknown"
        assert series.count >= 2 * THREADS, "each user has timed out again and again"
        # Every row is still locked: what was not ended would wait for an hour.
        wait_until(lambda: of_bench(mariadb, "LEFT(INFO, 6) = 'UPDATE'") == 0, "no statement is left")
    # One of each user, and one whose end is on its way.
    assert 1 <= most <= 2 * THREADS, most


def test_a_run_says_why_lost_sessions_were_not_let_in_again(mariadb: MariaDb, tmp_path: Path) -> None:
    carry_out(mariadb, tmp_path, "load")
    accounts = mariadb.control.rows("SELECT HOST FROM mysql.user WHERE USER = 'bench'")
    since = None

    def each(second: Interval) -> bool:
        nonlocal since
        if since is None and second.second >= 1:
            since = second.second
            for (host,) in accounts:
                mariadb.control.rows(f"ALTER USER 'bench'@'{host}' IDENTIFIED BY 'another'")
            mariadb.control.rows("KILL USER bench")
        return since is not None and second.second >= since + 2

    result, warnings = carry_out(
        mariadb, tmp_path, "run", each, threads=THREADS, limit=TimeLimit(window_s=60.0), error_budget_ratio=1.0
    )
    assert result.connections_lost == THREADS
    assert result.reconnects == 0
    (why,) = [words for words in warnings if words.startswith("no new session")]
    assert all(part in why for part in ("(1045)", "Access denied", " attempts, the first at ")), why
    assert {s.code for s in result.errors if s.operation == "open a session"} == {"1045"}
