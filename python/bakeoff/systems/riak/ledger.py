"""Which buckets of an existing cluster are ours. The driver puts an object with a random mark into each that it begins,
which it leaves out of scans and counts; a bucket that has objects and no mark is somebody else's.

They are recorded in the bucket `bakeoff_tables`, and the claim (see lease.py) is an object of it. Riak has no condition
that keeps two writers apart for certain: of two that claim at the same moment, each sees the other's claim when it
reads its own, unless the server has dropped one of them.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from urllib.parse import quote

from bakeoff.errors import ServerError
from bakeoff.systems.lease import LEASE_S, Claim, LeasedLedger, in_use
from bakeoff.systems.ledger import TABLE, Entry, Found
from bakeoff.systems.riak.control import Answer, RiakControl, number, object_path

#: As in the driver.
_MARK = "~bakeoff"
#: Not the name of any table.
_CLAIM = "~claim"
#: Keys of deleted objects are listed until the server forgets them (`delete_mode`, 3 s).
_FORGOTTEN_WITHIN_S = 10.0


class _Claim(Claim):
    """By the server's clock."""

    def __init__(self, control: RiakControl, ledger: str, where: str) -> None:
        self._control = control
        self._path = object_path(ledger, _CLAIM)
        self._where = where

    def take(self, holder: str) -> None:
        before = self._control.read(self._path)
        self._refuse_others(before, holder)
        done = self._control.put(self._path, {"holder": holder, "until": before.date + LEASE_S}, before)
        self._refuse_others(self._control.read(self._path), holder)
        if not done:
            raise in_use("which was faster", self._control.login.address, self._where, "`prefix`")

    def _refuse_others(self, found: Answer, holder: str) -> None:
        for one in found.values:
            other = str(one.get("holder", holder))
            if other != holder and number(one.get("until")) >= found.date:
                raise in_use(other, self._control.login.address, self._where, "`prefix`")

    def give_up(self, holder: str) -> None:
        if any(one.get("holder") == holder for one in self._control.read(self._path).values):
            self._control.delete(self._path)

    def close(self) -> None:
        self._control.close()


class RiakLedger(LeasedLedger):
    """base: how paths of buckets begin, with the plan's `bucket_type` and `prefix`."""

    place = "prefix"

    def __init__(self, control: RiakControl, base: str, where: str) -> None:
        key = (str(control.login.address), base)
        super().__init__(where, key, lambda: _Claim(control.again(), self._bucket(TABLE), where))
        self._control = control
        self._base = base
        self._looked: Sequence[str] = ()

    def _disconnect(self) -> None:
        self._control.close()

    def _bucket(self, name: str) -> str:
        return self._base + quote(name, safe="")

    # -- the buckets ------------------------------------------------------------------------------------------------

    def make_place(self) -> None:
        """It is how names begin."""

    def drop_words(self, tables: Sequence[str]) -> str:
        return "; ".join(f"DELETE each key of {self._bucket(name)}/keys?keys=true" for name in tables)

    def there(self, tables: Sequence[str]) -> list[Found]:
        self._looked = tables
        return super().there(tables)

    def _marks(self) -> Mapping[str, str]:
        """Of those that were last looked for: listing all buckets reads the whole cluster. "": nobody's of ours."""
        return self._marks_of(self._looked)

    def _marks_of(self, names: Collection[str]) -> dict[str, str]:
        found = {}
        for name in names:
            bucket = self._bucket(name)
            mark = str(self._control.get(object_path(bucket, _MARK)).get("made", ""))
            if mark or self._has_objects(bucket):
                found[name] = mark
        return found

    def _has_objects(self, bucket: str) -> bool:
        return any(self._control.read(object_path(bucket, key)).status < 400 for key in self._control.keys(bucket))

    def _entries(self, names: Collection[str]) -> Mapping[str, Entry]:
        read = {name: self._control.get(self._entry(name)) for name in names}
        return {
            name: Entry(str(one["dataset"]), one["loaded"] is True, str(one["mark"]))
            for name, one in read.items()
            if {"dataset", "loaded", "mark"} <= one.keys()
        }

    def _is_younger(self, mark: str, before: str) -> bool:
        """None of that name was there when the entry was made."""
        return mark not in ("", before)

    def _enter(self, names: Sequence[str], dataset: str, bundle: str) -> None:
        marks = self._marks_of(names)
        for name in names:
            self._write(name, {"dataset": dataset, "bundle": bundle, "loaded": False, "mark": marks.get(name, "")})

    def _enter_loaded(self, names: Sequence[str]) -> None:
        for name, mark in self._marks_of(names).items():
            self._write(name, {**self._control.get(self._entry(name)), "loaded": True, "mark": mark or "none"})

    def _entry(self, name: str) -> str:
        return object_path(self._bucket(TABLE), name)

    def _write(self, name: str, entry: Mapping[str, object]) -> None:
        if not self._control.put(self._entry(name), entry, self._control.read(self._entry(name))):
            raise ServerError(f"the entry of {name} was changed by somebody else", where=self._where)

    def _remove_entries(self, names: Sequence[str]) -> None:
        """A bucket without objects is none, the ledger's, too."""
        for name in names:
            self._control.delete(self._entry(name))

    def _remove_tables(self, names: Sequence[str]) -> None:
        """The mark goes last: what is left of a bucket is ours until then."""
        for name in names:
            bucket = self._bucket(name)
            for key in self._control.keys(bucket):
                if key != _MARK:
                    self._control.delete(object_path(bucket, key))
            self._control.delete(object_path(bucket, _MARK))
        deadline = time.monotonic() + _FORGOTTEN_WITHIN_S
        while any(map(self._control.keys, map(self._bucket, names))) and time.monotonic() < deadline:
            time.sleep(0.5)
