"""What Cassandra makes of rows on disk: an estimate of files of the tables after a flush, for the plan's dry run."""

from __future__ import annotations

from bakeoff.systems.storage import Storage, Stored

STORAGE = Storage(usual=Stored(ratio=1.1, row_bytes=40), own_bytes=70_000_000)
