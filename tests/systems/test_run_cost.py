"""The cost of a real run: from the plan's prices to the report, the export and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import bakeoff, only_bundle, write_plan

PLAN = """
[prices]
machine_per_hour = 0.36
storage_per_gb_month = 0.1
currency = "EUR"
date = 2026-11-20
source = "a list"

[systems.sqlite]

[workload]
kind = "ycsb"
preset = "c"
records = 100

[measure]
warm_up = "0s"
operations = 2_000
repetitions = 2
objective = "cost_per_billion_ops"
"""


def test_the_cost_of_a_run_is_in_its_report_its_export_and_its_thresholds(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, PLAN)
    fails = ("--fail-if", "cost_per_billion_ops > 0.001 EUR")
    done = bakeoff("run", plan, "--together", "--allow-disturbed", *fails, cwd=tmp_path)
    assert done.code == 1, done.err
    assert "Failed on cost per billion operations above 0.001 EUR" in done.out
    bundle = only_bundle(tmp_path)
    assert bundle.plan.cells[0].prices
    wanted = [word for name in ("cost_per_billion_ops", "rate", "size_on_disk_bytes") for word in ("--metric", name)]
    table = json.loads(bakeoff("export", bundle.folder, *wanted, "--json", cwd=tmp_path).out)
    assert {one["name"]: one["unit"] for one in table["metrics"]}["cost_per_billion_ops"] == "EUR"
    assert len(table["runs"]) == 2
    for run in table["runs"]:
        per_s = 0.36 / 3600 + 0.1 * run["size_on_disk_bytes"] / 1e9 / (365.25 / 12 * 86400)
        assert run["cost_per_billion_ops"] == pytest.approx(1e9 * per_s / run["rate"])
    assert "0.36 EUR per hour of its machines" in (bundle.folder / "report.html").read_text()
