"""What a plan may say about a Cassandra, beside the options of its driver."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from bakeoff.systems.server.options import ServerOptions, StartOptions

_HEAP = re.compile(r"(\d+) ?([MG])(?:iB|B)?", re.IGNORECASE)
#: A node of less does not start.
_HEAP_MIN_MIB = 192


#: Its own keyspaces; no one can make tables there, or should.
_SYSTEM_KEYSPACES = """
    system system_auth system_cluster_metadata system_distributed system_schema system_traces system_views
    system_virtual_schema
"""


def _heap(text: str) -> str:
    found = _HEAP.fullmatch(text.strip())
    if not found:
        raise ValueError(f'"{text}" is not a size in MiB or GiB, such as "512MiB" or "2GiB"')
    mib = int(found[1]) * {"m": 1, "g": 1024}[found[2].lower()]
    if mib < _HEAP_MIN_MIB:
        raise ValueError(f"{text} is too little: a node needs at least {_HEAP_MIN_MIB} MiB")
    return f"{mib}MiB"


def _keyspace(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_]{1,48}", name):
        raise ValueError(f'"{name}" cannot name a keyspace, which has 1 to 48 letters (a to z), digits and underscores')
    if name.lower() in _SYSTEM_KEYSPACES.split():
        raise ValueError(f"\"{name}\" is a keyspace of Cassandra's own, and the plan's tables need another")
    return name


class CassandraStart(StartOptions):
    nodes: int = Field(default=1, ge=1, le=5)
    #: Of each node's Java, all of it taken at the start. Beside it a node needs about as much again.
    heap: Annotated[str, AfterValidator(_heap)] = "512MiB"
    connect: Literal["tcp"] = "tcp"

    @property
    def heap_mib(self) -> int:
        return int(self.heap.removesuffix("MiB"))


class CassandraOptions(ServerOptions):
    start: CassandraStart | None = None
    user: str = ""
    keyspace: Annotated[str, AfterValidator(_keyspace)] = "bakeoff"
    #: Of a keyspace that is made by us; None: one for each node, at most 3, and of an existing cluster as it is there.
    replication_factor: int | None = Field(default=None, ge=1, le=5)

    @property
    def tables_in(self) -> str:
        return self.keyspace

    @property
    def session(self) -> dict[str, str]:
        """A connection has no variables."""
        return {}

    @property
    def copies(self) -> int | None:
        """Of every row; None: whatever the keyspace has that is there."""
        if self.replication_factor is None and self.start is not None:
            return min(3, self.start.nodes)
        return self.replication_factor

    def acknowledging(self, copies: int) -> int:
        """How many copies have a write that was acknowledged. copies: that there are."""
        return acknowledging(str(self.driver["consistency"]), copies)


def acknowledging(consistency: str, copies: int) -> int:
    """The least number of copies that have a write at that level."""
    known: dict[str, Any] = {"two": 2, "three": 3, "all": copies}
    return int(known.get(consistency, copies // 2 + 1 if "quorum" in consistency else 1))
