"""The managed PostgreSQL and existing servers, against the real thing."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from bakeoff.errors import PlanError, ServerError
from bakeoff.provision.os_metrics import family, process_table
from bakeoff.provision.process import server_account, start_ticks
from bakeoff.systems.postgresql.control import Control
from bakeoff.systems.postgresql.system import SOURCES, PostgreSql
from bakeoff.systems.server.control import Address, Login
from bakeoff.systems.server.existing import ExistingServer
from bakeoff.systems.server.system import ServerNode
from builders.systems import configured, node_of

ROWS = 20_000

pytestmark = [pytest.mark.servers, pytest.mark.usefixtures("postgresql_program")]


def managed(place: Path, start: dict[str, Any] | None = None, name: str = "a", **levels: Any) -> PostgreSql:
    more = {"tls": levels.pop("tls")} if "tls" in levels else {}
    return cast(PostgreSql, configured("postgresql", place / name, {"start": start or True, **more}, **levels))


@pytest.fixture
def own(place: Path) -> Iterator[PostgreSql]:
    """A server that a test may stop, kill and fill."""
    system = managed(place)
    system.start()
    yield system
    system.stop()


@contextmanager
def as_bench(system: PostgreSql, connect: str = "tcp", database: str = "bakeoff", **changes: str) -> Iterator[Control]:
    """Connects as a driver would."""
    login = system.server.bench_login(connect)
    user, password = changes.get("user", login.user), changes.get("password", login.password)
    control = Control(Login(login.address, user, password, login.tls), database, where="")
    try:
        yield control
    finally:
        control.close()


def run(system: PostgreSql, sql: str) -> Any:
    with as_bench(system) as control:
        return control.value(sql)


def fill(system: PostgreSql) -> None:
    run(system, f"CREATE TABLE t AS SELECT i, repeat('x', 200) AS c FROM generate_series(1, {ROWS}) i")


@pytest.fixture
def cleared(postgresql: PostgreSql) -> Iterator[PostgreSql]:
    """The shared server, without the tables that a test makes."""
    yield postgresql
    for (name,) in postgresql.control.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
        postgresql.control.rows(f'DROP TABLE "{name}"')


def existing(system: PostgreSql, monkeypatch: pytest.MonkeyPatch, **options: Any) -> ExistingServer:
    """The same server again, as an existing one at its address."""
    monkeypatch.setenv("TEST_PASSWORD", system.server.bench_password)
    address = {"address": f"127.0.0.1:{system.server.port}", "user": "bench", "password": {"env": "TEST_PASSWORD"}}
    levels = {"durability": options.pop("durability")} if "durability" in options else {}
    return cast(ExistingServer, configured("postgresql", Path("/"), {**address, **options}, **levels))


# -- accounts and processes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("connect", ["tcp", "socket"])
def test_the_bench_user_reaches_its_database_and_may_make_tables_there(cleared: PostgreSql, connect: str) -> None:
    with as_bench(cleared, connect) as control:
        control.rows("CREATE TABLE made (a int)")


@pytest.mark.parametrize(
    ("user", "password"), [("bench", ""), ("bench", "wrong"), ("postgres", ""), ("postgres", "postgres"), ("x", "")]
)
def test_nobody_else_gets_in_over_tcp(postgresql: PostgreSql, user: str, password: str) -> None:
    with (
        as_bench(postgresql, user=user, password=password) as control,
        pytest.raises(ServerError, match="refused user"),
    ):
        control.value("SELECT 1")


def test_the_bench_user_may_not_leave_its_database(postgresql: PostgreSql) -> None:
    with (
        as_bench(postgresql, database="postgres") as control,
        pytest.raises(ServerError, match="refused user"),
    ):
        control.value("SELECT 1")
    with pytest.raises(ServerError, match="permission denied"):
        run(postgresql, "CREATE DATABASE elsewhere")


def test_it_listens_on_loopback_only(postgresql: PostgreSql) -> None:
    port = f"{postgresql.server.port:04X}"
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        lines = Path(table).read_text().splitlines()[1:]
        found += [line.split()[1] for line in lines if " 0A " in line and line.split()[1].endswith(f":{port}")]
    assert found == [f"0100007F:{port}"]


def test_no_password_is_left_in_the_folder_or_the_log_or_the_process_list(postgresql: PostgreSql) -> None:
    folder, secret = postgresql.server.log.parent, postgresql.server.bench_password.encode()
    files = [path for path in folder.rglob("*") if path.is_file()]
    texts = [path.read_bytes() for path in files] + [Path(f"/proc/{postgresql.pids()[0]}/cmdline").read_bytes()]
    assert files
    assert not [text for text in texts if secret in text]


@pytest.mark.skipif(os.geteuid() != 0, reason="we are an ordinary user, and so is the server")
def test_started_by_root_it_runs_as_nobody(postgresql: PostgreSql) -> None:
    account = server_account()
    assert account is not None
    for pid in postgresql.pids():
        assert f"Uid:\t{account.uid}\t" in Path(f"/proc/{pid}/status").read_text()


def test_its_processes_are_all_its_own_and_none_outlives_a_kill(place: Path) -> None:
    system = managed(place)
    system.start()
    try:
        with as_bench(system) as control:
            control.value("SELECT 1")
            first, *others = system.pids()
            assert len(others) >= 4  # what writes, and one for each connection
            assert set(family([first], process_table())) == {first, *others}
            ticks = {pid: start_ticks(pid) for pid in system.pids()}
            system.server.kill()
    finally:
        system.stop()
    # One that just began when the first was killed is not ended by us: it notices by itself, a moment later.
    deadline = time.monotonic() + 10
    while left := [pid for pid, at in ticks.items() if start_ticks(pid) == at]:
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


# -- what it says about itself ------------------------------------------------------------------------------------


def test_facts_name_version_and_the_settings_that_decide(postgresql: PostgreSql, postgresql_program: Any) -> None:
    facts = node_of(postgresql).facts()
    assert (facts.product, facts.version) == ("PostgreSQL", postgresql_program.version)
    assert facts.settings["shared_buffers"] == "128MB"
    assert facts.settings["max_connections"] == "3000"
    assert facts.settings["synchronous_commit"] == "on"
    assert facts.portable["durability"] == "full"
    assert facts.portable["isolation"] == "read-committed"
    assert facts.portable["memory_bytes"] == str(128 << 20)
    assert facts.portable["tls"] == "off"
    assert facts.portable["collation"] == "C"
    assert not {"data_directory", "port", "hba_file", "unix_socket_directories"} & facts.settings.keys()


def test_counters_grow_with_work_and_sessions_come_and_go(cleared: PostgreSql) -> None:
    node = cast(ServerNode, node_of(cleared))
    before = node.counters()
    fill(cleared)
    node._status_at = 0.0  # read again, however soon
    after, gauges = node.counters(), node.gauges()
    assert after["wal_position_bytes"] - before["wal_position_bytes"] > ROWS * 200
    assert {"database.xact_commit", "database.blks_hit", "database.deadlocks", "database.temp_bytes"} <= after.keys()
    assert after["transactions"] == after["database.xact_commit"] + after["database.xact_rollback"]
    assert {"sessions.active", "sessions.waiting_for_locks"} <= gauges.keys()
    assert not after.keys() & gauges.keys()


def test_debt_is_there_after_writes_and_drained(cleared: PostgreSql) -> None:
    fill(cleared)
    assert node_of(cleared).debt()["checkpoint_age_bytes"] > ROWS * 200
    assert cleared.drain_debt(600.0)
    drained = node_of(cleared).debt()
    assert drained["dirty_bytes"] < 1 << 20  # of what it does by itself in between
    assert drained["checkpoint_age_bytes"] < 1 << 20
    size = cleared.size_on_disk_bytes()
    assert size is not None
    assert size > ROWS * 200


# -- data ---------------------------------------------------------------------------------------------------------


def test_a_copy_of_the_data_opens_in_another_instance_with_its_own_password(own: PostgreSql, place: Path) -> None:
    fill(own)
    own.snapshot(place / "snapshot")
    assert run(own, "SELECT count(*) FROM t") == ROWS
    assert run(own, "SELECT reltuples FROM pg_class WHERE relname = 't'") == ROWS  # statistics are made
    run(own, "DROP TABLE t")
    own.make_cold()
    assert run(own, "SELECT to_regclass('t')") is None
    other = managed(place, name="b")
    try:
        other.restore(place / "snapshot")
        assert run(other, "SELECT count(*) FROM t") == ROWS
        assert other.server.bench_password != own.server.bench_password
    finally:
        other.stop()


def test_a_setting_that_the_server_does_not_know_is_named_with_the_nearest_one(place: Path) -> None:
    with pytest.raises(PlanError, match="does not know the setting 'shared_bufers'") as refused:
        managed(place, {"settings": {"shared_bufers": "1GB"}}).start()
    assert "`shared_buffers`" in refused.value.hint


# -- majors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("major", ["13", "18"])
def test_the_oldest_and_the_newest_major_tell_the_same_of_themselves(place: Path, major: str) -> None:
    source = next((one for one in SOURCES.all if one.name == "maven"), None)
    lacking = "there are no binaries for this processor" if source is None else source.lacks()
    if source is None or lacking:
        pytest.skip(f"PostgreSQL {major}: {lacking}")
    source.have(major)
    system = managed(place, {"version": major}, tls=True)
    system.start()
    try:
        facts, counters, debt = node_of(system).facts(), node_of(system).counters(), node_of(system).debt()
    finally:
        system.stop()
    assert facts.version.partition(".")[0] == major
    assert facts.portable["tls"].startswith("TLS_")
    assert counters["wal_position_bytes"] > 0
    checkpoints = {"13": "bgwriter.checkpoints_timed", "18": "checkpointer.num_timed"}[major]
    assert checkpoints in counters
    assert {"dirty_bytes", "checkpoint_age_bytes", "dead_rows"} <= debt.keys()


# -- existing servers ---------------------------------------------------------------------------------------------


def test_an_existing_server_is_distinguished_by_its_level_of_durability(
    postgresql: PostgreSql, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = existing(postgresql, monkeypatch, durability="none")
    with pytest.raises(PlanError, match=r"asks for durability 'none', and .* runs with 'full'"):
        system.start()
    system.stop()


def test_only_tables_that_bakeoff_made_are_ours(cleared: PostgreSql, monkeypatch: pytest.MonkeyPatch) -> None:
    system = existing(cleared, monkeypatch)
    system.start()
    ledger = system.ledger()
    try:
        run(cleared, "CREATE TABLE theirs (a int)")
        assert ledger.strangers(["theirs", "ours"]) == ["theirs"]
        ledger.begin(["ours"], "set 1", "bundle")
        run(cleared, "CREATE TABLE ours (a int)")
        assert [(found.ours, found.whole) for found in ledger.there(["ours"])] == [(True, False)]
        ledger.loaded(["ours"])
        assert [(found.dataset, found.whole) for found in ledger.there(["ours"])] == [("set 1", True)]
        run(cleared, "DROP TABLE ours")
        run(cleared, "CREATE TABLE ours (a int)")  # the user's, under the same name
        assert ledger.strangers(["ours"]) == ["ours"]
        ledger.drop(["ours", "theirs"])
        assert run(cleared, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 2
    finally:
        system.stop()


def test_all_tables_of_the_plan_are_dropped_or_none(cleared: PostgreSql, monkeypatch: pytest.MonkeyPatch) -> None:
    run(cleared, "CREATE TABLE a (x int)")
    run(cleared, "CREATE TABLE b (x int)")
    run(cleared, "CREATE VIEW seen AS SELECT * FROM b")
    system = existing(cleared, monkeypatch)
    system.start()
    ledger = system.ledger()
    try:
        with pytest.raises(PlanError, match=r"cannot drop .*: view seen depends on table b"):
            ledger.begin(["a", "b"], "set", "bundle", all_there=True)
        with pytest.raises(PlanError, match="`seen` exists and is not a table"):
            ledger.begin(["a", "seen"], "set", "bundle", all_there=True)
        assert run(cleared, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 2
        run(cleared, "DROP VIEW seen")
        ledger.begin(["a", "b"], "set", "bundle", all_there=True)
        assert run(cleared, "SELECT string_agg(tablename, ' ') FROM pg_tables WHERE schemaname = 'public'") == (
            "bakeoff_tables"
        )
    finally:
        system.stop()


def test_a_session_variable_that_is_not_taken_is_named(postgresql: PostgreSql, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("work_mem", "banana"), ("wrok_mem", "1MB")):
        system = existing(postgresql, monkeypatch, session={name: value})
        with pytest.raises(PlanError, match=name) as refused:
            system.start()
        system.stop()
        assert refused.value.where == "systems.postgresql.session"
        assert f"`{name}`" in refused.value.hint


def test_a_session_has_the_name_that_the_plan_gives_it(postgresql: PostgreSql, monkeypatch: pytest.MonkeyPatch) -> None:
    system = existing(postgresql, monkeypatch, session={"application_name": "ours"})
    system.start()
    try:
        assert system.control.value("SHOW application_name") == "ours"
    finally:
        system.stop()


def test_one_bakeoff_at_a_time_works_in_a_database(postgresql: PostgreSql, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = "('x' || substr(encode(sha256('bakeoff.public'), 'hex'), 1, 16))::bit(64)::bigint"
    system = existing(postgresql, monkeypatch)
    with as_bench(postgresql) as other:
        assert other.value(f"SELECT pg_try_advisory_lock({lock})")
        with pytest.raises(ServerError, match="another bakeoff run is using the schema 'public'"):
            system.start()
        system.stop()


def test_a_claim_whose_connection_was_lost_is_taken_again(
    postgresql: PostgreSql, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = "('x' || substr(encode(sha256('bakeoff.public'), 'hex'), 1, 16))::bit(64)::bigint"
    kill = "SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE locktype = 'advisory'"
    system = existing(postgresql, monkeypatch)
    system.start()
    ledger = system.ledger()
    try:
        assert postgresql.control.rows(kill) == [(True,)]
        assert ledger.there(["t"]) == []
        with as_bench(postgresql) as other:
            assert other.value(f"SELECT pg_try_advisory_lock({lock})") is False
            assert postgresql.control.rows(kill) == [(True,)]
            assert other.value(f"SELECT pg_try_advisory_lock({lock})") is True
            with pytest.raises(ServerError, match="another bakeoff run is using"):
                ledger.there(["t"])
    finally:
        system.stop()


def test_a_database_that_is_not_there_is_made_where_that_is_asked_and_by_no_look(postgresql: PostgreSql) -> None:
    socket = str(postgresql.server.socket.with_name(f".s.PGSQL.{postgresql.server.port}"))
    options = {"address": socket, "database": "a new one", "session": {"work_mem": "1MB"}}
    system = cast(ExistingServer, configured("postgresql", Path("/"), options))
    ledger = system.ledger()
    system.refuse_session()
    with pytest.raises(ServerError, match='database "a new one" does not exist'):
        system.start()
    assert ledger.there(["t"]) == []
    assert ledger.absent_place() == "database `a new one`"
    ledger.make_place()
    try:
        assert ledger.absent_place() == ""
        system.start()
        assert system.control.value("SELECT current_database()") == "a new one"
    finally:
        system.stop()
        postgresql.control.rows('DROP DATABASE "a new one"')


def test_a_server_that_is_not_there_is_reported_in_one_sentence() -> None:
    control = Control(Login(Address("127.0.0.1", 1), "bench", ""), "bakeoff", where="systems.p")
    with pytest.raises(ServerError, match=r"could not connect to 127.0.0.1:1: connection refused"):
        control.value("SELECT 1")
