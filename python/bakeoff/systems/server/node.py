"""One server of a system, asked over its control connection."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from bakeoff.errors import ServerError
from bakeoff.systems.base import Facts, Node
from bakeoff.systems.server.control import Control

#: A counter of every product: those that ended, committed and rolled back, whoever asked for them.
TRANSACTIONS = "transactions"
#: One status answer serves counters and gauges asked for in the same second.
_STATUS_AGE_MAX_S = 0.3


@dataclass(frozen=True)
class Status:
    """What grows, and what comes and goes."""

    counters: dict[str, float]
    gauges: dict[str, float]


@dataclass(frozen=True)
class Access:
    """How a node is reached and watched. control: a connection of ours that lasts. own: portable facts that whoever
    made the node knows and it cannot say itself, or not as well. behind: of a node that follows another, how far it is
    behind, as gauges that are debt, too."""

    control: Callable[[], Control]
    pids: Callable[[], list[int]] = list
    own: Callable[[], Mapping[str, str]] = dict
    behind: Callable[[], Mapping[str, float]] = dict
    private: bool = False


class ServerNode(Node):
    """A product's own says what its server is asked. What a server that has gone would say is absent; that it has gone
    shows elsewhere."""

    def __init__(self, name: str, role: str, address: str, access: Access) -> None:
        super().__init__(name, role, address)
        self.access = access
        self._status: Status | None = None
        self._status_at = -math.inf  # monotonic

    @property
    def control(self) -> Control:
        return self.access.control()

    @abstractmethod
    def read_facts(self) -> Facts:
        """Raises ServerError."""

    @abstractmethod
    def read_status(self) -> Status:
        """Raises ServerError."""

    @abstractmethod
    def read_debt(self) -> dict[str, float]:
        """Raises ServerError."""

    @abstractmethod
    def cipher(self, control: Control) -> str:
        """That a connection has; "" without TLS. Raises ServerError."""

    def pids(self) -> list[int]:
        return self.access.pids()

    def facts(self) -> Facts:
        read = self.read_facts()
        return replace(read, portable={**read.portable, **self.access.own()})

    def counters(self) -> dict[str, float]:
        status = self._recent_status()
        return dict(status.counters) if status else {}

    def gauges(self) -> dict[str, float]:
        status = self._recent_status()
        return {**status.gauges, **self.access.behind()} if status else {}

    def debt(self) -> dict[str, float]:
        try:
            return {**self.read_debt(), **self.access.behind()}
        except ServerError:
            return {}

    def _recent_status(self) -> Status | None:
        """None: the server did not answer. It is asked once for both, whatever came of it."""
        if time.monotonic() - self._status_at > _STATUS_AGE_MAX_S:
            try:
                self._status = self.read_status()
            except ServerError:
                self._status = None
            self._status_at = time.monotonic()
        return self._status
