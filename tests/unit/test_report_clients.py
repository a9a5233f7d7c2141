"""Runs of several clients in the report: what each did, which was slower, where they ran."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.model.records import RunRecord
from bakeoff.report.answer import Answer
from bakeoff.report.client_places import places_words
from bakeoff.report.conclusion import answer_of
from bakeoff.report.conditions import changes
from bakeoff.report.config_diff import configuration_of
from bakeoff.report.figures import figures_of
from bakeoff.report.html import render_html
from bakeoff.report.matching import Match
from bakeoff.report.page_runs import machine_rows
from bakeoff.report.text import render_text
from builders.bundles import MARIADB, SQLITE, Story, write_bundle
from builders.clients import shared_out, slowed

SIX = ["load1", "load1", "load2", "load2", "load3", "load3"]
FIFTY = [f"load{number // 10 + 1}" for number in range(50)]


def story(machines: list[str], slow: list[int], **other: object) -> Story:
    fields = {"contenders": (MARIADB,), "threads": (4,), "presets": ("a",), "repetitions": 3} | other
    return Story(**fields, change=lambda run: slowed(run, machines, slow))  # type: ignore[arg-type]


def answer(folder: Path, machines: list[str], slow: list[int]) -> Answer:
    return answer_of(write_bundle(folder / "bundle", story(machines, slow)))


def test_each_client_is_told_with_its_machine_share_and_clock(tmp_path: Path) -> None:
    found = answer(tmp_path, SIX, [5])
    assert [one.client for one in found.clients] == [f"client {n} on {machine}" for n, machine in enumerate(SIX)]
    assert [one.is_behind for one in found.clients] == [False] * 5 + [True]
    assert sum(one.rate_ops_per_s for one in found.clients) == sum(
        client.rate_ops_per_s for run in runs_of(tmp_path) for client in run.clients
    ) / len(runs_of(tmp_path))
    row = next(line for line in render_text(found).splitlines() if "client 5 on load3, slower" in line)
    assert row.split("slower")[1].split()[1:3] == ["9.09", "%"]
    assert row.endswith("180 µs  108,000 s ± 120 µs")


def runs_of(folder: Path) -> list[RunRecord]:
    return Bundle.open(folder / "bundle").runs


def test_a_client_that_was_slower_in_most_runs_is_in_the_headline_with_what_it_cost(tmp_path: Path) -> None:
    found = answer(tmp_path, SIX, [5])
    [said] = [words for words in found.headline if "slower than the other" in words]
    assert said.startswith("mariadb, in all 3 runs: client 5 on load3 was slower than the other 5 (50 % of the rate")
    assert "at the rate of the others all would have had at most 9.1 % more (" in said
    assert not any("slower" in words for words in answer(tmp_path / "even", SIX, []).headline)


def test_other_cells_with_slower_clients_are_counted_once(tmp_path: Path) -> None:
    told = story(SIX, [5], contenders=(MARIADB, SQLITE), threads=(1, 4))
    found = answer_of(write_bundle(tmp_path / "bundle", told))
    said = [words for words in found.headline if "client" in words and "slower than the other" in words]
    assert len(said) == 2
    assert said[1] == "In 3 other cells some client was slower than the others, too: see the table of clients."


def test_a_client_that_was_slower_once_is_no_headline(tmp_path: Path) -> None:
    told = story(SIX, [])
    told.change = lambda run: slowed(run, SIX, [5] if run.block == 1 else [])
    found = answer_of(write_bundle(tmp_path / "bundle", told))
    assert not any("slower" in words for words in found.headline)
    assert any(words.startswith("warning: clients (1 of 3 runs): client 5") for words in found.validity)
    assert not any(one.is_behind for one in found.clients)


def test_fifty_clients_are_told_machine_by_machine_and_the_slower_ones_by_name(tmp_path: Path) -> None:
    found = answer(tmp_path, FIFTY, [13, 17, *range(40, 50)])
    assert [(one.client, one.is_behind) for one in found.clients] == [
        ("10 clients on load1", False),
        ("10 clients on load2", False),
        ("client 13 on load2", True),
        ("client 17 on load2", True),
        ("10 clients on load3", False),
        ("10 clients on load4", False),
        ("10 clients on load5", True),
    ]
    assert sum(one.clients for one in found.clients) == 52


def test_runs_of_other_machines_are_told_apart(tmp_path: Path) -> None:
    told = story(SIX, [])
    told.change = lambda run: shared_out(run, SIX if run.block < 3 else ["load1", "load2"] * 3)
    found = answer_of(write_bundle(tmp_path / "bundle", told))
    assert (
        "the load machines were not always the same: mariadb: 2 runs with 2 clients on each of load1, load2, load3;"
        " 1 run with 3 clients on each of load1, load2"
    ) in found.validity
    assert [one.client for one in found.clients] == ["3 clients on load1", "3 clients on load2", "2 clients on load3"]
    third, runs = found.clients[2], runs_of(tmp_path)[:2]
    assert third.rate_ops_per_s == pytest.approx(sum(run.rate_ops_per_s for run in runs) / 6, rel=0.01), "of its runs"


def test_a_bundle_of_single_clients_says_nothing_of_them(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", Story(contenders=(MARIADB,), threads=(4,), presets=("a",)))
    found = answer_of(bundle)
    assert found.clients == []
    assert "What each client did" not in render_text(found)
    assert "Clients: what each did" not in render_html(bundle, found, figures_of(bundle, found))


def test_the_page_has_the_clients_and_folds_what_is_long(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", story(FIFTY, [13]))
    found = answer_of(bundle)
    page = render_html(bundle, found, figures_of(bundle, found))
    assert "<h3>Clients: what each did</h3>" in page
    assert '<td class="bad-text">client 13 on load2, slower</td>' in page
    assert "from Example CPU 3.0 GHz, 8 cores, with clients on load1, load2, load3, load4, load5." in page
    many = write_bundle(tmp_path / "many", story(SIX, [], contenders=(MARIADB, SQLITE), threads=(1, 4)))
    told = answer_of(many)
    assert "<summary>Clients: what each did</summary>" in render_html(many, told, figures_of(many, told))


def test_contestants_asked_from_other_machines_differ_undeclared(tmp_path: Path) -> None:
    told = story(SIX, [], contenders=(MARIADB, replace(MARIADB, name="other")))
    told.change = lambda run: shared_out(run, SIX if run.cell == "c01" else SIX[:4])
    undeclared = configuration_of(write_bundle(tmp_path / "bundle", told)).undeclared
    values = {"mariadb": "load1, load2, load3", "other": "load1, load2"}
    assert [one.values for one in undeclared if one.name == "machines of the clients"] == [values]
    same = story(SIX, [], contenders=(MARIADB, replace(MARIADB, name="other")))
    assert configuration_of(write_bundle(tmp_path / "same", same)).undeclared == []


def test_bundles_made_from_other_machines_are_told_apart_loudly(tmp_path: Path) -> None:
    local = write_bundle(tmp_path / "local", Story(contenders=(MARIADB,), threads=(4,), presets=("a",)))
    fleet = write_bundle(tmp_path / "fleet", story(SIX, []))
    cells = local.plan.cells, fleet.plan.cells
    match = Match([cells[0][0]], [cells[1][0]])
    found = {change.name: change for change in changes([local], [fleet], [match])}
    change = found["machines of the clients"]
    assert (change.before, change.after, change.weight) == ("this machine", "load1, load2, load3", "loud")


def test_where_the_clients_were_and_how_well_their_clocks_are_known_is_a_fact_of_the_bundle(tmp_path: Path) -> None:
    told = dict(machine_rows(write_bundle(tmp_path / "bundle", story(SIX, []))))
    assert told["Clients"] == "2 clients on each of load1, load2, load3; clocks known to within 120 µs"
    assert places_words(shared_out(runs_of(tmp_path)[0], ["load1", "load1", "load2"])) == (
        "2 clients on load1, 1 client on load2"
    )
    many = [f"load{number}" for number in range(7)]
    assert places_words(shared_out(runs_of(tmp_path)[0], [*many, "load0"])) == (
        "1 to 2 clients on each of load0, load1, load2, load3, load4, 2 more"
    )
