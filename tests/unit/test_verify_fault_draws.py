"""Faults while verifying: what a seed draws, when they begin and end, and the search for the fewest."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bakeoff.errors import ServerError
from bakeoff.model.boundary import Progress
from bakeoff.model.faults import FaultKind
from bakeoff.provision.server import LOG_KEPT
from bakeoff.schedule.faults_meanwhile import FaultsMeanwhile
from bakeoff.verify.faults import KINDS, WantedFaults, claim_after, draw, fault_words, search

NODES = ("n1", "n2", "n3")


@pytest.mark.parametrize("seed", range(20))
def test_a_seed_draws_the_same_faults_again_within_the_time_and_on_one_node(seed: int) -> None:
    wanted = WantedFaults((*KINDS, "kill"), seed)
    drawn = draw(wanted, NODES, 10.0, 0)
    assert drawn == draw(wanted, NODES, 10.0, 0)
    assert sorted(fault.do for fault in drawn) == sorted(wanted.kinds)
    assert len({fault.node for fault in drawn}) == 1
    for fault in drawn:
        assert 1.0 <= fault.at_s <= fault.at_s + (fault.for_s or 0.0) < 8.0
        assert (fault.for_s is None) == (fault.do == "restart")
    assert drawn != draw(WantedFaults(wanted.kinds, seed + 1), NODES, 10.0, 0)
    assert drawn != draw(wanted, NODES, 10.0, 1)


def test_seeds_reach_every_node() -> None:
    assert {draw(WantedFaults(("kill",), seed), NODES, 6.0, 0)[0].node for seed in range(30)} == set(NODES)


def test_leaving_a_fault_out_changes_none_of_the_others() -> None:
    three: tuple[FaultKind, ...] = ("kill", "freeze", "kill")
    drawn = draw(WantedFaults(three, 7), NODES, 6.0, 2)
    for kinds in (three[:2], ("kill",), ("freeze",)):
        assert all(fault in drawn for fault in draw(WantedFaults(kinds, 7), NODES, 6.0, 2))


def test_nothing_is_claimed_where_a_killed_server_may_lose_commits() -> None:
    loses = {"lost_when_killed": "commits of the last 1 s", "lost_at_power_loss": "the same", "whole_afterwards": "yes"}
    keeps = {**loses, "lost_when_killed": "nothing"}
    kill, freeze = WantedFaults(("freeze", "kill")), WantedFaults(("freeze",))
    assert claim_after("serializable", kill, keeps) == "serializable"
    assert claim_after("serializable", kill, loses) is None
    assert claim_after("serializable", freeze, loses) == "serializable"
    assert claim_after("serializable", kill, {}) == "serializable"
    for may_kill in ("stop", "restart"):  # where the server does not stop in time
        assert claim_after("serializable", WantedFaults((may_kill,)), loses) is None


class Servers:
    """A system of one server, which writes down what is done to it."""

    name = "db"
    multi_writer = False

    def __init__(self, *, comes_back: bool = True) -> None:
        self.done: list[str] = []
        self._comes_back = comes_back

    def roles(self) -> dict[str, str]:
        return {"server": "primary", "replica1": "replica"}

    def servers(self) -> dict[str, Any]:
        return {"server": self}

    def kill(self) -> None:
        self.done.append("kill")

    def freeze(self) -> None:
        self.done.append("freeze")

    def thaw(self) -> None:
        self.done.append("thaw")

    def rejoin(self, node: str) -> str:
        self.done.append(f"start {node}")
        if not self._comes_back:
            raise ServerError("it ended at once")
        return ""


def meanwhile(servers: Servers, *kinds: FaultKind, seconds: float) -> FaultsMeanwhile:
    instance = SimpleNamespace(system=servers, rejoin=servers.rejoin)
    return FaultsMeanwhile(cast(Any, instance), WantedFaults(kinds, 1), seconds)


def progress(done: int, total: int = 2) -> Progress:
    return Progress(elapsed_s=float(done), done=done, total=total)


def carried_out(faults: FaultsMeanwhile, servers: Servers, acts: int) -> None:
    """One kind of transaction, from its first second to its last, which comes after this many acts."""
    acts += len(servers.done)
    faults.notice(progress(0))
    give_up = time.monotonic() + 30.0
    while len(servers.done) < acts and time.monotonic() < give_up:
        time.sleep(0.005)
        faults.notice(progress(1))
    faults.notice(progress(2))
    faults.notice(progress(0, total=0))  # nodes are waited for


def test_each_kind_of_transaction_has_its_faults_and_servers_are_whole_after_it() -> None:
    servers = Servers()
    with meanwhile(servers, "kill", seconds=0.2) as faults:
        for _ in range(3):
            carried_out(faults, servers, 2)
    assert servers.done == ["kill", "start server"] * 3
    assert len(faults.records) == 3
    assert all(record.back_s is not None and not record.failure for record in faults.records)
    assert fault_words(faults.records).count("kill server at ") == 3


def test_a_fault_that_is_not_due_before_the_last_second_is_not_carried_out() -> None:
    servers = Servers()
    with meanwhile(servers, "kill", seconds=1e6) as faults:
        carried_out(faults, servers, 0)
    assert servers.done == []
    assert fault_words(faults.records) == "1 not carried out, because the server was still away"


def test_nothing_stays_frozen_when_verifying_ends_early() -> None:
    servers = Servers()
    with pytest.raises(KeyboardInterrupt), meanwhile(servers, "freeze", seconds=1.0) as faults:  # noqa: PT012
        faults.notice(progress(0))
        while not servers.done:
            time.sleep(0.005)
        raise KeyboardInterrupt
    assert servers.done == ["freeze", "thaw"]


def test_a_server_that_does_not_come_back_ends_verifying_with_its_reason() -> None:
    servers = Servers(comes_back=False)
    with (
        pytest.raises(ServerError, match=r"after a fault server did not come back: .*it ended at once") as caught,
        meanwhile(servers, "kill", seconds=0.2) as faults,
    ):
        carried_out(faults, servers, 2)
    assert caught.value.hint == LOG_KEPT, "in whose place `bakeoff verify` shows the log's end"


def test_a_search_finds_the_first_seed_that_fails_and_the_fewest_faults() -> None:
    tried: list[WantedFaults] = []

    def violates(faults: WantedFaults) -> bool:
        tried.append(faults)
        return faults.seed == 12 and "kill" in faults.kinds

    kinds: tuple[FaultKind, ...] = ("freeze", "kill", "restart")
    assert search(violates, WantedFaults(kinds, 10), 5) == WantedFaults(("kill",), 12)
    assert [faults.seed for faults in tried if faults.kinds == kinds] == [10, 11, 12]
    assert search(violates, WantedFaults(("freeze",), 10), 5) is None
