"""What the client costs: YCSB C reads through bakeoff-engine against sysbench's oltp_point_select, on one private
MariaDB, in shuffled pairs. Prints CPU per operation of either client, their ratio, and the engine's peak memory.

    .venv/bin/python benches/client_cost.py                 # 100,000 rows, TCP, 8 and 64 threads, 7 pairs of 8 s
    .venv/bin/python benches/client_cost.py --threads 2500 --pairs 1 --alone

CPU is user + system time of the client process (sysbench: the whole process, its start included, which over 8 s is
below 1 %). Needs sysbench on the PATH and MariaDB on the PATH or in the cache (`bakeoff systems install mariadb`).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.fleet.binary import engine_path
from bakeoff.provision.instance import new_instance
from bakeoff.systems.mariadb import MariaDb
from bakeoff.systems.mariadb_server import BENCH_USER


@dataclass
class Sample:
    rate_ops_per_s: float
    cpu_us_per_op: float
    memory_peak_bytes: int


def engine(document: dict[str, Any], env: dict[str, str], folder: Path) -> dict[str, Any]:
    path = folder / "run.json"
    path.write_text(json.dumps(document))
    done = subprocess.run(
        [str(engine_path()), "--now", str(path)], env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    if not events or events[-1]["event"] != "result":
        sys.exit(f"the engine failed: {events[-1:] or done.stderr}")
    result: dict[str, Any] = events[-1]
    return result


def run_engine(base: dict[str, Any], env: dict[str, str], threads: int, window_s: float, folder: Path) -> Sample:
    limit = {"kind": "time", "window_s": window_s}
    result = engine({**base, "phase": "run", "threads": threads, "limit": limit, "warm_up_s": 1.0}, env, folder)
    ok = sum(s["count"] + s["carried_in"] for s in result["series"] if s["outcome"] == "ok" and not s["part_of"])
    wrong = sum(s["count"] for s in result["series"] if s["outcome"] != "ok")
    if wrong:
        sys.exit(f"{wrong} operations did not end ok: {result['errors'][:1]}")
    cost = result["cost"]
    cpu_s = cost["cpu_user_s"] + cost["cpu_system_s"]
    return Sample(ok / window_s, cpu_s * 1e6 / ok, cost["memory_peak_bytes"])


def sysbench(system: MariaDb, verb: str, threads: int, window_s: float, rows: int, folder: Path) -> Sample:
    server = system.server
    # Its options come from a file, because one of them is a password.
    options = folder / "sysbench.cnf"
    options.touch(mode=0o600)
    options.write_text(
        f"mysql-host=127.0.0.1\nmysql-port={server.port}\nmysql-user={BENCH_USER}\nmysql-db=bakeoff\n"
        f"mysql-password={server.bench_password}\ntables=1\ntable-size={rows}\nthreads={threads}\n"
        f"time={int(window_s)}\nrand-type=uniform\n"
    )
    command = ["sysbench", f"--config-file={options}", "oltp_point_select", verb]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"sysbench failed: {done.stdout[-400:]}{done.stderr[-400:]}")
    if verb != "run":
        return Sample(0, 0, 0)
    found = re.search(r"transactions:\s+(\d+)\s+\(([\d.]+) per sec", done.stdout)
    assert found, done.stdout
    cpu_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Sample(float(found[2]), cpu_s * 1e6 / int(found[1]), after.ru_maxrss * 1024)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--threads", type=int, nargs="+", default=[8, 64])
    p.add_argument("--pairs", type=int, default=7)
    p.add_argument("--window", type=float, default=8.0, help="seconds")
    p.add_argument("--rows", type=int, default=100_000)
    p.add_argument("--workers", type=int, default=0, help="OS threads of the engine (0: one per core)")
    p.add_argument("--alone", action="store_true", help="without sysbench")
    options = p.parse_args()
    if not options.alone and shutil.which("sysbench") is None:
        sys.exit("sysbench is not on the PATH: apt install sysbench")
    folder = new_instance("client-cost")
    system = MariaDb.configure(
        "mariadb",
        {"start": {"settings": {"innodb_buffer_pool_size": "512M", "max_connections": 4000}}},
        durability="relaxed",
        isolation=None,
        workdir=folder.path,
        timeout_s=10,
        base_dir=Path.cwd(),
    )
    assert isinstance(system, MariaDb)
    try:
        system.start()
        compare(system, options)
    finally:
        system.stop()
        folder.remove()


def compare(system: MariaDb, options: argparse.Namespace) -> None:
    driver, env = system.engine_driver()
    workload = {
        "kind": "ycsb",
        "records": options.rows,
        "read_proportion": 1.0,
        "update_proportion": 0.0,
        "request_distribution": {"kind": "zipfian"},
    }
    base = {"format": 1, "driver": driver, "workload": workload, "workers": options.workers, "seed": 1}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        engine({**base, "phase": "load", "threads": 4, "drop_existing": True, "timeout_s": 60}, env, folder)
        if not options.alone:
            sysbench(system, "prepare", 1, 1, options.rows, folder)
        for threads in options.threads:
            pairs = [one_pair(system, base, env, threads, options, folder, i) for i in range(options.pairs)]
            show(threads, pairs)


def one_pair(
    system: MariaDb,
    base: dict[str, Any],
    env: dict[str, str],
    threads: int,
    options: argparse.Namespace,
    folder: Path,
    index: int,
) -> tuple[Sample, Sample | None]:
    """Both in an order drawn anew."""
    if options.alone:
        return run_engine(base, env, threads, options.window, folder), None
    if random.Random(index).random() < 0.5:
        ours = run_engine(base, env, threads, options.window, folder)
        return ours, sysbench(system, "run", threads, options.window, options.rows, folder)
    theirs = sysbench(system, "run", threads, options.window, options.rows, folder)
    return run_engine(base, env, threads, options.window, folder), theirs


def show(threads: int, pairs: list[tuple[Sample, Sample | None]]) -> None:
    ours = [a for a, _ in pairs]
    words = (
        f"{threads} threads: bakeoff {statistics.median(s.cpu_us_per_op for s in ours):.2f} us/op, "
        f"{statistics.median(s.rate_ops_per_s for s in ours):,.0f} ops/s, "
        f"engine memory {max(s.memory_peak_bytes for s in ours) / 1e6:.1f} MB"
    )
    both = [(a, b) for a, b in pairs if b is not None]
    if both:
        ratios = sorted(a.cpu_us_per_op / b.cpu_us_per_op for a, b in both)
        words += (
            f"; sysbench {statistics.median(b.cpu_us_per_op for _, b in both):.2f} us/op, "
            f"{statistics.median(b.rate_ops_per_s for _, b in both):,.0f} ops/s; client CPU per operation, "
            f"ratio: median {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}, {len(ratios)} pairs)"
        )
    print(words, flush=True)


if __name__ == "__main__":
    main()
