"""bakeoff-engine as a client, in each of the ways it can speak to the server."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bakeoff.errors import BakeoffError
from bakeoff.workloads import lua

from .client import ClientProcess, Job, Report, Tables
from .peers.sysbench import scripts_folder
from .rows import PGBENCH
from .server import HOST, Server


def workers(cores: int) -> int:
    """OS threads of the engine: half of the cores, because it shares them with the server (as `bakeoff run` does)."""
    return max(1, cores // 2)


@dataclass(frozen=True)
class Way:
    """How the engine speaks to the server; what is asked for is checked against what the engine says it did."""

    runner: str
    client: str
    io: str | None  # None: the engine chooses, if the runner has a choice


WAYS = {
    "auto": Way("reactor", "wire", None),
    "io_uring": Way("reactor", "wire", "io_uring"),
    "epoll": Way("reactor", "wire", "epoll"),
}

ACCOUNTS_PER_SCALE = 100_000  # pgbench's

_YCSB_C = {
    "kind": "ycsb",
    "read_proportion": 1.0,
    "update_proportion": 0.0,
    "request_distribution": {"kind": "zipfian"},
}
#: Keys as redis-benchmark writes its random numbers.
_REDIS = {**_YCSB_C, "field_count": 1, "insert_order": "ordered", "zero_padding": 12}
_TPCC = {"kind": "tpcc", "warehouses": 2}
_LINKBENCH = {"kind": "linkbench", "maxid1": 50_001}


class Engine:
    def __init__(self, name: str, path: Path, way: Way, server: Server, folder: Path) -> None:
        self.name = name
        self.path = path
        self._way = way
        self._server = server
        self._document = folder / f"{name.replace(':', '-')}.json"
        self._driver, self._env = server.system.engine_driver()

    def version(self) -> str:
        done = subprocess.run([str(self.path), "--version"], capture_output=True, text=True, check=False)
        # Two states of one version differ by this alone.
        return f"{done.stdout.strip()} (sha256 {hashlib.sha256(self.path.read_bytes()).hexdigest()[:12]})"

    def begin(self, job: Job) -> ClientProcess:
        self._write(
            job.transport,
            driver={"pipeline": job.pipeline} if "pipeline" in self._driver else {},
            phase="run",
            workload=workload(job.script, job.tables, job.distribution),
            threads=job.sessions * job.pipeline,
            workers=workers(len(job.cores)),
            seed=time.monotonic_ns() % 2**32,  # sysbench draws its seed for every run, too
            warm_up_s=job.warm_up_s,
            limit={"kind": "time", "window_s": job.run_s},
            # sysbench begins such an event again.
            retry={"retries": 100, "on": ["conflict"]},
        )
        argv = [str(self.path), "--now", str(self._document)]
        return ClientProcess(argv, self._env, job.cores, lambda line: line.startswith('{"event":"ready"'))

    def report(self, output: str, job: Job) -> Report:
        ready, result = read_events(output, str(self._document))
        self._refuse_other_way(ready)
        return replace(read_result(result), io=ready["io"])

    def prepare(self, tables: Tables) -> float:
        self._write(
            "tcp",
            phase="load",
            workload=workload(tables.script, tables, "uniform"),
            threads=tables.loaders,
            drop_existing=True,
            timeout_s=60,
        )
        begin_s = time.monotonic()
        done = subprocess.run(
            [str(self.path), "--now", str(self._document)],
            env={**os.environ, **self._env},
            capture_output=True,
            text=True,
            check=False,
        )
        wall_s = time.monotonic() - begin_s
        read_events(done.stdout + done.stderr, str(self._document))
        return wall_s

    def _write(self, transport: str, driver: Mapping[str, Any] = MappingProxyType({}), **fields: Any) -> None:
        (endpoint,) = self._driver["endpoints"]
        address = self._server.socket if transport == "socket" else f"{HOST}:{self._server.port}"
        client = {"client": self._way.client} if "client" in self._driver else {}
        driver = {**self._driver, "endpoints": [{**endpoint, "address": address}], **client, **driver}
        document = {"format": 1, "driver": driver, "runner": self._way.runner, "io": self._way.io, **fields}
        self._document.write_text(json.dumps(document))

    def _refuse_other_way(self, ready: dict[str, Any]) -> None:
        way = self._way
        asked = (way.runner, way.client, way.io)
        did = (ready["runner"], ready["client"], ready["io"] if way.io else None)
        if did != asked:
            raise BakeoffError(
                f"asked for {asked}, the engine used {did}",
                where=str(self.path),
                hint="leave what this machine cannot do out of --io",
            )


def workload(script: str, tables: Tables, distribution: str) -> dict[str, Any]:
    if script == "redis_read":
        return {**_REDIS, "records": tables.rows, "request_distribution": {"kind": distribution}}
    if script == "ycsb_c":
        return {**_YCSB_C, "records": tables.rows}
    if script.replace("-", "_") in PGBENCH:
        return {"kind": "sql", "script": script, "scale": tables.rows // ACCOUNTS_PER_SCALE}
    if script == "tpcc":
        return _TPCC
    if script == "linkbench":
        return _LINKBENCH
    if script.startswith("lua_"):
        # Not where the tables are made: they are sysbench's.
        asked = lua.read({"script": f"{scripts_folder()}/oltp_{script.removeprefix('lua_')}.lua"}, Path())
        options = {"tables": tables.tables, "table_size": tables.rows, "rand_type": distribution}
        return {"kind": "lua", **asked.options, "options": options, "creates": ["sbtest1"]}
    return {
        "kind": "sysbench",
        "script": script,
        "tables": tables.tables,
        "table_size": tables.rows,
        "rand_type": distribution,
    }


def read_events(output: str, where: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The engine's `ready` and `result`."""
    events = list(_events(output))
    ready = next((event for event in events if event["event"] == "ready"), None)
    if ready is None or events[-1]["event"] != "result":
        last = events[-1] if events else {"what": output[-600:].strip()}
        raise BakeoffError(f"the engine failed: {last.get('what', last)}", where=where, hint=last.get("hint", ""))
    return ready, events[-1]


def _events(output: str) -> Iterator[dict[str, Any]]:
    for line in output.splitlines():
        if line.startswith('{"event":'):
            yield json.loads(line)


def read_result(result: dict[str, Any]) -> Report:
    """Of the engine's own window."""
    whole = [series for series in result["series"] if not series["part_of"]]
    ok = [series for series in whole if series["outcome"] == "ok"]
    operations = sum(series["count"] for series in ok)
    if not operations:
        raise BakeoffError("no operation ended ok", where=str(result["errors"][:1]))
    window_s = result["window_end_s"] - result["window_start_s"]
    main = max(ok, key=lambda series: int(series["count"]))["response"]
    cpu_s = result["cost"]["cpu_user_s"] + result["cost"]["cpu_system_s"]
    return Report(
        rate_ops_per_s=operations / window_s,
        latency_ms_p50=main["p50_ns"] / 1e6,
        latency_ms_p99=main["p99_ns"] / 1e6,
        error_ratio=result["error_ratio"],
        cpu_us_per_op=cpu_s * 1e6 / operations,
    )
