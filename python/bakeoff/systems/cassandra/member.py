"""Where the nodes of a cluster on this machine are: each at an address of loopback's own, all at the same two ports."""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.provision.process import free_port_on

#: Ranges of rows that each node has first hand; a distribution's own number.
TOKENS = 16
_RING = 1 << 64


@dataclass(frozen=True)
class Member:
    """One node. hosts: of all of them, in their order. port: for clients; storage_port: between nodes."""

    place: int
    hosts: tuple[str, ...]
    port: int
    storage_port: int
    heap_mib: int

    @property
    def host(self) -> str:
        return self.hosts[self.place]

    @property
    def tokens(self) -> list[int]:
        """Where its ranges end: evenly over the ring, its neighbours' between them. Nodes whose ranges are known before
        they meet need not ask each other for any."""
        all_of_them = TOKENS * len(self.hosts)
        return [
            -(_RING >> 1) + (number * len(self.hosts) + self.place) * _RING // all_of_them for number in range(TOKENS)
        ]


def members(count: int, heap_mib: int, port: int | None) -> list[Member]:
    """port: for clients; None: a free one."""
    hosts = tuple(f"127.0.0.{number}" for number in range(1, count + 1))
    port = port or free_port_on(hosts)
    storage_port = free_port_on(hosts, but=port)
    return [Member(place, hosts, port, storage_port, heap_mib) for place in range(count)]
