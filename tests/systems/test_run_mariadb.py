"""The main job on a real MariaDB: private and existing, healthy, frozen and killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
from bakeoff.systems.mariadb import MariaDb
from bakeoff.systems.mariadb_program import Program
from commands import bakeoff, descendants, end, finish, gone, only_bundle, started, wait_until, write_plan

pytestmark = pytest.mark.servers

PRIVATE = """
title = "MariaDB"
seed = 3

[systems.mariadb]
start = { settings = { innodb_buffer_pool_size = "32M" } }
durability = "relaxed"

[workload]
kind = "ycsb"
preset = "a"
records = 1000
data_integrity = true

[factors]
threads = [4]
isolation = ["read-committed"]

[measure]
warm_up = "300ms"
window = "1500ms"
repetitions = 1
timeout = "2s"
"""


@pytest.fixture(autouse=True)
def needs_a_server(mariadb_program: Program) -> None:
    """Fetched once when this machine has none."""


def servers_of(pid: int) -> list[int]:
    return descendants(pid, "mariadbd")


def in_window(folder: Path) -> None:
    """Waits until a measured run is under way."""
    wait_until(lambda: list(folder.glob("bakeoff-results/*/runs/*/run.json")), "a run begins")
    import time

    time.sleep(1.0)


def test_a_private_server_is_measured_inside_and_out_and_gone_afterwards(tmp_path: Path) -> None:
    # Without data_integrity, whose updates write the values that are there, which InnoDB does not log.
    plan = write_plan(tmp_path, PRIVATE.replace("data_integrity = true", ""))
    process = started("run", plan, "--json", cwd=tmp_path)
    try:
        servers = wait_until(lambda: servers_of(process.pid), "the server runs")
        done = finish(process, 120)
    finally:
        end(process)
    assert done.code == 0, done.err
    assert all(gone(pid) for pid in servers)
    bundle = only_bundle(tmp_path)
    (run,) = bundle.runs
    assert run.valid, run.validity
    assert run.server.cpu_s
    assert run.server.memory_peak_bytes
    assert run.server.size_on_disk_bytes
    assert run.server_cpu_us_per_op
    assert run.server.write_bytes_per_user_byte
    table = bundle.server(run.id)
    assert table is not None
    assert any(name.startswith("db.Com_select") for name in table.column_names)
    facts = bundle.facts[run.cell]
    assert facts.product == "MariaDB"
    assert facts.portable["isolation"] == "read-committed"
    assert facts.portable["durability"] == "relaxed"
    everything = b"".join(p.read_bytes() for p in bundle.folder.rglob("*") if p.is_file())
    assert b"BAKEOFF_PASSWORD" in everything, "the password's name is kept"


def test_two_clients_are_one_run(tmp_path: Path) -> None:
    text = PRIVATE.replace("threads = [4]", "threads = [2]\nclients = [2]").replace('preset = "a"', 'preset = "d"')
    done = bakeoff("run", write_plan(tmp_path, text), cwd=tmp_path)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert run.valid, run.validity
    assert len(run.stream_hashes) == 4
    assert len(set(run.stream_hashes)) == 4
    assert run.state_report.inserts_acknowledged > 0
    assert all(check.ok for check in run.checks), run.checks


def test_an_open_loop_keeps_its_rate(tmp_path: Path) -> None:
    text = PRIVATE.replace("[measure]", '[measure]\npacing = { rate = 300, arrival = "constant" }')
    done = bakeoff("run", write_plan(tmp_path, text), cwd=tmp_path)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert run.offered_ops_per_s == pytest.approx(300, rel=0.02)
    assert run.lateness.count > 0


def test_a_killed_server_is_said_and_nothing_measured_is_lost(tmp_path: Path) -> None:
    text = PRIVATE.replace("repetitions = 1", "repetitions = 2").replace("1500ms", "4s")
    process = started("run", write_plan(tmp_path, text), cwd=tmp_path)
    try:
        in_window(tmp_path)
        for pid in servers_of(process.pid):
            os.kill(pid, signal.SIGKILL)
        done = finish(process, 120)
    finally:
        end(process)
    assert done.code == 1, done.err
    first, second = only_bundle(tmp_path).runs
    assert not first.valid
    assert any("server" in v.words and v.ok is False for v in first.validity) or "server" in first.failure
    assert second.valid, second.validity


def test_a_frozen_server_shows_as_unknown_operations_and_lost_connections(tmp_path: Path) -> None:
    process = started("run", write_plan(tmp_path, PRIVATE.replace("1500ms", "8s")), cwd=tmp_path)
    try:
        in_window(tmp_path)
        (pid,) = servers_of(process.pid)
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED, "it is frozen")
        import time

        time.sleep(3.5)
        os.kill(pid, signal.SIGCONT)
        done = finish(process, 120)
    finally:
        end(process)
    (run,) = only_bundle(tmp_path).runs
    assert run.errors.get("unknown", 0) >= 4, run.errors
    assert run.reconnects >= 4
    words = [v.words for v in run.validity if v.ok is False]
    assert any("connections were lost" in w for w in words), words
    assert any("timed out" in w for w in words), words
    assert run.response.max_ms is not None
    assert run.response.max_ms >= 2000
    assert done.code == 0, "a run that is not valid is an answer, not a failure"


def test_a_server_that_stays_frozen_is_ended_with_its_run(tmp_path: Path) -> None:
    process = started("run", write_plan(tmp_path, PRIVATE.replace("1500ms", "4s")), cwd=tmp_path)
    try:
        in_window(tmp_path)
        (pid,) = servers_of(process.pid)
        os.kill(pid, signal.SIGSTOP)
        done = finish(process, 200)
    finally:
        end(process)
    assert done.code != 0
    assert gone(pid)


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_server_outlives_its_controller(tmp_path: Path, signal_number: signal.Signals) -> None:
    process = started("run", write_plan(tmp_path, PRIVATE.replace("1500ms", "30s")), cwd=tmp_path)
    try:
        in_window(tmp_path)
        watched = servers_of(process.pid) + descendants(process.pid, "bakeoff-engine")
        process.send_signal(signal_number)
        done = finish(process)
    finally:
        end(process)
    assert len(watched) == 2
    wait_until(lambda: all(gone(pid) for pid in watched), "everything has ended", 15)
    if signal_number != signal.SIGKILL:
        assert done.code == 130


def existing(mariadb: MariaDb, **other: str) -> tuple[str, dict[str, str]]:
    """A plan on a running server, and the environment with its password."""
    driver, env = mariadb.engine_driver()
    lines: dict[str, Any] = {
        "address": f'"{driver["endpoints"][0]["address"]}"',
        "user": f'"{driver["user"]}"',
        "password": f'{{ env = "{driver["password"]["env"]}" }}',
        "schema": f'"{driver["schema"]}"',
        **other,
    }
    table = "\n".join(f"{key} = {value}" for key, value in lines.items())
    text = PRIVATE.replace('start = { settings = { innodb_buffer_pool_size = "32M" } }\ndurability = "relaxed"', table)
    return text.replace("[measure]", '[measure]\nreset = "reuse"').replace('preset = "a"', 'preset = "c"'), env


def test_an_existing_server_is_loaded_measured_and_its_tables_stay_unless_dropping_is_allowed(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    text, env = existing(mariadb)
    plan = write_plan(tmp_path, text)
    done = bakeoff("run", plan, cwd=tmp_path, env=env)
    assert done.code == 0, done.err
    assert mariadb.alive()
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert all(secret.encode() not in kept and secret not in done.out + done.err for secret in env.values())
    done = bakeoff("run", plan, cwd=tmp_path, env=env)
    assert done.code in (2, 3), "its tables are there already"
    assert "--allow-drop" in done.err or "drop" in done.err
    done = bakeoff("run", plan, "--allow-drop", cwd=tmp_path, env=env)
    assert done.code == 0, done.err
    done = bakeoff("run", plan, cwd=tmp_path, env=env)
    assert done.code == 0, "allowed to drop, it left nothing behind"
    done = bakeoff("run", plan, "--allow-drop", cwd=tmp_path, env=env)
    assert done.code == 0


def test_a_wrong_password_is_said_without_being_shown(mariadb: MariaDb, tmp_path: Path) -> None:
    text, env = existing(mariadb)
    wrong = dict.fromkeys(env, "hunter2-not-it")
    done = bakeoff("run", write_plan(tmp_path, text), cwd=tmp_path, env=wrong)
    assert done.code == 3
    assert "password" in done.err.lower() or "denied" in done.err.lower()
    kept = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    assert "hunter2" not in done.err
    assert b"hunter2" not in kept


def test_an_unset_password_variable_is_said(mariadb: MariaDb, tmp_path: Path) -> None:
    text, env = existing(mariadb)
    done = bakeoff("run", write_plan(tmp_path, text), cwd=tmp_path)
    assert done.code in (2, 3)
    assert next(iter(env)) in done.err


def test_a_server_that_is_not_there_is_said(mariadb: MariaDb, tmp_path: Path) -> None:
    text, env = existing(mariadb, address='"127.0.0.1:9"')
    done = bakeoff("run", write_plan(tmp_path, text), cwd=tmp_path, env=env)
    assert done.code == 3
    assert "127.0.0.1:9" in done.err
    assert "hint:" in done.err
