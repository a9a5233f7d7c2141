"""A Dask cluster and a database server on hosts of a network, and what clients there have left."""

from __future__ import annotations

import csv
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import bakeoff
from bakeoff.bundle.read import Bundle
from bakeoff.fleet.clusters import QUIET
from bakeoff.fleet.engine_program import engine_path
from bakeoff.model.clients import ClientRecord
from bakeoff.model.records.run import RunRecord
from bakeoff.provision.cache import cache_dir
from bakeoff.provision.certificate import Certificate, make_certificate
from builders.hosts import Host, Network
from commands import wait_until

_PORT = 8786
#: As bakeoff starts workers itself, in Dask's variables of the environment.
_QUIET = {f"DASK_{name.replace('.', '__').replace('-', '_').upper()}": str(value) for name, value in QUIET.items()}
_MARIADB = Path(__file__).with_name("mariadb_on_host.py")


@dataclass
class Cluster:
    """Over TLS with one certificate for all, whose files the controller sees; without a folder for it, over none."""

    scheduler_host: Host
    folder: Path | None
    #: Without it workers look at themselves as often as Dask lets them.
    quiet: bool = True
    scheduler: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.certificate = make_certificate(self.folder) if self.folder else None
        self.start_scheduler()

    @property
    def address(self) -> str:
        return f"{'tls' if self.certificate else 'tcp'}://{self.scheduler_host.address}:{_PORT}"

    @property
    def plan(self) -> str:
        """The plan's table."""
        if (files := self.certificate) is None:
            return f'[fleet]\naddress = "{self.address}"\n'
        tls = f'ca = "{files.authority}", cert = "{files.certificate}", key = "{files.key}"'
        return f'[fleet]\naddress = "{self.address}"\ntls = {{ {tls} }}\n'

    def start_scheduler(self) -> None:
        options = ["--host", self.scheduler_host.address, "--port", str(_PORT), "--no-dashboard", "--no-show"]
        self.scheduler = self._start(self.scheduler_host, "dask_scheduler", self.certificate, options)
        self._wait_for(self.scheduler_host, "Scheduler at:")

    def start_worker(
        self, host: Host, *options: str, certificate: Certificate | None = None
    ) -> subprocess.Popen[bytes]:
        """As soon as the scheduler knows it. certificate: another than the cluster's; then nobody waits for it."""
        fixed = [self.address, "--name", host.name, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        fixed += ["--local-directory", "/tmp", *options]
        worker = self._start(host, "dask_worker", certificate or self.certificate, fixed)
        if certificate is None:
            self._wait_for(host, "Registered to:")
        return worker

    def _start(
        self, host: Host, program: str, certificate: Certificate | None, options: Sequence[str]
    ) -> subprocess.Popen[bytes]:
        tls: list[str] = []
        if certificate is not None:
            files = {
                "--tls-ca-file": certificate.authority,
                "--tls-cert": certificate.certificate,
                "--tls-key": certificate.key,
            }
            for option, path in files.items():
                (host.tmp / path.name).write_bytes(path.read_bytes())
                tls += [option, f"/tmp/{path.name}"]
        argv = [sys.executable, "-m", f"distributed.cli.{program}", *options, *tls]
        return host.start(argv, env=_QUIET if self.quiet else {})

    @staticmethod
    def _wait_for(host: Host, words: str) -> None:
        log = host.last_log
        wait_until(lambda: words in log.read_text(), f"{log.name} says {words!r}")


@dataclass
class Fleet:
    """Load machines with a worker each, that have neither bakeoff nor its engine."""

    network: Network
    cluster: Cluster
    machines: list[Host]
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start_worker(self, host: Host) -> None:
        self.workers[host.name] = self.cluster.start_worker(host)

    def clients_machines(self, clients: int) -> list[str]:
        """Client by client."""
        return [self.machines[client % len(self.machines)].name for client in range(clients)]

    def engines(self) -> dict[str, list[int]]:
        """By machine; those that have none are left out."""
        found = {host.name: [pid for pid in host.pids() if is_engine(pid)] for host in self.machines}
        return {name: pids for name, pids in found.items() if pids}


@contextmanager
def fleet_on_hosts(folder: Path, *, delays_s: Sequence[float] = (0.0, 0.0, 0.0), quiet: bool = True) -> Iterator[Fleet]:
    """Clocks are hours apart: that of load1 ten before the controller's, of load2 twenty ... quiet: workers look at
    themselves as seldom as those that bakeoff starts."""
    lacking = (Path(bakeoff.__file__).parent, engine_path())
    (certificates := folder / "certificates").mkdir()
    with Network(folder) as network:
        machines = [
            network.host(f"load{number}", ahead_s=36_000 * number, delay_s=delay_s, hidden=lacking)
            for number, delay_s in enumerate(delays_s, start=1)
        ]
        fleet = Fleet(network, Cluster(network.host("scheduler"), certificates, quiet), machines)
        for host in machines:
            fleet.start_worker(host)
        yield fleet


def began_apart_s(bundle: Bundle, run: RunRecord) -> float:
    """Between the first and the last client to begin with its first operation, of a run without a warm-up that logged
    them: on these machines one clock tells the time of day. It is their starts and what the first operation waited for
    a core."""
    begins_s = []
    for client in run.clients:
        with event_log(bundle, run, client).open(newline="") as file:
            rows = itertools.islice(csv.DictReader(file), 100)
            begins_s.append(min(_end_s(row) - float(row["Time Taken"]) / 1e6 for row in rows))
    return max(begins_s) - min(begins_s)


def event_log(bundle: Bundle, run: RunRecord, client: ClientRecord) -> Path:
    name = "events.csv" if client.number == 0 else f"events.{client.number}.csv"
    return bundle.folder / "runs" / run.id / name


def _end_s(row: dict[str, str]) -> float:
    return datetime.fromisoformat(row["Time Stamp"]).replace(tzinfo=UTC).timestamp()


def is_engine(pid: int) -> bool:
    """Wherever it was carried to, and under what name."""
    try:
        return os.stat(f"/proc/{pid}/exe").st_size == engine_path().stat().st_size
    except OSError:
        return False


class MariaDbOnHost:
    """The managed server of ours, bound to its host's address, with an account for other hosts; and any statement as
    its root."""

    def __init__(self, host: Host) -> None:
        cache = {"BAKEOFF_CACHE": str(cache_dir())}
        self._process = host.start([sys.executable, _MARIADB, host.address], env=cache, asked=True)
        told = self._answer()
        self.address = f"{host.address}:{told['port']}"
        self.user, self.password = str(told["user"]), str(told["password"])

    def rows(self, sql: str) -> list[list[Any]]:
        assert self._process.stdin is not None
        self._process.stdin.write(sql.encode() + b"\n")
        self._process.stdin.flush()
        rows: list[list[Any]] = self._answer()
        return rows

    def sessions(self) -> int:
        """Of the load's account."""
        return int(self.rows(f"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE User = '{self.user}'")[0][0])

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the server of the host has ended; its log shows why"
        return json.loads(line)
