"""A Dask worker on a machine that SSH has reached. It is carried there as this text and run by a Python that has
`distributed`. What it is told comes as one line of JSON on its input, certificates included, which so are in no file
and on no command line. It ends when its input does: with the controller, or with the connection to it."""

from __future__ import annotations

import asyncio
import json
import platform
import socket
import sys
from typing import Any
from urllib.parse import urlsplit


def tell(**said: Any) -> None:
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


def address_towards(scheduler: str) -> str:
    """Of this machine, as it reaches the scheduler. Nothing is sent."""
    found = urlsplit(scheduler)
    family = socket.AF_INET6 if ":" in (found.hostname or "") else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((found.hostname, found.port))
        return str(probe.getsockname()[0])


async def work(scheduler: str, name: str, security: dict[str, str], config: dict[str, Any]) -> None:
    """config: of Dask."""
    import dask
    from distributed import Security, Worker

    dask.config.set(config)
    async with Worker(
        scheduler,
        name=name,
        host=address_towards(scheduler),
        nthreads=1,
        memory_limit=0,
        security=Security(**security, require_encryption=True),
        dashboard_address="127.0.0.1:0",  # Dask always serves its own pages; nobody else is to see them
    ) as worker:
        tell(address=worker.address)
        input_ends = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
        ended = asyncio.create_task(worker.finished())
        await asyncio.wait([input_ends, ended], return_when=asyncio.FIRST_COMPLETED)


if __name__ == "__main__":
    import distributed

    tell(python=platform.python_version(), distributed=distributed.__version__)
    asyncio.run(work(**json.loads(sys.stdin.readline())))
