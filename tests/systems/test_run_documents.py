"""Documents from a plan to the report, in JSON columns of SQLite and of real servers; what is refused, and where."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import bakeoff, on_systems, only_bundle, write_plan

EVERYTHING = """
[workload]
kind = "documents"
records = 300
index = ["account", "address.city"]
get = 4
get_part = 2
put = 2
patch = 2
insert = 2
delete = 1
find = 1
find_unindexed = 0.2
contains = 0.2
count = 0.5
range = 0.5
get_batch = 0.5
put_batch = 0.2
batch = 5

[factors]
threads = 3

[measure]
warm_up = 0
operations = 1500
timeout = "10m"
repetitions = 2
"""
OPERATIONS = {
    *("GET", "GET-PART", "PUT", "PATCH", "INSERT", "DELETE", "FIND", "FIND-UNINDEXED", "CONTAINS", "COUNT", "RANGE"),
    *("GET-BATCH", "PUT-BATCH"),
}


@on_systems("sqlite", "mariadb", slow=["postgresql"])
def test_every_operation_is_measured_and_the_data_are_right(tmp_path: Path, db: str) -> None:
    done = bakeoff("run", write_plan(tmp_path, f"title = 'documents'\nseed = 1\n{db}{EVERYTHING}"), cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    bundle = only_bundle(tmp_path)
    for run in bundle.runs:
        assert run.valid, run.validity
        assert run.ok == 1500
        assert {series.operation for series in run.series} == OPERATIONS
        assert {check.name for check in run.checks} == {
            "number of documents",
            "acknowledged documents",
            "sample of documents",
        }
        assert all(check.ok for check in run.checks), run.checks
    assert "GET-PART" in (bundle.folder / "report.html").read_text(encoding="utf-8")


QUERIES = """
[workload]
kind = "documents"
preset = "query"
records = 200

[workload.template]
account = "int:0..50"
address = { zip = "int:1..9", city = "enum:Ulm,ulm,Köln" }
tags = { each = "enum:a,b,ü", count = "1..2" }

[factors]
threads = 2

[measure]
warm_up = 0
operations = 400
timeout = "10m"
repetitions = 1
"""


@on_systems("sqlite", slow=["mariadb", "postgresql"])
def test_counts_by_what_is_in_documents_are_those_of_the_template(tmp_path: Path, db: str) -> None:
    done = bakeoff("run", write_plan(tmp_path, f"title = 'queries'\nseed = 1\n{db}{QUERIES}"), cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    (run,) = only_bundle(tmp_path).runs
    found = {check.name: check for check in run.checks if check.name.startswith("documents by")}
    assert {name.removeprefix("documents by ") for name in found} == {
        "account",
        "address.zip",
        "tags",
        "address.city",
    }
    assert all(check.ok for check in run.checks), run.checks


YCSB = """
title = "rows and documents"
seed = 1
{systems}
[workload]
kind = "ycsb"
preset = "a"
records = 400
data_integrity = true
insert_proportion = 0.1
scan_proportion = 0.1
max_scan_length = 20

[factors]
form = ["record", "document"]
threads = 2

[measure]
warm_up = 0
operations = 1200
timeout = "10m"
repetitions = 2
"""


@on_systems("sqlite", "mariadb")
def test_ycsb_compares_rows_with_documents(tmp_path: Path, db: str) -> None:
    done = bakeoff("run", write_plan(tmp_path, YCSB.format(systems=db)), cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    bundle = only_bundle(tmp_path)
    assert len(bundle.runs) == 4
    for run in bundle.runs:
        assert run.valid, run.validity
        assert run.ok == 1200
        assert all(check.ok for check in run.checks), run.checks
    cells = bundle.plan.cells
    assert len({cell.dataset for cell in cells}) == 2
    assert len({cell.content for cell in cells}) == 1


@pytest.mark.parametrize(
    ("system", "options", "words"),
    [
        ("null", "preset = 'query'", "documents needs finding documents by what is in them, which null does not offer"),
        ("redis", "preset = 'mixed'", "documents needs setting single paths of a document, which redis does not offer"),
        ("valkey", "preset = 'mixed'", "setting single paths of a document, which valkey does not offer"),
        ("null", "preset = 'read'", "the null system has documents only where it keeps what is written"),
        ("redis", "preset = 'read'\nindex = ['account']", "documents needs indexes on paths of a document"),
        ("cassandra", "preset = 'read'", "documents needs documents, which cassandra does not offer"),
        ("sqlite", "preset = 'read'\npart = ['nmae']\n", "`nmae` is no such path of the template"),
        ("sqlite", "preset = 'read'\ntemplate = { a = 'strin:5' }", "`a` cannot be made from"),
    ],
)
def test_what_a_system_or_a_template_lacks_is_refused_before_anything_starts(
    tmp_path: Path, system: str, options: str, words: str
) -> None:
    plan = write_plan(tmp_path, f"title = 't'\n[systems.{system}]\n[workload]\nkind = 'documents'\n{options}\n")
    done = bakeoff("run", plan, "--dry-run", cwd=tmp_path)
    assert done.code == 2
    assert words in done.err


def test_ycsb_in_documents_is_refused_where_there_are_none(tmp_path: Path) -> None:
    plan = "title = 't'\n[systems.cassandra]\n[workload]\nkind = 'ycsb'\npreset = 'c'\nform = 'document'\n"
    done = bakeoff("run", write_plan(tmp_path, plan), "--dry-run", cwd=tmp_path)
    assert done.code == 2
    assert "cassandra has no documents" in done.err
