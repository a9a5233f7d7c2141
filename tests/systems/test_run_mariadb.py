"""The main job on a real MariaDB: managed and existing, healthy, frozen and killed."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.errors import PlanError, ServerError
from bakeoff.provision.installation import Installation
from bakeoff.systems.mysql.ledger import MySqlLedger
from bakeoff.systems.mysql.mariadb import MariaDb
from commands import (
    bakeoff,
    descendants,
    end,
    engine_through,
    finish,
    gone,
    only_bundle,
    started,
    wait_until,
    write_plan,
)

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

# By number: a window holds what the machine has time for.
[measure]
warm_up = "300ms"
operations = 2000
repetitions = 1
timeout = "10m"
"""
TIMEOUT_S = 4
#: For `engine_through`: what the engine of a measured run tells is also in a file.
OVERHEARD = """
case "$1" in */runs/*/run.json) exec "$ENGINE" "$@" > >(tee "$1.events") ;; esac
exec "$ENGINE" "$@"
"""
#: The first time that the data are loaded again, the controller gets a Ctrl-C.
INTERRUPTING = """
case "$1" in */runs/*/load.json)
    if [ ! -e "$(dirname "$0")/interrupted" ]; then touch "$(dirname "$0")/interrupted"; kill -INT "$PPID"; sleep 60; fi
esac
exec "$ENGINE" "$@"
"""


@pytest.fixture(autouse=True)
def needs_a_server(mariadb_program: Installation) -> None:
    """Fetched once when this machine has none."""


def servers_of(pid: int) -> list[int]:
    return descendants(pid, "mariadbd")


def windowed(window_s: int) -> str:
    """The plan with a window, a timeout that a frozen server exceeds, and no judgement on how many operations fail."""
    assert "operations = 2000" in PRIVATE
    text = PRIVATE.replace("operations = 2000", f'window = "{window_s}s"')
    return text.replace('timeout = "10m"', f'timeout = "{TIMEOUT_S}s"\nerror_budget = "100%"')


@contextmanager
def measuring(folder: Path, text: str) -> Iterator[subprocess.Popen[str]]:
    """A bakeoff whose first window is under way."""
    process = started("run", write_plan(folder, text), cwd=folder, env=engine_through(folder, OVERHEARD))
    try:
        wait_until(lambda: seconds_of_window(folder), "a second of the window is over", of=process)
        yield process
    finally:
        end(process)


def seconds_of_window(folder: Path) -> list[dict[str, Any]]:
    """What the engine has told so far of whole seconds, warm-up aside."""
    texts = [path.read_text() for path in folder.glob("bakeoff-results/*/runs/*/run.json.events")]
    lines = [line for text in texts for line in text.splitlines(keepends=True) if line.endswith("\n")]
    events = [event for line in lines if (event := json.loads(line))["event"] == "interval"]
    return [event for event in events if not event["warm_up"]]


def unknown(seconds: list[dict[str, Any]]) -> int:
    series = [one for second in seconds for one in second["series"] if not one["part"]]
    return sum(one["response"]["count"] for one in series if one["outcome"] == "unknown")


def test_a_managed_server_is_measured_inside_and_out_and_gone_afterwards(tmp_path: Path) -> None:
    # Without data_integrity, whose updates write the values that exist, which InnoDB does not log.
    plan = write_plan(tmp_path, PRIVATE.replace("data_integrity = true", ""))
    process = started("run", plan, "--json", cwd=tmp_path)
    try:
        servers = wait_until(lambda: servers_of(process.pid), "the server runs", of=process)
        done = finish(process)
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


def test_servers_that_differ_in_their_pool_alone_share_one_load(tmp_path: Path) -> None:
    pools = 'threads = [4]\n"settings.innodb_buffer_pool_size" = ["32M", "64M"]'
    text = PRIVATE.replace("threads = [4]", pools)
    text = text.replace('start = { settings = { innodb_buffer_pool_size = "32M" } }', "start = true")
    done = bakeoff("run", write_plan(tmp_path, text), cwd=tmp_path)
    assert done.code == 0, done.err
    bundle = only_bundle(tmp_path)
    assert len(list(bundle.folder.glob("loads/*.json"))) == 1
    assert {facts.settings["innodb_buffer_pool_size"] for facts in bundle.facts.values()} == {"33554432", "67108864"}
    assert [run.valid for run in bundle.runs] == [True, True]
    assert all(check.ok for run in bundle.runs for check in run.checks)


def test_two_clients_are_one_run(tmp_path: Path) -> None:
    text = PRIVATE.replace("threads = [4]", "threads = [2]\nclients = [2]").replace('preset = "a"', 'preset = "d"')
    done = bakeoff("run", write_plan(tmp_path, text), cwd=tmp_path)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert run.valid, run.validity
    assert len(run.stream_hashes) == 4
    assert len(set(run.stream_hashes)) == 4
    assert len(run.evidence) == 2
    assert run.user_bytes_written > 0
    assert all(check.ok for check in run.checks), run.checks


def test_an_open_loop_keeps_its_rate(tmp_path: Path) -> None:
    text = PRIVATE.replace("[measure]", '[measure]\npacing = { rate = 300, arrival = "constant" }')
    text = text.replace("operations = 2000", 'window = "2s"')
    done = bakeoff("run", write_plan(tmp_path, text), cwd=tmp_path)
    (run,) = only_bundle(tmp_path).runs
    assert run.offered_ops_per_s == pytest.approx(300, rel=0.02), done.err
    assert run.lateness.count > 0


def test_a_killed_server_is_said_and_nothing_measured_is_lost(tmp_path: Path) -> None:
    with measuring(tmp_path, windowed(8).replace("repetitions = 1", "repetitions = 2")) as process:
        (pid,) = servers_of(process.pid)
        told = seconds_of_window(tmp_path)
        os.kill(pid, signal.SIGKILL)
        done = finish(process)
    assert done.code == 1, done.err
    bundle = only_bundle(tmp_path)
    first, second = bundle.runs
    assert not first.valid
    assert any("server" in v.words and v.ok is False for v in first.validity)
    kept = bundle.intervals(first.id)
    assert kept is not None
    assert {second["second"] for second in told} <= set(kept.column("second").to_pylist())
    lived = next(v for v in second.validity if v.name == "server")
    assert lived.ok, lived.words


def test_a_frozen_server_shows_as_unknown_operations_and_lost_connections(tmp_path: Path) -> None:
    with measuring(tmp_path, windowed(16)) as process:
        (pid,) = servers_of(process.pid)
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: unknown(seconds_of_window(tmp_path)) >= 4, "each user's operation has timed out", of=process)
        os.kill(pid, signal.SIGCONT)
        done = finish(process)
    (run,) = only_bundle(tmp_path).runs
    assert sum(s.count for s in run.series if s.outcome == "unknown" and s.part_of is None) >= 4
    assert run.reconnects >= 4
    words = [v.words for v in run.validity if v.ok is False]
    assert any("connections were lost" in w for w in words), words
    assert any("timed out" in w for w in words), words
    assert run.response.max_ms is not None
    assert run.response.max_ms >= TIMEOUT_S * 1000
    assert done.code == 0, "a run with warnings is an answer, not a failure"


#: From the freeze to the end of bakeoff, for runs whose operations may take a minute: 10 to 14 s on a quiet machine.
NOTICED_MAX_S = 40


@pytest.mark.parametrize("limit", ['window = "4s"', pytest.param("operations = 100_000_000", marks=pytest.mark.slow)])
def test_a_server_that_stays_frozen_is_noticed_and_ended_with_its_run(tmp_path: Path, limit: str) -> None:
    text = PRIVATE.replace("operations = 2000", limit).replace('timeout = "10m"', 'timeout = "1m"')
    with measuring(tmp_path, text) as process:
        (pid,) = servers_of(process.pid)
        os.kill(pid, signal.SIGSTOP)
        frozen_at = time.monotonic()
        done = finish(process)
        took_s = time.monotonic() - frozen_at
    assert done.code == 1, done.err
    assert took_s < NOTICED_MAX_S
    assert "the server has not answered for" in done.err
    assert gone(pid)
    (run,) = only_bundle(tmp_path).runs
    assert "the server died or froze during the run" in [v.words for v in run.validity if v.ok is False]


def test_a_server_that_is_frozen_while_it_is_loaded_is_noticed_by_the_plans_timeout(tmp_path: Path) -> None:
    text = PRIVATE.replace("records = 1000", "records = 3_000_000").replace('timeout = "10m"', 'timeout = "3s"')
    assert "3_000_000" in text
    assert '"3s"' in text
    process = started("run", write_plan(tmp_path, text), "--together", cwd=tmp_path)
    try:
        wait_until(lambda: list(tmp_path.glob("bakeoff-results/*/loads/*/load.json")), "the load begins", of=process)
        (pid,) = servers_of(process.pid)
        wait_until(lambda: psutil.Process(pid).io_counters().write_bytes > 20 << 20, "rows are stored", of=process)
        os.kill(pid, signal.SIGSTOP)
        frozen_at = time.monotonic()
        done = finish(process)
        took_s = time.monotonic() - frozen_at
    finally:
        end(process)
    assert done.code == 3, done.err
    assert "mariadb has not answered for" in done.err
    assert took_s < NOTICED_MAX_S
    assert gone(pid)


def test_a_frozen_engine_is_noticed_and_ended(tmp_path: Path) -> None:
    with measuring(tmp_path, windowed(600)) as process:
        (pid,) = descendants(process.pid, "bakeoff-engine")
        os.kill(pid, signal.SIGSTOP)
        frozen_at = time.monotonic()
        done = finish(process)
        took_s = time.monotonic() - frozen_at
    assert took_s < NOTICED_MAX_S
    assert "has sent nothing for 10 s" in done.err
    assert str(pid) in done.err
    assert gone(pid)


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_server_outlives_its_controller(tmp_path: Path, signal_number: signal.Signals) -> None:
    with measuring(tmp_path, windowed(600)) as process:
        watched = servers_of(process.pid) + descendants(process.pid, "bakeoff-engine")
        process.send_signal(signal_number)
        done = finish(process)
    assert len(watched) == 2
    wait_until(lambda: all(gone(pid) for pid in watched), "everything has ended")
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


def tables_of(mariadb: MariaDb) -> set[str]:
    return {name for (name,) in mariadb.control.rows("SHOW TABLES IN bakeoff")}


def test_tables_on_an_existing_server_that_bakeoff_made_are_recreated_and_dropped_when_that_is_allowed(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    text, env = existing(mariadb)
    plan = write_plan(tmp_path, text)
    done = bakeoff("run", plan, cwd=tmp_path, env=env)
    assert done.code == 0, done.err
    assert mariadb.alive()
    assert "`bakeoff drop` removes what bakeoff created; by hand: DROP TABLE `bakeoff`.`usertable`" in done.err
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert all(secret.encode() not in kept and secret not in done.out + done.err for secret in env.values())
    assert tables_of(mariadb) == {"usertable", "bakeoff_tables"}
    done = bakeoff("run", plan, cwd=tmp_path, env=env)
    assert done.code == 0, done.err
    done = bakeoff("run", plan, "--allow-drop", cwd=tmp_path, env=env)
    assert done.code == 0, done.err
    assert tables_of(mariadb) == set(), "allowed to drop, it left nothing behind"


def test_a_users_table_of_the_same_name_is_dropped_only_when_that_is_allowed(mariadb: MariaDb, tmp_path: Path) -> None:
    text, env = existing(mariadb)
    plan = write_plan(tmp_path, text)
    mariadb.control.rows("CREATE TABLE bakeoff.usertable (precious INT)")
    mariadb.control.rows("CREATE TABLE bakeoff.other (precious INT)")
    try:
        done = bakeoff("run", plan, cwd=tmp_path, env=env)
        assert done.code == 2
        assert "there is a table `usertable` on mariadb that bakeoff did not create" in done.err
        assert "--allow-drop" in done.err
        assert mariadb.control.rows("SELECT * FROM bakeoff.usertable") == []
        done = bakeoff("run", plan, "--allow-drop", cwd=tmp_path, env=env)
        assert done.code == 0, done.err
        assert tables_of(mariadb) == {"other"}
    finally:
        mariadb.control.rows("DROP TABLE bakeoff.other")


def test_a_plan_that_reloads_and_was_interrupted_goes_on_with_the_printed_command(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    text, env = existing(mariadb)
    text = text.replace('reset = "reuse"', 'reset = "reload"').replace('preset = "c"', 'preset = "a"')
    env = {**env, **engine_through(tmp_path, INTERRUPTING)}
    done = bakeoff(
        "run", write_plan(tmp_path, text.replace("repetitions = 1", "repetitions = 2")), cwd=tmp_path, env=env
    )
    assert done.code == 130, done.err
    (command,) = [line for line in done.err.splitlines() if line.startswith("continue with: ")]
    again = subprocess.run(
        command.removeprefix("continue with: "), shell=True, env={**os.environ, **env}, capture_output=True, text=True
    )
    assert again.returncode == 0, again.stderr
    assert len(only_bundle(tmp_path).runs) == 2
    mariadb.control.rows("DROP TABLE bakeoff.usertable, bakeoff.bakeoff_tables")


@pytest.fixture
def ledger(mariadb: MariaDb) -> Iterator[MySqlLedger]:
    login = mariadb.server.bench_login("socket")
    found = MySqlLedger(login, "bakeoff", "systems.x")
    found.claim()
    yield found
    found.release()
    mariadb.control.rows("DROP TABLE IF EXISTS bakeoff.mine, bakeoff.bakeoff_tables")


def test_a_table_is_ours_while_it_is_the_one_that_we_made(mariadb: MariaDb, ledger: MySqlLedger) -> None:
    assert ledger.strangers(["mine", "absent"]) == []
    ledger.begin(["mine"], "data", "bundle")
    mariadb.control.rows("CREATE TABLE bakeoff.mine (id INT)")
    assert ledger.strangers(["mine"]) == [], "a load that was cut short"
    ledger.loaded(["mine"])
    assert ledger.strangers(["mine"]) == []
    mariadb.control.rows("UPDATE bakeoff.bakeoff_tables SET at = at - 1")  # as if created again by a user later
    assert ledger.strangers(["mine"]) == ["mine"]
    mariadb.control.rows("UPDATE bakeoff.bakeoff_tables SET state = 'loading', at = at + 100")
    assert ledger.strangers(["mine"]) == ["mine"], "it was there before the load began"
    ledger.drop(["mine"])
    assert tables_of(mariadb) == {"mine"}


def test_a_users_table_made_in_the_same_second_is_not_ours(mariadb: MariaDb, ledger: MySqlLedger) -> None:
    for _ in range(3):  # one of them is within a second
        ledger.begin(["mine"], "data", "bundle")
        mariadb.control.rows("CREATE TABLE bakeoff.mine (id INT) COMMENT 'a note'")
        ledger.loaded(["mine"])
        mariadb.control.rows("DROP TABLE bakeoff.mine")
        mariadb.control.rows("CREATE TABLE bakeoff.mine (id INT)")
        assert ledger.strangers(["mine"]) == ["mine"]
        ledger.drop(["mine"])
        assert tables_of(mariadb) == {"mine"}
        mariadb.control.rows("DROP TABLE bakeoff.mine")


def test_a_users_copy_in_the_place_of_our_table_is_not_ours(mariadb: MariaDb, ledger: MySqlLedger) -> None:
    ledger.begin(["mine"], "data", "bundle")
    mariadb.control.rows("CREATE TABLE bakeoff.mine (id INT) COMMENT 'a note'")
    ledger.loaded(["mine"])
    assert [found.ours for found in ledger.there(["mine"])] == [True]
    made = "SELECT UNIX_TIMESTAMP(CREATE_TIME), TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_NAME = 'mine'"
    first = mariadb.control.rows(made)[0]
    assert str(first[1]).startswith("a note [bakeoff ")
    while mariadb.control.rows("SELECT UNIX_TIMESTAMP()")[0][0] <= first[0]:
        time.sleep(0.1)
    mariadb.control.rows("RENAME TABLE bakeoff.mine TO bakeoff.old")
    mariadb.control.rows("CREATE TABLE bakeoff.mine LIKE bakeoff.old")
    mariadb.control.rows("DROP TABLE bakeoff.old")
    assert mariadb.control.rows(made)[0][1] == first[1]
    assert ledger.strangers(["mine"]) == ["mine"]
    ledger.drop(["mine"])
    assert tables_of(mariadb) == {"mine"}


def test_all_tables_of_the_plan_are_dropped_or_none(mariadb: MariaDb, ledger: MySqlLedger) -> None:
    for made in ("TABLE a (id INT PRIMARY KEY)", "TABLE b (id INT PRIMARY KEY)", "VIEW seen AS SELECT * FROM a"):
        mariadb.control.rows(f"CREATE {made.replace(' ', ' bakeoff.', 1).replace('FROM ', 'FROM bakeoff.')}")
    mariadb.control.rows("CREATE TABLE bakeoff.other (id INT, FOREIGN KEY (id) REFERENCES bakeoff.b (id))")
    try:
        with pytest.raises(PlanError, match="`b` cannot be dropped: a foreign key of the table `other` needs it"):
            ledger.begin(["a", "b"], "data", "bundle", all_there=True)
        with pytest.raises(PlanError, match="`seen` exists and is not a table"):
            ledger.begin(["a", "seen"], "data", "bundle", all_there=True)
        assert tables_of(mariadb) == {"a", "b", "other", "seen"}
        ledger.begin(["a", "b", "other"], "data", "bundle", all_there=True)
        assert tables_of(mariadb) == {"bakeoff_tables", "seen"}
    finally:
        mariadb.control.rows("DROP VIEW bakeoff.seen")
        mariadb.control.rows("DROP TABLE IF EXISTS bakeoff.other, bakeoff.a, bakeoff.b")


def test_a_schema_is_one_bakeoffs_at_a_time(mariadb: MariaDb, ledger: MySqlLedger, tmp_path: Path) -> None:
    text, env = existing(mariadb)
    done = bakeoff("run", write_plan(tmp_path, text), "--allow-drop", cwd=tmp_path, env=env)
    assert done.code == 3
    assert "another bakeoff run is using the schema 'bakeoff'" in done.err


def test_a_claim_whose_connection_was_lost_is_taken_again(mariadb: MariaDb, ledger: MySqlLedger) -> None:
    held = "SELECT ID FROM information_schema.PROCESSLIST WHERE ID = IS_USED_LOCK(%s)"
    name = "bakeoff." + hashlib.sha256(b"bakeoff").hexdigest()[:24]
    first = mariadb.control.value(held, name)
    mariadb.control.rows(f"KILL {first}")
    assert ledger.there(["absent"]) == []
    assert mariadb.control.value(held, name) not in (None, first)


def test_a_lost_claim_is_taken_again_once_the_server_lets_go_of_it(mariadb: MariaDb, ledger: MySqlLedger) -> None:
    name = "bakeoff." + hashlib.sha256(b"bakeoff").hexdigest()[:24]
    first = mariadb.control.value("SELECT IS_USED_LOCK(%s)", name)
    with closing(MySqlLedger(mariadb.server.bench_login("tcp"), "bakeoff", "systems.y")._control(5.0)) as late:
        waits = threading.Thread(target=late.value, args=("SELECT GET_LOCK(%s, 4)", name))
        waits.start()
        mariadb.control.rows(f"KILL {first}")
        waits.join()
        letting_go = threading.Timer(1.0, late.close)
        letting_go.start()
        assert ledger.there(["absent"]) == []
        letting_go.join()
    assert mariadb.control.value("SELECT IS_USED_LOCK(%s)", name) not in (None, first)


def test_a_schema_is_held_until_the_last_ledger_of_a_process_lets_go(mariadb: MariaDb, ledger: MySqlLedger) -> None:
    second, other_way = (
        MySqlLedger(mariadb.server.bench_login(way), "bakeoff", "systems.y") for way in ("socket", "tcp")
    )
    second.claim()
    ledger.release()
    with pytest.raises(ServerError, match="another bakeoff run is using"):
        other_way.claim()
    second.release()
    other_way.claim()
    other_way.release()


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


def test_the_log_that_a_hint_names_is_there(tmp_path: Path) -> None:
    cannot_start = PRIVATE.replace('"32M"', '"32M", innodb_data_file_path = "nonsense"')
    done = bakeoff("run", write_plan(tmp_path, cannot_start), "--together", cwd=tmp_path)
    assert done.code == 3
    assert "kept in the bundle: loads/*/server.log" in done.err
    (log,) = tmp_path.glob("bakeoff-results/*/loads/*/server.log")
    assert "innodb" in log.read_text().lower()


@pytest.mark.parametrize("words", [["--out"], ["--resume", "--out"]])
def test_a_bundle_of_a_start_that_failed_does_not_block_the_mended_plan(tmp_path: Path, words: list[str]) -> None:
    wrong = PRIVATE.replace('"32M"', '"32M", innodb_data_file_path = "nonsense"')
    here = tmp_path / "here"
    assert bakeoff("run", write_plan(tmp_path, wrong), "--together", "--out", here, cwd=tmp_path).code == 3
    assert list(here.glob("loads/*/server.log"))
    (here / "notes.md").write_text("why did it not start?")
    done = bakeoff("run", write_plan(tmp_path, PRIVATE), "--together", *words, here, cwd=tmp_path)
    assert done.code == 0, done.err
    bundle = Bundle.open(here)
    assert (bundle.info.state, bundle.plan_text()) == ("complete", PRIVATE)
    assert {run.state for run in bundle.runs} == {"done"}
    assert (here / "notes.md").read_text() == "why did it not start?"


def test_a_work_folder_that_the_server_could_not_live_in_is_refused_in_words(tmp_path: Path, place: Path) -> None:
    done = bakeoff("run", write_plan(tmp_path, PRIVATE), "--together", "--work-dir", place / "a b", cwd=tmp_path)
    assert done.code == 3
    assert "in a folder whose name contains ' '" in done.err
    assert "--work-dir" in done.err
