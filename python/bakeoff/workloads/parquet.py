"""Rows of a Parquet file, written down as CSV, which the engine reads: NULL is nothing at all, and every text stands in
quotes."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PlanError

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 10_000
_HINT = "store numbers, texts, decimals, dates, timestamps or booleans, or write the rows as CSV"


def as_csv(path: Path) -> Path:
    """The same rows as CSV, in a folder that goes with this process. Raises PlanError naming the file."""
    try:
        found = path.stat()
    except OSError as error:
        raise PlanError(f"the file of rows cannot be read: {error.strerror}", where=str(path)) from error
    return _written(path, found.st_mtime_ns, found.st_size)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="bakeoff-rows-")


@cache
def _written(path: Path, _mtime_ns: int, _size_bytes: int) -> Path:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    with tempfile.NamedTemporaryFile(dir=_folder().name, prefix=path.stem, suffix=".csv", delete=False) as out:
        try:
            with pq.ParquetFile(path) as file:
                schema = pa.schema([_field(field, path) for field in file.schema_arrow])
                with pa.csv.CSVWriter(out, schema) as writer:
                    for batch in file.iter_batches(_BATCH_ROWS):
                        writer.write_batch(batch.cast(schema))
        except (pa.ArrowException, OSError) as error:
            raise PlanError(f"the file of rows is not read as Parquet: {error}", where=str(path), hint=_HINT) from error
    return Path(out.name)


def _field(field: pa.Field, path: Path) -> pa.Field:
    """As what it is written: a form that every system reads."""
    import pyarrow as pa

    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_boolean(kind):
        kind = pa.int8()  # MySQL's family takes 1 and no `true`
    elif pa.types.is_timestamp(kind):
        kind = pa.timestamp("us")  # UTC, if it has a time zone
    elif not (_is_number(kind) or pa.types.is_date(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise PlanError(f"column `{field.name}` is {kind}, which has no form in CSV", where=str(path), hint=_HINT)
    return field.with_type(kind)


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
