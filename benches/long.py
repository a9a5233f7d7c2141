"""What a long run, a bundle of a day and a bundle of 10,000 runs cost.

    .venv/bin/python -m benches.long run --minutes 60    # memory of the controller and the engine, by minute
    .venv/bin/python -m benches.long day                 # size of a synthesized bundle of 86,300 s, and its report
    .venv/bin/python -m benches.long runs                # the same of 10,000 runs
    .venv/bin/python -m benches.long merge               # CPU time of the controller for each second of a client

`run` offers LinkBench to a MariaDB server, of which a hundred counters are read every second:
memory that grew with time would show at any rate. `day` has a server that reports 400 counters, and histograms of ten
operations.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from bakeoff.analysis.histograms import Histogram, to_document
from bakeoff.model.boundary import Interval, IntervalSeries, QueryCounts, Tenths
from bakeoff.schedule.seconds import merge_second

from tests.builders.bundles import MARIADB, SQLITE, Story, write_bundle

PLAN = """title = "long"
[systems.mariadb]
durability = "relaxed"
[workload]
kind = "linkbench"
size = "0.001x"
[measure]
threads = 4
rate = {rate}
warm_up = "10s"
window = "{minutes}m"
repetitions = 1
repeat_disturbed = 0
"""


def run(minutes: int, rate: int, folder: Path) -> None:
    (folder / "plan.toml").write_text(PLAN.format(minutes=minutes, rate=rate))
    command = [sys.executable, "-m", "bakeoff", "run", "plan.toml", "--out", "bundle", "--quiet"]
    process = subprocess.Popen(command, cwd=folder)
    print("| minute | controller, MB | engine, MB |\n|---|---|---|", flush=True)
    began_s, minute = time.monotonic(), 0
    while process.poll() is None:
        time.sleep(1)
        if time.monotonic() - began_s >= 60 * minute:
            engines = [pid for pid in _children(process.pid) if _name(pid).startswith("bakeoff-engine")]
            print(f"| {minute} | {_rss_mb(process.pid):.0f} | {sum(map(_rss_mb, engines)):.0f} |", flush=True)
            minute += 1
    _describe(folder / "bundle")


def day(folder: Path) -> None:
    story = Story(
        contenders=[MARIADB], threads=[16], presets=["a"], repetitions=1, window_s=86_290,
        histograms=[f"operation {n}" for n in range(10)], more_counters=400,
    )  # fmt: skip
    write_bundle(folder / "bundle", story)
    _describe(folder / "bundle")


def runs(folder: Path) -> None:
    story = Story(contenders=[MARIADB, SQLITE], threads=[1, 4, 16, 32, 64], presets=["a"], repetitions=1000, window_s=5)
    write_bundle(folder / "bundle", story)
    _describe(folder / "bundle")


def merge() -> None:
    """Of log-normal times, 1,000 operations of each kind in the second."""
    random = np.random.default_rng(1)
    print("| clients | kinds of operations | CPU per client and second, ms |\n|---|---|---|")
    for clients, kinds in ((1, 1), (1, 10), (16, 1), (16, 10), (64, 1)):
        group = [_interval(random, kinds) for _ in range(clients)]
        began_s = time.process_time()
        merge_second(group)
        print(f"| {clients} | {kinds} | {(time.process_time() - began_s) * 1e3 / clients:.2f} |")


def _interval(random: np.random.Generator, kinds: int) -> Interval:
    def series(operation: int) -> IntervalSeries:
        times = random.lognormal(np.log(1e6), 0.5, 1000).astype(np.int64)
        document = to_document(Histogram.from_values(times))
        return IntervalSeries(operation=f"operation {operation}", part=False, outcome="ok", response=document)

    return Interval(
        second=0,
        length_s=1.0,
        warm_up=False,
        series=[series(operation) for operation in range(kinds)],
        queries=QueryCounts(),
        retries=0,
        retries_after_conflict=0,
        reconnects=0,
        tenths=Tenths(ok=[100 * kinds] * 10, writes=[0] * 10),
        nodes=[],
    )


def _describe(bundle: Path) -> None:
    sizes = sorted(
        ((sum(_sizes(bundle, pattern)), pattern) for pattern in ("*.parquet", "*.json.gz", "*")), reverse=True
    )
    print("; ".join(f"{pattern}: {size / 1e6:.1f} MB" for size, pattern in sizes), flush=True)
    began_s, most_mb = time.monotonic(), 0.0
    report = subprocess.Popen([sys.executable, "-m", "bakeoff", "report", str(bundle)], stdout=subprocess.DEVNULL)
    while report.poll() is None:
        most_mb = max(most_mb, _rss_mb(report.pid))
        time.sleep(0.02)
    page_mb = (bundle / "report.html").stat().st_size / 1e6
    print(f"report: {time.monotonic() - began_s:.1f} s, {most_mb:.0f} MB of memory, {page_mb:.1f} MB of HTML")


def _sizes(folder: Path, pattern: str) -> Iterator[int]:
    return (path.stat().st_size for path in folder.rglob(pattern) if path.is_file())


def _children(pid: int) -> Iterator[int]:
    for one in filter(str.isdigit, os.listdir("/proc")):
        try:
            parent = int(Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue  # it has just ended
        if parent == pid:
            yield int(one)


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def _rss_mb(pid: int) -> float:
    """0 of one that has just ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (OSError, IndexError):
        return 0.0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "day", "runs", "merge"])
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--rate", type=int, default=500, help="operations per second")
    arguments = parser.parse_args()
    if arguments.what == "merge":
        merge()
        sys.exit()
    with tempfile.TemporaryDirectory(dir=os.environ.get("BAKEOFF_BENCH_DIR")) as place:
        if arguments.what == "run":
            run(arguments.minutes, arguments.rate, Path(place))
        else:
            {"day": day, "runs": runs}[arguments.what](Path(place))
