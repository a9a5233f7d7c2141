"""What SQLite makes of rows on disk (`benches/sizes.py`, 2026-11)."""

from __future__ import annotations

from bakeoff.systems.storage import Storage, Stored

STORAGE = Storage(
    usual=Stored(ratio=1.15, row_bytes=15),
    measured={
        "ycsb": Stored(ratio=1.34, row_bytes=31),  # three rows of 1 kB in a page of 4 KiB
        "sysbench": Stored(ratio=1.10),
        "tpcc": Stored(ratio=1.12),
        "linkbench": Stored(ratio=1.0, row_bytes=50),  # each link twice
        "pgbench": Stored(ratio=0.46),  # small numbers take a byte
    },
)
