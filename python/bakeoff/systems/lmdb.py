"""LMDB: a memory-mapped B-tree, in the engine itself (its C library, compiled in). Nothing to install.

[systems.lmdb]
map_bytes = 8_589_934_592
"""

from __future__ import annotations

from typing import ClassVar

from bakeoff.model.durability import NOTHING, Survival
from bakeoff.systems.embedded import EmbeddedStore


class Lmdb(EmbeddedStore):
    """Source: lmdb.h, `mdb_env_open`: MDB_NOMETASYNC ("a system crash may undo the last committed transaction"),
    MDB_NOSYNC ("a system crash can corrupt the database or lose the last transactions"). What was committed is in the
    kernel, so a killed process takes nothing along. It has no `memory_bytes`: the cache is the kernel's."""

    kind: ClassVar[str] = "lmdb"
    driver: ClassVar[str] = "lmdb"
    product: ClassVar[str] = "LMDB"
    summary: ClassVar[str] = "LMDB, an embedded memory-mapped B-tree: records (YCSB), no SQL; nothing to install"
    durability: ClassVar[dict[str, Survival]] = {
        "full": Survival(NOTHING, NOTHING),
        "relaxed": Survival(NOTHING, "the last commit"),
        "none": Survival(NOTHING, "commits that the kernel had not written", whole=False),
    }
    several_clients: ClassVar[bool] = True
