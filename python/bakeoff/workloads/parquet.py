"""Rows of a Parquet file, written down as CSV, which the engine reads: NULL is nothing at all, and every text is
quoted.

The engine's own reader would add two dozen crates, one of them C, for the few who load such files; pyarrow is here
anyway.
"""

from __future__ import annotations

import atexit
import errno
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ..analysis.wording import bytes_words
from ..errors import BakeoffError, PlanError
from ..provision.instance import InstanceFolder, new_instance
from ..terminal import said_if_slow

if TYPE_CHECKING:
    import pyarrow as pa

#: A text of a megabyte in each row of a batch takes a gigabyte of memory.
_BATCH_ROWS = 1_000
#: A file of a megabyte may hold any number of equal rows: what comes of it is bounded.
_CSV_LEAST_BYTES = 64 << 20
_CSV_RATIO = 100
_HINT = "store numbers, texts, decimals, dates, timestamps or booleans, or write the rows as CSV"


def as_csv(path: Path) -> Path:
    """The same rows as CSV, in a folder that goes with this process. Raises PlanError naming the file."""
    try:
        found = path.stat()
    except OSError as error:
        raise PlanError(f"the file of rows cannot be read: {error.strerror}", where=str(path)) from error
    return _written(path, found.st_mtime_ns, found.st_size)


@cache
def _folder() -> InstanceFolder:
    """On a disk, for this process alone. What a killed one left is removed when the next one comes here."""
    folder = new_instance("rows")
    atexit.register(folder.remove)
    return folder


@cache
def _written(path: Path, _mtime_ns: int, size_bytes: int) -> Path:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    folder = _folder().path
    free_bytes = shutil.disk_usage(folder).free
    most_bytes = min(_CSV_LEAST_BYTES + _CSV_RATIO * size_bytes, free_bytes // 2)
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise _not_read(error, path) from error
    out, name = _new_file(folder, path.stem)
    try:
        with file, said_if_slow(f"writing the rows of {path.name} as CSV"), out:
            schema = pa.schema([_field(field, path) for field in file.schema_arrow])
            with pa.csv.CSVWriter(out, schema) as writer:
                for batch in file.iter_batches(_BATCH_ROWS):
                    writer.write_batch(batch.cast(schema))
                    if out.tell() > most_bytes:
                        raise _too_much(path, most_bytes, free_bytes)
    except BaseException as error:
        name.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            hint = f"the rows of {path.name} are written there as CSV: free some space, or set BAKEOFF_CACHE"
            raise BakeoffError("the disk is full", where=str(folder), hint=hint) from error
        if isinstance(error, pa.ArrowException | OSError):
            raise _not_read(error, path) from error
        raise
    return name


def _new_file(folder: Path, stem: str) -> tuple[IO[bytes], Path]:
    handle, name = tempfile.mkstemp(dir=folder, prefix=stem, suffix=".csv")
    return os.fdopen(handle, "wb"), Path(name)


def _not_read(error: Exception, path: Path) -> PlanError:
    return PlanError(f"the file of rows is not readable as Parquet: {error}", where=str(path), hint=_HINT)


def _too_much(path: Path, most_bytes: int, free_bytes: int) -> PlanError:
    what = f"the rows of this file take more than {bytes_words(most_bytes)} as CSV, which is the limit"
    limit = f"{bytes_words(_CSV_LEAST_BYTES)} and {_CSV_RATIO} times the file, and half of the free disk"
    hint = f"the limit is {limit} ({bytes_words(free_bytes)} free); write the rows as CSV yourself"
    return PlanError(what, where=str(path), hint=hint)


def _field(field: pa.Field, path: Path) -> pa.Field:
    """As what it is written: a form that every system reads."""
    import pyarrow as pa

    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_boolean(kind):
        kind = pa.int8()  # MySQL's family takes 1 and no `true`
    elif pa.types.is_timestamp(kind):
        kind = pa.timestamp("us")  # UTC, if it has a time zone
    elif not (_is_number(kind) or pa.types.is_date(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise PlanError(f"column `{field.name}` is {kind}, which CSV cannot represent", where=str(path), hint=_HINT)
    return field.with_type(kind)


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
