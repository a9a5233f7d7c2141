"""fjall: a log-structured merge tree, in the engine itself (pure Rust). Nothing to install.

[systems.fjall]
cache_bytes = 268_435_456
"""

from __future__ import annotations

from typing import ClassVar

from bakeoff.model.durability import NOTHING, Survival
from bakeoff.systems.embedded import EmbeddedStore

_BUFFERED = "commits in the buffer of the journal"


class Fjall(EmbeddedStore):
    """Sources: docs.rs/fjall, `PersistMode` (Buffer: "allows the OS to write out data in case of an application crash";
    not "in case of a power loss event") and `Database::persist` ("even without flushing data is crash-safe")."""

    kind: ClassVar[str] = "fjall"
    driver: ClassVar[str] = "fjall"
    product: ClassVar[str] = "fjall"
    summary: ClassVar[str] = "fjall, an embedded LSM tree: records (YCSB), no SQL; nothing to install"
    durability: ClassVar[dict[str, Survival]] = {
        "full": Survival(NOTHING, NOTHING),
        "relaxed": Survival(NOTHING, "commits that the kernel had not written"),
        "none": Survival(_BUFFERED, _BUFFERED),
    }
    default_durability: ClassVar[str] = "relaxed"
    shaping: ClassVar[frozenset[str]] = frozenset({"memtable_bytes"})
    cache_option: ClassVar[str] = "cache_bytes"
