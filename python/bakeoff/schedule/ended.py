"""A private server that ended while an engine used it: the engine sees a broken connection, and we know why."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import ServerError
from ..fleet.lines import EngineTrouble
from ..provision.server import LOG_KEPT
from ..systems.base import System

#: The kernel closes the connections of a process a little before it says that the process has ended.
_PATIENCE_S = 1.0
_POLL_S = 0.02


@contextmanager
def told_by_name(system: System) -> Iterator[None]:
    """An engine's trouble with a server is told as the end of those servers of ours that have ended by themselves.
    Raises ServerError."""
    try:
        yield
    except EngineTrouble as trouble:
        ended = _ended(system) if trouble.kind == "server" else {}
        if not ended:
            raise
        several = len(system.servers()) > 1
        words = [f"{name if several else 'the server'} of {system.name} ended ({how})" for name, how in ended.items()]
        raise ServerError(
            f"{'; '.join(words)}, and not by bakeoff",
            where=trouble.where,
            hint=f"{LOG_KEPT}; if the machine ran out of memory, the kernel's log (`dmesg`) tells",
        ) from trouble


def _ended(system: System) -> dict[str, str]:
    """How, by the names of nodes; empty if none has within `_PATIENCE_S`."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        found = {name: how for name, server in system.servers().items() if (how := server.exit_text())}
        if found or not system.servers() or time.monotonic() > deadline:
            return found
        time.sleep(_POLL_S)
