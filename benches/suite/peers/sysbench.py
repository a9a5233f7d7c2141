"""sysbench 1.0, from Debian, through its mysql or its pgsql driver: on the PATH, or fetched into the cache."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from bakeoff.errors import BakeoffError
from bakeoff.provision.debian import Debian, PackageSet
from bakeoff.workloads import lua

from ..client import ClientProcess, Job, Report, Tables
from ..rows import WORKS
from ..server import HOST, SCHEMA, Server

#: With its own scripts before those of the system, if it has any.
PACKAGES = Debian(
    "sysbench",
    PackageSet(("sysbench",), "usr/bin/sysbench", environment={"LUA_PATH": "{root}/usr/share/sysbench/?.lua;;"}),
)
_COUNT = re.compile(r"transactions:\s+(\d+)\s+\(([\d.]+) per sec")
_IGNORED = re.compile(r"ignored errors:\s+(\d+)")
_BUCKET = re.compile(r"^\s+([\d.]+) \|\**\s+(\d+)$", re.MULTILINE)
_INSTEAD = {work.script: work.instead for work in WORKS.values() if work.instead}
_DRIVERS = {"mariadb": "mysql", "postgresql": "pgsql"}


class Sysbench:
    def __init__(self, server: Server, folder: Path, say: Callable[[str], None]) -> None:
        self.name = "sysbench"
        self._server = server
        self._program, self._env, self._scripts = _find(say)
        # Its options come from a file, because one of them is a password.
        self._options = {transport: folder / f"sysbench-{transport}.cnf" for transport in ("tcp", "socket")}
        for transport, path in self._options.items():
            path.touch(mode=0o600)
            path.write_text(self._connection(transport))

    def _connection(self, transport: str) -> str:
        server, driver = self._server, _DRIVERS[self._server.kind]
        if transport == "tcp" or driver == "pgsql":
            place = {"host": HOST if transport == "tcp" else str(Path(server.socket).parent), "port": server.port}
        else:
            place = {"host": "localhost", "socket": server.socket}
        options = {**place, "user": server.user, "db": SCHEMA, "password": server.password}
        return f"db-driver={driver}\n" + "".join(f"{driver}-{name}={value}\n" for name, value in options.items())

    def version(self) -> str:
        return self._done([self._program, "--version"]).strip()

    def begin(self, job: Job) -> ClientProcess:
        # It accepts whole seconds only; at the end of the warm-up it reports and resets its counts.
        time_s = math.ceil(job.warm_up_s + job.run_s)
        argv = [
            *self._call(job.script, job.tables, job.transport),
            f"--threads={job.sessions}",
            f"--time={time_s}",
            f"--rand-type={job.distribution}",
            f"--report-checkpoints={job.warm_up_s}",
            "--histogram=on",
            "run",
        ]
        return ClientProcess(argv, self._env, job.cores, lambda line: "Threads started!" in line)

    def report(self, output: str, job: Job) -> Report:
        return read_report(output)

    def prepare(self, tables: Tables) -> float:
        self._server.remove_tables()
        begin_s = time.monotonic()
        self.command(tables.script, tables, "prepare", f"--threads={tables.loaders}", *_LOADED)
        return time.monotonic() - begin_s

    def command(self, script: str, tables: Tables, command: str, *options: str) -> str:
        """`prepare`, `run` or another of its commands, to the end; what it printed."""
        return self._done([*self._call(script, tables, "tcp"), *options, command])

    def _call(self, script: str, tables: Tables, transport: str) -> list[str]:
        name = _INSTEAD.get(script, script)
        return [
            self._program,
            f"--config-file={self._options[transport]}",
            f"{self._scripts}/{name}.lua" if self._scripts else name,
            f"--tables={tables.tables}",
            f"--table-size={tables.rows}",
        ]

    def _done(self, argv: list[str]) -> str:
        done = subprocess.run(argv, env={**os.environ, **self._env}, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BakeoffError(f"sysbench failed: {(done.stdout + done.stderr)[-600:].strip()}", where=" ".join(argv))
        return done.stdout


#: k uniform, or most rows of the default distribution share a few values of it.
_LOADED = ["--rand-type=uniform"]


def _find(say: Callable[[str], None]) -> tuple[str, dict[str, str], Path | None]:
    """Program, environment, and where its scripts lie if it cannot find them by itself."""
    if found := shutil.which("sysbench"):
        return found, {}, None
    installed = PACKAGES.have(say=say)
    return str(installed.program), dict(installed.environment), installed.base / "share/sysbench"


def scripts_folder() -> Path:
    """Of the scripts that come with it."""
    return _find(lambda _: None)[2] or lua.INSTALLED


def read_report(output: str) -> Report:
    """The final report, which covers what came after the checkpoint."""
    final = output.rpartition("Checkpoint report:")[2]
    counts, ignored = _COUNT.findall(final), _IGNORED.findall(final)
    if not counts:
        raise BakeoffError(f"sysbench did not report: {output[-600:].strip()}")
    operations, rate = int(counts[-1][0]), float(counts[-1][1])
    buckets = last_histogram(final)
    return Report(
        rate_ops_per_s=rate,
        latency_ms_p50=percentile(buckets, 0.50),
        latency_ms_p99=percentile(buckets, 0.99),
        error_ratio=int(ignored[-1]) / max(operations, 1),
    )


def last_histogram(text: str) -> list[tuple[float, int]]:
    """(value in ms, count), ascending."""
    last = text.rpartition("Latency histogram")[2]
    return [(float(value), int(count)) for value, count in _BUCKET.findall(last)]


def percentile(buckets: list[tuple[float, int]], share: float) -> float | None:
    """The smallest value that a share of all counts does not exceed; adjacent buckets differ by 1.8 %."""
    rank = math.ceil(share * sum(count for _, count in buckets))
    seen = 0
    for value, count in buckets:
        seen += count
        if seen >= rank:
            return value
    return None
