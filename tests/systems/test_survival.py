"""What is said of each level of durability, checked against servers that are killed, also with what they had not synced
undone, as by a power loss: how many acknowledged commits exist afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pymysql
import pytest
from bakeoff.model.durability import NOTHING, read
from bakeoff.provision.powerloss import lose_power, not_judged
from bakeoff.systems.durability import of_sqlite
from bakeoff.systems.mysql.mariadb import MariaDb
from bakeoff.systems.postgresql.control import Control as PostgreSqlControl
from bakeoff.systems.postgresql.system import PostgreSql
from bakeoff.systems.redis.system import SOURCES as REDIS
from bakeoff.systems.redis.system import Redis
from bakeoff.systems.sqlite import DURABILITY as SQLITE_LEVELS
from builders.systems import configured, fetched, node_of

COMMITS = 200
#: Nothing but a commit is to write the log within the test.
NEVER_S = "2700"


@pytest.mark.servers
@pytest.mark.usefixtures("mariadb_program")
@pytest.mark.parametrize("level", ["full", "relaxed", "none"])
def test_mariadb_loses_when_killed_what_its_level_says(place: Path, level: str) -> None:
    settings: dict[str, Any] = {"innodb_flush_log_at_timeout": NEVER_S, "innodb_log_file_size": "8M"}
    system = cast(MariaDb, configured("mariadb", place / "a", {"start": {"settings": settings}}, durability=level))
    system.start()
    try:
        survival = read(node_of(system).facts().portable)
        _commit_to_mariadb(system)
        os.kill(system.pids()[0], signal.SIGKILL)
        system.server.kill()
        system.start()
        left = system.control.value("SELECT COUNT(*) FROM bakeoff.t")
    finally:
        system.stop()
    assert survival is not None
    assert survival.level == level
    assert (left == COMMITS) == (survival.lost_when_killed == NOTHING), left


@pytest.mark.servers
@pytest.mark.usefixtures("mariadb_program")
@pytest.mark.parametrize("level", ["full", "relaxed", "none"])
def test_mariadb_loses_at_a_power_loss_what_its_level_says(place: Path, level: str) -> None:
    settings: dict[str, Any] = {"innodb_flush_log_at_timeout": NEVER_S}
    system = cast(MariaDb, configured("mariadb", place / "a", {"start": {"settings": settings}}, durability=level))
    count = "SELECT COUNT(*) FROM bakeoff.t"
    _check_power_loss(system, lambda: _commit_to_mariadb(system), lambda: system.control.value(count))


def _commit_to_mariadb(system: MariaDb) -> None:
    login = system.server.bench_login("tcp")
    with (
        pymysql.connect(
            host="127.0.0.1",
            port=login.address.port,
            user=login.user,
            password=login.password,
            database="bakeoff",
            autocommit=True,
        ) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("CREATE TABLE t (id INT PRIMARY KEY)")
        for number in range(COMMITS):
            cursor.execute("INSERT INTO t VALUES (%s)", (number,))


@pytest.mark.servers
@pytest.mark.usefixtures("postgresql_program")
@pytest.mark.parametrize("level", ["full", "none"])
def test_postgresql_loses_when_killed_what_its_level_says(place: Path, level: str) -> None:
    settings = {"wal_writer_delay": "10s", "autovacuum": "off"}
    options = {"start": {"settings": settings}}
    system = cast(PostgreSql, configured("postgresql", place / "a", options, durability=level))
    system.start()
    try:
        survival = read(node_of(system).facts().portable)
        _commit_to_postgresql(system)
        system.server.kill()
        system.start()
        left = system.control.value("SELECT count(*) FROM t")
    finally:
        system.stop()
    assert survival is not None
    assert survival.level == level
    assert (left == COMMITS) == (survival.lost_when_killed == NOTHING), left


@pytest.mark.servers
@pytest.mark.usefixtures("postgresql_program")
@pytest.mark.parametrize("level", ["full", "none"])
def test_postgresql_loses_at_a_power_loss_what_its_level_says(place: Path, level: str) -> None:
    options = {"start": {"settings": {"wal_writer_delay": "10s", "autovacuum": "off"}}}
    system = cast(PostgreSql, configured("postgresql", place / "a", options, durability=level))
    count = "SELECT count(*) FROM t"
    _check_power_loss(system, lambda: _commit_to_postgresql(system), lambda: system.control.value(count))


def _commit_to_postgresql(system: PostgreSql) -> None:
    control = PostgreSqlControl(system.server.bench_login("tcp"), "bakeoff", where="")
    control.rows("SET synchronous_commit = on")
    control.rows("CREATE TABLE t (id int PRIMARY KEY)")
    control.rows("RESET synchronous_commit")
    for number in range(COMMITS):
        control.rows(f"INSERT INTO t VALUES ({number})")
    control.close()


@pytest.mark.servers
@pytest.mark.parametrize("level", ["full", "relaxed", "none"])
def test_redis_loses_at_a_power_loss_what_its_level_says(place: Path, level: str) -> None:
    if not REDIS.here():
        fetched(REDIS, "7.0")
    system = cast(Redis, configured("redis", place / "a", {}, durability=level))
    keys = [f"key{number}" for number in range(COMMITS)]

    def commit() -> None:
        for key in keys:
            system.control.rows(f"SET {key} 1")

    _check_power_loss(system, commit, lambda: system.control.value("EXISTS " + " ".join(keys)))


def _check_power_loss(
    system: MariaDb | PostgreSql | Redis, commit: Callable[[], None], count: Callable[[], Any]
) -> None:
    """Cuts the power after `commit`, and compares what `count` finds then with what is said of the level."""
    system.start()
    try:
        survival = read(node_of(system).facts().portable)
        system.server.stop()
        journal = system.server.journal_writes()
        system.start()
        commit()
        assert not not_judged(journal, system.server.pids()[:1])
        system.server.kill()
        lose_power(system.server.data_folders(), journal)
        system.start()
        left = count()
    finally:
        system.stop()
    assert survival is not None
    assert (left == COMMITS) == (survival.lost_at_power_loss == NOTHING), left


_COMMIT_TO_SQLITE = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for pragma in sys.argv[2:]:
    connection.execute(f"PRAGMA {pragma}")
connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
for number in range(int(os.environ["COMMITS"])):
    connection.execute("INSERT INTO t VALUES (?)", (number,))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("level", ["full", "relaxed", "none"])
def test_sqlite_loses_nothing_when_killed_at_any_level(tmp_path: Path, level: str) -> None:
    pragmas = [f"{name} = {value}" for name, value in SQLITE_LEVELS[level].items()]
    file = tmp_path / "data.sqlite"
    command = [sys.executable, "-c", _COMMIT_TO_SQLITE, str(file), *pragmas]
    done = subprocess.run(command, env={**os.environ, "COMMITS": str(COMMITS)}, check=False)
    assert done.returncode == -signal.SIGKILL
    assert of_sqlite(SQLITE_LEVELS[level]).lost_when_killed == NOTHING
    count = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT COUNT(*) FROM t').fetchone()[0])"
    left = subprocess.run([sys.executable, "-c", count, str(file)], capture_output=True, text=True, check=True).stdout
    assert int(left) == COMMITS
