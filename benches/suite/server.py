"""A managed server under all clients: what it counts, what it costs, and where it runs. One file each in servers/."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Self

from bakeoff.provision.installation import Sources
from bakeoff.provision.instance import new_instance
from bakeoff.provision.os_metrics import family, process_table
from bakeoff.systems.base import Configuration, System

from .counters import family_cpu_s
from .rows import Counting, Work

SCHEMA = "bakeoff"
HOST = "127.0.0.1"
#: A server with thousands of busy sessions may answer a look seconds late.
LOOK_TIMEOUT_S = 60.0


class Server(ABC):
    kind: ClassVar[str]
    product: ClassVar[str]
    sources: ClassVar[Sources]
    system_class: ClassVar[type[System]]
    settings: ClassVar[dict[str, str]]
    #: So that the disk does not hide the client.
    durability: ClassVar[str]

    def __init__(self, system: Any) -> None:
        """system: of `system_class`, running."""
        self.system = system
        self.pid: int = system.server.pids()[0]
        self.port: int = system.server.port
        login = system.server.bench_login("socket")
        self.user, self.password, self.socket = login.user, login.password, login.address.socket

    @classmethod
    @contextmanager
    def started(cls, say: Callable[[str], None]) -> Iterator[Self]:
        """A managed server, fetched if the machine has none; stopped and removed afterwards."""
        if not cls.sources.here():
            cls.sources.install(None, None, say)
        folder = new_instance("bench")
        asked = Configuration(
            cls.kind,
            {"start": {"settings": cls.settings}},
            durability=cls.durability,
            isolation=None,
            workdir=folder.path,
            timeout_s=10,
            base_dir=Path.cwd(),
        )
        system = cls.system_class.configure(asked)
        try:
            system.start()
            server = cls(system)
            try:
                yield server
            finally:
                server.close()
        finally:
            system.stop()
            folder.remove()

    @abstractmethod
    def close(self) -> None:
        """Ends its looks; the server goes on."""

    @abstractmethod
    def version(self) -> str: ...

    @abstractmethod
    def counting(self, work: Work) -> Counting:
        """How its own counters tell operations of this work."""

    @abstractmethod
    def count(self, counter: str) -> int:
        """Its own count of what all clients asked."""

    @abstractmethod
    def settle(self) -> None:
        """What was written is written back and cleaned up, so that a run does not pay for the one before it."""

    @abstractmethod
    def remove_tables(self) -> None:
        """sysbench's: those of any script, however many."""

    def cpu_s(self) -> float:
        """User + system time since its start, of all its processes."""
        return family_cpu_s(self.pid)

    @contextmanager
    def placed(self, cores: tuple[int, ...]) -> Iterator[None]:
        """On these cores meanwhile; threads and processes that it starts inherit them."""
        before = os.sched_getaffinity(self.pid)
        self._place(set(cores))
        try:
            yield
        finally:
            self._place(before)

    def _place(self, cores: set[int]) -> None:
        for pid in family([self.pid], process_table()):
            with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                for thread in os.listdir(f"/proc/{pid}/task"):
                    os.sched_setaffinity(int(thread), cores)
