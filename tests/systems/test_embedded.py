"""Embedded key-value stores: measured, copied and put back as others are; nothing of them is opened by Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from bakeoff.cli import main
from bakeoff.errors import PlanError, ServerError
from bakeoff.model.durability import NOTHING
from bakeoff.plan.read import resolve
from bakeoff.provision.instance import InstanceFolder
from bakeoff.systems import SYSTEMS
from bakeoff.systems.embedded import EmbeddedStore
from bakeoff.systems.rocksdb import SOURCES, Rocksdb
from builders.systems import configured, fetched, node_of
from commands import bakeoff, engine_phase, only_bundle, write_plan
from rust_tests import needs_cargo, run_driver_tests

KINDS = ("redb", "lmdb", "fjall", "rocksdb")
WORKLOAD = {"kind": "ycsb", "records": 300, "field_count": 3, "field_length": 20}


@pytest.fixture(scope="module")
def library() -> str:
    """Skips where RocksDB's can neither be found nor fetched."""
    here = SOURCES.here()
    return str(here[0].program) if here else fetched(SOURCES, SOURCES.all[0].versions()[0])


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    if request.param == "rocksdb":
        request.getfixturevalue("library")
    return str(request.param)


def started(kind: str, place: Path, options: dict[str, Any] | None = None, **levels: Any) -> EmbeddedStore:
    system = cast(EmbeddedStore, configured(kind, place, options or {}, **levels))
    system.start()
    return system


def load(system: EmbeddedStore) -> None:
    engine_phase(system, "load", WORKLOAD)


PLAN = """
title = "Stores"

[systems.{kind}]

[workload]
kind = "ycsb"
preset = "{preset}"
records = 1000
data_integrity = true

[factors]
threads = 4
durability = {levels}

[measure]
warm_up = "200ms"
operations = 2000
repetitions = {repetitions}
"""


@pytest.mark.parametrize("preset", ["a", "e"])
def test_ycsb_is_measured_and_the_data_are_right_after_each_restore(kind: str, preset: str, tmp_path: Path) -> None:
    levels, repetitions = (["full", "none"], 1) if preset == "a" else (["none"], 2)
    plan = PLAN.format(kind=kind, preset=preset, levels=levels, repetitions=repetitions)
    done = bakeoff("run", write_plan(tmp_path, plan), "--together", cwd=tmp_path)
    assert done.code == 0, done.err
    bundle = only_bundle(tmp_path)
    assert [run.valid for run in bundle.runs] == [True] * 2
    assert all(run.checks and all(check.ok for check in run.checks) for run in bundle.runs)
    operations = {"a": {"READ", "UPDATE"}, "e": {"SCAN", "INSERT"}}[preset]
    assert {series.operation for run in bundle.runs for series in run.series} >= operations
    for facts in bundle.facts.values():
        assert facts.embedded
        assert facts.version
        assert facts.portable["durability"] in levels
    assert all(run.server.size_on_disk_bytes for run in bundle.runs)


def test_a_copy_of_a_store_is_put_back_at_every_level(kind: str, tmp_path: Path) -> None:
    for level in SYSTEMS[kind].capabilities().durability:
        system = started(kind, tmp_path / level, durability=level)
        with pytest.raises(ServerError, match="nothing was loaded"):
            system.snapshot(tmp_path / f"{level}-copy")
        load(system)
        system.snapshot(tmp_path / f"{level}-copy")
        other = cast(EmbeddedStore, configured(kind, tmp_path / f"{level}-other", {}, durability=level))
        other.restore(tmp_path / f"{level}-copy")
        (counted,) = engine_phase(other, "check", WORKLOAD, check={"evidence": []})["checks"]
        assert (counted["ok"], counted["actual"]) == (True, "300 rows")
        assert (other.size_on_disk_bytes() or 0) > 0
        assert node_of(other).gauges()["store_bytes"] > 0
        other.make_cold()


def test_a_store_on_other_storage_goes_with_the_instance(kind: str, tmp_path: Path) -> None:
    system = started(kind, tmp_path / "a", {"path": str(tmp_path / "fast")})
    load(system)
    assert system.store.is_relative_to(tmp_path / "fast")
    InstanceFolder(tmp_path / "a", for_servers=False).remove()
    assert list((tmp_path / "fast").iterdir()) == []


def test_facts_say_what_is_kept(kind: str, tmp_path: Path) -> None:
    levels = SYSTEMS[kind].capabilities().durability
    for level in levels:
        facts = node_of(started(kind, tmp_path / level, durability=level)).facts()
        assert facts.portable["durability"] == ("none" if level == "none" else level)
        assert (facts.portable["lost_at_power_loss"] == NOTHING) == (level == "full")
        assert facts.version


def test_a_level_that_a_store_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="redb has no durability 'relaxed'"):
        configured("redb", tmp_path, {}, durability="relaxed")


def resolved(kind: str, *, workload: str = 'kind = "ycsb"', measure: str = "") -> Any:
    plan = f"title = 'x'\n[systems.{kind}]\n[workload]\n{workload}\n[measure]\nwindow = '1s'\n{measure}\n"
    return resolve(plan, Path("/"), must_run=False)


def test_only_lmdb_takes_several_clients_and_none_takes_sql() -> None:
    for kind in ("redb", "fjall", "rocksdb"):
        with pytest.raises(PlanError, match="only one process may have a store"):
            resolved(kind, measure="clients = 2")
    resolved("lmdb", measure="clients = 2")
    for kind in KINDS:
        with pytest.raises(PlanError, match=kind):
            resolved(kind, workload='kind = "sysbench"')


def test_two_clients_share_an_lmdb_store(tmp_path: Path) -> None:
    plan = PLAN.format(kind="lmdb", preset="a", levels=["none"], repetitions=1)
    plan = plan.replace("threads = 4", "threads = 2\nclients = 2")
    done = bakeoff("run", write_plan(tmp_path, plan), "--together", cwd=tmp_path)
    assert done.code == 0, done.err
    assert all(check.ok for run in only_bundle(tmp_path).runs for check in run.checks)


def test_only_what_shapes_the_bytes_needs_data_of_its_own() -> None:
    def shaping(kind: str, **options: Any) -> dict[str, Any]:
        return SYSTEMS[kind].shaping_options(options, "full")

    assert shaping("redb", cache_bytes=1 << 20) == shaping("redb") == shaping("lmdb", write_map=True) == {}
    assert shaping("fjall", cache_bytes=1 << 20, memtable_bytes=1 << 20) == {"memtable_bytes": 1 << 20}
    assert shaping("rocksdb", settings={"a": "b"}, version="7.8") == {"settings": {"a": "b"}, "version": "7.8"}


def test_rocksdb_says_its_options_and_refuses_those_that_it_does_not_know(library: str, tmp_path: Path) -> None:
    assert library
    system = started("rocksdb", tmp_path / "a", {"settings": {"write_buffer_size": 1 << 20}})
    load(system)
    settings = node_of(system).facts().settings
    assert settings["write_buffer_size"] == str(1 << 20)
    assert settings["level0_file_num_compaction_trigger"] == "4"
    plan = PLAN.format(kind="rocksdb", preset="a", levels=["none"], repetitions=1)
    plan = plan.replace("[systems.rocksdb]", "[systems.rocksdb]\nsettings = { write_bufer_size = 1 }")
    done = bakeoff("run", write_plan(tmp_path, plan), "--together", cwd=tmp_path)
    assert done.code == 3
    assert "write_bufer_size" in done.err


def test_rocksdbs_library_may_be_ones_own(library: str, tmp_path: Path) -> None:
    missing = cast(Rocksdb, configured("rocksdb", tmp_path, {"library": "no.so"}))
    with pytest.raises(PlanError, match=r"there is no library .*no\.so"):
        missing.start()
    with pytest.raises(PlanError, match="excludes"):
        configured("rocksdb", tmp_path, {"library": "a.so", "version": "7.8"})
    with pytest.raises(PlanError, match="not a valid setting"):
        configured("rocksdb", tmp_path, {"settings": {"a": "1;create_if_missing=false"}})
    here = SOURCES.here()[0]
    own = started("rocksdb", tmp_path / "own", {"library": str(here.program)})
    driver, environment = own.engine_driver()
    assert (driver["library"], environment) == (str(here.program), {})


@needs_cargo
def test_the_drivers_own_tests_pass(library: str) -> None:
    """With the store's library; those of the others need nothing."""
    assert library
    here = SOURCES.here()[0]
    environment = {"BAKEOFF_TEST_ROCKSDB_LIBRARY": str(here.program), **here.environment}
    assert run_driver_tests(("conformance", "embedded", "session_allocation"), environment, of="rocksdb") == []


def test_they_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["systems"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert all(SYSTEMS[kind].summary in said for kind in KINDS)
