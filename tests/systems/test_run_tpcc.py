"""TPC-C from a plan to the report, on SQLite, MariaDB and PostgreSQL: a mini population, every variant somewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import bakeoff, on_systems, only_bundle, write_plan

PLAN = """
title = "TPC-C, short"
seed = 3

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

#: More than one only where a server is there anyway.
VARIANTS = {"sqlite": ["tpcc"], "mariadb": ["tpcc-mysql", "tproc-c"], "postgresql": ["tpcc", "tproc-c"]}
CONDITIONS = set(range(1, 13))
#: That a run leaves true.
KEPT = {"tpcc": CONDITIONS, "tpcc-mysql": CONDITIONS - {12}, "tproc-c": CONDITIONS - {10, 12}}


@on_systems("sqlite", "mariadb", slow=["postgresql"])
def test_it_is_measured_and_what_it_must_keep_is_kept(tmp_path: Path, db: str, request: pytest.FixtureRequest) -> None:
    variants = VARIANTS[request.node.callspec.params["db"]]
    done = bakeoff("run", write_plan(tmp_path, PLAN.format(system=db, variants=variants)), cwd=tmp_path)
    assert done.code == 0, done.err + done.out
    assert "new orders per minute" in done.out
    bundle = only_bundle(tmp_path)
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
