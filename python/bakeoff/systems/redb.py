"""redb: a B-tree in one file, in the engine itself (pure Rust). Nothing to install.

[systems.redb]
cache_bytes = 268_435_456
"""

from __future__ import annotations

from typing import ClassVar

from bakeoff.model.durability import NOTHING, Survival
from bakeoff.systems.embedded import EmbeddedStore

_SINCE_OPENED = "everything since the engine opened the store"


class Redb(EmbeddedStore):
    """Sources: docs.rs/redb, `Durability` ("will not be persisted to disk unless followed by a commit with
    Durability::Immediate": the driver makes such a commit when it opens and closes a store), and its design.md on
    what a crash leaves (copy on write with checksums)."""

    kind: ClassVar[str] = "redb"
    driver: ClassVar[str] = "redb"
    product: ClassVar[str] = "redb"
    summary: ClassVar[str] = "redb, an embedded B-tree: records (YCSB), no SQL; nothing to install"
    durability: ClassVar[dict[str, Survival]] = {
        "full": Survival(NOTHING, NOTHING),
        "none": Survival(_SINCE_OPENED, _SINCE_OPENED),
    }
    cache_option: ClassVar[str] = "cache_bytes"
