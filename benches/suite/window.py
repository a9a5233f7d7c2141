"""One run, measured from outside by the same means whoever the client is: the kernel's count of CPU time and the
server's count of statements, both read at the two ends of a window that lies inside the run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from .client import MARGIN_S, Client, ClientProcess, Job, Report
from .counters import memory_peak_bytes, process_cpu_s
from .rows import Counting
from .server import Server


@dataclass(frozen=True)
class Look:
    at_s: float
    client_cpu_s: float
    server_cpu_s: float
    counted: int

    @classmethod
    def take(cls, server: Server, client: ClientProcess, counter: str) -> Look:
        """A busy server answers late, and nobody knows when it counted: the rest is the middle of before and after."""

        def clocks() -> tuple[float, float, float]:
            return time.monotonic(), process_cpu_s(client.pid), server.cpu_s()

        before, counted, after = clocks(), server.count(counter), clocks()
        at_s, client_s, server_s = ((a + b) / 2 for a, b in zip(before, after, strict=True))
        return cls(at_s, client_s, server_s, counted)


@dataclass(frozen=True)
class Sample:
    """One run. CPU is user + system, per operation."""

    operations: float
    rate_ops_per_s: float
    client_cpu_us: float
    server_cpu_us: float
    total_cpu_us: float
    latency_ms_p50: float | None
    latency_ms_p99: float | None
    memory_peak_bytes: int
    ready_s: float
    error_ratio: float
    own_rate_ops_per_s: float
    own_cpu_us: float | None
    io: str | None

    @classmethod
    def between(
        cls, before: Look, after: Look, counting: Counting, memory_bytes: int, ready_s: float, report: Report
    ) -> Sample:
        # Looking is a statement, too.
        operations = (after.counted - before.counted - counting.of_a_look) / counting.per_operation
        client_us = (after.client_cpu_s - before.client_cpu_s) * 1e6 / operations
        server_us = (after.server_cpu_s - before.server_cpu_s) * 1e6 / operations
        return cls(
            operations=operations,
            rate_ops_per_s=operations / (after.at_s - before.at_s),
            client_cpu_us=client_us,
            server_cpu_us=server_us,
            total_cpu_us=client_us + server_us,
            latency_ms_p50=report.latency_ms_p50,
            latency_ms_p99=report.latency_ms_p99,
            memory_peak_bytes=memory_bytes,
            ready_s=ready_s,
            error_ratio=report.error_ratio,
            own_rate_ops_per_s=report.rate_ops_per_s,
            own_cpu_us=report.cpu_us_per_op,
            io=report.io,
        )

    def disagreements(self) -> dict[str, float]:
        """The client's own figures against those from outside, relative, with sign."""
        found = {"rate": self.own_rate_ops_per_s / self.rate_ops_per_s - 1}
        if self.own_cpu_us is not None:
            found["CPU"] = self.own_cpu_us / self.client_cpu_us - 1
        return found


def measure(server: Server, client: Client, job: Job, counting: Counting) -> Sample:
    with server.placed(job.server_cores):
        running = client.begin(job)
        try:
            running.wait_ready()
            time.sleep(job.warm_up_s + MARGIN_S)
            before = Look.take(server, running, counting.counter)
            time.sleep(job.window_s)
            after = Look.take(server, running, counting.counter)
            running.refuse_ended("before the last sample: the server answered late, or this machine stood still")
            memory_bytes = memory_peak_bytes(running.pid)
            report = client.report(running.finish(), job)
        finally:
            running.kill()
    return Sample.between(before, after, counting, memory_bytes, running.ready_s, report)


def measure_rate_beside(
    server: Server,
    client: Client,
    job: Job,
    counting: Counting,
    watch: Callable[[int], float | str],
) -> tuple[float | str, float]:
    """What `watch` says of the client's process, and operations/s while it watches (less than the window)."""
    with server.placed(job.server_cores):
        running = client.begin(job)
        try:
            running.wait_ready()
            time.sleep(job.warm_up_s)
            begin_s, before = time.monotonic(), server.count(counting.counter)
            seen = watch(running.pid)
            seconds, after = time.monotonic() - begin_s, server.count(counting.counter)
            client.report(running.finish(), job)
        finally:
            running.kill()
    return seen, (after - before) / counting.per_operation / seconds
