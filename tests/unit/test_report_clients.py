"""Runs of several clients in the report: what each did, which was slower, where they ran."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.findings.between_bundles.conditions import changes
from bakeoff.findings.between_bundles.matching import Match
from bakeoff.findings.configuration import configuration_of
from bakeoff.model.records.run import ClientVerdict, RunRecord
from bakeoff.report.answer import Answer, answer_of
from bakeoff.report.charts.figures import figures_of
from bakeoff.report.html.rows import machine_rows
from bakeoff.report.html.write import render_html
from bakeoff.report.tables import clients_table
from bakeoff.report.text.terminal import render_text
from bakeoff.report.words.clients_and_nodes import places_words
from builders.bundles import MARIADB, SQLITE, Story, write_bundle
from builders.clients import shared_out, slowed

SIX = ["load1", "load1", "load2", "load2", "load3", "load3"]
FIFTY = [f"load{number // 10 + 1}" for number in range(50)]


def story(machines: list[str], slow: list[int], **other: object) -> Story:
    fields = {"contenders": (MARIADB,), "threads": (4,), "presets": ("a",), "repetitions": 3} | other
    return Story(**fields, change=lambda run: slowed(run, machines, slow))  # type: ignore[arg-type]


def answer(folder: Path, machines: list[str], slow: list[int]) -> Answer:
    return answer_of(write_bundle(folder / "bundle", story(machines, slow)))


def test_each_client_is_reported_with_its_machine_share_and_clock(tmp_path: Path) -> None:
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
    assert said.startswith(
        "mariadb, in all 3 runs: client 5 on load3 was slower than the other 5 (50 % of the throughput"
    )
    assert "would be at most" not in said, "client 4 is on the same machine"
    apart = answer(tmp_path / "apart", [f"load{number}" for number in range(6)], [5]).headline[1]
    assert re.search(
        r"; at the throughput of the others block [123]'s [\d,]+/s would be at most [\d,]+/s, 9.1 % more\.$", apart
    )


@pytest.mark.parametrize(
    ("machines", "words"),
    [
        (["load1", "load2", "load3"], "3 clients on 3 machines had 33.3, 33.3 and 33.3 % of the throughput"),
        (["this machine"] * 2, "2 clients on this machine had 50.0 and 50.0 % of the throughput"),
        (FIFTY, "50 clients on 5 machines had 2.00 % of the throughput each"),
    ],
)
def test_that_each_client_got_its_share_is_in_the_headline(tmp_path: Path, machines: list[str], words: str) -> None:
    found = answer(tmp_path, machines, [])
    assert f"{words}; none was clearly slower than the others, and none was the limit." in found.headline


def test_shares_of_several_cells_are_reported_in_one_line(tmp_path: Path) -> None:
    told = answer_of(write_bundle(tmp_path / "bundle", story(SIX, [], threads=(1, 4))))
    assert (
        "In 2 cells with several clients each had 100 % of an even share of the throughput; none was clearly"
        " slower than the"
        " others, and none was the limit."
    ) in told.headline


@pytest.mark.parametrize(
    ("limited", "cores", "words"),
    [
        (True, 4, "in all 3 runs a client was the limit."),
        (False, 1, "in all 3 runs clients waited for each other's cores."),
    ],
)
def test_what_limited_clients_is_said_next_to_their_shares(
    tmp_path: Path, limited: bool, cores: int, words: str
) -> None:
    def change(run: RunRecord) -> RunRecord:
        waited = {"cores": cores, "workers_run_queue_delay_ratio": [0.3]}
        clients = [client.model_copy(update=waited) for client in shared_out(run, SIX).clients]
        return run.model_copy(update={"clients": clients, "verdict": ClientVerdict(client_limited=limited)})

    told = story(SIX, [])
    told.change = change
    [said] = [line for line in answer_of(write_bundle(tmp_path / "bundle", told)).headline if "6 clients" in line]
    assert said.endswith(f"none was clearly slower than the others, and {words}")


def test_load_machines_that_are_this_one_are_named_in_report_and_table(tmp_path: Path) -> None:
    def here(run: RunRecord) -> RunRecord:
        clients = [
            one.model_copy(update={"machine": "this machine", "load_machine": one.machine})
            for one in shared_out(run, ["load1", "load2", "load3"]).clients
        ]
        return run.model_copy(update={"clients": clients})

    told = story([], [])
    told.change = here
    bundle = write_bundle(tmp_path / "bundle", told)
    found = answer_of(bundle)
    assert [one.client for one in found.clients][2] == "client 2 on load3 (this machine)"
    assert any(words.startswith("3 clients on this machine (load1, load2, load3) had") for words in found.headline)
    rows = clients_table(bundle).to_pylist()[:3]
    assert [(row["machine"], row["load_machine"]) for row in rows] == [
        ("this machine", name) for name in ("load1", "load2", "load3")
    ]


def test_where_most_clients_were_slower_no_row_of_the_table_says_so(tmp_path: Path) -> None:
    found = answer(tmp_path, ["load1", "load2", "load3"], [1, 2])
    assert any("client 0 on load1 was faster than the other 2 (" in words for words in found.headline)
    assert not any(one.is_behind for one in found.clients)


def test_other_cells_with_slower_clients_are_counted_once(tmp_path: Path) -> None:
    told = story(SIX, [5], contenders=(MARIADB, SQLITE), threads=(1, 4))
    found = answer_of(write_bundle(tmp_path / "bundle", told))
    assert sum("client 5 on load3 was slower than the other 5" in words for words in found.headline) == 1
    assert "In 3 other cells some client differed from the others, too: see the table of clients." in found.headline


def test_a_client_that_was_slower_once_is_no_headline(tmp_path: Path) -> None:
    told = story(SIX, [])
    told.change = lambda run: slowed(run, SIX, [5] if run.block == 1 else [])
    found = answer_of(write_bundle(tmp_path / "bundle", told))
    [said] = [words for words in found.headline if "differed" in words]
    assert said.endswith("; in 1 of 3 runs some client differed from the others, and none was the limit.")
    assert any(words.startswith("warning: clients (1 of 3 runs): client 5") for words in found.validity)
    assert not any(one.is_behind for one in found.clients)


def test_fifty_clients_are_reported_machine_by_machine_and_the_slower_ones_by_name(tmp_path: Path) -> None:
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


def test_runs_of_other_machines_are_distinguished(tmp_path: Path) -> None:
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


def test_bundles_made_from_other_machines_are_distinguished_and_flagged(tmp_path: Path) -> None:
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
