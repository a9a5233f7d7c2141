"""Planned faults on a real server, frozen and killed and started again in a run, and what the run says of it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from itertools import groupby
from pathlib import Path

import psutil
import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.findings.faults import loss_of
from bakeoff.model.faults import FaultEffect
from bakeoff.provision.installation import Installation
from commands import bakeoff, descendants, end, finish, gone, only_bundle, started, wait_until, write_plan

pytestmark = pytest.mark.servers

FROZEN_S, AWAY_S = 1.5, 0.5
PLAN = f"""
title = "A server that is frozen and killed"
threads = 4

[systems.mariadb]
start = {{ settings = {{ innodb_buffer_pool_size = "32M" }} }}
durability = "relaxed"

[workload]
kind = "ycsb"
preset = "a"
records = 500
data_integrity = true

[measure]
warm_up = "200ms"
window = "9s"
repetitions = 1
timeout = "10m"

[[faults]]
at = "1500ms"
do = "freeze"
for = "{FROZEN_S}s"

[[faults]]
at = "5s"
do = "kill"
for = "{AWAY_S}s"
"""
WITHOUT_FAULTS = PLAN.split("[[faults]]", maxsplit=1)[0]
PAIR = (
    WITHOUT_FAULTS.replace("start = {", "start = { replicas = 1,")
    .replace("threads = 4", 'threads = 4\nrouting = "split"')
    .replace('"9s"', '"5s"')
    + '[[faults]]\nat = "1s"\nnode = "replica1"\ndo = "kill"\nfor = "1s"\n'
)


@pytest.fixture(scope="module")
def bundle(mariadb_program: Installation, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    folder = tmp_path_factory.mktemp("faults")
    done = bakeoff("run", write_plan(folder, PLAN), cwd=folder)
    assert done.code == 0, done.err
    return only_bundle(folder)


def effects(bundle: Bundle) -> tuple[FaultEffect, FaultEffect]:
    frozen, killed = bundle.runs[0].faults
    assert frozen.effect is not None
    assert killed.effect is not None
    return frozen.effect, killed.effect


def test_what_was_done_is_written_down_as_it_was_done(bundle: Bundle) -> None:
    frozen, killed = bundle.runs[0].faults
    assert [fault.failure for fault in (frozen, killed)] == ["", ""]
    for fault in (frozen, killed):
        assert fault.begun_s is not None
        assert fault.ended_s is not None
        assert fault.begun_s >= fault.planned.at_s
        assert fault.ended_s - fault.begun_s >= (fault.planned.for_s or 0) - 0.05
        assert len(fault.marked_s) == 1, "the client knows"
    assert killed.rejoin_s is not None
    assert killed.rejoin_s > 0


def test_a_freeze_is_a_wait_and_a_kill_is_found_out_by_failures(bundle: Bundle) -> None:
    frozen, killed = effects(bundle)
    assert frozen.without_writes_s is not None
    assert frozen.without_writes_s >= FROZEN_S - 0.2
    assert frozen.longest_wait_s is not None
    assert frozen.longest_wait_s >= FROZEN_S - 0.2
    assert (frozen.failed, frozen.unknown) == (0, 0)
    assert frozen.detect_s is None
    assert killed.detect_s is not None
    assert killed.failed + killed.unknown > 0
    assert killed.without_writes_s is not None
    assert killed.without_writes_s >= AWAY_S - 0.2


def test_the_time_without_writes_is_what_the_series_shows(bundle: Bundle) -> None:
    (run,) = bundle.runs
    tenths = bundle.tenths(run.id)
    assert tenths is not None
    counts = tenths.column("writes").to_pylist()
    gaps = sorted(len(list(group)) / 10 for written, group in groupby(counts, key=bool) if not written)
    found = sorted(effect.without_writes_s or 0.0 for effect in effects(bundle))
    assert found == pytest.approx(gaps[-2:], abs=0.2)


def test_the_run_is_valid_and_its_data_were_checked_on_the_server_that_came_back(bundle: Bundle) -> None:
    (run,) = bundle.runs
    assert run.valid, run.validity
    assert run.errors
    assert run.error_ratio_outside_faults == 0.0
    assert run.checks
    assert all(check.ok for check in run.checks), run.checks
    planned = next(v for v in run.validity if v.name == "planned faults")
    assert "freeze server at 1.5 s, thaw it after 1.5 s; kill server at 5 s" in planned.words


def frozen_servers(controller: int) -> list[int]:
    with suppress(psutil.NoSuchProcess):  # it is started again after the load
        servers = descendants(controller, "mariadbd")
        return [pid for pid in servers if psutil.Process(pid).status() == psutil.STATUS_STOPPED]
    return []


@pytest.mark.usefixtures("mariadb_program")
def test_ctrl_c_in_the_middle_of_a_fault_leaves_nothing(tmp_path: Path) -> None:
    text = WITHOUT_FAULTS.replace('"9s"', '"10m"')
    process = started("run", write_plan(tmp_path, text + '[[faults]]\nat = "1s"\ndo = "freeze"\n'), cwd=tmp_path)
    try:
        (server,) = wait_until(lambda: frozen_servers(process.pid), "the server is frozen", of=process)
        process.send_signal(signal.SIGINT)
        done = finish(process)
    finally:
        end(process)
    assert done.code == 130, done.err
    assert gone(server)


@pytest.mark.usefixtures("mariadb_program")
def test_of_a_pair_the_node_that_is_killed_is_named_and_the_other_serves_on(tmp_path: Path) -> None:
    done = bakeoff("run", write_plan(tmp_path, PAIR), cwd=tmp_path)
    assert done.code == 0, done.err
    found = only_bundle(tmp_path)
    (run,) = found.runs
    assert run.valid, run.validity
    primary, replica = run.nodes
    assert (primary.name, replica.name) == ("primary", "replica1")
    assert primary.outcomes.keys() == {"ok"}
    assert sum(count for outcome, count in replica.outcomes.items() if outcome != "ok") > 0
    (killed,) = run.faults
    assert killed.rejoin_s is not None
    assert all(silence.planned for silence in run.silences), run.silences
    assert run.checks
    assert all(check.ok for check in run.checks), run.checks
    seconds = found.nodes(run.id)
    assert seconds is not None
    assert {"primary.ok", "replica1.ok", "replica1.errors"} <= set(seconds.column_names)
    assert "replica1 (replica)" in done.out


DELAYED = (
    PAIR.split("[[faults]]", maxsplit=1)[0]
    + """
[[faults]]
at = "1s"
node = "replica1"
do = "delay"
by = "100ms"
for = "1s"

[[faults]]
at = "3s"
node = "replica1"
do = "skew"
by = "-1h"
for = "1s"
"""
)


@pytest.mark.usefixtures("mariadb_program")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mark the packets of others")
def test_a_replica_that_is_far_away_and_has_a_wrong_clock_still_serves(tmp_path: Path) -> None:
    done = bakeoff("run", write_plan(tmp_path, DELAYED), cwd=tmp_path)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert run.valid, run.validity
    assert [fault.failure for fault in run.faults] == ["", ""]
    assert all(fault.back_s is not None for fault in run.faults)
    assert run.checks
    assert all(check.ok for check in run.checks), run.checks
    assert "delay replica1 by 100 ms" in done.out
    assert "skew replica1 by -3600 s" in done.out


PAIR_OF_POSTGRESQL = (
    PAIR.replace("mariadb", "postgresql")
    .replace('"relaxed"', '"none"')
    .replace("innodb_buffer_pool_size", "shared_buffers")
    .replace('"32M"', '"32MB"')
    .replace('"5s"', '"9s"')
    + '[[faults]]\nat = "4s"\nnode = "primary"\ndo = "kill"\nfor = "1s"\n'
)


@pytest.mark.usefixtures("postgresql_program")
def test_of_a_pair_of_postgresql_replica_and_primary_are_killed_and_nothing_acknowledged_is_lost(
    tmp_path: Path,
) -> None:
    done = bakeoff("run", write_plan(tmp_path, PAIR_OF_POSTGRESQL), cwd=tmp_path)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert run.valid, run.validity
    assert run.errors.keys() <= {"unknown", "fail_lost", "fail_refused"}, "what was on its way to either"
    for fault in run.faults:
        assert fault.failure == ""
        assert fault.rejoin_s is not None
        assert fault.effect is not None
    assert all(silence.planned for silence in run.silences), run.silences
    assert run.checks
    assert all(check.ok for check in run.checks), run.checks


INSERTING = (
    WITHOUT_FAULTS.replace('preset = "a"', "read_proportion = 0.5\nupdate_proportion = 0\ninsert_proportion = 0.5")
    .replace('"9s"', '"4s"')
    .replace("threads = 4", "threads = 8")
    + '[[faults]]\nat = "1s"\ndo = "kill"\nfor = "500ms"\n'
)


@pytest.mark.usefixtures("mariadb_program")
def test_acknowledged_inserts_are_read_by_their_keys_after_a_fault(tmp_path: Path) -> None:
    done = bakeoff("run", write_plan(tmp_path, INSERTING), "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    (check,) = (check for check in run.checks if check.name == "acknowledged rows")
    read, acknowledged = (int(word) for word in check.expected.split() if word.isdecimal())
    assert check.ok, check
    assert acknowledged == sum(one["inserts_acknowledged"] for one in run.evidence)  # type: ignore[index,call-overload,misc]
    assert read == min(acknowledged, 20_000)
    assert "by its key after the run, and none is missing" in loss_of([run])[1] or acknowledged > read
