"""Which collections of an existing database are ours. A collection's mark is its UUID, which no later one of the same
name has. A server without UUIDs (the peer) leaves nothing but the ledger's word.

MongoDB has no lock that ends with a connection. In its place stands a document that says until when it counts: whoever
works here renews it before that, and a bakeoff that was killed leaves it for half a minute at most.
"""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from bakeoff.errors import ServerError
from bakeoff.systems.ledger import TABLE, Entry, Ledger
from bakeoff.systems.mongodb.control import Control
from bakeoff.systems.server.control import Login, Refused

_CLAIM = "bakeoff_claim"
_LEASE_MS = 30_000
_RENEWED_EVERY_S = 10.0
#: Dropping a large collection takes its time.
_TIMEOUT_S = 300.0
_MAJORITY = {"writeConcern": {"w": "majority"}}


class _Lease:
    """The claim, for as long as it is renewed."""

    def __init__(self, control: Control, where: str) -> None:
        self._control = control
        self._where = where
        self._holder = f"pid {os.getpid()} on {socket.gethostname()}, {uuid.uuid4()}"
        self._closed = threading.Event()
        try:
            self._take()
        except BaseException:
            control.close()
            raise
        self._renewing = threading.Thread(target=self._renew, name="claim of a database", daemon=True)
        self._renewing.start()

    def _take(self) -> None:
        """An update of one document either finds it free, or makes it: of two that make it one fails."""
        now = int(self._control.hello()["localTime"])
        free = {"$or": [{"until": {"$lt": now}}, {"holder": self._holder}]}
        claimed = {"_id": "claim", "holder": self._holder, "until": now + _LEASE_MS}
        update = {"q": {"_id": "claim", **free}, "u": claimed, "upsert": True}
        with suppress(Refused):  # a duplicate: somebody has it
            self._control.ask({"update": _CLAIM, "updates": [update], **_MAJORITY})
        found = self._control.documents({"find": _CLAIM, "filter": {"_id": "claim"}}, _CLAIM)
        if not found or found[0].get("holder") != self._holder:
            holder = found[0].get("holder") if found else "nobody knows who"
            raise ServerError(
                f"another bakeoff run ({holder}) is using the database {self._control.database!r} on"
                f" {self._control.login.address}",
                where=self._where,
                hint="wait until it ends (half a minute if it was killed), or name another `database`",
            )

    def _renew(self) -> None:
        while not self._closed.wait(_RENEWED_EVERY_S):
            with suppress(ServerError):  # the next try comes before it ends
                self._take()

    def _end(self) -> None:
        self._closed.set()
        self._renewing.join()

    def drop(self) -> None:
        """With its collection: nobody else has a claim in it."""
        self._end()
        self._control.ask({"drop": _CLAIM, **_MAJORITY})

    def close(self) -> None:
        self._end()
        with suppress(ServerError):  # it ends by itself
            mine = {"q": {"_id": "claim", "holder": self._holder}, "limit": 1}
            self._control.ask({"delete": _CLAIM, "deletes": [mine]})
        self._control.close()


@dataclass
class _Claim:
    lease: _Lease
    ledgers: int = 0


class MongoLedger(Ledger):
    place = "database"
    #: By server and database: all ledgers of this process that work in one place share it.
    _claims: ClassVar[dict[tuple[str, ...], _Claim]] = {}

    def __init__(self, login: Login, database: str, auth_source: str, where: str) -> None:
        super().__init__(where)
        self._login = login
        self._database = database
        self._auth_source = auth_source
        self._key = (str(login.address), database)
        self._claimed = False

    def _new_control(self) -> Control:
        return Control(self._login, self._database, self._auth_source, where=self._where, timeout_s=_TIMEOUT_S)

    @cached_property
    def _control(self) -> Control:
        return self._new_control()

    # -- the claim --------------------------------------------------------------------------------------------------

    def claim(self) -> None:
        if self._claimed:
            return
        if self._key not in self._claims:
            self._claims[self._key] = _Claim(_Lease(self._new_control(), self._where))
        self._claims[self._key].ledgers += 1
        self._claimed = True

    def release(self) -> None:
        if "_control" in vars(self):
            self._control.close()
        if not self._claimed:
            return
        self._claimed = False
        claim = self._claims[self._key]
        claim.ledgers -= 1
        if claim.ledgers == 0:
            del self._claims[self._key]
            claim.lease.close()

    def _wake(self) -> None:
        if not self._control.answers():
            self._control.rows(self._control.probe)

    # -- the collections --------------------------------------------------------------------------------------------

    def make_place(self) -> None:
        """The first collection makes the database."""

    def drop_words(self, tables: Sequence[str]) -> str:
        return "; ".join(f"db.getCollection({name!r}).drop()" for name in tables)

    def sizes(self, tables: Sequence[str]) -> dict[str, int]:
        there = self._marks()
        found = {}
        for name in tables:
            if name in there:
                stats = self._control.ask({"collStats": name})
                found[name] = int(stats.get("storageSize", 0)) + int(stats.get("totalIndexSize", 0))
        return found

    def _marks(self) -> dict[str, str | None]:
        listed = self._control.documents({"listCollections": 1, "cursor": {}}, "$cmd.listCollections")
        return {
            str(one["name"]): str(one.get("info", {}).get("uuid", "")) if one.get("type") == "collection" else None
            for one in listed
        }

    def _entries(self, names: Collection[str]) -> Mapping[str, Entry]:
        if TABLE not in names:
            return {}
        found = self._control.documents({"find": TABLE}, TABLE)
        return {str(one["_id"]): Entry(str(one["dataset"]), one["state"] == "loaded", one["mark"]) for one in found}

    def _is_younger(self, mark: Any, before: Any) -> bool:
        """None of that name was there when the entry was made."""
        return bool(mark != before) or mark == ""

    def _enter(self, names: Sequence[str], dataset: str, bundle: str) -> None:
        marks = self._marks()
        for name in names:
            entry = {"_id": name, "dataset": dataset, "bundle": bundle, "state": "loading", "mark": marks.get(name, "")}
            self._update({"q": {"_id": name}, "u": entry, "upsert": True})

    def _enter_loaded(self, names: Sequence[str]) -> None:
        marks = self._marks()
        for name in names:
            self._update({"q": {"_id": name}, "u": {"$set": {"state": "loaded", "mark": marks.get(name, "")}}})

    def _update(self, update: dict[str, Any]) -> None:
        self._control.ask({"update": TABLE, "updates": [update], **_MAJORITY})

    def _remove_entries(self, names: Sequence[str]) -> None:
        if TABLE not in self._marks():
            return
        for name in names:
            self._control.ask({"delete": TABLE, "deletes": [{"q": {"_id": name}, "limit": 1}], **_MAJORITY})
        if not self._control.documents({"find": TABLE, "limit": 1}, TABLE):
            self._control.ask({"drop": TABLE})

    def drop(self, tables: Sequence[str]) -> None:
        super().drop(tables)
        if self._claimed and TABLE not in self._marks():
            self._claims[self._key].lease.drop()

    def _remove_tables(self, names: Sequence[str]) -> None:
        for name in names:
            self._control.ask({"drop": name, **_MAJORITY})
