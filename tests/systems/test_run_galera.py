"""A plan with a Galera cluster, from its start to the report: in the middle of the run one node of three is killed, and
another one is cut off."""

from __future__ import annotations

import os
from itertools import groupby
from pathlib import Path

import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.provision.instance import remove_stale
from commands import bakeoff, descendants, gone, only_bundle, started, wait_until, write_plan
from test_galera import SOON, need_galera

pytestmark = pytest.mark.servers

THREADS = 6
PLAN = f"""
title = "A node of three is killed"
threads = {THREADS}

[systems.galera]
durability = "relaxed"
# A read waits for what other nodes wrote: else it may miss an acknowledged row, which is a wrong answer.
start.nodes = 3
start.settings = {{ wsrep_sync_wait = 1, innodb_buffer_pool_size = "32M", wsrep_provider_options = "{SOON}" }}

[workload]
kind = "ycsb"
read_proportion = 0.5
insert_proportion = 0.5
update_proportion = 0.0
records = 500
data_integrity = true

[measure]
warm_up = "500ms"
window = "15s"
repetitions = 1
timeout = "10m"

[[faults]]
at = "1s"
node = "n3"
do = "kill"
for = "1s"
"""
CUT_OFF = """
[[faults]]
at = "9s"
node = "n2"
do = "partition"
for = "2500ms"
"""
MAY_CUT_OFF = os.geteuid() == 0


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    need_galera()
    folder = tmp_path_factory.mktemp("galera")
    done = bakeoff("run", write_plan(folder, PLAN + CUT_OFF * MAY_CUT_OFF), cwd=folder)
    assert done.code == 0, done.err
    return only_bundle(folder)


def test_the_run_goes_on_and_no_acknowledged_write_is_missing(bundle: Bundle) -> None:
    (run,) = bundle.runs
    assert run.valid, run.validity
    assert [node.name for node in run.nodes] == ["n1", "n2", "n3"]
    told = [check.name for check in run.checks]
    alike = {"n2 has the same rows as n1", "n3 has the same rows as n1"}
    assert alike < set(told), "and the rows are those acknowledged"
    assert all(check.ok for check in run.checks), run.checks


def test_the_node_that_was_killed_came_back_by_what_it_had_missed(bundle: Bundle) -> None:
    killed = bundle.runs[0].faults[0]
    assert killed.failure == ""
    assert killed.rejoined.startswith("incremental state transfer of ")
    assert killed.rejoin_s is not None
    assert killed.effect is not None
    assert killed.effect.failed + killed.effect.unknown > 0, "reads and writes that were on their way to n3"


def test_the_time_without_commits_is_what_the_series_shows(bundle: Bundle) -> None:
    (run,) = bundle.runs
    tenths = bundle.tenths(run.id)
    assert tenths is not None
    written = tenths.column("writes").to_pylist()
    longest_s = max(len(list(group)) / 10 for some, group in groupby(written[:85], key=bool) if not some)
    effect = run.faults[0].effect
    assert effect is not None
    assert effect.without_writes_s == pytest.approx(longest_s, abs=0.2)
    assert longest_s >= 0.5, "nothing is committed until the others have noticed"


@pytest.mark.skipif(not MAY_CUT_OFF, reason="the kernel lets only root filter TCP")
def test_a_node_that_is_cut_off_holds_up_commits_and_is_taken_back(bundle: Bundle) -> None:
    _, cut = bundle.runs[0].faults
    assert cut.failure == ""
    assert cut.back_s is not None
    assert cut.effect is not None
    assert (cut.effect.without_writes_s or 0.0) >= 0.5, "nothing is committed until the others have noticed"


FROZEN_AND_ENDED = (
    PLAN.replace('"15s"', '"24s"').split("[[faults]]")[0]
    + """
[[faults]]
at = "2s"
node = "n2"
do = "freeze"
for = "3s"

[[faults]]
at = "16s"
node = "n3"
do = "stop"
for = "1s"
"""
)


@pytest.mark.slow
def test_a_node_that_is_frozen_is_left_until_it_is_back_and_one_that_is_ended_says_goodbye(tmp_path: Path) -> None:
    """Thawed, it answers that it is not ready, and its sessions go on elsewhere: it is asked again now and then."""
    need_galera()
    done = bakeoff("run", write_plan(tmp_path, FROZEN_AND_ENDED), cwd=tmp_path)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert run.valid, run.validity
    assert all(check.ok for check in run.checks), run.checks
    frozen, ended = run.faults
    assert [fault.failure for fault in run.faults] == ["", ""]
    node = next(node for node in run.nodes if node.name == "n2")
    assert 0 < node.outcomes["fail_refused"] <= 4 * THREADS
    assert node.reconnects <= 4 * THREADS
    assert frozen.effect is not None
    assert (frozen.effect.without_writes_s or 0.0) >= 0.5, "nothing is committed until the others have noticed"
    assert ended.rejoined.startswith("incremental state transfer of ")


def test_a_bakeoff_that_is_killed_while_its_cluster_starts_leaves_nothing(tmp_path: Path, place: Path) -> None:
    need_galera()
    process = started("run", write_plan(tmp_path, PLAN), "--work-dir", place, cwd=tmp_path)
    try:
        wait_until(lambda: len(descendants(process.pid, "mariadbd")) >= 2, "two nodes run", of=process)
        servers = descendants(process.pid, "mariadbd")
    finally:
        process.kill()
        process.communicate()
    wait_until(lambda: all(gone(server) for server in servers), "the nodes have ended")
    assert remove_stale(place)
    assert not list(place.glob("*galera*"))
