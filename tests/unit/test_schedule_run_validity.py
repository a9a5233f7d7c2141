"""What the controller makes of a run's records before it judges them, and what it tells the client of its place."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bakeoff.analysis.histograms import Histogram, to_document
from bakeoff.analysis.validity.checks import findings
from bakeoff.model.boundary import HistogramDoc, Series
from bakeoff.model.clients import ClientRecord
from bakeoff.model.faults import FaultRecord, PlannedFault
from bakeoff.model.records.run import RunRecord
from bakeoff.plan.read import resolve
from bakeoff.schedule.machine_sharing import shares_cores
from bakeoff.schedule.phases import spec
from bakeoff.schedule.run_record import _before_faults, client_verdict, steadiness
from bakeoff.schedule.seconds import RatedSecond
from bakeoff.systems.base import System

from tests.builders.judged import judged
from tests.builders.plans import MARIADB, read


def second(at: int, ok: int, *, warm_up: bool = False, length_s: float = 1.0) -> RatedSecond:
    return RatedSecond(at, length_s, warm_up, rate_ops_per_s=ok / length_s, mean_ms=1.0 if ok else None)


def test_a_stall_of_whole_seconds_is_seen_in_both_loops() -> None:
    rows = [second(at, 0 if at in (22, 23) else 100, warm_up=at < 10) for at in range(80)]
    for open_loop in (False, True):
        found = steadiness([*rows, second(80, 0, length_s=0.4)], open_loop=open_loop)
        assert found is not None
        assert found.verdict == "stalled"
        assert "in 2 of 70 seconds, first in second 12 of the window" in found.words


def test_without_a_whole_second_of_the_window_nothing_is_judged() -> None:
    assert steadiness([second(0, 5, warm_up=True), second(1, 5, length_s=0.5)], open_loop=False) is None


def limited(
    kind: str, *, runner: str = "reactor", busy: float, delay: float, inside: float = 0.0, pauses: bool = False
) -> bool:
    """Of one run of two threads over 1 s. inside: share of their time that they were in operations."""
    service = to_document(Histogram.from_values([round(inside * 1e6)] * 2000))
    record = RunRecord(
        id="b01-c", block=1, cell="c", order=0, started="", state="done", seed=1, window_s=1.0, client_cpu_s=0.3,
        workers_busy_ratio=[busy], workers_run_queue_delay_ratio=[delay], shares_cores=True,
        series=[Series(operation="read", part_of=None, outcome="ok", count=2000, response=service, service=service)],
    )  # fmt: skip
    record.server.cpu_s, record.machine.idle_ratio = None if kind == "null" else 2.7, 0.0
    cell = SimpleNamespace(runner_taken=runner, threads=2, clients=1, record=SimpleNamespace(kind=kind), pauses=pauses)
    return client_verdict(record, cast(Any, cell)).client_limited


def test_the_client_is_judged_by_where_the_system_is() -> None:
    assert not limited("mariadb", busy=0.34, delay=0.65), "the server has the cores"
    assert limited("null", busy=0.34, delay=0.65), "there is no server"
    assert limited("null", runner="thread", busy=1.0, delay=0.0, inside=0.5)
    assert not limited("null", runner="thread", busy=1.0, delay=0.0, inside=0.95), (
        "the system is at work in its threads"
    )
    assert not limited("null", runner="thread", busy=1.0, delay=0.0, inside=0.5, pauses=True), (
        "they wait as the workload has it"
    )


def client(number: int, machine: str, *, busy: float, delay: float = 0.0) -> ClientRecord:
    return ClientRecord(
        number=number, machine=machine, rate_ops_per_s=1.0, ok=1, headline=HistogramDoc.empty(), cpu_s=0.1,
        workers_busy_ratio=[busy], workers_run_queue_delay_ratio=[delay],
    )  # fmt: skip


def signs_of(*clients: ClientRecord) -> list[str]:
    """Of a server on this machine, whose cores are full."""
    record = RunRecord(
        id="b01-c", block=1, cell="c", order=0, started="", state="done", seed=1, window_s=1.0, shares_cores=True,
        workers_busy_ratio=[0.1], workers_run_queue_delay_ratio=[0.0], clients=list(clients),
    )  # fmt: skip
    record.server.cpu_s, record.machine.idle_ratio = 2.7, 0.0
    cell = SimpleNamespace(
        runner_taken="reactor", threads=2, clients=len(clients), record=SimpleNamespace(kind="mysql")
    )
    return client_verdict(record, cast(Any, cell)).signs


def test_clients_share_cores_with_the_server_only_on_its_machine() -> None:
    here, there = (client(0, machine, busy=0.34, delay=0.65) for machine in ("this machine", "load1"))
    assert signs_of(here) == [], "the server has the cores"
    assert signs_of(there) == ["on load1, a worker worked 34 % of the window and had work but no core for 65 %"]
    idle, full = client(1, "load1", busy=0.2), client(2, "load2", busy=0.96)
    assert signs_of(here, idle, full) == ["on load2, a worker worked 96 % of the window"]


def test_of_many_machines_that_were_the_limit_three_are_named() -> None:
    found = signs_of(*(client(number, f"load{number}", busy=0.96) for number in range(50)))
    assert found[:3] == [f"on load{number}, a worker worked 96 % of the window" for number in range(3)]
    assert found[3:] == ["and clients on 47 other machines were the limit, too"]


def test_what_goes_on_here_matters_where_a_client_or_a_server_was() -> None:
    busy = judged(other_cpu_ratio=0.9)
    record = busy.record
    assert busy.machine.other_cpu_ratio == 0.9
    record.clients = [client(0, "load1", busy=0.2), client(1, "load2", busy=0.2)]
    assert busy.machine.other_cpu_ratio is None
    record.server.cpu_s = 2.7
    assert busy.machine.other_cpu_ratio == 0.9, "the server is here"
    record.server.cpu_s, record.clients[0].machine = None, "this machine"
    assert busy.machine.other_cpu_ratio == 0.9


def test_the_machine_that_the_hypervisor_took_most_from_is_named() -> None:
    told = [client(0, "this machine", busy=0.2), client(1, "load2", busy=0.2)]
    told[1].steal_ratio = 0.2
    words = "20 % of the CPU time{} was taken by the hypervisor (from 5.0 % on a run is disturbed)"
    for clients, machine in ((told, " of load2"), (told[:1], ""), ([], "")):
        [found] = [f for f in findings(judged(steal_ratio=0.2, clients=clients)) if f.name == "hypervisor"]
        assert found.words == words.format(machine)


def system(*, embedded: bool = False, managed: bool = True, here: bool = True) -> System:
    told = SimpleNamespace(
        managed=managed,
        capabilities=lambda: SimpleNamespace(embedded=embedded),
        runs_here=lambda: here,
        engine_driver=lambda: ({"kind": "null"}, {}),
        nodes=list,
    )
    return cast(System, told)


@pytest.mark.usefixtures("mariadb_is_here")
def test_the_client_has_cores_of_its_own_where_nothing_of_the_system_can_run() -> None:
    anywhere = read(systems=MARIADB)
    apart = read(systems=MARIADB, measure="placement = { client = '0', server = '1' }")
    assert shares_cores(anywhere, system())
    assert not shares_cores(apart, system())
    assert shares_cores(apart, system(managed=False)), "where an existing server runs is not ours to say"
    assert not shares_cores(anywhere, system(managed=False, here=False))
    assert shares_cores(apart, system(embedded=True))


@pytest.mark.usefixtures("mariadb_is_here")
def test_every_run_of_a_plan_knows_the_largest_and_spins_on_its_own_cores_only() -> None:
    plan = read("threads = [1, 8, 64]", systems=MARIADB, measure="placement = { client = '0', server = '1' }")
    told = [spec(plan, cell, system(), "run")[0] for cell in plan.cells]
    assert [document.sessions_of_largest_run for document in told] == [64, 64, 64]
    assert all(document.spin for document in told)
    text = f"title = 't'\n{MARIADB}\n[workload]\nkind = 'ycsb'\n[factors]\nthreads = [1, 8, 64]\n"
    part = resolve(text, Path(), only=["threads=1"])
    assert [spec(part, cell, system(), "run")[0].sessions_of_largest_run for cell in part.cells] == [64]
    pooled = read(systems=MARIADB, rest="[[cells]]\nthreads = 64\nsessions = 4")
    document, _ = spec(pooled, pooled.cells[0], system(), "run")
    assert (document.sessions_of_largest_run, document.spin) == (4, False)


def test_steady_state_is_that_of_the_seconds_before_the_first_fault() -> None:
    seconds = [second(at, 100 if at < 30 else 0, warm_up=at < 10) for at in range(80)]
    record = RunRecord(id="b01-c", block=1, cell="c", order=0, started="", state="done", seed=1)
    plan: Any = SimpleNamespace(warm_up_s=10.0)
    assert len(_before_faults(record, plan, seconds)) == 80
    record.faults = [FaultRecord(planned=PlannedFault(at_s=20, node="server", do="kill"), begun_s=20.3)]
    assert [one.second for one in _before_faults(record, plan, seconds)] == list(range(30))
