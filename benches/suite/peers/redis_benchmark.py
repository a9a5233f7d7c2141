"""redis-benchmark, which comes with the server. It is asked for the command that the engine sends, on the same keys.

It runs for a number of requests, not for a time: how many is found by a short run before.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from bakeoff.errors import BakeoffError

from ..client import ClientProcess, Job, Report, Tables
from ..server import HOST, Server

_RATE = re.compile(r"([\d.]+) requests per second, p50=([\d.]+) msec")
_TRIED = 50_000
#: It must still run at the last sample, on a machine that is faster by then.
_RESERVE = 1.6


class RedisBenchmark:
    name = "redis-benchmark"

    def __init__(self, server: Server, folder: Path, say: Callable[[str], None]) -> None:
        self._server = server
        installation = server.system.server.spec.installation
        program = installation.tool(self.name) or shutil.which(self.name)
        if program is None:
            raise BakeoffError("there is no redis-benchmark", hint="it is in Debian's package redis-tools")
        self._program, self._env = str(program), dict(installation.environment)

    def version(self) -> str:
        return self._done([self._program, "--version"]).strip()

    def begin(self, job: Job) -> ClientProcess:
        rate = read_report(self._done(["taskset", "--cpu-list", _cores(job), *self._call(job, _TRIED)])).rate_ops_per_s
        requests = round(_RESERVE * rate * (job.warm_up_s + job.run_s)) + _TRIED
        return ClientProcess(self._call(job, requests), self._env, job.cores, lambda line: "rps=" in line)

    def report(self, output: str, job: Job) -> Report:
        return read_report(output)

    def prepare(self, tables: Tables) -> float:
        raise BakeoffError("redis-benchmark does not make the engine's records")

    def _call(self, job: Job, requests: int) -> list[str]:
        place = ["-s", self._server.socket] if job.transport == "socket" else ["-h", HOST, "-p", str(self._server.port)]
        # `__rand_int__` has twelve digits.
        words = ["HMGET", "usertable:user__rand_int__", "FIELD0"]
        load = ["-c", str(job.sessions), "-P", str(job.pipeline), "-n", str(requests), "-r", str(job.tables.rows)]
        return [self._program, *place, *load, "-e", "-q", *words]

    def _done(self, argv: list[str]) -> str:
        done = subprocess.run(argv, env=self._env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BakeoffError(f"redis-benchmark failed: {(done.stdout + done.stderr)[-600:].strip()}")
        return done.stdout


def _cores(job: Job) -> str:
    return ",".join(map(str, job.cores))


def read_report(output: str) -> Report:
    found = _RATE.findall(output)
    if not found or "Error from server" in output:
        raise BakeoffError(f"redis-benchmark did not report: {output[-600:].strip()}")
    rate, p50 = found[-1]
    return Report(rate_ops_per_s=float(rate), latency_ms_p50=float(p50), latency_ms_p99=None, error_ratio=0.0)
