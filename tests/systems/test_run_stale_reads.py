"""The staleness probe next to the load of a plan: on one node nothing old is read, a cluster is read on
every node, and a node that is killed takes nothing but its own session."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.analysis.registry import metric
from bakeoff.bundle.read import Bundle
from bakeoff.findings.run_values import observed
from bakeoff.model.boundary import StalenessProbe
from bakeoff.model.records.run import RunRecord
from bakeoff.systems.redis import system as redis
from builders.systems import fetched
from commands import bakeoff, only_bundle, write_plan
from test_galera import SOON, need_galera

pytestmark = pytest.mark.servers

#: The checks after the runs are as short as they can be.
PLAN = """
title = "Stale reads under load"
threads = 6

[systems.{system}]
durability = "relaxed"
{start}

[workload]
kind = "ycsb"
preset = "a"
records = 500

[measure]
warm_up = "1s"
window = "{window}"
repetitions = 1
error_budget = "100%"

[verify]
probe = true
seconds = 0
tries = 1
schedules = ["G0"]
"""
CLUSTER = f'start.nodes = 3\nstart.settings = {{ innodb_buffer_pool_size = "32M", wsrep_provider_options = "{SOON}" }}'
KILLED = """
[[faults]]
at = "6s"
node = "n3"
do = "kill"
for = "1s"
"""


def run_of(folder: Path, plan: str) -> tuple[Bundle, RunRecord, StalenessProbe]:
    done = bakeoff("run", write_plan(folder, plan), cwd=folder)
    assert done.code == 0, done.err
    bundle = only_bundle(folder)
    (run,) = bundle.runs
    assert run.staleness_probe is not None
    return bundle, run, run.staleness_probe


@pytest.mark.parametrize("system", ["mariadb", "redis"])
def test_one_node_shows_nothing_old_and_the_probe_keeps_to_its_budget(tmp_path: Path, system: str) -> None:
    start = 'start.settings = { innodb_buffer_pool_size = "32M" }'
    if system == "redis":
        here = redis.SOURCES.here()
        start = f'start.version = "{here[0].version if here else fetched(redis.SOURCES, "7.0")}"'
    bundle, run, probe = run_of(tmp_path, PLAN.format(system=system, window="4s", start=start))
    assert probe.troubles == []
    assert probe.report is not None
    assert probe.sessions == 1
    assert probe.reads > 0
    assert probe.report.verdict in ("HELD", "INCONCLUSIVE")
    assert metric("stale_read_ratio").of(observed(bundle, run)) == 0
    assert metric("stale_age_p99").of(observed(bundle, run)) is None
    # A hundredth of the second before, and a Poisson process may be above its mean.
    assert probe.reads + probe.writes < max(4 * 10, 0.02 * run.ok)


@pytest.mark.slow
def test_a_cluster_is_read_on_every_node_and_a_killed_one_ends_nothing_but_its_session(tmp_path: Path) -> None:
    need_galera()
    plan = PLAN.format(system="galera", window="8s", start=CLUSTER) + KILLED
    bundle, run, probe = run_of(tmp_path, plan)
    assert run.state == "done"
    assert probe.sessions == 3
    assert probe.report is not None
    assert probe.report.verdict == "OBSERVED", "nobody promises fresh reads between nodes"
    assert probe.report.impossible_reads == 0
    # How many of some 50 reads are old is chance: most windows of a cluster on one machine are shorter than 1 ms.
    ratio = metric("stale_read_ratio").of(observed(bundle, run))
    assert ratio is not None
    assert (ratio > 0) == (metric("stale_age_p99").of(observed(bundle, run)) is not None)
    assert probe.report.staleness.exposed > 0
    assert any("n3" in trouble for trouble in probe.troubles), probe.troubles
