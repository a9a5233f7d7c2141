"""A lock on a server whose own locks do not end with a connection: a record there that says until when it counts.
Whoever works there renews it before that; the record of a bakeoff that was killed counts for half a minute. How such a
record is read and written is the system's own."""

from __future__ import annotations

import os
import socket
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from bakeoff.errors import BakeoffError, ServerError
from bakeoff.systems.ledger import Ledger

LEASE_S = 30.0
_RENEWED_EVERY_S = 10.0


class Claim(ABC):
    """The record, over a connection of its own. holder: whose it is to be. All raise ServerError."""

    @abstractmethod
    def take(self, holder: str) -> None:
        """Makes it the holder's for `LEASE_S` from now, if it is nobody else's: see `in_use`."""

    @abstractmethod
    def give_up(self, holder: str) -> None:
        """Removes it if it is the holder's, and what the ledger needs no more."""

    @abstractmethod
    def close(self) -> None: ...


def in_use(holder: str, address: object, where: str, elsewhere: str) -> ServerError:
    """elsewhere: what else a plan may name."""
    return ServerError(
        f"another bakeoff run ({holder}) is using {address}",
        where=where,
        hint=f"wait until it ends (half a minute if it was killed), or name another {elsewhere}",
    )


class _Lease:
    """A claim, for as long as it is renewed."""

    def __init__(self, claim: Claim) -> None:
        self._claim = claim
        self._holder = f"pid {os.getpid()} on {socket.gethostname()}, {uuid.uuid4()}"
        self._closed = threading.Event()
        try:
            claim.take(self._holder)
        except BaseException:
            claim.close()
            raise
        self._renewing = threading.Thread(target=self._renew, name="claim of a server", daemon=True)
        self._renewing.start()

    def _renew(self) -> None:
        while not self._closed.wait(_RENEWED_EVERY_S):
            with suppress(BakeoffError):  # the next try comes before it ends
                self._claim.take(self._holder)

    def close(self) -> None:
        self._closed.set()
        self._renewing.join()
        with suppress(BakeoffError):  # it ends by itself
            self._claim.give_up(self._holder)
        self._claim.close()


@dataclass
class _Shared:
    lease: _Lease
    ledgers: int = 0


class LeasedLedger(Ledger):
    """key: of the server and place; all ledgers of this process that work in one share its claim. new_claim: over a
    connection of its own."""

    _claims: ClassVar[dict[tuple[str, ...], _Shared]] = {}

    def __init__(self, where: str, key: tuple[str, ...], new_claim: Callable[[], Claim]) -> None:
        super().__init__(where)
        self._key = (type(self).__name__, *key)
        self._new_claim = new_claim
        self._claimed = False

    def claim(self) -> None:
        if self._claimed:
            return
        if self._key not in self._claims:
            self._claims[self._key] = _Shared(_Lease(self._new_claim()))
        self._claims[self._key].ledgers += 1
        self._claimed = True

    def release(self) -> None:
        self._disconnect()
        if not self._claimed:
            return
        self._claimed = False
        shared = self._claims[self._key]
        shared.ledgers -= 1
        if shared.ledgers == 0:
            del self._claims[self._key]
            shared.lease.close()

    @abstractmethod
    def _disconnect(self) -> None:
        """Closes the ledger's own connection."""
