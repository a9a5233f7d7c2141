"""Which databases of an existing server are ours. The driver puts a document with a random mark into each that it makes
(a local one, which nothing lists or counts); what else has a table's name is somebody else's, and so is a database that
was made under that name later.

The ledger is a database of its own. The claim (see lease.py) is a document of it; of two that write it at once one has
a conflict.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

from bakeoff.errors import ServerError
from bakeoff.systems.couchdb.control import Control, database_path
from bakeoff.systems.lease import LEASE_S, Claim, LeasedLedger, in_use
from bakeoff.systems.ledger import TABLE, Entry, Found
from bakeoff.systems.server.control import Login

#: As in the driver.
_MARK = "_local/bakeoff"
_CLAIM = "_local/claim"
#: Dropping a large database takes its time.
_TIMEOUT_S = 300.0


class _Claim(Claim):
    """A local document of the ledger's database, by the server's clock."""

    def __init__(self, control: Control, database: str, where: str) -> None:
        self._control = control
        self._database = database
        self._path = f"{database}/{_CLAIM}"
        self._where = where

    def take(self, holder: str) -> None:
        self._control.ask("PUT", self._database)  # where it does not exist
        answer = self._control.ask("GET", self._path)
        found = answer.body if answer.status == 200 else {}
        is_free = found.get("holder", holder) == holder or found["until"] < answer.date
        claimed = {"holder": holder, "until": answer.date + LEASE_S}
        revision = {"_rev": found["_rev"]} if found else {}
        if not is_free or self._control.ask("PUT", self._path, {**claimed, **revision}).status >= 400:
            other = found.get("holder", "which was faster")
            raise in_use(other, self._control.login.address, self._where, "`prefix`")

    def give_up(self, holder: str) -> None:
        """A ledger that has nothing to say goes with the claim."""
        found = self._control.get(self._database)
        if found and found["doc_count"] == 0:
            self._control.ask("DELETE", self._database)
        elif found := self._control.get(self._path):
            self._control.ask("DELETE", f"{self._path}?rev={found['_rev']}")

    def close(self) -> None:
        self._control.close()


class CouchLedger(LeasedLedger):
    place = "prefix"

    def __init__(self, login: Login, prefix: str, where: str) -> None:
        super().__init__(where, (str(login.address), prefix), self._make_claim)
        self._login = login
        self._prefix = prefix
        self._looked: Sequence[str] = ()

    def _make_claim(self) -> Claim:
        return _Claim(self._new_control(), self._path(TABLE), self._where)

    def _new_control(self) -> Control:
        return Control(self._login, where=self._where, timeout_s=_TIMEOUT_S)

    @cached_property
    def _control(self) -> Control:
        return self._new_control()

    def _path(self, name: str) -> str:
        return database_path(self._prefix + name)

    def _disconnect(self) -> None:
        if "_control" in vars(self):
            self._control.close()

    # -- the databases ----------------------------------------------------------------------------------------------

    def make_place(self) -> None:
        """It is how names begin."""

    def drop_words(self, tables: Sequence[str]) -> str:
        return "; ".join(f"DELETE {self._path(name)}" for name in tables)

    def sizes(self, tables: Sequence[str]) -> dict[str, int]:
        found = {name: self._control.get(self._path(name)) for name in tables}
        return {name: int(one["sizes"]["file"]) for name, one in found.items() if one and "sizes" in one}

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
        found = self._control.get(f"{self._path(TABLE)}/_all_docs?include_docs=true") or {"rows": []}
        rows: list[dict[str, Any]] = [row["doc"] for row in found["rows"]]
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
        found = self._control.get(self._path(TABLE))
        if found and found["doc_count"] == 0 and not self._claimed:
            self._control.ask("DELETE", self._path(TABLE))

    def _remove_tables(self, names: Sequence[str]) -> None:
        for name in names:
            self._control.ask("DELETE", self._path(name))
