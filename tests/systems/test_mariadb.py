"""The managed MariaDB, against the real thing: who gets in, what it says about itself, its data put back."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, cast

import pymysql
import pytest
from bakeoff.errors import ServerError
from bakeoff.provision.process import server_account
from bakeoff.systems.mysql.mariadb import MariaDb
from builders.systems import configured, node_of
from mariadb_servers import bench_login, count_rows, managed, write_rows

pytestmark = [pytest.mark.servers, pytest.mark.usefixtures("mariadb_program")]


# -- accounts ----------------------------------------------------------------------------------------------------------


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


# -- what it says about itself -----------------------------------------------------------------------------------------


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
    system = managed(place, {"innodb_log_file_size": "8M"}, durability=level)
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


# -- snapshot and restore ----------------------------------------------------------------------------------------------


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
    other = managed(place, {"innodb_buffer_pool_size": "32M"}, name="other")
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
    with pytest.raises(ServerError, match="has no snapshot"):
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
