"""What a dry run says that data take is what they take. benches/sizes.py does the same for servers and larger data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bakeoff.cli import main
from bakeoff.errors import ExitCode
from bakeoff.plan.dry_run.describe import describe
from bakeoff.plan.read import read_plan

WITHIN = 0.2


@pytest.mark.parametrize(
    "workload",
    [
        "kind = 'ycsb'\nrecords = 2_000",
        "kind = 'ycsb'\nrecords = 10_000\nfield_count = 2\nfield_length = 10",
        "kind = 'sysbench'\ntables = 2\ntable_size = 5_000",
        "kind = 'tpcc'\nmini = true",
        "kind = 'linkbench'\nsize = '0.001x'",
        "kind = 'linkbench'\nmaxid1 = 1_501\nnlinks_func = { kind = 'constant', links = 40 }",  # mostly links
        "kind = 'sql'\nscript = 'select-only'",
    ],
)
def test_data_in_sqlite_take_what_a_dry_run_says(
    workload: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(f"[systems.sqlite]\nfile = 'data.sqlite'\nreset = 'reload'\n[workload]\n{workload}\n")
    (said,) = describe(read_plan(plan), tmp_path).loads
    assert main(["load", str(plan), "--quiet", "--json", "--together"]) == ExitCode.DONE
    (loaded,) = json.loads(capsys.readouterr().out)["loads"]
    assert said.size_bytes == pytest.approx(loaded["size_on_disk_bytes"], rel=WITHIN)
