"""What it costs to have clients on other machines, and how well they begin together.

    export PYTHONPATH=tests:tests/systems
    .venv/bin/python -m benches.fleet start --runs 10    # two minutes: bound of the clocks, spread of the starts
    .venv/bin/python -m benches.fleet cost               # a minute: CPU time of Dask and of the keepers in a window
    .venv/bin/python -m benches.fleet cost --by-hand     # the same of workers that Dask's own command starts
    .venv/bin/python -m benches.fleet largest            # two minutes: 50 clients x 50 threads of YCSB C on MariaDB

`start` and `cost` have three load machines made of namespaces, and need root; the clocks of those are hours apart, by
times that are known. `largest` has two Dask workers on this machine, and a managed MariaDB. Figures are of a machine
that nobody else uses.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from bakeoff.bundle.events import Phase, Second
from bakeoff.bundle.read import Bundle
from commands import only_bundle, wait_until, write_plan
from fleet_on_hosts import Fleet, began_apart_s, fleet_on_hosts, is_engine
from going import Going

MIB = 1024**2
PLAN = """title = "fleet"
[systems.{system}]
{options}
[workload]
kind = "ycsb"
preset = "c"
records = 10_000
[factors]
clients = [{clients}]
threads = [{threads}]
[measure]
warm_up = "{warm_up}"
window = "{window}"
repetitions = {runs}
event_log = {logged}
"""


NULL = {"system": "null", "options": "latency_ns = 1_000_000"}


def finished(going: Going, folder: Path) -> Bundle:
    going.process.wait()
    if code := going.end():
        raise SystemExit(f"it ended with {code}: {going.words}")
    return only_bundle(folder)


# -- start -------------------------------------------------------------------------------------------------------------


def start(runs: int) -> None:
    for delay_s in (0.0, 0.005):
        with folder() as place, fleet_on_hosts(place, delays_s=[delay_s] * 3) as fleet:
            plan = PLAN.format(**NULL, clients=6, threads=2, warm_up="0s", window="1s", runs=runs, logged="true")
            going = Going(write_plan(place, plan + fleet.cluster.plan), through=fleet.network.controller)
            bundle = finished(going, place)
            print(f"{runs} runs of 6 clients on 3 machines, {delay_s * 1e3:.0f} ms of delay each way:")
            print_clocks(fleet, bundle)


def print_clocks(fleet: Fleet, bundle: Bundle) -> None:
    ahead_ns = {host.name: host.ahead_s * 1_000_000_000 for host in fleet.machines}
    clients = [client for run in bundle.runs for client in run.clients]
    bounds_ns = [client.clock_bound_ns for client in clients]
    errors_ns = [abs(client.clock_offset_ns - ahead_ns[client.machine]) for client in clients]
    untrue = sum(error > bound for error, bound in zip(errors_ns, bounds_ns, strict=True))
    print(f"  bound of a clock      {in_us(bounds_ns)}")
    print(f"  true error of it      {in_us(errors_ns)}; {untrue} of {len(clients)} beyond their bound")
    print(f"  starts of a run apart {in_us([began_apart_s(bundle, run) * 1e9 for run in bundle.runs])}")


def in_us(values_ns: Sequence[float]) -> str:
    return f"median {statistics.median(values_ns) / 1e3:.0f} us, greatest {max(values_ns) / 1e3:.0f} us"


# -- cost --------------------------------------------------------------------------------------------------------------


def cost(window_s: int, *, quiet: bool) -> None:
    with folder() as place, fleet_on_hosts(place, quiet=quiet) as fleet:
        window = f"{window_s + 4}s"
        plan = PLAN.format(**NULL, clients=3, threads=50, warm_up="0s", window=window, runs=1, logged="false")
        going = Going(write_plan(place, plan + fleet.cluster.plan), through=fleet.network.controller)
        going.first(Second, lambda one: one.second >= 1, "it measures")
        before, begun_s = cpu_by_machine_s(fleet), time.monotonic()
        time.sleep(window_s)
        after, took_s = cpu_by_machine_s(fleet), time.monotonic() - begun_s
        (run,) = finished(going, place).runs
        print(f"in {took_s:.1f} s of the window, {run.rate_ops_per_s:,.0f} operations/s in all:")
        for machine, parts in after.items():
            shares = {part: (cpu_s - before[machine][part]) / took_s for part, cpu_s in parts.items()}
            words = ", ".join(f"{part} {share:.2%} of a core" for part, share in shares.items())
            print(f"  {machine}: {words}; together {sum(shares.values()):.2%}")


def cpu_by_machine_s(fleet: Fleet) -> dict[str, dict[str, float]]:
    """CPU time of all other processes on each machine."""
    found: dict[str, dict[str, float]] = {}
    engines = fleet.engines()
    for host in fleet.machines:
        worker = host.pid_of(fleet.workers[host.name])
        keepers = set(host.pids()) - {worker, *engines.get(host.name, ())}
        found[host.name] = {"worker": cpu_s(worker), "keepers": sum(map(cpu_s, keepers))}
    return found


def cpu_s(pid: int) -> float:
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


# -- largest -----------------------------------------------------------------------------------------------------------


def largest(clients: int) -> None:
    with folder() as place:
        system = {"system": "mariadb", "options": "start = true"}
        plan = PLAN.format(**system, clients=clients, threads=50, warm_up="5s", window="20s", runs=1, logged="false")
        going = Going(write_plan(place, f"{plan}[fleet]\nlocal = 2\n"))
        with watched(going.process.pid) as seen:
            going.first(Second, lambda one: one.second >= 20, "the window is nearly over")
            wait_until(lambda: not seen.engines, "the last client has ended")
            ended_s = time.monotonic()
            going.first(Phase, lambda one: one.phase == "draining", "its results are merged")
            merged_s = time.monotonic() - ended_s
            (run,) = finished(going, place).runs
        print(f"{clients} clients x 50 threads of YCSB C on MariaDB: {run.standing}")
        print(f"  {run.rate_ops_per_s:,.0f} operations/s, p99 {run.response.p99_ms or 0.0:.1f} ms, {run.errors} errors")
        print(f"  memory at most {seen.all_mib:,.0f} MiB of all processes, {seen.own_mib:,.0f} MiB of the controller")
        print(f"  results were merged {merged_s:.2f} s after the last client's end")


@dataclass
class Seen:
    """Of a process and all that it has started, looked at five times a second: how many engines there are, and the most
    memory that there was, MiB, with what several share counted once."""

    engines: int = 0
    all_mib: float = 0.0
    own_mib: float = 0.0

    def look(self, process: psutil.Process) -> None:
        family = [process, *process.children(recursive=True)]
        self.engines = sum(is_engine(one.pid) for one in family)
        self.all_mib = max(self.all_mib, sum(map(memory_mib, family)))
        self.own_mib = max(self.own_mib, memory_mib(process))


@contextmanager
def watched(pid: int) -> Iterator[Seen]:
    seen, done, process = Seen(), threading.Event(), psutil.Process(pid)

    def watch() -> None:
        with suppress(psutil.NoSuchProcess):
            while not done.wait(0.2):
                seen.look(process)

    watching = threading.Thread(target=watch)
    watching.start()
    yield seen
    done.set()
    watching.join()


def memory_mib(process: psutil.Process) -> float:
    """0 for one that has just ended."""
    with suppress(psutil.NoSuchProcess):
        return float(process.memory_full_info().pss) / MIB
    return 0.0


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="bakeoff-bench-") as place:
        yield Path(place)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_subparsers(required=True)
    starting = what.add_parser("start")
    starting.add_argument("--runs", type=int, default=10)
    starting.set_defaults(bench=lambda asked: start(asked.runs))
    costing = what.add_parser("cost")
    costing.add_argument("--window-s", type=int, default=20)
    costing.add_argument("--by-hand", action="store_true", help="workers as Dask's own command starts them")
    costing.set_defaults(bench=lambda asked: cost(asked.window_s, quiet=not asked.by_hand))
    largest_one = what.add_parser("largest")
    largest_one.add_argument("--clients", type=int, default=50)
    largest_one.set_defaults(bench=lambda asked: largest(asked.clients))
    asked = parser.parse_args()
    asked.bench(asked)


if __name__ == "__main__":
    main()
