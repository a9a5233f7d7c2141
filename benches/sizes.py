"""What data, servers and bundles take on disk, against what a dry run says they will.

    .venv/bin/python benches/sizes.py                              # about 10 minutes; a table in Markdown
    .venv/bin/python benches/sizes.py --systems sqlite mariadb --workloads "ycsb 10k"

Of each pair one run of a second is made, reset by a copy of the data. "tables": what the load says that they take; "at
most while it runs": all files of the system and of the copy, looked at ten times a second; "said": what the dry run
said, against what was found.
"""

from __future__ import annotations

import argparse
import io
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from bakeoff.cli import main
from bakeoff.model.records.bundle import LoadRecord
from bakeoff.plan.dry_run.describe import DryRun, describe
from bakeoff.plan.read import resolve
from bakeoff.provision.files import allocated_bytes

MIB = 1024**2
SYSTEMS = ("sqlite", "mariadb", "mysql", "postgresql")
WORKLOADS = {
    "ycsb 10k": 'kind = "ycsb"\npreset = "c"\nrecords = 10_000',
    "ycsb 100k": 'kind = "ycsb"\npreset = "c"\nrecords = 100_000',
    "ycsb 100k, short": 'kind = "ycsb"\npreset = "c"\nrecords = 100_000\nfield_count = 2\nfield_length = 10',
    "sysbench 10k": 'kind = "sysbench"\nscript = "oltp_read_only"\ntable_size = 10_000',
    "sysbench 4 x 50k": 'kind = "sysbench"\nscript = "oltp_read_only"\ntables = 4\ntable_size = 50_000',
    "tpcc 1": 'kind = "tpcc"\nwarehouses = 1',
    "tpcc 3": 'kind = "tpcc"\nwarehouses = 3',
    "linkbench 0.001x": 'kind = "linkbench"\nsize = "0.001x"',
    "linkbench 0.01x": 'kind = "linkbench"\nsize = "0.01x"',
    "pgbench 1": 'kind = "sql"\nscript = "select-only"\nscale = 1',
    "pgbench 5": 'kind = "sql"\nscript = "select-only"\nscale = 5',
}
PLAN = """title = "sizes"
[systems.{system}]
[workload]
{workload}
[measure]
warm_up = "100ms"
window = "1s"
repetitions = 1
reset = "restore"
"""


@contextmanager
def most_in(folder: Path, found: list[int]) -> Iterator[None]:
    """Appends the most that the folder held at one of its looks, ten a second."""
    done, most = threading.Event(), 0

    def look() -> None:
        nonlocal most
        while not done.wait(0.1):
            try:
                most = max(most, allocated_bytes(folder))
            except OSError:
                continue  # files come and go

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        found.append(most)


def measure(system: str, workload: str, folder: Path) -> tuple[DryRun, int, int, int]:
    """What was said of it; and bytes of its data, of its working folder at most, and of its bundle."""
    plan, bundle, work = folder / "plan.toml", folder / "bundle", folder / "work"
    plan.write_text(PLAN.format(system=system, workload=WORKLOADS[workload]))
    work.mkdir()
    said = describe(resolve(plan.read_text(), folder), folder)
    most: list[int] = []
    with most_in(work, most), redirect_stdout(io.StringIO()):
        main(
            [
                "run",
                str(plan),
                "--out",
                str(bundle),
                "--work-dir",
                str(work),
                "--together",
                "--allow-disturbed",
                "--quiet",
            ]
        )  # sizes do not depend on it
    (loaded,) = (bundle / "loads").glob("*.json")
    data = LoadRecord.model_validate_json(loaded.read_text()).size_on_disk_bytes or 0
    return said, data, most[0], allocated_bytes(bundle)


def share(said: int, found: int) -> str:
    return f"{found / MIB:,.1f} | {said / found - 1:+.0%}"


def measure_all(systems: Sequence[str], workloads: Sequence[str]) -> None:
    show("| data | system | tables, MiB | said | at most while it runs, MiB | said | bundle, MiB | said |")
    show("|---|---|---|---|---|---|---|---|")
    for workload in workloads:
        for system in systems:
            with tempfile.TemporaryDirectory() as folder:
                Path(folder).chmod(0o755)  # a server that root starts runs as another user
                said, data, most, bundle = measure(system, workload, Path(folder))
            running = share(said.disk_bytes - said.bundle_bytes, most)
            tables = share(said.loads[0].size_bytes, data)
            show(f"| {workload} | {system} | {tables} | {running} | {share(said.bundle_bytes, bundle)} |")


def show(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--systems", nargs="+", default=SYSTEMS)
    parser.add_argument("--workloads", nargs="+", default=list(WORKLOADS))
    options = parser.parse_args()
    measure_all(options.systems, options.workloads)
