"""Logs that real servers have written while a run of ours went on, replayed: the same statements, as often."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import cast

import pytest
from bakeoff.model.records.run import RunRecord
from bakeoff.provision.installation import Installation
from bakeoff.systems.mysql import mysql as mysql_installations
from bakeoff.systems.mysql.mysql import MySql
from bakeoff.systems.postgresql.system import PostgreSql
from builders.systems import fetched, running
from commands import bakeoff, only_bundle, write_plan

SCHEMA = "CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL);\n"
ROWS = "".join(f"INSERT INTO accounts VALUES ({id}, 100);\n" for id in range(1, 51))
SCRIPT = r"""
\set one random(1, 49)
\set other :one + 1
BEGIN;
UPDATE accounts SET balance = balance - 1 WHERE id = :one;
UPDATE accounts SET balance = balance + 1 WHERE id = :other;
SELECT id, balance FROM accounts WHERE id IN (:one, :other);
COMMIT;
"""
TRANSACTIONS = 40
CAPTURE = """
title = "captured"
[systems.db]
{system}
[workload]
kind = "sql"
schema = "schema.sql"
scripts = ["transfer.sql"]
load = {{ accounts = {{ rows = 50, columns = {{ id = "row", balance = "100" }} }} }}
[factors]
threads = 4
[measure]
warm_up = 0
operations = 40
timeout = "5m"
repetitions = 1
"""
REPLAY = """
title = "replayed"
[systems.db]
{system}
[workload]
kind = "replay"
log = "captured.log"
setup = "setup.sql"
tables = ["accounts"]
{options}
[factors]
threads = 4
[measure]
warm_up = 0
timeout = "5m"
repetitions = 1
error_budget = 1
"""
SQLITE = 'kind = "sqlite"\ndurability = "none"'


def only_run(folder: Path) -> RunRecord:
    (run,) = only_bundle(folder).runs
    return run


def files(folder: Path) -> None:
    for name, text in {"schema.sql": SCHEMA, "setup.sql": SCHEMA + ROWS, "transfer.sql": SCRIPT}.items():
        (folder / name).write_text(text)


def replay(folder: Path, log: str, options: str = "speed = 0", *, system: str = SQLITE, code: int = 0) -> RunRecord:
    files(folder)
    (folder / "captured.log").write_text(log)
    done = bakeoff("run", write_plan(folder, REPLAY.format(system=system, options=options)), cwd=folder)
    assert done.code == code, done.out + done.err
    return only_run(folder)


def counts(run: RunRecord) -> dict[str, int]:
    return {series.operation: series.count for series in run.series if series.outcome == "ok"}


GENERAL = """mysqld, Version: 9.7.0. started with:
2026-11-28T05:00:00.000000Z\t    8 Connect\tu@localhost on test using Socket
2026-11-28T05:00:00.000000Z\t    8 Query\tBEGIN
2026-11-28T05:00:00.100000Z\t    9 Query\tSELECT balance FROM accounts WHERE id = 1
2026-11-28T05:00:00.200000Z\t    8 Execute\tUPDATE accounts SET balance = 7 WHERE id = 1
2026-11-28T05:00:00.300000Z\t    8 Query\tCOMMIT
2026-11-28T05:00:00.300000Z\t    8 Quit\t
2026-11-28T05:00:00.400000Z\t    9 Query\tSELECT balance FROM accounts WHERE id = 2
2026-11-28T05:00:01.500000Z\t   10 Query\tSELECT balance FROM nowhere
"""


def test_statements_of_a_log_are_sent_at_its_pace_and_failures_counted(tmp_path: Path) -> None:
    run = replay(tmp_path, GENERAL, "speed = 1")
    assert (run.ok, run.failures) == (5, 1)
    assert run.verdict.signs == [], "a user that waits for its next statement is no limit"
    assert run.window_s >= 1.4, "the last statement is due after 1.5 s"
    assert counts(run)["SELECT balance FROM accounts WHERE id = ?"] == 2


def test_a_statement_that_is_late_has_waited_since_it_was_due(tmp_path: Path) -> None:
    """One user for three sessions: the second is due while the first goes on."""
    files(tmp_path)
    (tmp_path / "captured.log").write_text(GENERAL)
    plan = REPLAY.format(system=SQLITE, options="speed = 1").replace("threads = 4", "threads = 1")
    done = bakeoff("run", write_plan(tmp_path, plan), cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    select = "SELECT balance FROM accounts WHERE id = ?"
    (waited,) = [one.response for one in only_run(tmp_path).series if one.operation == select]
    assert waited.max_ns >= 190e6, "due after 0.1 s, when the session before ends after 0.3 s"


def test_answers_that_are_not_the_logs_are_wrong(tmp_path: Path) -> None:
    entry = "# User@Host: u[u] @ localhost []  Id:     8\n"
    entry += "# Query_time: 0.1  Lock_time: 0.0 Rows_sent: {}  Rows_examined: 3\n"
    entry += "SET timestamp=1795842000;\nSELECT balance FROM accounts WHERE id < 4;\n"
    run = replay(tmp_path, (entry.format(3) + entry.format(4)) * 2, code=1)
    assert (run.ok, run.errors["wrong"]) == (2, 2)


@pytest.mark.parametrize(
    ("log", "said"),
    [("", "looks like no log"), (GENERAL.replace("Query", "Ping").replace("Execute", "Ping"), "has no statements")],
)
def test_what_is_no_log_is_refused(tmp_path: Path, log: str, said: str) -> None:
    files(tmp_path)
    (tmp_path / "captured.log").write_text(log)
    done = bakeoff("run", write_plan(tmp_path, REPLAY.format(system=SQLITE, options="")), "--dry-run", cwd=tmp_path)
    assert done.code == 2
    assert said in done.err


def test_half_a_statement_at_the_end_is_left_out_and_reported(tmp_path: Path) -> None:
    files(tmp_path)
    (tmp_path / "captured.log").write_text(GENERAL.removesuffix(" nowhere\n"))
    done = bakeoff("run", write_plan(tmp_path, REPLAY.format(system=SQLITE, options="speed = 0")), cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    assert "the log ends within a statement, which is left out" in done.err
    run = only_run(tmp_path)
    assert (run.ok, run.failures) == (5, 0)


def test_runs_on_what_the_last_one_left_insert_the_same_rows(tmp_path: Path) -> None:
    files(tmp_path)
    insert = GENERAL.replace("SELECT balance FROM nowhere", "INSERT INTO accounts VALUES (100, 0)")
    (tmp_path / "captured.log").write_text(insert)
    plan = REPLAY.format(system=f'{SQLITE}\nreset = "none"', options="speed = 0")
    plan = plan.replace("repetitions = 1", "repetitions = 2\nrepeat_disturbed = 0")
    done = bakeoff("run", write_plan(tmp_path, plan), cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    assert [(run.ok, run.failures) for run in only_bundle(tmp_path).runs] == [(6, 0), (5, 1)]


@pytest.mark.parametrize(("speed", "least_s", "most_s"), [(1, 600, 610), (2, 300, 310), (0, 0, 10)])
def test_a_dry_run_knows_how_long_the_log_takes(tmp_path: Path, speed: int, least_s: int, most_s: int) -> None:
    files(tmp_path)
    (tmp_path / "captured.log").write_text(GENERAL.replace("05:00:01.5", "05:10:00.0"))
    plan = write_plan(tmp_path, REPLAY.format(system=SQLITE, options=f"speed = {speed}"))
    done = bakeoff("run", plan, "--dry-run", "--json", cwd=tmp_path)
    (cell,) = json.loads(done.out)["cells"]
    assert least_s <= cell["run_s"] <= most_s


@pytest.mark.parametrize(
    ("speed", "said"), [("1e-9", "the log lasts longer than a year"), ("1e12", "1000000"), ("nan", "is nan")]
)
def test_a_speed_that_cannot_be_is_refused(tmp_path: Path, speed: str, said: str) -> None:
    files(tmp_path)
    (tmp_path / "captured.log").write_text(GENERAL)
    plan = write_plan(tmp_path, REPLAY.format(system=SQLITE, options=f"speed = {speed}"))
    done = bakeoff("run", plan, "--dry-run", cwd=tmp_path)
    assert done.code == 2
    assert said in done.err.splitlines()[0]


MARIADB_LOG = """kind = "mariadb"
start = {{ settings = {{ innodb_buffer_pool_size = "64M", {settings}, log_output = "FILE" }} }}
"""
KINDS = {
    "general": 'general_log = "ON", general_log_file = "{log}"',
    "slow": 'slow_query_log = "ON", long_query_time = 0, slow_query_log_file = "{log}"',
}
EXISTING = """kind = "{kind}"
address = "127.0.0.1:{port}"
user = "bench"
password = {{ env = "TEST_PASSWORD" }}
reset = "reload"
"""


def capture(folder: Path, system: str) -> None:
    files(folder)
    done = bakeoff("run", write_plan(folder, CAPTURE.format(system=system)), cwd=folder)
    assert done.code == 0, done.out + done.err


def after_the_load(written: str, entry: str = "\n") -> str:
    """From the entry with the first statement of the run; entry: how one begins."""
    return written[written.rindex(entry, 0, written.index("UPDATE accounts")) :].lstrip("\n")


def has_its_statements(run: RunRecord) -> None:
    found = counts(run)
    updates = [count for name, count in found.items() if name.startswith("UPDATE accounts SET balance = balance")]
    assert sorted(updates) == [TRANSACTIONS, TRANSACTIONS]
    (selects,) = [count for name, count in found.items() if name.startswith("SELECT id, balance FROM accounts")]
    assert selects == TRANSACTIONS
    (commits,) = [count for name, count in found.items() if name.upper() == "COMMIT"]
    assert commits >= TRANSACTIONS, "those of bakeoff's own checks, too"


@pytest.mark.servers
@pytest.mark.parametrize("kind", ["general", pytest.param("slow", marks=pytest.mark.slow)])
def test_a_log_of_a_run_of_ours_has_its_statements(tmp_path: Path, kind: str) -> None:
    open_to_all = Path(tempfile.mkdtemp())  # the server has an account of its own
    open_to_all.chmod(0o777)
    log = open_to_all / "server.log"
    capture(tmp_path, MARIADB_LOG.format(settings=KINDS[kind].format(log=log)))
    written = log.read_text()
    shutil.rmtree(open_to_all)
    folder = tmp_path / "replayed"
    folder.mkdir()
    written = after_the_load(written, "# User@Host" if kind == "slow" else "\n")
    has_its_statements(replay(folder, written, system=MARIADB_LOG.format(settings='general_log = "OFF"')))


@pytest.mark.servers
@pytest.mark.slow
def test_both_logs_of_mysql_have_the_statements_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"general_log": "ON", "general_log_file": "general.log", "log_output": "FILE"}
    settings |= {"slow_query_log": "ON", "long_query_time": 0, "slow_query_log_file": "slow.log"}
    start = {"version": fetched(mysql_installations.SOURCES, "9"), "settings": settings}
    with running("mysql", {"start": start}) as system:
        server = cast(MySql, system).server
        monkeypatch.setenv("TEST_PASSWORD", server.bench_password)
        existing = EXISTING.format(kind="mysql", port=server.port) + 'schema = "bakeoff"\n'
        capture(tmp_path, existing)
        logs = {"\n": server.data / "general.log", "# Time": server.data / "slow.log"}
        for entry, written in {entry: log.read_text() for entry, log in logs.items()}.items():
            folder = tmp_path / f"replayed-{entry.strip()}"
            folder.mkdir()
            has_its_statements(replay(folder, after_the_load(written, entry), system=existing))


@pytest.mark.servers
def test_both_logs_of_postgresql_have_the_statements_of_a_run(
    tmp_path: Path, postgresql_program: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = "logging_collector=on log_destination=csvlog,jsonlog log_statement=all log_disconnections=on"
    with running("postgresql", {}) as system:
        server = cast(PostgreSql, system).server
        server.stop()
        server.start(*(word for setting in settings.split() for word in ("-c", setting)))
        monkeypatch.setenv("TEST_PASSWORD", server.bench_password)
        existing = EXISTING.format(kind="postgresql", port=server.port)
        capture(tmp_path, existing)
        logs = [log for kind in ("csv", "json") for log in (server.data / "log").glob(f"*.{kind}")]
        for kind, written in {log.suffix: log.read_text() for log in logs}.items():
            folder = tmp_path / f"replayed{kind}"
            folder.mkdir()
            has_its_statements(replay(folder, after_the_load(written), system=existing))
        assert len(logs) == 2
