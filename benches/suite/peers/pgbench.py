"""pgbench, with its own transactions, or the statement of its `-S` on sysbench's table, so that all clients read the
same rows. It is found next to the server's programs or on the PATH, or fetched into the cache.

It has one thread for all sessions by default; here it has as many as the engine has workers.
"""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from bakeoff.errors import BakeoffError
from bakeoff.provision.debian import Debian, PackageSet
from bakeoff.provision.installation import Installation

from ..client import ClientProcess, Job, Report, Tables
from ..ours import workers
from ..rows import PGBENCH
from ..server import HOST, SCHEMA, Server

PACKAGES = Debian("pgbench", PackageSet(("postgresql-15",), "usr/lib/postgresql/15/bin/pgbench"), suite="bookworm")
_RATE = re.compile(r"^tps = ([\d.]+) ", re.MULTILINE)
_DONE = re.compile(r"^number of transactions actually processed: (\d+)", re.MULTILINE)
_FAILED = re.compile(r"^number of failed transactions: (\d+) ", re.MULTILINE)
#: Its first word comes when all sessions have been open for so long.
_SILENT_S = 1


class Pgbench:
    name = "pgbench"

    def __init__(self, server: Server, folder: Path, say: Callable[[str], None]) -> None:
        self._server = server
        self._program, own = find(server.system.server.spec.installation, say)
        self._env = {**own, "PGPASSWORD": server.password}
        self._script = folder / "pgbench.sql"

    def version(self) -> str:
        done = subprocess.run([self._program, "--version"], capture_output=True, text=True, check=False)
        return done.stdout.strip()

    def begin(self, job: Job) -> ClientProcess:
        host = HOST if job.transport == "tcp" else str(Path(self._server.socket).parent)
        argv = [
            self._program,
            f"--host={host}",
            f"--port={self._server.port}",
            f"--username={self._server.user}",
            "--no-vacuum",
            "--protocol=prepared",
            self._what(job),
            f"--client={job.sessions}",
            f"--jobs={workers(len(job.cores))}",
            f"--time={math.ceil(_SILENT_S + job.warm_up_s + job.run_s)}",
            f"--progress={_SILENT_S}",
            SCHEMA,
        ]
        return ClientProcess(argv, self._env, job.cores, lambda line: line.startswith("progress: "))

    def _what(self, job: Job) -> str:
        if job.script.replace("-", "_") in PGBENCH:
            return f"--builtin={job.script}"
        if (job.script, job.distribution) != ("oltp_point_select", "uniform"):
            raise BakeoffError(f"pgbench is not asked for {job.script} with ids drawn {job.distribution}")
        self._script.write_text(
            f"\\set id random(1, {job.tables.rows})\nSELECT c FROM sbtest1 WHERE id = :id;\n",
        )
        return f"--file={self._script}"

    def report(self, output: str, job: Job) -> Report:
        return read_report(output)

    def prepare(self, tables: Tables) -> float:
        raise BakeoffError("pgbench does not make sysbench's tables")


def find(installation: Installation, say: Callable[[str], None]) -> tuple[str, dict[str, str]]:
    """Program and environment. Not the word that Debian has on the PATH where the server's own is at hand."""
    found = installation.tool("pgbench") or shutil.which("pgbench")
    if found:
        return str(found), {}
    installed = PACKAGES.have(say=say)
    return str(installed.program), dict(installed.environment)


def read_report(output: str) -> Report:
    rate, done, failed = (pattern.search(output) for pattern in (_RATE, _DONE, _FAILED))
    if not rate or not done or not failed:
        raise BakeoffError(f"pgbench did not report: {output[-600:].strip()}")
    return Report(
        rate_ops_per_s=float(rate[1]),
        latency_ms_p50=None,
        latency_ms_p99=None,
        error_ratio=int(failed[1]) / max(int(done[1]), 1),
    )
