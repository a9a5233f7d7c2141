"""Tables that are longer than what is kept in memory of them."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from bakeoff.bundle.run_files import LongHistograms, LongTable


@pytest.mark.parametrize("rows", [1, 299, 300, 301, 8000])
def test_a_long_table_has_every_row_and_every_column(tmp_path: Path, rows: int) -> None:
    """A column begins late, one is whole numbers at first, one is empty for long."""
    table = LongTable(tmp_path, "long.parquet")
    given = [
        {"second": at, "rate": at if at < 400 else at + 0.5, "late": None if at < 5000 else 1.0}
        | ({"node": 2} if at >= 200 else {})
        for at in range(rows)
    ]
    for row in given:
        table.add(row)
    table.finish()
    columns = ["second", "rate", "late", *(["node"] if rows > 200 else [])]
    assert pq.read_table(tmp_path / "long.parquet").to_pylist() == [
        {name: row.get(name) for name in columns} for row in given
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["long.parquet"]


def test_a_table_without_rows_is_no_file(tmp_path: Path) -> None:
    LongTable(tmp_path, "none.parquet").finish()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rows", [0, 1, 5000])
def test_histograms_are_one_document(tmp_path: Path, rows: int) -> None:
    histograms = LongHistograms(tmp_path, "histograms.json.gz")
    given = [{"second": at, "hdr": f"{at:x}" * 20} for at in range(rows)]
    for row in given:
        histograms.add(row)
    histograms.finish()
    document = json.loads(gzip.decompress((tmp_path / "histograms.json.gz").read_bytes()))
    assert document == {"format": 1, "intervals": given}


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    table = LongTable(tmp_path, "long.parquet")
    row = {f"counter_{place}": 0.5 for place in range(100)}
    for at in range(1000):
        table.add(dict(row, second=at))
    tracemalloc.start()
    for at in range(1000, 5000):
        table.add(dict(row, second=at))
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 4_000_000, "4,000 rows of 100 numbers are 45 MB as objects"
