"""What the staleness probe next to a load costs: pairs of runs with and without it, in turn.

    python -m benches.staleness_probe               # about 5 minutes on two cores that nobody else uses
    python -m benches.staleness_probe sqlite --pairs 10

YCSB A, 8 sessions, relaxed durability. Every figure is the median of the pairs' ratios, with a 95 % interval.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bakeoff.fleet.engine_program import engine_path

from .suite.pairs import median_interval
from .suite.servers.mariadb import MariaDbServer

YCSB_A = {"kind": "ycsb", "records": 20_000, "request_distribution": {"kind": "zipfian"}}
SESSIONS = 8
WINDOW_S = 6.0


class Engine:
    def __init__(self, folder: Path, driver: Mapping[str, Any], env: Mapping[str, str]) -> None:
        self._path = folder / "run.json"
        self._driver = driver
        self._env = {**os.environ, **env}

    def carry_out(self, phase: str, **fields: Any) -> dict[str, Any]:
        document = {"format": 1, "phase": phase, "driver": self._driver, "workload": YCSB_A, "drop_existing": True}
        self._path.write_text(json.dumps({**document, **fields}))
        argv = [str(engine_path()), "--now", str(self._path)]
        done = subprocess.run(argv, env=self._env, capture_output=True, text=True, check=False)
        result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        if result["event"] != "result":
            sys.exit(f"the engine failed: {result}")
        return result

    def run(self, *, probed: bool) -> dict[str, Any]:
        limit = {"kind": "time", "window_s": WINDOW_S}
        probe = {"claims": {"staleness": "none"}} if probed else None
        return self.carry_out("run", threads=SESSIONS, workers=1, warm_up_s=1.5, limit=limit, staleness_probe=probe)


@contextmanager
def sqlite(folder: Path) -> Iterator[Engine]:
    pragmas = {"journal_mode": "WAL", "synchronous": "OFF"}
    yield Engine(folder, {"kind": "sqlite", "path": str(folder / "db"), "pragmas": pragmas}, {})


@contextmanager
def mariadb(folder: Path) -> Iterator[Engine]:
    with MariaDbServer.started(print) as server:
        yield Engine(folder, *server.system.engine_driver())


def rate(result: dict[str, Any]) -> float:
    return sum(s["count"] for s in result["series"] if s["outcome"] == "ok" and s["part_of"] is None) / WINDOW_S


def cpu_us_per_op(result: dict[str, Any]) -> float:
    return (result["cost"]["cpu_user_s"] + result["cost"]["cpu_system_s"]) / WINDOW_S / rate(result) * 1e6


def measure(name: str, engine: Engine, pairs: int) -> None:
    engine.carry_out("load", threads=1)
    engine.run(probed=False)
    figures: dict[str, list[float]] = {"throughput": [], "client CPU per operation": []}
    probes, rates = [], []
    for pair in range(pairs):
        found = {probed: engine.run(probed=probed) for probed in ((True, False) if pair % 2 else (False, True))}
        figures["throughput"].append(rate(found[True]) / rate(found[False]))
        figures["client CPU per operation"].append(cpu_us_per_op(found[True]) / cpu_us_per_op(found[False]))
        probes.append(found[True]["staleness_probe"])
        rates.append(rate(found[False]))
    sent = sum(probe["writes"] + probe["reads"] for probe in probes) / pairs / WINDOW_S
    stale = sum(probe["report"]["staleness"]["stale"] for probe in probes)
    print(f"{name}: {median_interval(rates).mid:,.0f} operations/s; the probe sent {sent:.0f}/s, {stale} stale reads")
    for figure, ratios in figures.items():
        found_ratio = median_interval(ratios)
        print(f"  {figure} with the probe, of that without: {found_ratio} over {pairs} pairs")


SYSTEMS = {"sqlite": sqlite, "mariadb": mariadb}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("systems", nargs="*", help=f"default: {' '.join(SYSTEMS)}")
    parser.add_argument("--pairs", type=int, default=10)
    said = parser.parse_args()
    for name in said.systems or SYSTEMS:
        with tempfile.TemporaryDirectory() as folder, SYSTEMS[name](Path(folder)) as engine:
            measure(name, engine, said.pairs)


if __name__ == "__main__":
    main()
