"""The embedded SQLite system: its file, its copies, what it says about itself."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
from bakeoff.errors import PlanError, ServerError
from bakeoff.provision.instance import InstanceFolder
from bakeoff.systems.sqlite import Sqlite
from builders.pages import cached_pages
from builders.systems import configured, node_of


def started(place: Path, options: dict[str, Any] | None = None, **levels: Any) -> Sqlite:
    system = cast(Sqlite, configured("sqlite", place / "a", options or {}, **levels))
    system.start()
    return system


def write(system: Sqlite, rows: int) -> None:
    with closing(sqlite3.connect(system.file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE IF NOT EXISTS t (v TEXT)")
        connection.executemany("INSERT INTO t VALUES (?)", [("x" * 400,)] * rows)
        connection.commit()


def count(system: Sqlite) -> int:
    with closing(sqlite3.connect(system.file)) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM t").fetchone()[0])


def test_the_engine_gets_the_file_and_the_pragmas_as_text(tmp_path: Path) -> None:
    system = started(tmp_path, {"settings": {"Cache_Size": -65536, "journal_mode": "WAL"}}, durability="relaxed")
    driver, environment = system.engine_driver()
    assert driver == {
        "kind": "sqlite",
        "path": str(tmp_path / "a" / "data.sqlite"),
        "pragmas": {"journal_mode": "WAL", "synchronous": "NORMAL", "cache_size": "-65536"},
        "begin": "immediate",
    }
    assert environment == {}


def test_restore_brings_back_what_the_snapshot_had(tmp_path: Path) -> None:
    system = started(tmp_path)
    write(system, 100)
    system.snapshot(tmp_path / "snapshot")
    with closing(sqlite3.connect(system.file)) as reader:  # keeps the log of the later writes next to the file
        reader.execute("BEGIN")
        reader.execute("SELECT 1 FROM t LIMIT 1").fetchone()
        write(system, 50)
        assert node_of(system).debt()["wal_bytes"] > 0
    system.restore(tmp_path / "snapshot")
    assert count(system) == 100
    assert node_of(system).debt() == {"wal_bytes": 0.0}


def test_a_system_that_has_never_run_can_be_restored(tmp_path: Path) -> None:
    first = started(tmp_path)
    write(first, 10)
    first.snapshot(tmp_path / "snapshot")
    other = cast(Sqlite, configured("sqlite", tmp_path / "b", {}))
    other.restore(tmp_path / "snapshot")
    assert count(other) == 10


def test_the_log_is_debt_and_draining_empties_it(tmp_path: Path) -> None:
    system = started(tmp_path)
    with closing(sqlite3.connect(":memory:")), closing(sqlite3.connect(tmp_path / "a" / "data.sqlite")) as open_one:
        write(system, 1)
        open_one.execute("SELECT * FROM t").fetchall()  # holds the file open, so that closing does not checkpoint
        write(system, 500)
        assert node_of(system).debt()["wal_bytes"] > 500 * 400
        assert node_of(system).gauges()["wal_bytes"] == node_of(system).debt()["wal_bytes"]
        assert system.drain_debt(600.0)
        assert node_of(system).debt()["wal_bytes"] == 0


def test_draining_gives_up_when_a_reader_is_in_the_way(tmp_path: Path) -> None:
    system = started(tmp_path)
    write(system, 1)
    with closing(sqlite3.connect(system.file, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM t").fetchall()
        write(system, 500)
        assert not system.drain_debt(0.2)


def test_snapshot_without_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="nothing was loaded"):
        started(tmp_path).snapshot(tmp_path / "snapshot")


def test_facts_have_the_files_own_settings_and_the_portable_ones(tmp_path: Path) -> None:
    system = started(tmp_path, durability="full")
    write(system, 10)
    facts = node_of(system).facts()
    assert facts.settings["journal_mode"] == "WAL"
    assert facts.settings["page_size"] == "4096"
    assert facts.portable == {
        "durability": "full",
        "lost_when_killed": "nothing",
        "lost_at_power_loss": "nothing",
        "whole_afterwards": "yes",
        "isolation": "serializable",
        "memory_bytes": "2048000",
        "tls": "off",
    }
    size = system.size_on_disk_bytes()
    assert size is not None
    assert size >= 8192


@pytest.mark.parametrize("settings", [{"synchronous = OFF; --": "1"}, {"synchronous": "OFF; DROP TABLE t"}])
def test_a_pragma_cannot_smuggle_in_more_sql(tmp_path: Path, settings: dict[str, str]) -> None:
    with pytest.raises(PlanError, match="is not a valid pragma"):
        started(tmp_path, {"settings": settings})


def test_a_file_placed_on_other_storage_goes_with_the_instance(tmp_path: Path) -> None:
    system = started(tmp_path, {"path": str(tmp_path / "fast-disk")})
    write(system, 10)
    assert system.file.is_relative_to(tmp_path / "fast-disk")
    InstanceFolder(tmp_path / "a", for_servers=False).remove()
    assert list((tmp_path / "fast-disk").iterdir()) == []


def test_a_cold_file_is_in_no_cache_wherever_the_plan_puts_it(place: Path) -> None:
    """Not a folder of the instance's own: what is dropped is where the data are."""
    system = started(place, {"path": str(place / "elsewhere")})
    write(system, 5000)
    assert not system.file.is_relative_to(place / "a")
    assert cached_pages(system.file) > 0
    system.make_cold()
    assert cached_pages(system.file) == 0
    assert count(system) == 5000
