"""TPC-C from a plan to the report, on SQLite, MariaDB and PostgreSQL: a mini population, every variant somewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.provision.installation import Installation
from commands import bakeoff, only_bundle, write_plan

PLAN = """
title = "TPC-C, short"
seed = 3

[systems.db]
{system}

[workload]
kind = "tpcc"
mini = true
warehouses = 2

[factors]
variant = {variants}
threads = 4

# By number: a window holds what the machine has time for.
[measure]
objective = "new_orders_per_minute"
warm_up = "300ms"
operations = 400
timeout = "10m"
repetitions = 1
"""

SQLITE = 'kind = "sqlite"\ndurability = "none"'
MARIADB = 'kind = "mariadb"\nstart = { settings = { innodb_buffer_pool_size = "64M" } }\ndurability = "none"'
POSTGRESQL = 'kind = "postgresql"\nstart = {}\ndurability = "none"'
CONDITIONS = set(range(1, 13))
#: That a run leaves true.
KEPT = {"tpcc": CONDITIONS, "tpcc-mysql": CONDITIONS - {12}, "tproc-c": CONDITIONS - {10, 12}}


def assert_measured(folder: Path, system: str, *variants: str) -> None:
    text = PLAN.format(system=system, variants=list(variants))
    done = bakeoff("run", write_plan(folder, text), cwd=folder)
    assert done.code == 0, done.err + done.out
    assert "new orders per minute" in done.out
    bundle = only_bundle(folder)
    levels = {cell.id: str(cell.levels.get("variant", variants[0])) for cell in bundle.plan.cells}
    assert sorted(levels.values()) == sorted(variants)
    assert len(bundle.runs) == len(variants)
    for run in bundle.runs:
        assert run.valid, run.validity
        assert all(check.ok for check in run.checks), run.checks
        names = [check.name for check in run.checks]
        numbers = {int(name.split()[1].rstrip(":")) for name in names if name.startswith("condition")}
        assert numbers == KEPT[levels[run.cell]]
        assert {"row counts", "foreign keys"} <= set(names)


def test_on_sqlite(tmp_path: Path) -> None:
    assert_measured(tmp_path, SQLITE, "tpcc")


@pytest.mark.servers
def test_on_a_private_mariadb(tmp_path: Path, mariadb_program: Installation) -> None:
    assert_measured(tmp_path, MARIADB, "tpcc", "tpcc-mysql")


@pytest.mark.servers
def test_on_a_private_postgresql(tmp_path: Path, postgresql_program: Installation) -> None:
    assert_measured(tmp_path, POSTGRESQL, "tpcc", "tproc-c")
