"""The private MariaDB and existing servers, against the real thing."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pymysql
import pytest
from bakeoff.errors import PlanError, ServerError
from bakeoff.provision.cache import cache_dir
from bakeoff.provision.instance import remove_stale
from bakeoff.provision.process import server_account, start_ticks
from bakeoff.systems.mysql.mariadb import MariaDb
from bakeoff.systems.server.existing import ExistingServer
from builders.pages import cached_pages
from builders.systems import configured, node_of

pytestmark = [pytest.mark.servers, pytest.mark.usefixtures("mariadb_program")]


def private(place: Path, settings: dict[str, Any] | None = None, name: str = "a", **levels: Any) -> MariaDb:
    return cast(MariaDb, configured("mariadb", place / name, {"start": {"settings": settings or {}}}, **levels))


@pytest.fixture
def own(place: Path) -> Iterator[MariaDb]:
    """A server that a test may stop, kill and fill."""
    system = private(place)
    system.start()
    yield system
    system.stop()


def bench_login(system: MariaDb, **changes: Any) -> pymysql.Connection[Any]:
    """Connects as a driver would."""
    login: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": system.server.port,
        "user": "bench",
        "password": system.server.bench_password,
    }
    return pymysql.connect(**{**login, **changes})


def existing(
    system: MariaDb, monkeypatch: pytest.MonkeyPatch, password: str | None = None, **options: Any
) -> ExistingServer:
    """The same server again, as an existing one at its address."""
    monkeypatch.setenv("TEST_PASSWORD", password or system.server.bench_password)
    address = {"address": f"127.0.0.1:{system.server.port}", "user": "bench", "password": {"env": "TEST_PASSWORD"}}
    levels = {"durability": options.pop("durability")} if "durability" in options else {}
    return cast(ExistingServer, configured("mariadb", Path("/"), {**address, **options}, **levels))


def wait_until_gone(pid: int, ticks: int | None, timeout_s: float = 120.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while start_ticks(pid) == ticks and time.monotonic() < deadline:
        time.sleep(0.02)
    return start_ticks(pid) != ticks


# -- accounts -----------------------------------------------------------------------------------------------------


def test_the_bench_user_reaches_its_schema_over_tcp_and_over_the_socket(mariadb: MariaDb) -> None:
    for way in ({}, {"unix_socket": str(mariadb.server.socket), "host": None}):
        with bench_login(mariadb, database="bakeoff", **way) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT CURRENT_USER()")
            assert cursor.fetchone()[0] in ("bench@127.0.0.1", "bench@localhost")


@pytest.mark.parametrize("user", ["root", "bench", "", "mariadb.sys"])
def test_nobody_gets_in_over_tcp_without_a_password(mariadb: MariaDb, user: str) -> None:
    with pytest.raises(pymysql.err.OperationalError) as refused:
        bench_login(mariadb, user=user, password="")
    assert refused.value.args[0] in (1045, 1698)


def test_root_does_not_get_in_over_tcp_even_with_its_password(mariadb: MariaDb) -> None:
    with pytest.raises(pymysql.err.OperationalError, match="Access denied"):
        bench_login(mariadb, user="root", password=mariadb.server.root_password)


def test_only_the_three_accounts_are_left(mariadb: MariaDb) -> None:
    accounts = set(mariadb.control.rows("SELECT User, Host FROM mysql.global_priv"))
    ours = {("root", "localhost"), ("bench", "127.0.0.1"), ("bench", "localhost")}
    assert accounts - {("mariadb.sys", "localhost")} == ours  # that one is locked: it owns system views


def test_the_bench_user_may_not_leave_its_schema(mariadb: MariaDb) -> None:
    with bench_login(mariadb) as connection, connection.cursor() as cursor:
        with pytest.raises(pymysql.err.OperationalError, match="Access denied"):
            cursor.execute("CREATE DATABASE elsewhere")
        with pytest.raises(pymysql.err.OperationalError, match="denied"):
            cursor.execute("SELECT * FROM mysql.global_priv")


def test_it_listens_on_loopback_only(mariadb: MariaDb) -> None:
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if " 0A " in line]
    port = f"{mariadb.server.port:04X}"
    assert [address for address in listening if address.endswith(f":{port}")] == [f"0100007F:{port}"]


def test_no_password_is_left_in_the_folder_or_the_log_or_the_process_list(mariadb: MariaDb) -> None:
    folder = mariadb.server.log.parent
    secrets = [mariadb.server.bench_password.encode(), mariadb.server.root_password.encode()]
    files = [path for path in folder.rglob("*") if path.is_file() and "data" not in path.parts]
    texts = [path.read_bytes() for path in files] + [Path(f"/proc/{mariadb.pids()[0]}/cmdline").read_bytes()]
    assert not [secret for secret in secrets for text in texts if secret in text]
    assert not (folder / "init.sql").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="we are an ordinary user, and so is the server")
def test_started_by_root_it_runs_as_nobody(mariadb: MariaDb) -> None:
    account = server_account()
    assert account is not None
    status = Path(f"/proc/{mariadb.pids()[0]}/status").read_text()
    assert f"Uid:\t{account.uid}\t{account.uid}\t{account.uid}\t{account.uid}" in status
    assert "CapEff:\t0000000000000000" in status


# -- what it says about itself --------------------------------------------------------------------------------------


def test_facts_name_product_version_and_the_settings_that_decide(mariadb: MariaDb, mariadb_program: Any) -> None:
    facts = node_of(mariadb).facts()
    assert (facts.product, facts.version) == ("MariaDB", mariadb_program.version)
    assert facts.settings["innodb_buffer_pool_size"] == str(128 << 20)
    assert facts.settings["max_connections"] == "3000"
    assert facts.portable["durability"] == "full"
    assert facts.portable["isolation"] == "repeatable-read"
    assert facts.portable["tls"] == "off"
    assert not {"datadir", "port", "socket", "pid_file"} & facts.settings.keys()


@pytest.mark.parametrize(("level", "flush"), [("full", "1"), ("relaxed", "2"), ("none", "0")])
def test_a_durability_level_is_set_and_read_back(place: Path, level: str, flush: str) -> None:
    system = private(place, {"innodb_log_file_size": "8M"}, durability=level)
    system.start()
    try:
        facts = node_of(system).facts()
    finally:
        system.stop()
    assert facts.portable["durability"] == level
    assert facts.settings["innodb_flush_log_at_trx_commit"] == flush
    assert facts.settings["innodb_log_file_size"] == str(8 << 20)


def test_counters_grow_with_work_and_gauges_come_and_go(mariadb: MariaDb) -> None:
    before = node_of(mariadb).counters()
    with bench_login(mariadb) as connection, connection.cursor() as cursor:
        for _ in range(50):
            cursor.execute("SELECT 1")
        for end in ("COMMIT", "COMMIT", "ROLLBACK"):
            cursor.execute("BEGIN")
            cursor.execute(end)
        time.sleep(0.4)  # the status is read at most every 0.3 s
        after, gauges = node_of(mariadb).counters(), node_of(mariadb).gauges()
    assert after["Com_select"] - before["Com_select"] >= 50
    assert after["Bytes_sent"] > before["Bytes_sent"]
    assert after["transactions"] - before["transactions"] == 3
    assert gauges["Threads_connected"] >= 2
    assert not before.keys() & gauges.keys()


def test_debt_is_there_after_writes_and_drained_with_settings_put_back(own: MariaDb) -> None:
    variables = "SELECT @@innodb_max_dirty_pages_pct, @@innodb_max_dirty_pages_pct_lwm, @@innodb_io_capacity"
    settings = own.control.rows(variables)
    # Before there is anything to write: a page on its way to the disk is counted as flushed and still as dirty.
    written = node_of(own).counters()["Innodb_buffer_pool_pages_flushed"]
    write_rows(own, 20_000)
    time.sleep(0.4)  # the status is read at most every 0.3 s
    dirty = node_of(own).debt()["dirty_bytes"]
    assert dirty > 1 << 20
    assert own.drain_debt(600.0)
    # What was dirty has been written, but for pages of the undo log that purge has freed meanwhile.
    time.sleep(0.4)  # the status is read at most every 0.3 s
    assert node_of(own).counters()["Innodb_buffer_pool_pages_flushed"] - written >= 0.8 * dirty / 16384
    assert own.control.rows(variables) == settings


def test_size_on_disk_grows_with_the_data(own: MariaDb) -> None:
    empty = own.size_on_disk_bytes()
    write_rows(own, 5_000)
    assert own.drain_debt(600.0)
    full = own.size_on_disk_bytes()
    assert empty is not None
    assert full is not None
    assert full - empty > 5_000 * 400


def write_rows(system: MariaDb, rows: int) -> None:
    with bench_login(system, database="bakeoff", autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(400))")
        for _ in range(rows // 1000):
            cursor.executemany("INSERT INTO t (v) VALUES (%s)", [("x" * 400,)] * 1000)


def count_rows(system: MariaDb) -> int:
    return int(system.control.value("SELECT COUNT(*) FROM bakeoff.t"))


# -- snapshot and restore -------------------------------------------------------------------------------------------


def test_restore_brings_back_what_the_snapshot_had(own: MariaDb, place: Path) -> None:
    write_rows(own, 2_000)
    own.snapshot(place / "snapshot")
    write_rows(own, 3_000)
    assert count_rows(own) == 5_000
    own.restore(place / "snapshot")
    assert count_rows(own) == 2_000
    bench_login(own).close()


def test_another_instance_opens_the_snapshot_with_its_own_password(own: MariaDb, place: Path) -> None:
    write_rows(own, 1_000)
    own.snapshot(place / "snapshot")
    own.stop()
    other = private(place, {"innodb_buffer_pool_size": "32M"}, name="other")
    other.restore(place / "snapshot")
    try:
        assert count_rows(other) == 1_000
        bench_login(other).close()
        with pytest.raises(pymysql.err.OperationalError, match="Access denied"):
            bench_login(other, password=own.server.bench_password)
    finally:
        other.stop()


def test_a_stopped_server_starts_again_with_its_data(own: MariaDb) -> None:
    write_rows(own, 1_000)
    own.stop()
    assert not own.alive()
    own.start()
    assert count_rows(own) == 1_000


def test_restoring_what_is_not_there_is_refused(own: MariaDb, place: Path) -> None:
    with pytest.raises(ServerError, match="no snapshot in"):
        own.restore(place / "nothing")
    assert own.alive()


def test_data_can_be_placed_on_other_storage_and_go_with_the_instance(place: Path) -> None:
    storage = place / "fast-disk"
    options = {"start": {"path": str(storage)}}
    system = cast(MariaDb, configured("mariadb", place / "a", options))
    system.start()
    try:
        write_rows(system, 1_000)
        assert list(storage.glob("*/data/bakeoff/t.ibd"))
    finally:
        system.stop()
    system.server.folder.remove()
    assert list(storage.iterdir()) == []


# -- refusals -------------------------------------------------------------------------------------------------------


def test_an_unknown_setting_is_named_with_the_nearest_known_one(place: Path) -> None:
    system = private(place, {"innodb_bufer_pool_size": "64M"})
    with pytest.raises(PlanError, match="does not know the setting 'innodb_bufer_pool_size'") as refused:
        system.start()
    assert refused.value.hint == "did you mean `innodb_buffer_pool_size`?"
    assert not system.alive()


@pytest.mark.parametrize(
    ("name", "value"),
    [("innodb_flush_method", "nosuch"), ("innodb_buffer_pool_size", "12Q"), ("innodb_doublewrite", "maybe")],
)
def test_a_value_the_server_does_not_take_is_named(place: Path, name: str, value: str) -> None:
    system = private(place, {name: value})
    with pytest.raises(PlanError, match=f"does not take '{value}' as '{name}'"):
        system.start()
    assert not system.alive()


def test_a_value_the_server_adjusts_is_a_fact(place: Path) -> None:
    system = private(place, {"innodb_log_file_size": "1000"})
    system.start()
    try:
        assert "adjusted to 4194304" in node_of(system).facts().portable["adjusted"]
    finally:
        system.stop()


def test_more_memory_than_there_is_says_so(place: Path) -> None:
    with pytest.raises(ServerError, match="could not get the memory"):
        private(
            place, {"innodb_buffer_pool_size": "100000T"}
        ).start()  # no address space has it, however much the kernel promises


def test_a_taken_port_is_named(place: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        system = configured("mariadb", place / "a", {"start": {"port": port}})
        with pytest.raises(ServerError, match=f"port {port} is taken by another program"):
            system.start()


def test_a_port_taken_after_the_check_is_found_out_from_the_log(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bakeoff.provision.server.port_is_free", lambda _: True)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        system = configured("mariadb", place / "a", {"start": {"port": port}})
        with pytest.raises(ServerError, match=f"port {port} is taken by another program"):
            system.start()
        assert not system.alive()


def test_a_version_that_is_not_here_is_refused_with_what_is(place: Path, mariadb_program: Any) -> None:
    system = configured("mariadb", place / "a", {"start": {"version": "9.9"}})
    with pytest.raises(ServerError, match=f"no MariaDB server 9.9 .*{mariadb_program.version}") as refused:
        system.start()
    assert "bakeoff systems install mariadb@9.9" in refused.value.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's server may go where the user may")
def test_a_folder_closed_to_nobody_is_refused_by_name(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(ServerError, match=f"{closed} is closed to other users"):
        private(closed).start()


def test_a_folder_with_a_long_name_works_all_the_same(place: Path) -> None:
    system = private(place / ("long" * 25))
    system.start()
    try:
        bench_login(system, unix_socket=str(system.server.socket), host=None).close()
        assert len(str(system.server.socket)) < 108
    finally:
        system.stop()


# -- existing servers -----------------------------------------------------------------------------------------------


def test_an_existing_server_is_found_by_where_it_listens(mariadb: MariaDb, monkeypatch: pytest.MonkeyPatch) -> None:
    system = existing(mariadb, monkeypatch)
    assert system.pids() == mariadb.pids() != []
    assert system.runs_here()
    assert not system.may_run_here_unseen()


def test_an_existing_server_is_read_and_left_as_it_is(mariadb: MariaDb, monkeypatch: pytest.MonkeyPatch) -> None:
    before = mariadb.control.rows("SHOW GLOBAL VARIABLES")
    system = existing(mariadb, monkeypatch)
    system.start()
    assert node_of(system).facts().product == "MariaDB"
    assert node_of(system).counters()["Questions"] > 0
    assert system.size_on_disk_bytes() is not None
    driver, environment = system.engine_driver()
    assert driver["password"] == {"env": "TEST_PASSWORD"}
    assert environment == {}
    system.stop()
    assert system.alive()
    changing = {"gtid_binlog_pos", "gtid_current_pos", "timestamp", "error_count", "warning_count"}
    after = mariadb.control.rows("SHOW GLOBAL VARIABLES")
    assert [row for row in after if row not in before and row[0] not in changing] == []


def test_a_wrong_password_is_said_without_repeating_it(mariadb: MariaDb, monkeypatch: pytest.MonkeyPatch) -> None:
    system = existing(mariadb, monkeypatch, password="not-the-one")
    with pytest.raises(ServerError, match="refused user 'bench'") as refused:
        system.start()
    assert "password" in refused.value.hint
    assert "not-the-one" not in str(refused.value)


def test_a_schema_that_may_not_be_made_is_refused(mariadb: MariaDb, monkeypatch: pytest.MonkeyPatch) -> None:
    system = existing(mariadb, monkeypatch, schema="forbidden")
    system.start()  # looking needs no schema
    ledger = system.ledger()
    assert ledger is not None
    try:
        assert ledger.absent_place() == "schema `forbidden`"
        with pytest.raises(ServerError, match=r"may not do that.*'forbidden'") as refused:
            ledger.make_place()
    finally:
        system.stop()
    assert "grant" in refused.value.hint


@pytest.mark.parametrize(
    ("name", "value"),
    [("nosuch", "1"), ("sql_mode", "banana"), ("sort_buffer_size", "1"), ("port", "1"), ("sql_log_bin", "0")],
)
def test_a_session_variable_that_is_not_taken_is_named(
    mariadb: MariaDb, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """Unknown, no such value, made larger by the server, never to be set, and not by this account."""
    taken = {"sql_mode": "ANSI", "sort_buffer_size": "65536", "long_query_time": "0.5", "big_tables": "ON"}
    system = existing(mariadb, monkeypatch, session={**taken, name: value})
    with pytest.raises(PlanError, match=f"does not take the session variable {name} = '{value}'") as refused:
        system.start()
    system.stop()
    assert refused.value.where == "systems.mariadb.session"
    existing(mariadb, monkeypatch, session=taken).refuse_session()


def test_an_existing_servers_durability_is_compared_not_changed(
    mariadb: MariaDb, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(PlanError, match=r"asks for durability 'none', and .* runs with 'full'"):
        existing(mariadb, monkeypatch, durability="none").start()
    assert mariadb.control.value("SELECT @@innodb_flush_log_at_trx_commit") == 1


@pytest.mark.parametrize("address", ["127.0.0.1:1", "/nowhere/server.sock", "no-such-host.invalid:3306"])
def test_an_unreachable_server_is_named_with_its_address(address: str) -> None:
    system = configured("mariadb", Path("/"), {"address": address, "user": "bench"})
    with pytest.raises(ServerError, match=f"could not connect to {address}: ") as refused:
        system.start()
    assert "Errno" not in refused.value.what
    assert refused.value.hint


# -- encryption -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def encrypted(mariadb_program: Any) -> Iterator[MariaDb]:
    """A private server with TLS."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        system = cast(MariaDb, configured("mariadb", Path(folder) / "a", {"start": True, "tls": True}))
        system.start()
        yield system
        system.stop()


def test_a_private_server_with_tls_has_a_certificate_that_the_load_trusts(encrypted: MariaDb) -> None:
    driver, _ = encrypted.engine_driver()
    assert driver["tls"] == {"ca_file": str(encrypted.server.authority), "verify": True}
    assert node_of(encrypted).facts().portable["tls"].startswith("TLS_")


def test_an_existing_servers_certificate_is_verified(encrypted: MariaDb, monkeypatch: pytest.MonkeyPatch) -> None:
    trusting = existing(encrypted, monkeypatch, tls={"ca_file": str(encrypted.server.authority)})
    trusting.start()
    assert node_of(trusting).facts().portable["tls"].startswith("TLS_")
    trusting.stop()
    with pytest.raises(ServerError, match="certificate") as untrusted:
        existing(encrypted, monkeypatch, tls=True).start()
    assert "`tls.ca_file`" in untrusted.value.hint
    unverified = existing(encrypted, monkeypatch, tls={"verify": False})
    unverified.start()
    unverified.stop()


def test_asking_a_server_without_tls_for_it_is_refused(mariadb: MariaDb, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ServerError, match=r"SSL|TLS"):
        existing(mariadb, monkeypatch, tls=True).start()


# -- life and death -------------------------------------------------------------------------------------------------


def test_a_killed_server_is_noticed(own: MariaDb) -> None:
    os.kill(own.pids()[0], signal.SIGKILL)
    deadline = time.monotonic() + 120
    while own.alive() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not own.alive()
    assert own.pids() == []
    assert node_of(own).counters() == {}
    assert node_of(own).debt() == {}
    assert "ready for connections" in own.log_tail()


def all_stopped(pid: int) -> bool:
    """Every thread: until then one of them may still answer."""
    stats = [stat.read_text() for stat in Path(f"/proc/{pid}/task").glob("*/stat")]
    return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)


def test_a_frozen_server_neither_hangs_us_nor_survives(own: MariaDb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own.server, "stop_timeout_s", 600.0)  # this one is to end by itself, however slowly
    pid, ticks = own.pids()[0], start_ticks(own.pids()[0])
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + 120
    while not all_stopped(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert node_of(own).counters() == {}  # and not never
    assert own.alive()
    own.stop()
    assert start_ticks(pid) != ticks
    assert "Shutdown complete" in own.log_tail()  # thawed to end cleanly


def test_stopping_twice_or_before_the_start_is_fine(place: Path) -> None:
    system = private(place)
    system.stop()
    system.start()
    system.stop()
    system.stop()
    assert system.pids() == []


STARTER = """
import json, sys, time
from pathlib import Path
from bakeoff.provision.process import start_ticks
from bakeoff.systems import SYSTEMS
system = SYSTEMS["mariadb"].configure("m", {"start": json.loads(sys.argv[2])}, durability=None, isolation=None,
    workdir=Path(sys.argv[1]) / "m", timeout_s=10.0, base_dir=Path("/"))
system.start()
uid = Path(f"/proc/{system.pids()[0]}").stat().st_uid
print(json.dumps([system.pids()[0], start_ticks(system.pids()[0]), uid, system.nodes()[0].facts().version]), flush=True)
time.sleep(60)
"""


@contextmanager
def starter(
    place: Path, *prefix: str, python: str = sys.executable, start: object = True
) -> Iterator[tuple[subprocess.Popen[str], list[Any]]]:
    """Another bakeoff that starts a server and then does nothing; and what it says about the server."""
    paths = [str(Path(__file__).parents[2] / "python"), sysconfig.get_path("purelib")]
    environment = {
        **os.environ,
        "PYTHONPATH": ":".join(paths),
        "BAKEOFF_CACHE": str(cache_dir()),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    argv = [*prefix, python, "-c", STARTER, str(place), json.dumps(start)]
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, text=True, cwd="/") as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, "the starter ended at once"
            yield process, json.loads(line)
        finally:
            process.kill()


def test_a_killed_bakeoff_leaves_no_server_and_the_next_one_clears_its_folder(place: Path) -> None:
    with starter(place) as (process, (pid, ticks, _, _)):
        assert start_ticks(pid) == ticks
        process.kill()
        process.wait()
        assert wait_until_gone(pid, ticks)
    assert (place / "m").exists()
    assert remove_stale(place) == [place / "m"]
    assert not (place / "m").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="we are an ordinary user already: all tests show it")
def test_an_ordinary_user_can_start_one_too(place: Path) -> None:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    as_nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", f"HOME={place}")
    pythons = [sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"]
    probes = {
        python: subprocess.run([*as_nobody, python, "-c", ""], capture_output=True).returncode for python in pythons
    }
    python = next((python for python, code in probes.items() if code == 0), None)
    if python is None:
        pytest.skip(f"there is no {version} that another user may run")
    os.chown(place, 65534, 65534)
    with starter(place, *as_nobody, python=python) as (process, (pid, ticks, uid, server_version)):
        assert uid == 65534
        assert server_version
        process.terminate()
        process.wait()
        assert wait_until_gone(pid, ticks)


def test_a_cold_server_reads_everything_from_its_files(place: Path) -> None:
    """Whether it ran on (reuse, reload) or was just restored; and it does not read back what its pool held before."""
    system = private(place, {"innodb_buffer_pool_dump_pct": 100})

    def pages_read_by_a_scan() -> int:
        def read() -> int:
            return int(system.control.rows("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_reads'")[0][1])

        before = read()
        system.control.rows("SELECT SUM(LENGTH(v)) FROM bakeoff.t")
        return read() - before

    try:
        system.start()
        system.control.rows("CREATE TABLE bakeoff.t (id INT PRIMARY KEY, v VARCHAR(2000))")
        system.control.rows("INSERT INTO bakeoff.t SELECT seq, REPEAT('x', 2000) FROM bakeoff.seq_1_to_4000")
        pages_read_by_a_scan()
        assert pages_read_by_a_scan() == 0
        system.make_cold()
        (table,) = system.server.data.rglob("t.ibd")
        assert cached_pages(table) * 4096 < table.stat().st_size / 10  # the server looked into it as it started
        assert pages_read_by_a_scan() > 0
        system.snapshot(place / "copy")
        system.restore(place / "copy")
        system.make_cold()
        assert pages_read_by_a_scan() > 0
    finally:
        system.stop()
