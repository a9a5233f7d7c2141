"""A network partition between the servers of one system: what they send each other is dropped, as by a cable that is
cut. A filter on a socket drops what it receives."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence

from bakeoff.provision.between import BetweenServers
from bakeoff.provision.server import ManagedServer

_SO_ATTACH_FILTER = 26
_SO_DETACH_FILTER = 27
#: One instruction, `ret #0`: take nothing of any packet.
_DROP = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
_FILTER = struct.pack("HP", 1, ctypes.addressof(_DROP))


class Partition(BetweenServers):
    """Between one server and the others of its system."""

    what = "a partition"

    def __init__(self, server: ManagedServer, others: Sequence[ManagedServer]) -> None:
        super().__init__(server, others, (_SO_ATTACH_FILTER, _FILTER), (_SO_DETACH_FILTER, b"\0\0\0\0"))
