"""What InnoDB makes of rows on disk (`benches/sizes.py`, 2026-11, MariaDB 10.11 and MySQL 9.7)."""

from __future__ import annotations

from bakeoff.systems.storage import Storage, Stored

_USUAL = Stored(ratio=1.5, row_bytes=30, table_bytes=4e6)  # a file grows in steps of up to four extents for each index
_MEASURED = {
    "ycsb": Stored(ratio=1.74, row_bytes=33, table_bytes=9.5e6),  # keys come in an order of chance: pages 60 % full
    "sysbench": Stored(ratio=1.25, table_bytes=8.1e6),
    "tpcc": Stored(ratio=1.46, table_bytes=5e6),
    # Each link twice, in an order of chance. An index takes whole extents from its 33rd page on, in each part's file.
    "linkbench": Stored(ratio=2.77, table_bytes=5e6, part_bytes=4.7e6, part_from_bytes=5.3e5),
    "pgbench": Stored(ratio=5.6, table_bytes=2.2e6),  # CHAR is filled up, which its values do not tell
}
#: Beside the tables: redo and undo logs, catalogs.
MARIADB = Storage(_USUAL, _MEASURED, own_bytes=150_000_000)
MYSQL = Storage(_USUAL, _MEASURED, own_bytes=195_000_000)
