"""What a system makes of the rows that a workload loads: bytes on disk, estimated before anything is loaded.

The figures are measured (`benches/sizes.py`, docs/method/sizes.md): how full pages are, what a row and its index
entries carry beside their values, and in what steps files grow depends on the rows and the order they come in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TableSize:
    """Of one workload's tables: ratio x bytes of the values + row_bytes x rows + table_bytes x tables;
    and part_bytes for each part of a divided table, if there are part_from_bytes of values for each."""

    ratio: float
    row_bytes: float = 0.0
    table_bytes: float = 0.0
    part_bytes: float = 0.0
    part_from_bytes: float = 0.0


@dataclass(frozen=True)
class SizeOnDisk:
    """Of one kind of system."""

    #: Of workloads that were not measured.
    usual: TableSize = TableSize(ratio=1.6)
    #: By the workload's kind.
    measured: Mapping[str, TableSize] = field(default_factory=dict)
    #: Of a database without tables.
    database_bytes: int = 0
    #: Catalogs and logs that a private server has, whatever is in it.
    own_bytes: int = 0
    #: Logs and undo that a load leaves, to the bytes of the tables.
    log_ratio: float = 0.0
    log_bytes_max: int = 0

    def tables_bytes(self, workload: str, rows: int, value_bytes: int, tables: int, parts: int = 1) -> int:
        """On disk, of the loaded tables with their indexes. value_bytes: of the values alone."""
        stored = self.measured.get(workload, self.usual)
        found = stored.ratio * value_bytes + stored.row_bytes * rows + stored.table_bytes * tables
        if value_bytes >= stored.part_from_bytes * parts:
            found += stored.part_bytes * parts
        return round(found + self.database_bytes)

    def folder_bytes(self, tables_bytes: int) -> int:
        """On disk, of the folder that holds them: what is copied to be put back."""
        return round(tables_bytes + self.own_bytes + min(self.log_ratio * tables_bytes, self.log_bytes_max))
