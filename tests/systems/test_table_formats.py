"""Formats of tables on real servers: what information_schema and the blocks on disk say of each, from plans."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.errors import ExitCode
from bakeoff.provision.installation import Installation
from bakeoff.systems.mysql.mariadb import SOURCES, MariaDb
from commands import bakeoff, only_bundle, write_plan
from mariadb_servers import bench_login

pytestmark = [pytest.mark.servers, pytest.mark.usefixtures("mariadb_program")]

PLAN = """
title = "Formats of tables"
seed = 3

[systems.mariadb]
settings = {{ innodb_buffer_pool_size = "32M" }}
durability = "relaxed"

[workload]
{workload}

[factors]
table_format = {formats}
threads = 2

[measure]
warm_up = "200ms"
operations = 200
timeout = "10m"
repetitions = 1
"""
SYSBENCH = 'kind = "sysbench"\ntables = 1\ntable_size = 10_000'


def run(folder: Path, formats: list[str], workload: str = SYSBENCH) -> Bundle:
    done = bakeoff("run", write_plan(folder, PLAN.format(workload=workload, formats=formats)), cwd=folder)
    assert done.code == 0, done.err
    bundle = only_bundle(folder)
    assert all(not run.errors and run.ok >= 200 for run in bundle.runs)
    return bundle


def by_format(bundle: Bundle) -> dict[str, tuple[str, int, int]]:
    """Of each what the server made of it, bytes on disk, and bytes that its files hold."""
    loads = {cell: load for load in bundle.loads for cell in load.cells}
    found = {}
    for cell in bundle.plan.cells:
        load = loads[cell.id]
        assert load.size_on_disk_bytes is not None
        assert load.file_size_bytes is not None
        words = bundle.facts[cell.id].portable["table_format"]
        name = str(cell.levels.get("table_format", "the only one"))
        found[name] = (words, load.size_on_disk_bytes, load.file_size_bytes)
    return found


def plugins_are_there(program: Installation) -> bool:
    return (program.base / "lib/mysql/plugin/ha_rocksdb.so").exists()


def test_each_format_is_made_read_back_and_takes_less_on_disk(tmp_path: Path) -> None:
    formats = ["plain", "page-compressed", "row-compressed:4"]
    found = by_format(run(tmp_path, formats))
    assert {name: words for name, (words, _, _) in found.items()} == {
        "plain": "InnoDB, row format Dynamic",
        "page-compressed": "InnoDB, row format Dynamic, PAGE_COMPRESSED=1",
        "row-compressed:4": "InnoDB, row format Compressed, ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4",
    }
    _, plain, held = found["plain"]
    assert plain > 0.95 * held
    _, pages, held = found["page-compressed"]
    assert pages < 0.8 * held
    assert found["row-compressed:4"][1] < 0.8 * plain


def test_other_algorithms_and_rocksdb_come_as_plugins(tmp_path: Path, mariadb_program: Installation) -> None:
    if not plugins_are_there(mariadb_program):
        pytest.skip(f"no plugins for formats of tables come with {mariadb_program.described}")
    bundle = run(tmp_path, ["page-compressed:lz4", "rocksdb"])
    found = by_format(bundle)
    assert found["page-compressed:lz4"][0] == "InnoDB, row format Dynamic, PAGE_COMPRESSED=1"
    assert found["page-compressed:lz4"][1] < 0.9 * found["page-compressed:lz4"][2]
    assert found["rocksdb"][0].startswith("ROCKSDB")
    assert found["rocksdb"][1] > 1 << 20
    settings = {cell.levels["table_format"]: bundle.facts[cell.id].settings for cell in bundle.plan.cells}
    assert settings["page-compressed:lz4"]["innodb_compression_algorithm"] == "lz4"
    assert settings["rocksdb"]["rocksdb_flush_log_at_trx_commit"] == "2"


WORKLOADS = {
    "ycsb": "records = 200",
    "sysbench": "tables = 1\ntable_size = 200",
    "linkbench": "maxid1 = 201",
    "tpcc": "mini = true\nwarehouses = 1",
    "sql": 'schema = "items.sql"\nscripts = ["look.sql"]',
}


@pytest.fixture
def existing(mariadb: MariaDb, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The keys of an existing server, whose schema is empty again afterwards."""
    monkeypatch.setenv("TEST_PASSWORD", mariadb.server.bench_password)
    yield f'address = "{mariadb.server.socket}"\nuser = "bench"\npassword = {{ env = "TEST_PASSWORD" }}'
    tables = ", ".join(f"bakeoff.{name}" for (name,) in mariadb.control.rows("SHOW TABLES FROM bakeoff"))
    with bench_login(mariadb) as connection, connection.cursor() as cursor:
        cursor.execute("SET foreign_key_checks = 0")
        cursor.execute(f"DROP TABLE IF EXISTS {tables}" if tables else "DO 0")


def plan_of(existing: str, kind: str, table_format: str) -> str:
    ours = 'settings = { innodb_buffer_pool_size = "32M" }\ndurability = "relaxed"'
    text = PLAN.format(workload=f'kind = "{kind}"\n{WORKLOADS[kind]}', formats=[table_format])
    assert ours in text
    return text.replace(ours, existing).replace("[measure]", '[measure]\nreset = "reload"')


@pytest.mark.parametrize("kind", WORKLOADS)
def test_every_workload_makes_its_tables_so(mariadb: MariaDb, tmp_path: Path, existing: str, kind: str) -> None:
    (tmp_path / "items.sql").write_text("CREATE TABLE items (id INT PRIMARY KEY) -- those that are sold\n;")
    (tmp_path / "look.sql").write_text("SELECT id FROM items;")
    plan = write_plan(tmp_path, plan_of(existing, kind, "row-compressed"))
    done = bakeoff("load", plan, "--together", cwd=tmp_path)
    assert done.code == 0, done.err
    rows = mariadb.control.rows(
        "SELECT TABLE_NAME, CREATE_OPTIONS FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'bakeoff'"
    )
    options = {str(name): str(said).upper() for name, said in rows if name != "bakeoff_tables"}
    assert options
    assert all("KEY_BLOCK_SIZE=8" in said for said in options.values()), options


def test_an_existing_server_is_not_set_to_another_algorithm(tmp_path: Path, existing: str) -> None:
    plan = write_plan(tmp_path, plan_of(existing, "ycsb", "page-compressed:lz4"))
    refused = bakeoff("load", plan, "--together", cwd=tmp_path)
    assert refused.code == ExitCode.USAGE
    assert "with lz4" in refused.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "works"), [("10.1", False), ("10.2", True), ("10.11.5", True), ("11.4", True), ("11.8", True)]
)
def test_pages_give_space_back_in_every_version_that_is_not_refused(tmp_path: Path, version: str, works: bool) -> None:
    SOURCES.install(version, None, lambda _: None)
    plan = PLAN.format(workload=SYSBENCH, formats=["page-compressed"])
    plan = plan.replace("[systems.mariadb]", f'[systems.mariadb]\nversion = "{version}"')
    done = bakeoff("run", write_plan(tmp_path, plan), cwd=tmp_path)
    if not works:
        assert done.code == ExitCode.USAGE
        assert "does not free the space that compressed pages save" in done.err
        return
    ((_, taken, held),) = by_format(only_bundle(tmp_path)).values()
    assert taken < 0.8 * held
