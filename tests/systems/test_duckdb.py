"""DuckDB inside the engine: workloads whose answers are checked, copies, its own settings, what it lacks."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from bakeoff.errors import PlanError
from bakeoff.systems.duckdb.system import SOURCES, Duckdb
from builders.systems import configured, fetched, node_of
from commands import bakeoff, engine_phase, only_bundle, write_plan
from rust_tests import needs_cargo, run_driver_tests

pytestmark = pytest.mark.servers

WORKLOADS = {
    "ycsb": """
kind = "ycsb"
records = 500
data_integrity = true
read_proportion = 0.4
update_proportion = 0.3
insert_proportion = 0.2
scan_proportion = 0.1
""",
    "linkbench": 'kind = "linkbench"\nmaxid1 = 201\nloader_chunk_size = 100\n',
    "sysbench": 'kind = "sysbench"\ntables = 2\ntable_size = 500\nscript = "oltp_read_write"\n',
    "documents": 'kind = "documents"\npreset = "mixed"\nrecords = 200\n',
    "sql": 'kind = "sql"\nscript = "tpcb-like"\nscale = 1\n',
    "hatshop": 'kind = "hatshop"\norders = 50\nevents = 300\n',
}
PLAN = """
title = "DuckDB"
[systems.duckdb]
settings = {{ threads = 1, preserve_insertion_order = false }}
[workload]
{workload}
[factors]
threads = 2
[measure]
warm_up = 0
operations = 300
repetitions = 1
# Of two users that change a row at the same time, one has to try again.
retry = {{ retries = 100, on = ["conflict"], backoff = "1ms" }}
"""


@pytest.fixture(scope="module")
def library() -> str:
    here = SOURCES.here()
    return str(here[0].program) if here else fetched(SOURCES, "1.5")


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_workload_is_measured_and_its_data_are_right(tmp_path: Path, workload: str) -> None:
    plan = write_plan(tmp_path, PLAN.format(workload=WORKLOADS[workload]))
    done = bakeoff("run", plan, "--together", "--allow-disturbed", cwd=tmp_path)
    assert done.code == 0, done.err + done.out
    (run,) = only_bundle(tmp_path).runs
    assert run.valid, run.validity
    assert run.checks
    assert all(check.ok for check in run.checks), run.checks


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ('kind = "tpcc"\n', "tpcc needs reads that lock their rows, which duckdb does not offer"),
        (
            'kind = "documents"\npreset = "query"\n',
            "documents needs indexes on paths of a document, which duckdb does not offer",
        ),
    ],
)
def test_what_it_lacks_is_refused_before_anything_starts(tmp_path: Path, options: str, words: str) -> None:
    done = bakeoff("run", write_plan(tmp_path, PLAN.format(workload=options)), "--dry-run", cwd=tmp_path)
    assert done.code == 2
    assert words in done.err


@pytest.mark.usefixtures("library")
def test_a_copy_of_its_data_is_put_back(tmp_path: Path) -> None:
    system = cast(Duckdb, configured("duckdb", tmp_path / "d", {}))
    system.start()
    workload = {"kind": "ycsb", "records": 300}
    engine_phase(system, "load", workload)
    facts = node_of(system).facts()
    assert (facts.product, facts.portable["durability"]) == ("DuckDB", "full")
    system.snapshot(tmp_path / "copy")
    for file in system.store.iterdir():
        file.unlink()
    system.restore(tmp_path / "copy")
    assert (system.store / "db").is_file()


@pytest.mark.usefixtures("library")
def test_a_setting_that_it_does_not_know_is_said_by_duckdb(tmp_path: Path) -> None:
    plan = PLAN.replace("threads = 1", "thraeds = 1").format(workload=WORKLOADS["ycsb"])
    done = bakeoff("run", write_plan(tmp_path, plan), "--together", cwd=tmp_path)
    assert done.code == 2
    assert "The following options were not recognized: thraeds" in done.err
    assert "settings have the names and values of DuckDB's own configuration" in done.err


def test_its_library_may_be_ones_own(library: str, tmp_path: Path) -> None:
    assert library
    missing = configured("duckdb", tmp_path, {"library": "no.so"})
    with pytest.raises(PlanError, match=r"there is no library .*no\.so"):
        missing.start()
    here = SOURCES.here()[0]
    own = cast(Duckdb, configured("duckdb", tmp_path / "own", {"library": str(here.program)}))
    own.start()
    engine_phase(own, "load", {"kind": "ycsb", "records": 10})
    assert node_of(own).facts().version == here.version
    other = tmp_path / "other.so"
    other.write_text("not a library")
    settings = "settings = {{ threads = 1, preserve_insertion_order = false }}"
    plan = PLAN.replace(settings, f'library = "{other}"').format(workload=WORKLOADS["ycsb"])
    done = bakeoff("run", write_plan(tmp_path, plan), "--together", cwd=tmp_path)
    assert done.code == 3
    assert f"could not load DuckDB: {other}: file too short" in done.err
    assert "bakeoff systems install duckdb" in done.err


@pytest.mark.parametrize("name", ["enable_external_access", "Access_Mode", "temp_directory", "LOG_QUERY_PATH"])
def test_settings_of_ours_are_refused_in_any_case(tmp_path: Path, name: str) -> None:
    with pytest.raises(PlanError, match=f"'{name}' is set by bakeoff"):
        configured("duckdb", tmp_path, {"settings": {name: "/elsewhere"}})


@needs_cargo
def test_the_drivers_own_tests_pass(library: str) -> None:
    here = SOURCES.here()[0]
    environment = {"BAKEOFF_TEST_DUCKDB_LIBRARY": str(here.program), **here.environment}
    assert library
    assert run_driver_tests(("conformance", "documents", "duckdb", "values", "bulk"), environment, of="duckdb") == []
