"""What PostgreSQL makes of rows on disk (`benches/sizes.py`, 2026-11, PostgreSQL 15)."""

from __future__ import annotations

from bakeoff.systems.storage import Storage, Stored

STORAGE = Storage(
    usual=Stored(ratio=1.15, row_bytes=60),
    measured={
        "ycsb": Stored(ratio=1.13, row_bytes=78),
        "sysbench": Stored(ratio=1.36),
        "tpcc": Stored(ratio=1.55),
        "linkbench": Stored(ratio=1.0, row_bytes=170, table_bytes=5e5),  # each link twice
        "pgbench": Stored(ratio=6.5),  # CHAR is filled up, which its values do not tell
    },
    database_bytes=2_200_000,
    own_bytes=47_000_000,
    log_ratio=1.0,  # WAL is kept until there is max_wal_size of it
    log_bytes_max=1024**3,
)
