"""The survey of systems: complete, with sources, and short enough for a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bakeoff.cli import main
from bakeoff.errors import ExitCode
from bakeoff.systems import SYSTEMS
from bakeoff.systems.survey import COLUMNS, PAGES, Surveyed, survey, without_driver
from builders.plans import refused

NAMED = {
    *("MariaDB", "MySQL", "Percona Server", "Galera Cluster", "PostgreSQL", "SQLite", "Apache Cassandra", "MongoDB"),
    *("Apache CouchDB", "Amazon DynamoDB", "Amazon SimpleDB", "Riak KV", "LeanXcale", "Redis", "Valkey", "RocksDB"),
    *("LMDB", "redb", "fjall", "DuckDB", "DeeDS", "ZATARA"),
}
SYSTEMS_SURVEYED = survey().system


def test_every_system_that_the_articles_name_and_every_kind_is_in_it() -> None:
    names = [one.name for one in SYSTEMS_SURVEYED]
    assert set(names) >= NAMED
    assert len(names) == len(set(names)), "each has one row"
    products = {kind for kind, system in SYSTEMS.items() if not system.peer_of} - {"null", "reference"}
    assert products <= {kind for one in SYSTEMS_SURVEYED for kind in one.kinds}
    peers = {kind for kind, system in SYSTEMS.items() if system.peer_of}
    assert peers <= {kind for kind in peers for one in SYSTEMS_SURVEYED if f"`{kind}`" in one.driver}


@pytest.mark.parametrize("one", SYSTEMS_SURVEYED, ids=lambda one: one.name)
def test_every_row_has_sources_and_cells_that_fit_a_page(one: Surveyed) -> None:
    assert one.sources.keys() <= {"all", *COLUMNS}
    for column in COLUMNS:
        assert one.source(column)
        assert 1 <= len(one.cell(column).split()) <= 40
        assert "|" not in one.cell(column)
    assert one.page in PAGES
    assert bool(one.kinds) != bool(one.absent)


#: Their documentation is one page, or says little.
ONE_PAGE = {"LeanXcale", "LMDB"}


@pytest.mark.parametrize("one", [one for one in SYSTEMS_SURVEYED if one.kinds], ids=lambda one: one.name)
def test_what_bakeoff_tests_has_a_page_as_its_source(one: Surveyed) -> None:
    """And not the first of the whole documentation, but for what a system has not: replication, knobs."""
    without = survey().tests.keys() - one.sources.keys()
    assert len(without) <= 2 or one.name in ONE_PAGE, without


def test_what_is_tested_names_columns() -> None:
    assert survey().tests.keys() <= COLUMNS.keys()
    assert {"consistency", "transactions", "durability"} <= survey().tests.keys()


def test_it_is_printed_in_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["systems", "--survey"]) == ExitCode.DONE
    lines = capsys.readouterr().out.splitlines()
    assert set(lines) >= NAMED
    assert all(len(line) <= 80 or "//" in line for line in lines), "but for long addresses"
    assert main(["systems", "--survey", "--json"]) == ExitCode.DONE
    tree = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in tree["systems"]] == [one.name for one in SYSTEMS_SURVEYED]
    assert all(one["sources"]["all"] and one["driver"] for one in tree["systems"])


def test_the_list_of_systems_fits_a_terminal_and_names_those_without_a_driver(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["systems"]) == ExitCode.DONE
    shown = capsys.readouterr().out
    first, _, rest = shown.partition("without a driver:\n")
    assert all(len(line) <= 80 for line in first.splitlines())
    assert [line.split()[0] for line in rest.splitlines()[:2]] == ["DeeDS", "ZATARA"]


@pytest.mark.parametrize("one", without_driver(), ids=lambda one: one.name)
def test_a_plan_that_names_one_is_refused_with_the_reason(
    one: Surveyed, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for systems in (f"[systems.x]\nkind = '{one.names[0]}'", f"[systems.{one.names[0]}]"):
        assert refused(systems=systems).what == f"{one.name} has no driver: {one.absent}"
    assert main(["quick", one.names[0], "--results", str(tmp_path)]) == ExitCode.USAGE
    assert one.absent in capsys.readouterr().err


def test_a_misspelt_kind_is_answered_with_the_nearest() -> None:
    error = refused(systems="[systems.x]\nkind = 'casandra'")
    assert error.hint == "did you mean `cassandra`?"
