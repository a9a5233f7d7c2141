"""What a replayed statement costs the client.

    .venv/bin/python -m benches.replay                         # 10^6 point selects of 8 sessions, on MariaDB
    .venv/bin/python -m benches.replay --statements 100000

The log is written here, in the form of MySQL's general log, and replayed as fast as the answers come.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from bakeoff.bundle.read import Bundle

ROWS = 10_000
PLAN = """title = "replay"
[systems.mariadb]
durability = "relaxed"
[workload]
kind = "replay"
log = "general.log"
setup = "setup.sql"
speed = 0
[measure]
threads = {sessions}
warm_up = 0
repetitions = 1
repeat_disturbed = 0
timeout = "10m"
"""


def write_log(path: Path, statements: int, sessions: int) -> None:
    ids = np.random.default_rng(1).integers(1, ROWS + 1, statements)
    with path.open("w") as log:
        for i, row in enumerate(ids):
            second, us = divmod(i * 20, 1_000_000)
            at = f"2026-11-28T05:{second // 60:02d}:{second % 60:02d}.{us:06d}Z"
            log.write(f"{at}\t{i % sessions + 1:5d} Query\tSELECT c FROM pairs WHERE id={row}\n")


def write_setup(path: Path) -> None:
    rows = ",".join(f"({id},'{id:0119d}')" for id in range(1, ROWS + 1))
    path.write_text(f"CREATE TABLE pairs (id INT PRIMARY KEY, c CHAR(120));\nINSERT INTO pairs VALUES {rows};\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statements", type=int, default=1_000_000)
    parser.add_argument("--sessions", type=int, default=8)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_log(folder / "general.log", asked.statements, asked.sessions)
        write_setup(folder / "setup.sql")
        (folder / "plan.toml").write_text(PLAN.format(sessions=asked.sessions))
        command = [
            sys.executable,
            "-m",
            "bakeoff",
            "run",
            "plan.toml",
            "--out",
            "bundle",
            "--quiet",
            "--allow-disturbed",
        ]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        (run,) = Bundle.open(folder / "bundle").runs
        work = f"{run.ok:,} of {asked.statements:,} statements ok, {asked.sessions} sessions"
        print(f"{work}: client CPU {run.client_cpu_us_per_op:.2f} us each, server {run.server_cpu_us_per_op:.2f} us")


if __name__ == "__main__":
    main()
