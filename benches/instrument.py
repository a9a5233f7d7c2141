"""The instrument measured by itself, on the null driver: what the harness costs, whether an open loop keeps its rate,
and whether a stall shows as it must.

    .venv/bin/python benches/instrument.py            # about 120 s

Theory of the stall: operations fall due evenly over 60 s and nothing is answered for 1 s, so a share (1 - x) / 60 of
them waits longer than x seconds, and 0.1 % of them longer than 0.94 s.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bakeoff.analysis.histograms import Histogram
from bakeoff.fleet.engine_program import engine_path
from bakeoff.model.boundary import HistogramDoc

READS = {
    "kind": "ycsb",
    "records": 100_000,
    "read_proportion": 1.0,
    "update_proportion": 0.0,
    "request_distribution": {"kind": "zipfian"},
}


def run(folder: Path, **document: Any) -> dict[str, Any]:
    path = folder / "run.json"
    base = {"format": 1, "phase": "run", "driver": {"kind": "null"}, "workload": READS, "workers": 1}
    path.write_text(json.dumps({**base, **document}))
    done = subprocess.run([str(engine_path()), "--now", str(path)], capture_output=True, text=True, check=False)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if result["event"] != "result":
        sys.exit(f"the engine failed: {result}")
    return result


def reads(result: dict[str, Any]) -> dict[str, Any]:
    (series,) = [s for s in result["series"] if s["operation"] == "READ" and s["outcome"] == "ok"]
    return dict(series)


def harness(folder: Path) -> None:
    for runner in ("tokio", "thread"):
        best = []
        for _ in range(5):
            result = run(folder, runner=runner, limit={"kind": "time", "window_s": 2.0}, warm_up_s=0.5)
            cost = result["cost"]
            best.append((cost["cpu_user_s"] + cost["cpu_system_s"]) * 1e9 / reads(result)["count"])
        print(f"harness, {runner}: {sorted(best)[2]:.0f} ns of CPU per operation (median of 5; least {min(best):.0f})")


def open_loop(folder: Path) -> None:
    for arrival in ("constant", "poisson"):
        result = run(
            folder,
            threads=8,
            cores=[0],
            pacing={"kind": "open", "rate_ops_per_s": 100_000, "arrival": arrival},
            limit={"kind": "time", "window_s": 10.0},
            warm_up_s=1.0,
        )
        rate = reads(result)["count"] / 10
        print(
            f"open loop, {arrival}, one core, 100,000/s: due {result['due'] / 10:,.0f}/s, achieved {rate:,.0f}/s;"
            f" lateness p99 {result['lateness']['p99_ns'] / 1e3:.1f} us"
        )


def stall(folder: Path) -> None:
    threads = 16
    result = run(
        folder,
        threads=threads,
        driver={"kind": "null", "stalls": [{"at_s": 21.0, "for_s": 1.0}]},
        pacing={"kind": "open", "rate_ops_per_s": 10_000, "arrival": "constant"},
        limit={"kind": "time", "window_s": 60.0},
        warm_up_s=1.0,
    )
    series = reads(result)
    service = Histogram.from_document(HistogramDoc(**series["service"]))
    long = sum(int(c) for i, c in zip(service.indices, service.counts, strict=True) if lowest_ns(int(i)) > 500_000_000)
    p999_s = series["response"]["p999_ns"] / 1e9
    print(
        f"stall of 1 s in 60 s, 10,000/s, {threads} sessions: response p99.9 = {p999_s:.4f} s (theory 0.94);"
        f" {long} service times above 0.5 s; service p99.9 = {series['service']['p999_ns'] / 1e3:.0f} us"
    )


def lowest_ns(index: int) -> int:
    """Lowest value of a bucket: 1024 to a power of two (HdrHistogram, 3 digits)."""
    shift = max((index >> 10) - 1, 0)
    return (index - (shift << 10)) << shift


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory() as name:
        for measure in (harness, open_loop, stall):
            measure(Path(name))


if __name__ == "__main__":
    main()
