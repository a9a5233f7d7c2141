"""`bakeoff doctor --fleet` visits each load machine, and names who is unfit and why."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bakeoff.cli import main
from bakeoff.cli.commands.doctor import _doubts, _show
from bakeoff.errors import BakeoffError, ExitCode
from bakeoff.fleet import keeper_connection
from bakeoff.fleet.clusters import Cluster, local
from bakeoff.fleet.dask import DaskHost
from bakeoff.fleet.machine_check import CheckedMachine, Servers, check_machines
from bakeoff.fleet.remote_keeper import here
from bakeoff.plan.document.fleet import read_said
from bakeoff.plan.machines import servers, unstarted
from bakeoff.plan.read import resolve
from bakeoff.systems import SYSTEMS


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with local(2) as found:
        yield found


def look(cluster: Cluster, servers: Servers) -> list[CheckedMachine]:
    """Again where the machine on which all of this runs had no time for it: that is reported of a visit as of a run."""
    for _ in range(10):
        with DaskHost(cluster, min_clients=2, wait_s=60) as host:
            found = check_machines(host, servers)
        if not any("stood still" in machine.unfit or "heard of it" in machine.unfit for machine in found):
            break
    return found


def test_each_machine_tells_what_it_is_and_reaches(cluster: Cluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as there:
        found = look(cluster, {"db": there.getsockname()})
    assert [machine.name for machine in found] == ["Dask worker 1", "Dask worker 2"]
    for machine in found:
        assert (machine.unfit, machine.engine in ("there", "carried")) == ("", True)
        assert machine.cores
        assert machine.kernel
        assert machine.python.startswith("3.")
        assert machine.distributed
        assert machine.clock_offset_ns is not None
        assert machine.clock_bound_ns is not None
        assert abs(machine.clock_offset_ns) <= machine.clock_bound_ns, "both clocks are one"
        assert machine.server_round_trip_ns["db"] > 0
        assert machine.bandwidth_bytes_per_s
        assert machine.bandwidth_bytes_per_s > 0


def test_a_machine_that_does_not_reach_a_server_or_runs_another_engine_is_unfit(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        address = gone.getsockname()
    found = look(cluster, {"db": address})
    assert [machine.unfit for machine in found] == [
        f"Dask worker {n} does not reach db at 127.0.0.1:{address[1]}" for n in (1, 2)
    ]
    monkeypatch.setattr(keeper_connection, "engine_list", lambda: {"engine_version": "9.9.9"})
    found = look(cluster, {})
    assert all("and this bakeoff has 9.9.9" in machine.unfit for machine in found)


def test_the_command_says_so_with_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    unfit = CheckedMachine("load2", unfit="load2 does not reach db at db1:3306", hint="open it")
    monkeypatch.setattr(
        "bakeoff.fleet.machine_check.check_machines", lambda host, servers: [CheckedMachine("load1", cores=4), unfit]
    )
    assert main(["doctor", "--fleet", "local=1", "--json"]) == ExitCode.ENVIRONMENT
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert [machine["unfit"] for machine in told["fleet"]] == ["", "load2 does not reach db at db1:3306"]
    monkeypatch.setattr("bakeoff.fleet.machine_check.check_machines", lambda host, servers: [CheckedMachine("load1")])
    assert main(["doctor", "--fleet", "local=1"]) == ExitCode.DONE


def test_the_table_names_who_is_unfit_and_what_a_run_is_less_by(capsys: pytest.CaptureFixture[str]) -> None:
    far = CheckedMachine(
        "load1", engine="there", clock_offset_ns=5, clock_bound_ns=30_000_000, io_uring_refusal="not permitted"
    )
    far.distributed = "2019.1.0"
    _show([far, CheckedMachine("load2", unfit="load2 does not reach db", hint="open it")], ["db"])
    said = capsys.readouterr().out
    assert "unfit: load2 does not reach db\n  open it" in said
    assert len(_doubts(far)) == 3
    for words in ("epoll", "uncertain by 30 ms", "its Dask is 2019.1.0"):
        assert words in said


def test_a_machine_on_which_much_else_runs_is_not_called_fit(capsys: pytest.CaptureFixture[str]) -> None:
    _show([CheckedMachine("load1", cores=2, load_average=38.0), CheckedMachine("load2", cores=2, load_average=0.1)], [])
    said = capsys.readouterr().out
    assert [line.split()[:2] for line in said.splitlines() if "load" in line][:2] == [
        ["warning", "load1"],
        ["fit", "load2"],
    ]
    assert "load1: load average 38.00: other processes are running" in said


def test_workers_on_one_machine_are_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    _show(
        [CheckedMachine(f"load{n}", cores=2, boot_id="one") for n in (1, 2)]
        + [CheckedMachine("load3", boot_id="three")],
        [],
    )
    said = capsys.readouterr().out
    assert "load1, load2 are one machine: their clients share its 2 cores" in said
    assert "load3 is" not in said
    ours = here().partition(" ")[0]
    _show([CheckedMachine("load1", boot_id=ours), CheckedMachine("load2", boot_id=ours)], [])
    assert "load1, load2 are this machine: clients there share its cores" in capsys.readouterr().out


def test_a_server_that_bakeoff_starts_is_said_to_have_no_address_yet(capsys: pytest.CaptureFixture[str]) -> None:
    text = """
title = "t"
[systems.db]
kind = "postgresql"
[systems.there]
kind = "postgresql"
address = "pg1"
[systems.null]
[workload]
kind = "ycsb"
preset = "c"
"""
    _show([CheckedMachine("load1")], [], unstarted(resolve(text, Path("/"), must_run=False), SYSTEMS))
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if "address" in line] == [
        "db: bakeoff starts it for the run, so it has no address yet, and the connection to it was not checked"
    ]


def test_the_servers_are_those_that_existed_before_the_plan() -> None:
    text = """
title = "t"
[systems.a]
kind = "mysql"
address = "db1:3306"
[systems.null]
[systems.b]
kind = "postgresql"
nodes = [{ name = "x", address = "pg1" }, { name = "y", address = "pg2:9" }]
[workload]
kind = "ycsb"
preset = "c"
"""
    plan = resolve(text, Path("/"), must_run=False)
    assert servers(plan, SYSTEMS) == {"a": ("db1", 3306), "b.x": ("pg1", 5432), "b.y": ("pg2", 9)}


def test_what_is_wrong_with_the_machines_said_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert read_said(["fleet.local=2"], Path("/")).machines == ["Dask worker 1", "Dask worker 2"]
    assert main(["doctor", "--fleet", "local=0"]) == ExitCode.USAGE
    assert "`local` is 0, and must be at least 1 (--fleet)" in capsys.readouterr().err


def test_a_dry_run_asks_a_cluster_for_its_machines(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "p.toml"
    plan.write_text('clients = 3\n[systems.null]\n[workload]\nkind = "ycsb"\n')
    assert main(["run", str(plan), "--dry-run", "--fleet", cluster.address]) == ExitCode.DONE
    assert "3 clients: 2 on Dask worker 1, 1 on Dask worker 2" in capsys.readouterr().out


def test_a_dry_run_of_a_cluster_that_is_not_there_says_so_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def away(*_: object) -> None:
        raise BakeoffError("the machines of tcp://127.0.0.1:1 cannot be reached")

    monkeypatch.setattr("bakeoff.fleet.hosts.fleet_host", away)
    plan = tmp_path / "p.toml"
    plan.write_text('clients = 3\n[systems.null]\n[workload]\nkind = "ycsb"\n')
    assert main(["run", str(plan), "--dry-run", "--fleet", "tcp://127.0.0.1:1"]) == ExitCode.ENVIRONMENT
    said = capsys.readouterr()
    assert "distributed over them in turn" in said.out
    assert "cannot be reached" in said.err
