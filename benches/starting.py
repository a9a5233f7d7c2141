"""How long a managed system takes from `bakeoff run` to its first operation: the load's first row.

    .venv/bin/python -m benches.starting                      # all that are installed
    .venv/bin/python -m benches.starting galera cassandra-3   # these
    .venv/bin/python -m benches.starting --times 5

For each system a plan is begun, and broken off (Ctrl-C) once it has told of loaded rows; the engine says for how long
it had been loading, so the load's own time is not in the figure. Each line: seconds of every time, in order, and the
seconds until bakeoff and its servers had ended after the Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SYSTEMS = {
    "mariadb-10.1": 'kind = "mariadb"\nversion = "10.1"',
    "mariadb-10.2": 'kind = "mariadb"\nversion = "10.2"',
    "mariadb-10.11": 'kind = "mariadb"\nversion = "10.11"',
    "mariadb-11.4": 'kind = "mariadb"\nversion = "11.4"',
    "mariadb-11.8": 'kind = "mariadb"\nversion = "11.8"',
    "mysql-5.5": 'kind = "mysql"\nversion = "5.5"',
    "mysql-9.7": 'kind = "mysql"\nversion = "9.7"',
    "postgresql": 'kind = "postgresql"',
    "mariadb-pair": 'kind = "mariadb"\nversion = "10.11"\nreplicas = 1',
    "postgresql-pair": 'kind = "postgresql"\nreplicas = 1',
    "galera": 'kind = "galera"\nversion = "10.11"\nnodes = 3',
    "cassandra": 'kind = "cassandra"\nversion = "5.0"\nnodes = 1',
    "cassandra-3": 'kind = "cassandra"\nversion = "5.0"\nnodes = 3',
}
PLAN = """title = "How long it takes to start"
[systems.it]
{system}
[workload]
kind = "ycsb"
preset = "c"
records = 2_000_000
[measure]
warm_up = "1s"
window = "1s"
repetitions = 1
"""


def first_operation_s(system: str, folder: Path) -> tuple[float, float]:
    """(seconds to the first operation, seconds from Ctrl-C to the end). Raises SystemExit where the run ends before."""
    plan = folder / "plan.toml"
    plan.write_text(PLAN.format(system=SYSTEMS[system]))
    command = [
        sys.executable,
        "-m",
        "bakeoff",
        "run",
        str(plan),
        "--events",
        "--together",
        "--allow-disturbed",
        "--out",
        str(folder / "out"),
    ]
    begun_s = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "loading" and event["done"]:
            first_s = time.monotonic() - begun_s - event["elapsed_s"]
            stopped_s = time.monotonic()
            process.send_signal(signal.SIGINT)
            process.communicate()
            return first_s, time.monotonic() - stopped_s
    raise SystemExit(f"{system}: {process.communicate()[1]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*", choices=[[], *SYSTEMS], help="default: all")
    parser.add_argument("--times", type=int, default=3)
    asked = parser.parse_args()
    for system in asked.systems or SYSTEMS:
        starts, ends = [], []
        for _ in range(asked.times):
            with tempfile.TemporaryDirectory() as folder:
                Path(folder).chmod(0o755)
                first_s, end_s = first_operation_s(system, Path(folder))
            starts.append(first_s)
            ends.append(end_s)
        print(f"{system:16s} {' '.join(f'{s:6.1f}' for s in starts)}   ended {max(ends):.1f}", flush=True)


if __name__ == "__main__":
    main()
