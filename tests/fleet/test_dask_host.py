"""Engines through Dask, on worker processes of this machine: what comes back is what local ones give, and each way of
losing a machine is reported by its name."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from bakeoff.errors import EngineError
from bakeoff.fleet import clusters
from bakeoff.fleet.clusters import Cluster
from bakeoff.fleet.dask import DaskHost
from bakeoff.fleet.engines import Host, MachineLost
from bakeoff.fleet.hosts import LocalHost
from bakeoff.fleet.load_machines import RemoteEngines
from bakeoff.model.boundary import Interval

OPERATIONS = 300


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with clusters.local(2) as found:
        yield found


@pytest.fixture
def host(cluster: Cluster) -> Iterator[DaskHost]:
    with DaskHost(cluster, min_clients=2, wait_s=60) as found:
        yield found


def document(folder: Path, client: int = 0, of: int = 1, **other: Any) -> Path:
    path = folder / f"run.{client}.json"
    what: dict[str, Any] = {
        "format": 1,
        "phase": "run",
        "driver": {"kind": "null"},
        "workload": {"kind": "ycsb", "records": 1000},
        "client": {"index": client, "count": of},
        "threads": 2,
        "workers": 1,
        "limit": {"kind": "operations", "operations": OPERATIONS, "max_s": 60},
    }
    path.write_text(json.dumps(what | other))
    return path


def counts(host: Host, folder: Path, clients: int) -> list[dict[str, int]]:
    folder.mkdir()
    with host.engines("run 1") as engines:
        for client in range(clients):
            engines.start(document(folder, client, clients), {}, folder / "engine.log")
        engines.wait_ready(60)
        engines.begin(time.time_ns() + int(engines.lead_s * 1e9))
        list(engines.events(silence_s=30))
        return [{s.operation: s.count for s in result.series if s.outcome == "ok"} for result in engines.results()]


def test_a_fleet_counts_what_this_machine_counts(host: DaskHost, tmp_path: Path) -> None:
    here, there = counts(LocalHost(), tmp_path / "here", 3), counts(host, tmp_path / "there", 3)
    assert [sum(client.values()) for client in there] == [OPERATIONS] * 3
    assert there == here  # the same seed asks for the same operations


LONG = {"driver": {"kind": "null", "latency_ns": 1_000_000}, "limit": {"kind": "time", "window_s": 60.0}}


def begun(host: DaskHost, folder: Path, clients: int = 2) -> RemoteEngines:
    engines = host.engines("run 2")
    for client in range(clients):
        engines.start(document(folder, client, clients, **LONG), {}, folder / "engine.log")
    engines.wait_ready(60)
    engines.begin(time.time_ns() + int(engines.lead_s * 1e9))
    return engines


def test_clients_are_spread_and_each_says_where_it_is_and_how_well_its_clock_is_known(
    host: DaskHost, tmp_path: Path
) -> None:
    with begun(host, tmp_path, 3) as engines:
        next(engine for _, engine in engines.events() if isinstance(engine, Interval))
        engines.stop()
        list(engines.events())
        places = engines.places()
        assert [place.machine for place in places] == ["Dask worker 1", "Dask worker 2", "Dask worker 1"]
        for place in places:
            assert abs(place.clock_offset_ns) <= place.clock_bound_ns  # the clocks of one machine are one
            assert place.round_trip_ns is not None
            assert place.clock_bound_ns >= place.round_trip_ns // 2
            assert place.start_late_ns == 0


def test_a_ctrl_c_in_the_terminal_is_ours_alone(host: DaskHost, tmp_path: Path) -> None:
    with begun(host, tmp_path) as engines:
        pids = engines.pids()
        pids += [psutil.Process(pid).ppid() for pid in pids[1::2]]
        assert os.getpgid(0) not in [os.getpgid(pid) for pid in pids]


def gone(pids: list[int]) -> bool:
    return all(not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE for pid in pids)


def until_gone(pids: list[int], timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not gone(pids):
        assert time.monotonic() < deadline, "an engine was left"
        time.sleep(0.05)


def test_leaving_ends_engines_keepers_and_tasks_and_the_machines_are_free_at_once(
    host: DaskHost, tmp_path: Path
) -> None:
    with begun(host, tmp_path) as engines:
        pids = engines.pids()
        assert len(pids) == 4  # an engine and a keeper for each client
        assert all(psutil.pid_exists(pid) for pid in pids)
    assert gone(pids)
    assert len(host.free()) == 2


def test_an_engine_that_is_killed_is_reported_as_on_this_machine(host: DaskHost, tmp_path: Path) -> None:
    with begun(host, tmp_path) as engines:
        os.kill(engines.pids()[2], signal.SIGKILL)
        with pytest.raises(EngineError, match=r"client 1 on Dask worker 2 .*SIGKILL"):
            list(engines.events())


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_keeper_that_is_killed_or_frozen_is_its_machine_lost_and_no_engine_is_left(
    host: DaskHost, tmp_path: Path, how: signal.Signals
) -> None:
    with begun(host, tmp_path) as engines:
        pids = engines.pids()
        os.kill(pids[3], how)
        with pytest.raises(MachineLost) as caught:
            list(engines.events())
    assert caught.value.machine == "Dask worker 2"
    assert caught.value.where == "run 2"
    until_gone(pids)


def test_a_worker_that_is_killed_is_named_and_the_next_run_goes_on_with_the_other(
    cluster: Cluster, tmp_path: Path
) -> None:
    with DaskHost(cluster, min_clients=1) as host:
        with begun(host, tmp_path) as engines:
            pids = engines.pids()
            os.kill(psutil.Process(pids[3]).ppid(), signal.SIGKILL)
            with pytest.raises(MachineLost, match="Dask worker 2 was lost: its Dask worker ended"):
                list(engines.events())
        until_gone(pids)
        with begun(host, tmp_path) as engines:
            engines.stop()
            list(engines.events())
            assert engines.places()[0].machine == "Dask worker 1"


def test_a_frozen_worker_is_lost_and_the_plan_waits_until_it_is_back(cluster: Cluster, tmp_path: Path) -> None:
    said: list[str] = []

    def tell(words: str) -> None:
        said.append(words)
        os.kill(worker, signal.SIGCONT)

    cluster.client().wait_for_workers(2)
    with DaskHost(cluster, min_clients=2, wait_s=60, tell=tell) as host:
        with begun(host, tmp_path) as engines:
            pids = engines.pids()
            worker = psutil.Process(pids[3]).ppid()
            os.kill(worker, signal.SIGSTOP)
            with pytest.raises(MachineLost, match="Dask worker 2 was lost: its Dask worker is frozen"):
                list(engines.events())
        until_gone(pids)
        with host.engines("run 3"):
            waits = "1 of the 2 load machines that a run needs are available: waiting for Dask worker 2"
            assert said[0].startswith(waits)
            assert said[1] == "2 load machines are available: continuing"
