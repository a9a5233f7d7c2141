"""A run's tables and histograms, added to while it goes on and written at its end. Whatever is more than a few minutes
lies in a temporary file without a name: memory does not grow with the rows, and a run that is killed leaves nothing."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..errors import BakeoffError
from . import files

if TYPE_CHECKING:
    import pyarrow as pa

Row = Mapping[str, Any]
#: Histograms and the servers' counters, which are large, are kept by second for so long, and then by the minute.
EACH_SECOND_S = 3600
LATER_S = 60
#: Rows that are put aside together,
_PART_ROWS = 300
#: and parts of these that become one row group of the file.
_PARTS_OF_A_GROUP = 12


class Spool:
    """Bytes of a run's folder on their way into a file. BakeoffError: the disk is full, or the folder cannot be
    written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None

    def add(self, data: bytes) -> int:
        """Returns where the data begin."""
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  # lives as long as this
            place = self._file.seek(0, os.SEEK_END)
            self._file.write(data)
            self._file.flush()
        except OSError as error:
            raise files.disk_trouble(error, self._folder / "a temporary file") from error
        return place

    def read(self, place: int, length: int) -> bytes:
        assert self._file is not None
        self._file.seek(place)
        return self._file.read(length)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    __del__ = close  # of a run that failed

    def copy_into(self, file: IO[bytes]) -> None:
        if self._file is not None:
            self._file.seek(0)
            shutil.copyfileobj(self._file, file)


class LongTable:
    """Becomes a Parquet file. A column that a row lacks is null there; a table without rows becomes no file."""

    def __init__(self, root: Path, name: str) -> None:
        self._root = root
        self._name = name
        self._rows: list[Row] = []
        self._parts: list[tuple[int, int]] = []
        self._schemas: list[pa.Schema] = []
        self._spool = Spool((root / name).parent)
        self._failure: BakeoffError | None = None

    def add(self, row: Row) -> None:
        """BakeoffError: the disk is full; so is `finish` then, because rows are missing."""
        self._rows.append(row)
        if len(self._rows) >= _PART_ROWS:
            try:
                self._put_aside()
            except BakeoffError as error:
                self._failure = error
                raise

    def finish(self) -> None:
        import pyarrow as pa

        if self._failure:
            raise self._failure
        if self._rows:
            self._put_aside()
        if self._parts:
            schema = pa.unify_schemas(self._schemas, promote_options="permissive")
            files.write_file(self._root, self._name, lambda file: self._write(file, schema))
            self._spool.close()

    def _put_aside(self) -> None:
        import pyarrow as pa

        columns = list(dict.fromkeys(name for row in self._rows for name in row))
        table = pa.table({name: [row.get(name) for row in self._rows] for name in columns})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
            stream.write_table(table)
        data = sink.getvalue()
        self._parts.append((self._spool.add(data), len(data)))
        self._schemas.append(table.schema)
        self._rows.clear()

    def _write(self, file: IO[bytes], schema: pa.Schema) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        with pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for first in range(0, len(self._parts), _PARTS_OF_A_GROUP):
                parts = [self._part(part, schema) for part in self._parts[first : first + _PARTS_OF_A_GROUP]]
                writer.write_table(pa.concat_tables(parts).combine_chunks())

    def _part(self, part: tuple[int, int], schema: pa.Schema) -> pa.Table:
        """With all columns of the whole table."""
        import pyarrow as pa

        table = pa.ipc.open_stream(self._spool.read(*part)).read_all()
        known = set(table.column_names)
        columns = [
            table[field.name].cast(field.type) if field.name in known else pa.nulls(len(table), field.type)
            for field in schema
        ]
        return pa.table(columns, schema=schema)


class LongHistograms:
    """Becomes `histograms.json.gz`."""

    def __init__(self, root: Path, name: str) -> None:
        self._root = root
        self._name = name
        self._spool = Spool((root / name).parent)
        self._packer = zlib.compressobj(3, zlib.DEFLATED, zlib.MAX_WBITS | 16)
        self._next = '{"format": 1, "intervals": ['

    def add(self, row: Row) -> None:
        self._pack(self._next + json.dumps(row))
        self._next = ", "

    def finish(self) -> None:
        self._pack((self._next if self._next != ", " else "") + "]}")
        self._spool.add(self._packer.flush())
        files.write_file(self._root, self._name, self._spool.copy_into)
        self._spool.close()

    def _pack(self, text: str) -> None:
        if data := self._packer.compress(text.encode()):
            self._spool.add(data)


class RunFiles:
    """Of one run: rows by second in `intervals`, `nodes` and `server`, by tenth of a second in `tenths`, by second,
    operation and outcome in `histograms`."""

    def __init__(self, root: Path, run: str) -> None:
        tables = ("intervals", "tenths", "nodes", "server")
        self.intervals, self.tenths, self.nodes, self.server = (
            LongTable(root, f"runs/{run}/{name}.parquet") for name in tables
        )
        self.histograms = LongHistograms(root, f"runs/{run}/histograms.json.gz")

    def finish(self, *, tenths: bool = True) -> None:
        """tenths: whether those are known well enough to be kept."""
        for table in (self.intervals, *([self.tenths] if tenths else []), self.nodes, self.server):
            table.finish()
        self.histograms.finish()
