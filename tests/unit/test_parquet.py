"""Rows of Parquet files become CSV that says the same."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bakeoff.errors import PlanError
from bakeoff.workloads.parquet import as_csv
from bakeoff.workloads.sql import read


def test_null_is_nothing_and_texts_stand_in_quotes(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.int32()),
            "name": pa.array(["", None]),
            "words": pa.array(['a "b",\nc', "d"]).dictionary_encode(),
            "price": pa.array([Decimal("1.50"), None], pa.decimal128(6, 2)),
            "share": [0.5, -1.0],
            "fresh": [True, False],
            "made": [date(2020, 2, 29), None],
            "seen": pa.array([datetime(2020, 1, 1, 12, tzinfo=UTC), None], pa.timestamp("ms", tz="Europe/Berlin")),
        }
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    written = as_csv(tmp_path / "rows.parquet")
    assert written.read_text() == (
        '"id","name","words","price","share","fresh","made","seen"\n'
        '1,"","a ""b"",\nc",1.50,0.5,1,2020-02-29,2020-01-01 12:00:00.000000\n'
        '2,,"d",,-1,0,,\n'
    )
    asked = read({"load": {"t": {"file": "rows.parquet"}}}, tmp_path)
    assert asked.options["load"]["t"]["file"] == {"name": "rows.parquet", "path": str(written)}


def test_what_is_no_parquet_file_of_rows_is_refused_by_name(tmp_path: Path) -> None:
    pq.write_table(pa.table({"tags": [["a"]]}), tmp_path / "nested.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    for name, words in (
        ("nested.parquet", "column `tags` is list<"),
        ("broken.parquet", "the file of rows is not read as Parquet"),
        ("none.parquet", "the file of rows cannot be read: No such file or directory"),
    ):
        with pytest.raises(PlanError) as error:
            as_csv(tmp_path / name)
        assert error.value.what.startswith(words)
        assert error.value.where == str(tmp_path / name)
