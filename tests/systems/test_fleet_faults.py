"""Load machines that are killed, frozen or cut off while a plan goes on: the run names them, no engine is left, and the
plan goes on where it can."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bakeoff.bundle.events import Loading, RunBegins
from bakeoff.errors import ExitCode
from builders.hosts import Host, lacks
from commands import wait_until, write_plan
from fleet_on_hosts import Fleet, fleet_on_hosts
from going import Going

pytestmark = [pytest.mark.servers, pytest.mark.skipif(lacks() is not None, reason=str(lacks()))]

#: Runs that go on until something ends them.
PLAN = """
title = "Endless"
[systems.null]
latency_ns = 1_000_000
[workload]
kind = "ycsb"
preset = "c"
records = 1000
[factors]
clients = [3]
[measure]
warm_up = "{warm_up}"
window = "{window}"
repetitions = 50
"""
IN_WARM_UP = PLAN.format(warm_up="10m", window="1s")
IN_WINDOW = PLAN.format(warm_up="0s", window="10m")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet_on_hosts(tmp_path_factory.mktemp("fleet")) as fleet:
        yield fleet


@pytest.fixture
def going(fleet: Fleet, tmp_path: Path) -> Iterator[Callable[..., Going]]:
    """Begins a plan; it is ended with the test."""
    begun: list[Going] = []

    def begin(plan: str, *, rest: str = "min_clients = 2\n") -> Going:
        begun.append(Going(write_plan(tmp_path, plan + fleet.cluster.plan + rest), through=fleet.network.controller))
        return begun[-1]

    yield begin
    for one in begun:
        one.end()


# -- what may happen to a machine --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """said: in the run's failure, next to the machine's name."""

    name: str
    strike: Callable[[Fleet, Host], None]
    heal: Callable[[Fleet, Host], None]


KILLED = Fault(
    "killed", lambda fleet, host: host.kill(fleet.workers[host.name]), lambda fleet, host: fleet.start_worker(host)
)
FROZEN = Fault(
    "frozen",
    lambda fleet, host: host.freeze(fleet.workers[host.name]),
    lambda fleet, host: host.thaw(fleet.workers[host.name]),
)
CUT = Fault("cut off", lambda fleet, host: host.cut(), lambda fleet, host: host.mend())


def strike(fleet: Fleet, going: Going, fault: Fault, host: Host, run: str) -> None:
    """And what is to come of it. The times are printed; how fast a busy machine is, no test can promise."""
    begun = time.monotonic()
    fault.strike(fleet, host)
    ended = going.ended(run)
    told_s = time.monotonic() - begun
    assert ended.state == "failed"
    assert host.name in ended.failure, ended.failure
    assert not any(other.name in ended.failure for other in fleet.machines if other is not host), ended.failure
    wait_until(lambda: host.name not in fleet.engines(), "no engine is left on it", 30)
    print(f"{fault.name}: told after {told_s:.1f} s, no engine after {time.monotonic() - begun:.1f} s: {ended.failure}")


@pytest.mark.parametrize(
    ("plan", "faults"),
    [(IN_WINDOW, (KILLED, CUT)), (IN_WARM_UP, (CUT, FROZEN)), (IN_WINDOW, (FROZEN, KILLED))],
    ids=["killed and cut in the window", "cut and frozen in the warm-up", "frozen and killed in the window"],
)
def test_a_run_names_the_machine_it_lost_and_the_next_one_does_without(
    fleet: Fleet, going: Callable[..., Going], plan: str, faults: tuple[Fault, Fault]
) -> None:
    """The second fault is another machine's, after the first has come back. Then Ctrl-C."""
    plan_going, run = going(plan), ""
    for fault, host in zip(faults, fleet.machines, strict=False):
        run = plan_going.measured_run(after=run)
        strike(fleet, plan_going, fault, host, run)
        plan_going.measured_run(after=run)
        assert set(fleet.engines()) == {other.name for other in fleet.machines if other is not host}
        fault.heal(fleet, host)
    assert plan_going.end() == ExitCode.INTERRUPTED
    assert fleet.engines() == {}


def test_a_plan_that_wants_all_its_machines_waits_for_the_lost_one_and_says_so(
    fleet: Fleet, going: Callable[..., Going]
) -> None:
    plan_going, host = going(IN_WINDOW, rest=""), fleet.machines[1]
    run = plan_going.measured_run()
    strike(fleet, plan_going, KILLED, host, run)
    plan_going.warned_of(host.name)
    assert fleet.engines() == {}
    KILLED.heal(fleet, host)
    plan_going.measured_run(after=run)
    assert set(fleet.engines()) == {machine.name for machine in fleet.machines}


# -- what may happen to the controller ---------------------------------------------------------------------------------


def kill_controller(controller: subprocess.Popen[str]) -> None:
    controller.kill()
    controller.wait()


def freeze_controller(controller: subprocess.Popen[str]) -> None:
    os.kill(controller.pid, signal.SIGSTOP)


@pytest.mark.parametrize("end_of_it", [kill_controller, freeze_controller])
def test_no_engine_outlives_its_controller(
    fleet: Fleet, going: Callable[..., Going], end_of_it: Callable[[subprocess.Popen[str]], None]
) -> None:
    plan_going = going(IN_WINDOW)
    plan_going.measured_run()
    begun = time.monotonic()
    end_of_it(plan_going.process)
    wait_until(lambda: not fleet.engines(), "no engine is left", 30)
    print(f"{end_of_it.__name__}: no engine after {time.monotonic() - begun:.1f} s")
    if plan_going.process.poll() is None:
        os.kill(plan_going.process.pid, signal.SIGCONT)


# -- what may happen to the scheduler ----------------------------------------------------------------------------------


def test_a_plan_waits_for_a_scheduler_that_was_killed_and_goes_on_with_the_next(
    fleet: Fleet, going: Callable[..., Going]
) -> None:
    plan_going = going(IN_WINDOW)
    run = plan_going.measured_run()
    fleet.cluster.scheduler_host.kill(fleet.cluster.scheduler)
    failure = plan_going.ended(run).failure
    print(failure)
    plan_going.warned_of("load machines that a run needs are available")
    assert fleet.engines() == {}
    fleet.cluster.start_scheduler()
    for host in fleet.machines:
        fleet.start_worker(host)
    plan_going.measured_run(after=run)


@pytest.mark.parametrize("how", ["frozen", "cut off"])
def test_a_run_does_without_its_scheduler_and_the_next_one_waits_for_it(
    fleet: Fleet, going: Callable[..., Going], how: str
) -> None:
    plan_going = going(PLAN.format(warm_up="0s", window="2s"))
    run, host = plan_going.measured_run(), fleet.cluster.scheduler_host
    host.freeze(fleet.cluster.scheduler) if how == "frozen" else host.cut()
    ended = plan_going.ended(run)
    assert ended.state == "done", ended.failure
    plan_going.warned_of("load machines that a run needs are available")
    host.thaw(fleet.cluster.scheduler) if how == "frozen" else host.mend()
    plan_going.measured_run(after=run)


# -- while data are loaded ---------------------------------------------------------------------------------------------


def test_a_load_names_the_machine_that_it_lost_and_the_next_one_is_made_by_another(
    fleet: Fleet, going: Callable[..., Going]
) -> None:
    plan_going = going(IN_WINDOW.replace("1000\n", "1_000_000\n").replace("1_000_000\n[w", "100_000_000\n[w"))
    plan_going.first(Loading, lambda one: one.done > 0, "it loads")
    ((name, _),) = fleet.engines().items()
    (host,) = (host for host in fleet.machines if host.name == name)
    run = plan_going.first(RunBegins, bool, "a run begins").run
    strike(fleet, plan_going, KILLED, host, run)
    wait_until(fleet.engines, "another machine loads")
    assert name not in fleet.engines()
    KILLED.heal(fleet, host)
