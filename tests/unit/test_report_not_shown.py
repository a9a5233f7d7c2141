"""What a report says that its figures do not show, by how their runs were made."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any, cast

import pytest
from bakeoff.report.words.not_shown import limits_of


def limits(
    *,
    reset: str = "restore",
    dataset: str = "ycsb-1",
    facts: tuple[tuple[bool, bool], ...] = ((True, False),),
    runs: tuple[SimpleNamespace, ...] = (),
    placement: tuple[str, ...] = (),
    tables: str = "",
    sizes: tuple[int, int | None] = (0, None),
    work: Mapping[str, Any] = MappingProxyType({"kind": "ycsb"}),
    checks: tuple[str, ...] = (),
    messages: tuple[str, ...] = (),
    search: bool = False,
) -> str:
    """facts: of each system, whether it is managed and whether it is embedded. tables: how they are stored. sizes: of
    the loaded data, on disk and of their values."""
    cell = SimpleNamespace(reset="", dataset=dataset, system="m", levels={}, peer_of="", prices=None)
    plan = SimpleNamespace(reset=reset, cells=[cell], pacing="open loop", window_s=60.0, repetitions=5)
    plan.search = object() if search else None
    plan.factors, plan.resolved, plan.tree_of = {}, {"workload": work}, lambda _: {"workload": work}
    plan.placement = {key: [0] for key in placement}
    portable = {"table_format": tables} if tables else {}
    told = {
        str(n): SimpleNamespace(managed=managed, embedded=embedded, portable=portable)
        for n, (managed, embedded) in enumerate(facts)
    }
    load = SimpleNamespace(system="m", cells=["0"], size_on_disk_bytes=sizes[0], values_bytes=sizes[1])
    load.dataset, load.checks = dataset, [SimpleNamespace(name=name) for name in checks]
    loads = [load]
    machine = SimpleNamespace(cores=2, memory_bytes=10**9)
    bundle = SimpleNamespace(plan=plan, facts=told, machine=machine, runs=runs, loads=loads, damage=[])
    bundle.info = SimpleNamespace(messages=messages)
    return " ".join(limits_of(cast(Any, bundle), []))


def test_runs_that_begin_where_others_ended_are_said_not_to_be_independent() -> None:
    assert "repetitions are not independent of their order" in limits(reset="none")
    assert "independent" not in limits()


def test_a_bundle_that_was_continued_was_not_made_in_one_session() -> None:
    assert "were made in one session on one machine" in limits()
    twice = ("continued 2026-11-22 with 4 runs made before", "something else", "continued 2026-11-23 with 8 runs")
    assert "were made in 3 sessions on one machine, because the bundle was continued" in limits(messages=twice)


def test_a_search_says_how_often_its_interval_holds_on_a_machine_that_varies() -> None:
    assert "69 of 100 simulated searches" in limits(search=True)
    assert "simulated searches" not in limits()


def test_own_statements_are_not_called_synthetic() -> None:
    assert "The work is synthetic" in limits()
    assert "The work is synthetic" in limits(work={"kind": "sql", "script": "tpcb-like"})
    own = limits(work={"kind": "sql", "scripts": ["a.sql"]})
    assert "The work is your own SQL" in own
    assert "synthetic" not in own


def test_of_existing_data_the_checks_that_were_made_are_named() -> None:
    checked = limits(dataset="existing-ycsb-1", checks=("row count", "sample of rows"))
    assert "checked of them before the first run: row count, sample of rows; not every value" in checked
    assert "rests on who loaded them" in checked
    assert "rests on" not in limits(checks=("row count",))


def test_where_nothing_was_checked_of_existing_data_nothing_else_is_claimed() -> None:
    assert "no row of them was checked. That all systems hold the same rows" in limits(dataset="existing-sql-1")
    assert "row count" not in limits(dataset="existing-sql-1")


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (((True, False),), "shared one machine of 2 cores"),
        (((False, False),), "Network and server machine are outside"),
        (((True, False), (False, False)), "shared one machine"),
        (((True, True), (False, False)), "Network and server machine are outside"),
        (((True, True), (False, True)), "inside the client's process"),
    ],
)
def test_where_the_databases_ran_is_said_of_those_that_were_servers(
    facts: tuple[tuple[bool, bool], ...], words: str
) -> None:
    assert words in limits(facts=facts)


def run(client_cpu_s: float, server_cpu_s: float | None, *, unseen: bool = False) -> SimpleNamespace:
    return SimpleNamespace(
        state="done",
        clients=[],
        client_cpu_s=client_cpu_s,
        server=SimpleNamespace(cpu_s=server_cpu_s),
        machine=SimpleNamespace(server_not_distinguished=unseen),
    )


def test_that_client_and_server_share_cores_is_said_once_with_what_the_client_took() -> None:
    runs = (run(1.0, 9.0), run(3.0, 7.0))
    assert "they competed for CPU (the client took 10 % to 30 % of what both used), and" in limits(runs=runs)
    assert "the client took 10 % of what both used" in limits(runs=runs[:1])
    assert "`placement` gave each its cores" in limits(runs=runs, placement=("client", "server"))


def test_clients_on_other_machines_share_none_with_the_server() -> None:
    there = run(1.0, 9.0)
    there.clients = [SimpleNamespace(machine=machine) for machine in ("load1", "load1", "load2")]
    assert "Clients ran on 2 other machines, of which only cores, clocks" in limits(runs=(there,))
    assert "shared one machine" not in limits(runs=(there,))
    assert "in one session on one set of machines" in limits(runs=(there,))
    assert "shared one machine" in limits(runs=(there, run(1.0, 9.0))), "in one run a client was here"


def test_a_server_that_existed_before_is_said_to_share_the_machine_where_it_was_found_or_could_not_be() -> None:
    existing = ((False, False),)
    assert "shared one machine of 2 cores" in limits(facts=existing, runs=(run(1.0, 9.0),))
    assert "may not be looked at" in limits(facts=existing, runs=(run(1.0, None, unseen=True),))


PAGES = "InnoDB, row format Dynamic, PAGE_COMPRESSED=1"


def test_compression_that_finds_nothing_in_the_values_is_said_to_meet_random_ones() -> None:
    words = limits(tables=PAGES, sizes=(130 << 20, 110 << 20))
    assert "The compressed tables of m take 130 MiB on disk, and the values in them 110 MiB" in words
    assert "random" in words


@pytest.mark.parametrize(
    ("tables", "sizes"),
    [
        (PAGES, (60 << 20, 110 << 20)),
        (PAGES, (12 << 20, 2 << 20)),  # a small table is mostly room to grow
        (PAGES, (130 << 20, None)),
        ("InnoDB, row format Dynamic", (130 << 20, 110 << 20)),
    ],
)
def test_compression_that_finds_something_or_was_not_asked_for_needs_no_word(
    tables: str, sizes: tuple[int, int | None]
) -> None:
    assert "compression" not in limits(tables=tables, sizes=sizes)
