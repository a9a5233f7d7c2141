"""Which domains of an account are ours. The driver puts an item with a random mark into each that it makes, which it
leaves out of scans and counts; a domain without it is somebody else's, and so is one that was made under that name
later.

They are recorded in the domain `bakeoff_tables`, and the claim (see lease.py) is an item of it; it goes with the last
of them.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from bakeoff.systems.aws_control import AbsentError, ConditionError
from bakeoff.systems.lease import LEASE_S, Claim, LeasedLedger, in_use
from bakeoff.systems.ledger import TABLE, Entry, Found
from bakeoff.systems.simpledb.control import SimpledbControl

#: As in the driver.
_MARK = "#bakeoff"
_MADE = "made"
#: Not the name of any table.
_CLAIM = "#claim"
#: An attribute's value may not be longer, and is not empty.
_VALUE_BYTES_MAX = 1000
_NONE = "none"


class _Claim(Claim):
    """By this machine's clock."""

    def __init__(self, control: SimpledbControl, where: str) -> None:
        self._control = control
        self._where = where

    def take(self, holder: str) -> None:
        """Of two that find it as it was, the condition lets one through."""
        make_ledger(self._control)
        found, now = self._control.item(TABLE, _CLAIM), time.time()
        other = found.get("holder", "")
        is_free = other in ("", holder) or _until(found) < now
        address = self._control.login.address
        if not is_free:
            raise in_use(other, address, self._where, "region")
        claimed = {"holder": holder, "until": str(round(now + LEASE_S))}
        try:
            self._control.put(TABLE, _CLAIM, claimed, holder=other)
        except ConditionError:
            raise in_use("which was faster", address, self._where, "region") from None

    def give_up(self, holder: str) -> None:
        """With the ledger, where it has nothing to say."""
        with suppress(ConditionError, AbsentError):
            self._control.delete(TABLE, _CLAIM, holder=holder)
            if self._control.is_empty(TABLE):
                self._control.ask("DeleteDomain", {"DomainName": TABLE})

    def close(self) -> None:
        self._control.close()


def _until(claim: Mapping[str, str]) -> float:
    """One that does not say has ended."""
    try:
        return float(claim["until"])
    except (KeyError, ValueError):
        return 0.0


def make_ledger(control: SimpledbControl) -> None:
    """If there is none; it takes the service some seconds. Raises ServerError."""
    try:
        control.item(TABLE, _CLAIM)
    except AbsentError:
        control.ask("CreateDomain", {"DomainName": TABLE})


class SimpledbLedger(LeasedLedger):
    place = "region"

    def __init__(self, control: SimpledbControl, region: str, where: str) -> None:
        super().__init__(where, (str(control.login.address), region), lambda: _Claim(control.again(), where))
        self._control = control
        self._looked: Sequence[str] = ()

    def _disconnect(self) -> None:
        self._control.close()

    def make_place(self) -> None:
        """Every region exists."""

    def drop_words(self, tables: Sequence[str]) -> str:
        return "; ".join(f"DeleteDomain {name}" for name in tables)

    def there(self, tables: Sequence[str]) -> list[Found]:
        self._looked = tables
        return super().there(tables)

    def _marks(self) -> Mapping[str, str]:
        """Of those that were last looked for, which may be few of many. "": nobody's of ours."""
        return self._marks_of(self._looked)

    def _marks_of(self, names: Collection[str]) -> dict[str, str]:
        found = {}
        for name in names:
            with suppress(AbsentError):
                found[name] = self._control.item(name, _MARK).get(_MADE, "")
        return found

    def _entries(self, names: Collection[str]) -> Mapping[str, Entry]:
        found = {}
        with suppress(AbsentError):
            for name in names:
                item = self._control.item(TABLE, name)
                if {"dataset", "state", "mark"} <= item.keys():
                    found[name] = Entry(item["dataset"], item["state"] == "loaded", item["mark"])
        return found

    def _is_younger(self, mark: str, before: str) -> bool:
        """None of that name was there when the entry was made."""
        return mark not in ("", before)

    def _enter(self, names: Sequence[str], dataset: str, bundle: str) -> None:
        make_ledger(self._control)
        marks = self._marks_of(names)
        for name in names:
            entry = {"dataset": dataset, "bundle": bundle, "state": "loading", "mark": marks.get(name, "")}
            self._control.put(TABLE, name, {key: value[:_VALUE_BYTES_MAX] or _NONE for key, value in entry.items()})

    def _enter_loaded(self, names: Sequence[str]) -> None:
        for name, mark in self._marks_of(names).items():
            self._control.put(TABLE, name, {"state": "loaded", "mark": mark or _NONE})

    def _remove_entries(self, names: Sequence[str]) -> None:
        """The ledger itself goes with the claim."""
        with suppress(AbsentError):
            for name in names:
                self._control.delete(TABLE, name)

    def _remove_tables(self, names: Sequence[str]) -> None:
        for name in names:
            self._control.ask("DeleteDomain", {"DomainName": name})
