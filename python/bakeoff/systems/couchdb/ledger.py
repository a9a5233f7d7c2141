"""Which databases of an existing server are ours. The driver puts a document with a random mark into each that it makes
(a local one, which nothing lists or counts); what else has a table's name is somebody else's, and so is a database that
was made under that name later.

The ledger is a database of its own. The server has no lock that ends with a connection. In its place stands a document
that says until when it counts, by the server's clock: whoever works here renews it before that, and a bakeoff that was
killed leaves it for half a minute at most. Of two that write it at once one has a conflict.
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
from bakeoff.systems.couchdb.control import Control, database_path
from bakeoff.systems.ledger import TABLE, Entry, Found, Ledger
from bakeoff.systems.server.control import Login

#: As in the driver.
_MARK = "_local/bakeoff"
_CLAIM = "_local/claim"
_LEASE_S = 30.0
_RENEWED_EVERY_S = 10.0
#: Dropping a large database takes its time.
_TIMEOUT_S = 300.0


class _Lease:
    """The claim, for as long as it is renewed."""

    def __init__(self, control: Control, database: str, where: str) -> None:
        self._control = control
        self._database = database
        self._where = where
        self._holder = f"pid {os.getpid()} on {socket.gethostname()}, {uuid.uuid4()}"
        self._closed = threading.Event()
        try:
            self._take()
        except BaseException:
            control.close()
            raise
        self._renewing = threading.Thread(target=self._renew, name="claim of a server", daemon=True)
        self._renewing.start()

    @property
    def _path(self) -> str:
        return f"{self._database}/{_CLAIM}"

    def _take(self) -> None:
        self._control.ask("PUT", self._database)  # where it does not exist
        answer = self._control.ask("GET", self._path)
        found = answer.body if answer.status == 200 else {}
        is_free = found.get("holder", self._holder) == self._holder or found["until"] < answer.date
        claimed = {"holder": self._holder, "until": answer.date + _LEASE_S}
        revision = {"_rev": found["_rev"]} if found else {}
        if is_free and self._control.ask("PUT", self._path, {**claimed, **revision}).status < 400:
            return
        holder = found.get("holder", "which was faster")
        raise ServerError(
            f"another bakeoff run ({holder}) is using {self._control.login.address}",
            where=self._where,
            hint="wait until it ends (half a minute if it was killed), or name another `prefix`",
        )

    def _renew(self) -> None:
        while not self._closed.wait(_RENEWED_EVERY_S):
            with suppress(ServerError):  # the next try comes before it ends
                self._take()

    def close(self) -> None:
        """A ledger that has nothing to say goes with the claim."""
        self._closed.set()
        self._renewing.join()
        with suppress(ServerError):  # it ends by itself
            told = self._control.get(self._database)
            if told and told["doc_count"] == 0:
                self._control.ask("DELETE", self._database)
            elif found := self._control.get(self._path):
                self._control.ask("DELETE", f"{self._path}?rev={found['_rev']}")
        self._control.close()


@dataclass
class _Claim:
    lease: _Lease
    ledgers: int = 0


class CouchLedger(Ledger):
    place = "prefix"
    #: By server and prefix: all ledgers of this process that work in one place share it.
    _claims: ClassVar[dict[tuple[str, ...], _Claim]] = {}

    def __init__(self, login: Login, prefix: str, where: str) -> None:
        super().__init__(where)
        self._login = login
        self._prefix = prefix
        self._key = (str(login.address), prefix)
        self._claimed = False
        self._looked: Sequence[str] = ()

    def _new_control(self) -> Control:
        return Control(self._login, where=self._where, timeout_s=_TIMEOUT_S)

    @cached_property
    def _control(self) -> Control:
        return self._new_control()

    def _path(self, name: str) -> str:
        return database_path(self._prefix + name)

    # -- the claim --------------------------------------------------------------------------------------------------

    def claim(self) -> None:
        if self._claimed:
            return
        if self._key not in self._claims:
            self._claims[self._key] = _Claim(_Lease(self._new_control(), self._path(TABLE), self._where))
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

    # -- the databases ----------------------------------------------------------------------------------------------

    def make_place(self) -> None:
        """It is how names begin."""

    def drop_words(self, tables: Sequence[str]) -> str:
        return "; ".join(f"DELETE {self._path(name)}" for name in tables)

    def sizes(self, tables: Sequence[str]) -> dict[str, int]:
        told = {name: self._control.get(self._path(name)) for name in tables}
        return {name: int(one["sizes"]["file"]) for name, one in told.items() if one and "sizes" in one}

    def there(self, tables: Sequence[str]) -> list[Found]:
        self._looked = tables
        return super().there(tables)

    def _marks(self) -> Mapping[str, str]:
        """Of those that were last looked for: a server may have thousands of databases. "": nobody's of ours."""
        return self._marks_of(self._looked)

    def _marks_of(self, names: Collection[str]) -> dict[str, str]:
        found = {}
        for name in names:
            if self._control.get(self._path(name)) is not None:
                mark = self._control.get(f"{self._path(name)}/{_MARK}") or {}
                found[name] = str(mark.get("made", ""))
        return found

    def _entries(self, names: Collection[str]) -> Mapping[str, Entry]:
        told = self._control.get(f"{self._path(TABLE)}/_all_docs?include_docs=true") or {"rows": []}
        rows: list[dict[str, Any]] = [row["doc"] for row in told["rows"]]
        return {str(one["_id"]): Entry(one["dataset"], one["loaded"], one["mark"]) for one in rows}

    def _is_younger(self, mark: str, before: str) -> bool:
        """None of that name was there when the entry was made."""
        return mark not in ("", before)

    def _enter(self, names: Sequence[str], dataset: str, bundle: str) -> None:
        self._control.ask("PUT", self._path(TABLE))
        marks = self._marks_of(names)
        for name in names:
            entry = {"dataset": dataset, "bundle": bundle, "loaded": False, "mark": marks.get(name, "")}
            self._write(name, entry)

    def _enter_loaded(self, names: Sequence[str]) -> None:
        marks = self._marks_of(names)
        for name in names:
            entry = self._control.get(self._entry(name)) or {}
            self._write(name, {**entry, "loaded": True, "mark": marks.get(name) or "none"})

    def _entry(self, name: str) -> str:
        return f"{self._path(TABLE)}{database_path(name)}"

    def _write(self, name: str, entry: dict[str, Any]) -> None:
        found = self._control.get(self._entry(name))
        revision = {"_rev": found["_rev"]} if found else {}
        if self._control.ask("PUT", self._entry(name), {**entry, **revision}).status >= 400:
            raise ServerError(f"the entry of {name} was changed by somebody else", where=self._where)

    def _remove_entries(self, names: Sequence[str]) -> None:
        for name in names:
            if found := self._control.get(self._entry(name)):
                self._control.ask("DELETE", f"{self._entry(name)}?rev={found['_rev']}")
        told = self._control.get(self._path(TABLE))
        if told and told["doc_count"] == 0 and not self._claimed:
            self._control.ask("DELETE", self._path(TABLE))

    def _remove_tables(self, names: Sequence[str]) -> None:
        for name in names:
            self._control.ask("DELETE", self._path(name))
