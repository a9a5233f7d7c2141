"""What acknowledged commits survive, by each system's own settings, and how it is reported and compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.analysis.compare import ComparisonAnswer
from bakeoff.model.durability import FACTS, LEVELS, NOTHING, Survival, kind_of_loss, read, words
from bakeoff.report.answer import answer_of
from bakeoff.systems import SYSTEMS
from bakeoff.systems.cassandra.options import acknowledging as of_level
from bakeoff.systems.durability import of_cassandra, of_innodb, of_postgresql, of_sqlite
from builders.bundles import MARIADB, SQLITE, Story, write_bundle
from builders.systems import configured

SECOND = "commits of the last 1 s"
UNWRITTEN = "commits that the kernel had not written"


@pytest.mark.parametrize(
    ("settings", "killed", "power", "whole"),
    [
        ({"innodb_flush_log_at_trx_commit": "1", "log_bin": "OFF", "sync_binlog": "0"}, NOTHING, NOTHING, True),
        ({"innodb_flush_log_at_trx_commit": "1", "log_bin": "ON", "sync_binlog": "1"}, NOTHING, NOTHING, True),
        ({"innodb_flush_log_at_trx_commit": "1", "innodb_doublewrite": "OFF"}, NOTHING, NOTHING, False),
        ({"innodb_flush_log_at_trx_commit": "1", "innodb_flush_method": "nosync"}, NOTHING, UNWRITTEN, False),
        ({"innodb_flush_log_at_trx_commit": "2"}, NOTHING, SECOND, True),
        ({"innodb_flush_log_at_trx_commit": "0"}, SECOND, SECOND, True),
    ],
)
def test_innodb(settings: dict[str, str], killed: str, power: str, whole: bool) -> None:
    assert of_innodb(settings) == Survival(killed, power, whole)


def test_how_long_innodb_waits_is_in_the_words() -> None:
    found = of_innodb({"innodb_flush_log_at_trx_commit": "2", "innodb_flush_log_at_timeout": "9"})
    assert found.lost_at_power_loss == "commits of the last 9 s"


def test_a_binary_log_that_is_not_synced_loses_commits_with_the_power() -> None:
    found = of_innodb({"innodb_flush_log_at_trx_commit": "1", "log_bin": "ON", "sync_binlog": "0"})
    assert (found.lost_when_killed, found.level) == (NOTHING, "relaxed")


@pytest.mark.parametrize(
    ("settings", "acknowledging", "killed", "power"),
    [
        ({"commitlog_sync": "batch"}, 1, NOTHING, NOTHING),
        ({"commitlog_sync": "group"}, 1, NOTHING, NOTHING),
        ({"commitlog_sync": "periodic"}, 1, "commits of about the last 0.1 s", "commits of the last 10 s"),
        ({"commitlog_sync_period": "500ms"}, 2, NOTHING, "commits of the last 0.5 s"),
    ],
)
def test_cassandra(settings: dict[str, str], acknowledging: int, killed: str, power: str) -> None:
    assert of_cassandra(settings, acknowledging=acknowledging) == Survival(killed, power)


@pytest.mark.parametrize(
    ("consistency", "copies", "acknowledging"),
    [("one", 3, 1), ("any", 3, 1), ("two", 3, 2), ("local_quorum", 3, 2), ("quorum", 1, 1), ("all", 3, 3)],
)
def test_how_many_nodes_of_cassandra_have_a_write(consistency: str, copies: int, acknowledging: int) -> None:
    assert of_level(consistency, copies) == acknowledging


@pytest.mark.parametrize(
    ("pragmas", "killed", "power", "whole"),
    [
        ({}, NOTHING, "the last commit", True),
        ({"synchronous": "2"}, NOTHING, "the last commit", True),
        ({"synchronous": "extra"}, NOTHING, NOTHING, True),
        ({"journal_mode": "TRUNCATE"}, NOTHING, NOTHING, True),
        ({"journal_mode": "wal", "synchronous": "FULL"}, NOTHING, NOTHING, True),
        ({"journal_mode": "wal", "synchronous": "NORMAL"}, NOTHING, "commits since the last checkpoint", True),
        ({"synchronous": "1"}, NOTHING, "the last commit", False),
        ({"journal_mode": "wal", "synchronous": "off"}, NOTHING, UNWRITTEN, False),
        ({"journal_mode": "MEMORY", "synchronous": "FULL"}, NOTHING, NOTHING, False),
    ],
)
def test_sqlite(pragmas: dict[str, str], killed: str, power: str, whole: bool) -> None:
    assert of_sqlite(pragmas) == Survival(killed, power, whole)


@pytest.mark.parametrize(
    ("settings", "killed", "power", "whole"),
    [
        ({}, NOTHING, NOTHING, True),
        ({"synchronous_commit": "local"}, NOTHING, NOTHING, True),
        ({"synchronous_commit": "off"}, *["commits of the last 0.6 s"] * 2, True),
        ({"synchronous_commit": "off", "wal_writer_delay": "1s"}, *["commits of the last 3 s"] * 2, True),
        ({"fsync": "off"}, NOTHING, UNWRITTEN, False),
        ({"fsync": "off", "synchronous_commit": "off"}, "commits of the last 0.6 s", UNWRITTEN, False),
        ({"full_page_writes": "off"}, NOTHING, NOTHING, False),
    ],
)
def test_postgresql(settings: dict[str, str], killed: str, power: str, whole: bool) -> None:
    assert of_postgresql(settings) == Survival(killed, power, whole)


def test_a_level_is_the_least_that_is_kept() -> None:
    assert Survival(NOTHING, NOTHING).level == "full"
    assert Survival(NOTHING, SECOND).level == "relaxed"
    assert Survival(SECOND, SECOND).level == "none"
    assert Survival(NOTHING, NOTHING, whole=False).level == "none"


def test_every_level_that_a_kind_offers_is_one_that_is_known() -> None:
    for kind in SYSTEMS.values():
        assert set(kind.capabilities().durability) <= set(LEVELS)


def test_facts_are_read_back_as_they_were_written() -> None:
    for survival in (Survival(NOTHING, SECOND), Survival(SECOND, UNWRITTEN, whole=False)):
        facts = survival.facts()
        assert list(facts) == ["durability", *FACTS]
        assert read(facts) == survival
    assert read({"durability": "full"}) is None  # of a bakeoff that told no more


def test_words_say_what_is_lost_and_when() -> None:
    assert words(Survival(NOTHING, NOTHING)) == "nothing lost when killed or at a power loss"
    assert words(Survival(NOTHING, SECOND)) == f"nothing lost when killed, {SECOND} at a power loss"
    assert words(Survival(NOTHING, UNWRITTEN, whole=False)).endswith(", which can corrupt the data")


def test_how_many_are_lost_does_not_make_systems_incomparable_but_in_which_case_does() -> None:
    shorter, longer = (Survival(f"commits of the last {s} s", f"commits of the last {s} s") for s in ("0.6", "1"))
    assert kind_of_loss(shorter) == kind_of_loss(longer)
    assert kind_of_loss(shorter) != kind_of_loss(Survival(NOTHING, SECOND))


def judged(tmp_path: Path, asked: str | None, mariadb: Survival, sqlite: Survival) -> ComparisonAnswer:
    """Of two systems at one level by name, as the plan asked for it or not."""
    level = mariadb.level
    contenders = (replace(MARIADB, durability=level), replace(SQLITE, durability=level))
    bundle = write_bundle(
        tmp_path / "bundle", Story(contenders, threads=(1,), presets=("a",), window_s=20, warm_up_s=2)
    )
    for cell in bundle.plan.cells:
        cell.durability = asked
        bundle.facts[cell.id].portable.update((mariadb if cell.kind == "mariadb" else sqlite).facts())
    return answer_of(bundle).comparisons[0]


INNODB_0 = of_innodb({"innodb_flush_log_at_trx_commit": "0"})
SYNCHRONOUS_OFF = of_sqlite({"journal_mode": "WAL", "synchronous": "OFF"})


def test_two_systems_of_one_name_that_lose_otherwise_are_not_compared_unasked(tmp_path: Path) -> None:
    answer = judged(tmp_path, None, INNODB_0, SYNCHRONOUS_OFF)
    assert "durability differs: none (nothing lost when killed" in answer.words
    assert "and the plan does not ask for that: write `durability` in it" in answer.words


def test_where_the_plan_asks_both_for_one_level_the_difference_is_listed(tmp_path: Path) -> None:
    answer = judged(tmp_path, "none", INNODB_0, SYNCHRONOUS_OFF)
    assert any("though both are called none" in note and "corrupt" in note for note in answer.notes)


def test_two_systems_of_one_level_that_lose_other_things_say_so(tmp_path: Path) -> None:
    since_snapshot = Survival(*["everything since the last snapshot"] * 2)
    answer = judged(tmp_path, "none", since_snapshot, of_postgresql({"synchronous_commit": "off"}))
    assert answer.claims_difference
    (note,) = [note for note in answer.notes if "durability" in note]
    assert note == (
        "durability is none for both, but what they lose differs: none (commits of the last 0.6 s lost when killed or"
        " at a power loss) against none (everything since the last snapshot lost when killed or at a power loss)"
    )


def test_two_systems_that_lose_alike_are_compared_without_a_word(tmp_path: Path) -> None:
    postgresql_like = of_postgresql({"synchronous_commit": "off"})
    answer = judged(tmp_path, None, INNODB_0, postgresql_like)
    assert "not compared" not in answer.words
    assert not any("durability" in note for note in answer.notes)


def test_the_level_of_an_existing_server_declares_the_settings_that_it_means(tmp_path: Path) -> None:
    """So that they are no undeclared difference next to a server of another level."""
    found = {
        durability: configured("mariadb", tmp_path, {"address": "127.0.0.1:1", "user": "bench"}, durability=durability)
        for durability in ("relaxed", None)
    }
    assert found["relaxed"].declared() == {"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0"}
    assert found[None].declared() == {}
