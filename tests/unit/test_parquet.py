"""Rows of Parquet files become CSV that says the same."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bakeoff.errors import BakeoffError, PlanError
from bakeoff.workloads import parquet
from bakeoff.workloads.parquet import as_csv
from bakeoff.workloads.sql import read


def test_null_is_nothing_and_texts_are_in_quotes(tmp_path: Path) -> None:
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


def test_few_bytes_that_hold_endless_rows_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    rows = pa.table({"words": pa.array(["x" * 100_000] * 2_000)})
    pq.write_table(rows, tmp_path / "bomb.parquet", compression="zstd")
    assert (tmp_path / "bomb.parquet").stat().st_size < 100_000
    with pytest.raises(PlanError) as error:
        as_csv(tmp_path / "bomb.parquet")
    assert "as CSV, which is the limit" in error.value.what
    assert "64 MiB and 100 times the file" in (error.value.hint or "")
    assert not list(parquet._folder().path.glob("bomb*"))


def test_a_full_disk_is_called_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"words": ["x" * 100_000] * 10}), tmp_path / "rows.parquet")
    full = os.fdopen(os.open("/dev/full", os.O_WRONLY), "wb")
    monkeypatch.setattr(parquet, "_new_file", lambda *_: (full, tmp_path / "rows.csv"))
    with pytest.raises(BakeoffError, match="the disk is full") as error:
        as_csv(tmp_path / "rows.parquet")
    assert "rows.parquet" in (error.value.hint or "")


def test_rows_that_a_killed_process_wrote_are_removed_by_the_next(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1, 2, 3]}), tmp_path / "rows.parquet")
    program = (
        "import os, signal, sys; from pathlib import Path; from bakeoff.workloads.parquet import as_csv;"
        " print(as_csv(Path(sys.argv[1])), flush=True); {end}"
    )

    def written(end: str) -> Path:
        words = [sys.executable, "-c", program.format(end=end), tmp_path / "rows.parquet"]
        env = os.environ | {"BAKEOFF_CACHE": str(tmp_path / "cache")}
        return Path(subprocess.run(words, env=env, capture_output=True, text=True, check=False).stdout.strip())

    left = written("os.kill(os.getpid(), signal.SIGKILL)")
    assert left.read_text().splitlines() == ['"n"', "1", "2", "3"]
    assert not written("").exists()
    assert not left.exists()


def test_what_is_no_parquet_file_of_rows_is_refused_by_name(tmp_path: Path) -> None:
    pq.write_table(pa.table({"tags": [["a"]]}), tmp_path / "nested.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    for name, words in (
        ("nested.parquet", "column `tags` is list<"),
        ("broken.parquet", "the file of rows is not readable as Parquet"),
        ("none.parquet", "the file of rows cannot be read: No such file or directory"),
    ):
        with pytest.raises(PlanError) as error:
            as_csv(tmp_path / name)
        assert error.value.what.startswith(words)
        assert error.value.where == str(tmp_path / name)
