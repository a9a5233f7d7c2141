"""What `bakeoff serve` costs: its memory, how soon it answers, and how much of a core it takes while somebody watches.

.venv/bin/python -m benches.serve history    # a folder of 1,000 bundles
.venv/bin/python -m benches.serve live       # a run of 24 hours that still goes on
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bakeoff.bundle.events import Begin, CellDescription, Phase, RunBegins, Sampled, Second
from bakeoff.bundle.live import LiveLog
from bakeoff.bundle.run_files import EACH_SECOND_S, LATER_S
from bakeoff.bundle.write import hold

from tests.builders.bundles import MARIADB, SQLITE, Story, write_bundle

BUNDLES = 1000
DAY_S = 86_400
WATCHED_S = 30
RUN = "b01-c01"


class Site:
    def __init__(self, address: str, pid: int) -> None:
        self._address, _, token = address.partition("?token=")
        self._headers = {"Authorization": f"Bearer {token}"}
        self._pid = pid

    def open(self, path: str) -> urllib.request.Request:
        return urllib.request.Request(self._address + path, headers=self._headers)

    def get(self, path: str) -> tuple[float, str]:
        """How long it took, ms."""
        began_s = time.perf_counter()
        with urllib.request.urlopen(self.open(path), timeout=600) as answer:
            text = answer.read().decode()
        return (time.perf_counter() - began_s) * 1e3, text

    def memory_mb(self) -> float:
        lines = Path(f"/proc/{self._pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM"))

    def cpu_s(self) -> float:
        user, system = Path(f"/proc/{self._pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / 100


@contextmanager
def serving(results: Path) -> Iterator[Site]:
    command = [sys.executable, "-m", "bakeoff", "serve", "--results", str(results)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Site(process.stdout.readline().strip(), process.pid)
        finally:
            process.terminate()


def history(results: Path) -> None:
    first = write_bundle(results / "n0000", Story(repetitions=5, threads=(4,), presets=("a",), window_s=10)).folder
    info = json.loads((first / "bundle.json").read_text())
    for number in range(1, BUNDLES):
        folder = results / f"n{number:04d}"
        shutil.copytree(first, folder)
        (folder / "bundle.json").write_text(
            json.dumps(info | {"id": f"{number:016x}", "labels": {"commit": str(number)}})
        )
    with serving(results) as site:
        began_s, known = time.monotonic(), 0
        while known < BUNDLES:
            time.sleep(1)
            known = site.get("")[1].count('name="before"')
        print(f"{BUNDLES} bundles are read {time.monotonic() - began_s:.0f} s after the start")
        for what, path in (("all", ""), ("a search", "?words=commit%3D77")):
            times = sorted(site.get(path)[0] for _ in range(20))
            print(f"{what}: {times[10]:.0f} ms (median of 20, at most {times[-1]:.0f} ms)")
        print(f"{site.memory_mb():.0f} MB of memory")


def live(results: Path) -> None:
    story = Story(
        contenders=[MARIADB, SQLITE], threads=(4,), presets=("a",), repetitions=1, window_s=10, state="running"
    )
    folder = write_bundle(results / "going", story).folder
    held, log = hold(folder, "a day"), LiveLog(folder)
    cell = CellDescription(id="c01", label="mariadb", system="mariadb", levels={})
    log.write(Begin(bakeoff_version="", title="A day", bundle=str(folder), cells=[cell], runs=1, runs_done=0))
    log.write(RunBegins(run=RUN, cell="c01", block=1))
    log.write(Phase(run=RUN, phase="running"))
    for second in range(DAY_S):
        _tell(log, second)
    with serving(results) as site:
        took_ms, page = site.get("bundles/going")
        assert f"at second {DAY_S - 1}" in page
        print(f"first figure after {took_ms:.0f} ms, of a page of {len(page) / 1e3:.0f} kB")
        times = sorted(site.get("bundles/going")[0] for _ in range(20))
        print(f"then {times[10]:.0f} ms (median of 20)")
        before_s = site.cpu_s()
        with urllib.request.urlopen(site.open("bundles/going/events"), timeout=60) as told:
            for second in range(DAY_S, DAY_S + WATCHED_S):
                _tell(log, second)
                time.sleep(1)
            told.close()
        print(f"{(site.cpu_s() - before_s) / WATCHED_S:.1%} of a core while it is watched")
        print(f"{site.memory_mb():.0f} MB of memory")
    log.close()
    held.free()


def _tell(log: LiveLog, second: int) -> None:
    times = dict.fromkeys(("mean_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms"), 1.0 + second % 7)
    counts = dict.fromkeys(("reads", "writes", "others", "retries", "retries_after_conflict", "reconnects"), 0)
    rate = 1000.0 + second % 13
    whole = {"run": RUN, "second": second, "length_s": 1.0, "warm_up": False, "ok": 1000, "errors": 0}
    log.write(Second(**whole, rate_ops_per_s=rate, **times, **counts))
    if second < EACH_SECOND_S or second % LATER_S == 0:
        figures = {f"db.Counter_{n}_per_s": float(second % (n + 2)) for n in range(24)}
        figures |= {"os.cpu_user_s_per_s": 0.5, "os.cpu_system_s_per_s": 0.2, "machine.cpu_busy_s_per_s": 1.1}
        log.write(Sampled(run=RUN, second=second, nodes=[], figures=figures))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("history", "live"))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        {"history": history, "live": live}[chosen.what](Path(folder))


if __name__ == "__main__":
    main()
