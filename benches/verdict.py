"""Does the client's verdict tell a client that is the limit from one that is not? By runs whose answer is known.

    .venv/bin/python benches/verdict.py [--repetitions 6] [--only NAME ...] [--keep FOLDER]     # 9 minutes on 2 cores

The client is the limit where it is held back: by a control group's limit of CPU time, by another process on its core,
by work of its own added to every request, or by more users than it can serve of a system that answers at once. It is
not where the server is: by its CPU time (on the same cores, and on a core of its own), by a pool of two sessions, by
one row that all update, by a delay; nor where few ask, or little is offered.

Needs MariaDB (`bakeoff systems install mariadb`), two cores that nobody else uses, root for the control group, and a C
compiler for the added work; what is missing is left out and named. Runs during which other processes used more than a
tenth of the CPU are counted separately.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.analysis.validity.client_limit import cpu_share
from bakeoff.bundle.read import Bundle
from bakeoff.fleet.engine_program import engine_path
from bakeoff.model.records.run import RunRecord
from scipy.stats import binomtest

#: Of a core, for a client in a control group; of its period, ms.
QUOTA, PERIOD_MS = 0.08, 100
#: With another process of ordinary priority on the same core: a tenth of its time.
NICE = 10
#: Added to each request, us of CPU time.
ADDED_US = 150
DISTURBED = 0.1

MARIADB = """
[systems.mariadb]
start = { settings = { innodb_flush_log_at_trx_commit = 2 } }
"""
POSTGRESQL = """
[systems.postgresql]
start = {}
"""
SCHEMA = "CREATE TABLE stock (id INT PRIMARY KEY, n INT NOT NULL)"
SCRIPTS = {
    "point": "\\set id random(1, 1000)\nSELECT n FROM stock WHERE id = :id;\n",
    "lock": "UPDATE stock SET n = n + 1 WHERE id = 1;\n",
    "delay": "SELECT SLEEP(0.005);\n",
}
#: The client's core and the server's.
APART = 'placement = { client = "0", server = "1" }'


def workload(script: str) -> str:
    return f"""
[workloads.{script}]
kind = "sql"
schema = "schema.sql"
scripts = ["{script}.sql"]
[workloads.{script}.load.stock]
rows = "1000"
columns = {{ id = "row", n = "0" }}
"""


@dataclass(frozen=True)
class Scenario:
    """Runs of one plan that have the same answer. cells: levels of one cell each. engine: how the client is held
    back. others: another process works on its core."""

    name: str
    limited: bool
    systems: str
    cells: Sequence[str]
    measure: str = ""
    engine: str = "as it is"
    workloads: Sequence[str] = ("point",)
    others: bool = False

    def plan(self, repetitions: int) -> str:
        tables = "".join(workload(script) for script in self.workloads)
        cells = "".join(f"\n[[cells]]\n{cell}\n" for cell in self.cells)
        return f"""title = "{self.name}"
{self.systems}{tables}{cells}
[measure]
warm_up = "500ms"
window = "1500ms"
repetitions = {repetitions}
reset = "none"
{self.measure}
"""


def threads(*counts: int) -> list[str]:
    return [f"threads = {count}" for count in counts]


NULL = """
[systems.null]
latency_ns = %d
[workloads.reads]
kind = "ycsb"
preset = "c"
records = 1000
"""
SCENARIOS = (
    Scenario("server's CPU, same cores", False, MARIADB, threads(8, 64)),
    Scenario("few users, same cores", False, MARIADB, threads(1, 2)),
    Scenario("server's CPU, a core each", False, MARIADB, threads(8, 32), APART),
    Scenario("a process for each session", False, POSTGRESQL, threads(16)),
    Scenario("a pool of 2 sessions", False, MARIADB, ["threads = 32\nsessions = 2"]),
    Scenario("one row that all update", False, MARIADB, threads(16), workloads=("lock",)),
    Scenario("a delay in the server", False, MARIADB, threads(16), workloads=("delay",)),
    Scenario("little is offered", False, MARIADB, ["threads = 16\nrate = 2000"]),
    Scenario("little is offered, a core each", False, MARIADB, ["threads = 16\nrate = 2000"], APART),
    Scenario("a known delay", False, NULL % 1_000_000, ['threads = 16\nrunner = "reactor"'], workloads=()),
    Scenario("a limit of CPU time, a core each", True, MARIADB, threads(8, 32), APART, engine="quota"),
    Scenario("a limit of CPU time, same cores", True, MARIADB, threads(32), engine="quota"),
    Scenario("another process on its core", True, MARIADB, threads(8, 32), APART, engine="nice", others=True),
    Scenario("more work, a core each", True, MARIADB, ['threads = 32\nio = "epoll"'], APART, engine="slowed"),
    Scenario("more work, same cores", True, MARIADB, ['threads = 32\nio = "epoll"'], engine="slowed"),
    Scenario(
        "more users than it can serve", True, NULL % 1_000_000, ['threads = 6000\nrunner = "reactor"'], workloads=()
    ),
    Scenario("a system in it that takes no time", True, NULL % 0, ['threads = 2\nrunner = "thread"'], workloads=()),
)


@dataclass
class Seen:
    scenario: Scenario
    runs: list[RunRecord] = field(default_factory=list)

    def limited(self, *, quiet: bool) -> list[bool]:
        return [run.verdict.client_limited for run in self.runs if not (quiet and disturbed(run))]


def disturbed(run: RunRecord) -> bool:
    return (run.machine.other_cpu_ratio or 0.0) > DISTURBED


# -- ways of holding a client back -----------------------------------------------------------------------------------


@contextmanager
def control_group() -> Iterator[str]:
    """A folder whose processes together get QUOTA of a core: within our own group, or (version 2, where a group with
    processes may have none within it) next to all."""
    memberships = (line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines())
    ours = next((path for _, controllers, path in memberships if "cpu" in controllers.split(",")), None)
    root = Path("/sys/fs/cgroup") if ours is None else Path(f"/sys/fs/cgroup/cpu{ours}")
    group = root / f"bakeoff-verdict-{os.getpid()}"
    group.mkdir()
    quota_us, period_us = int(QUOTA * PERIOD_MS * 1000), PERIOD_MS * 1000
    try:
        if (group / "cpu.cfs_quota_us").exists():
            (group / "cpu.cfs_period_us").write_text(str(period_us))
            (group / "cpu.cfs_quota_us").write_text(str(quota_us))
        else:
            (group / "cpu.max").write_text(f"{quota_us} {period_us}")
        yield str(group)
    finally:
        with suppress(OSError):  # a process of it lives still
            group.rmdir()


@contextmanager
def neighbour(*, wanted: bool) -> Iterator[None]:
    """A process that never stops working, on the client's core."""
    if not wanted:
        yield
        return
    busy = subprocess.Popen(
        ["sh", "-c", "while :; do :; done"],
        preexec_fn=lambda: os.sched_setaffinity(0, {0}),
    )
    try:
        yield
    finally:
        busy.kill()
        busy.wait()


SLOW_SEND = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>
#include <time.h>
static long cpu_ns(void) {
    struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1000000000L + t.tv_nsec;
}
ssize_t send(int fd, const void *bytes, size_t length, int flags) {
    static ssize_t (*real)(int, const void *, size_t, int);
    if (!real) real = (ssize_t (*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
    for (long until = cpu_ns() + ADDED_US * 1000L; cpu_ns() < until;);
    return real(fd, bytes, length, flags);
}
"""


@contextmanager
def engine(how: str, folder: Path) -> Iterator[Path]:
    """A program in the engine's place that becomes the engine, held back."""
    path = folder / f"engine-{how.replace(' ', '-')}"
    if how == "quota":
        with control_group() as group:
            write_program(path, f'echo $$ > {group}/cgroup.procs\nexec {engine_path()} "$@"')
            yield path
    elif how == "nice":
        write_program(path, f'exec nice -n {NICE} {engine_path()} "$@"')
        yield path
    elif how == "slowed":
        source, library = folder / "slow.c", folder / "slow.so"
        source.write_text(SLOW_SEND)
        cc = ["cc", "-O2", "-shared", "-fPIC", f"-DADDED_US={ADDED_US}", "-o", str(library), str(source), "-ldl"]
        subprocess.run(cc, check=True)
        write_program(path, f'LD_PRELOAD={library} exec {engine_path()} "$@"')
        yield path
    else:
        yield engine_path()


def write_program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


# -- running and telling ---------------------------------------------------------------------------------------------


def measure(scenario: Scenario, repetitions: int, folder: Path) -> Seen:
    plan, out = folder / f"{slug(scenario)}.toml", folder / slug(scenario)
    plan.write_text(scenario.plan(repetitions))
    (folder / "schema.sql").write_text(SCHEMA)
    for name, script in SCRIPTS.items():
        (folder / f"{name}.sql").write_text(script)
    command = [sys.executable, "-m", "bakeoff", "run", str(plan), "--out", str(out), "--together", "--allow-disturbed"]
    with engine(scenario.engine, folder) as program, neighbour(wanted=scenario.others):
        environment = {**os.environ, "BAKEOFF_ENGINE": str(program)}
        done = subprocess.run([*command, "--work-dir", str(folder / "work")], env=environment, capture_output=True)
    if not out.is_dir():
        raise RuntimeError(done.stderr.decode(errors="replace").strip())
    return Seen(scenario, [run for run in Bundle.open(out).runs if run.state == "done"])


def slug(scenario: Scenario) -> str:
    return "".join(c if c.isalnum() else "-" for c in scenario.name)


def tell(seen: Seen) -> None:
    said = seen.limited(quiet=False)
    print(f"{seen.scenario.name}: said {sum(said)} of {len(said)}, true {'all' if seen.scenario.limited else 'none'}")
    for run in seen.runs:
        print("   ", figures(run), flush=True)


def figures(run: RunRecord) -> str:
    """What the verdict is made from."""
    pairs = list(zip(run.workers_busy_ratio, run.workers_run_queue_delay_ratio, strict=True))
    busy, delay = max(pairs, key=sum, default=(0.0, 0.0))
    share = cpu_share(run.client_cpu_s, run.server.cpu_s)
    ratio = next((w.median_ratio for w in run.latency_probe if w.median_ratio is not None), None)
    late = run.lateness.p99_ns / 1000 if run.lateness.count else None
    named = {
        "rate": run.rate_ops_per_s,
        "busy": busy,
        "no core": delay,
        "idle": run.machine.idle_ratio,
        "share": share,
        "latency_probe": ratio,
        "late us": late,
        "others": run.machine.other_cpu_ratio,
    }
    told = "  ".join(f"{name} {value:.3g}" for name, value in named.items() if value is not None)
    return f"{told}  {run.io}{'  LIMIT' if run.verdict.client_limited else ''}{'  disturbed' if disturbed(run) else ''}"


def shares(all_seen: Sequence[Seen], *, quiet: bool) -> Iterable[str]:
    for words, limited in (("found", True), ("false", False)):
        said = [answer for seen in all_seen if seen.scenario.limited is limited for answer in seen.limited(quiet=quiet)]
        if said:
            exact = binomtest(sum(said), len(said)).proportion_ci(method="exact")
            interval = f"95 % interval {exact.low:.1%} to {exact.high:.1%}"
            yield f"{words} {sum(said)} of {len(said)} ({sum(said) / len(said):.1%}, {interval})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=6)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="scenarios whose names hold one of these")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where plans and bundles are left")
    arguments = parser.parse_args()
    chosen = [s for s in SCENARIOS if not arguments.only or any(name in s.name for name in arguments.only)]
    all_seen = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        Path(temporary).chmod(0o755)  # servers do not run as root
        for scenario in chosen:
            try:
                all_seen.append(measure(scenario, arguments.repetitions, folder))
            except (OSError, subprocess.SubprocessError, RuntimeError) as error:
                print(f"{scenario.name}: left out: {error}")
                continue
            tell(all_seen[-1])
    print("all runs:", "; ".join(shares(all_seen, quiet=False)))
    print("undisturbed runs:", "; ".join(shares(all_seen, quiet=True)))


if __name__ == "__main__":
    main()
