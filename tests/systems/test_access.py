"""Records by SQL and below it on the same loaded rows, from plan to report, and who refuses that."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.errors import ExitCode
from bakeoff.findings.configuration import configuration_of
from commands import bakeoff, only_bundle, write_plan

PLAN = """
title = "By SQL and below it"
seed = 3

[systems.{system}]
durability = "relaxed"

[workload]
{workload}

[factors]
access = ["sql", "direct"]

[measure]
warm_up = "200ms"
operations = 1_000
timeout = "10m"
repetitions = 1
"""
SCANS = 'kind = "ycsb"\npreset = "{preset}"\nrecords = 1_000\ndata_integrity = true'


@pytest.mark.servers
@pytest.mark.usefixtures("mariadb_program")
@pytest.mark.parametrize("preset", ["a", "e"])
def test_both_ways_meet_on_one_load_and_answer_the_same(tmp_path: Path, preset: str) -> None:
    plan = PLAN.format(system="mariadb", workload=SCANS.format(preset=preset))
    done = bakeoff("run", write_plan(tmp_path, plan), cwd=tmp_path)
    assert done.code == 0, done.err
    bundle = only_bundle(tmp_path)
    assert [len(load.cells) for load in bundle.loads] == [2]
    assert len(bundle.runs) == 2
    assert all(run.ok >= 1000 and not run.errors for run in bundle.runs)
    (access,) = [difference for difference in configuration_of(bundle).declared if difference.name == "access"]
    assert access.values["access sql"] == "the usual way"
    assert "no consistent view" in access.values["access direct"]
    assert "no consistent view" in (bundle.folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("system", "workload", "words"),
    [
        ("sqlite", SCANS.format(preset="a"), "records have keys of text"),
        ("postgresql", SCANS.format(preset="a"), "by the same executor"),
        ("null", SCANS.format(preset="a"), "reached in one way"),
        ("mariadb", 'kind = "sysbench"\ntables = 1\ntable_size = 100', "sysbench is SQL"),
    ],
)
def test_what_has_no_way_below_sql_is_refused_before_anything_starts(
    tmp_path: Path, system: str, workload: str, words: str
) -> None:
    plan = PLAN.format(system=system, workload=workload).replace('durability = "relaxed"', "")
    done = bakeoff("run", write_plan(tmp_path, plan), "--dry-run", cwd=tmp_path)
    assert done.code == ExitCode.USAGE
    assert words in done.err
    assert "access" in done.err
