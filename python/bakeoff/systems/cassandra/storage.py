"""What Cassandra makes of rows on disk: measured here once, by files of the tables after a flush."""

from __future__ import annotations

from bakeoff.systems.storage import Storage, Stored

STORAGE = Storage(usual=Stored(ratio=1.1, row_bytes=40), own_bytes=70_000_000)
