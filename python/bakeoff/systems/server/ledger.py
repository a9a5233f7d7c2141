"""The part of a ledger that all servers share: one bakeoff at a time works where its tables lie.

A claim is a connection that holds a lock of the server, which ends with the connection: nobody else takes our tables
for left behind. All ledgers of this process that work in one place share it.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

from bakeoff.systems.base import Found, Ledger


class Connection(Protocol):
    """A control connection of either kind."""

    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]: ...

    def close(self) -> None: ...


@dataclass
class _Claim:
    connection: Connection
    ledgers: int = 0


@dataclass(frozen=True)
class Said:
    """What a ledger says of a table. mark: tells the table from others of its name."""

    dataset: str
    loaded: bool
    mark: int

    def of(self, name: str) -> Found:
        return Found(name, ours=True, whole=self.loaded, dataset=self.dataset)


class ClaimedLedger(Ledger):
    #: By kind of server, server, and place in it.
    _claims: ClassVar[dict[tuple[str, ...], _Claim]] = {}

    def __init__(self, *key: str) -> None:
        self._key = (type(self).__name__, *key)
        self._claimed = False

    @abstractmethod
    def _locked(self) -> Connection:
        """A connection that has the lock. ServerError if another bakeoff has it."""

    @abstractmethod
    def _unlocked(self) -> Connection:
        """A connection for those that only look."""

    def claim(self) -> None:
        if self._claimed:
            return
        if self._key not in self._claims:
            self._claims[self._key] = _Claim(self._locked())
        self._claims[self._key].ledgers += 1
        self._claimed = True

    def release(self) -> None:
        """Lets others in when none of this process is at work there any more."""
        if "_looking" in vars(self):
            self._looking.close()
        if not self._claimed:
            return
        self._claimed = False
        claim = self._claims[self._key]
        claim.ledgers -= 1
        if claim.ledgers == 0:
            del self._claims[self._key]
            claim.connection.close()

    @cached_property
    def _looking(self) -> Connection:
        return self._unlocked()

    def _rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        connection = self._claims[self._key].connection if self._claimed else self._looking
        return connection.rows(sql, *parameters)
