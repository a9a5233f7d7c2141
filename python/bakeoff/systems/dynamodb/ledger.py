"""Which tables of an account are ours. A table's mark is its id, which no later one of the same name has.

DynamoDB has no lock that ends with a connection. In its place stands an item of the ledger that says until when it
counts, by this machine's clock: whoever works here renews it before that, and a bakeoff that was killed leaves it for
half a minute at most. Both live in the table `bakeoff_tables`, which goes with the last of them.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from bakeoff.errors import ServerError
from bakeoff.systems.dynamodb.control import ConditionError, DynamoControl, NoTableError
from bakeoff.systems.ledger import TABLE, Entry, Found, Ledger
from bakeoff.systems.server.control import Refused

#: Not the name of any table.
_CLAIM = "#claim"
_LEASE_S = 30.0
_RENEWED_EVERY_S = 10.0
_CREATED_WITHIN_S = 120.0


def _item(**texts: str) -> dict[str, Any]:
    return {name: {"S": text} for name, text in texts.items()}


def _text(item: Mapping[str, Any], name: str) -> str:
    return str(item.get(name, {}).get("S", ""))


def _mark(table: Mapping[str, Any]) -> str:
    """Amazon's emulator gives tables no id."""
    return str(table.get("TableId") or table["CreationDateTime"])


class _Lease:
    """The claim, for as long as it is renewed."""

    def __init__(self, control: DynamoControl, where: str) -> None:
        self._control = control
        self._where = where
        self._holder = f"pid {os.getpid()} on {socket.gethostname()}, {uuid.uuid4()}"
        self._closed = threading.Event()
        try:
            make_ledger(control)
            self._take()
        except BaseException:
            control.close()
            raise
        self._renewing = threading.Thread(target=self._renew, name="claim of an account", daemon=True)
        self._renewing.start()

    def _take(self) -> None:
        now = time.time()
        request = {
            "TableName": TABLE,
            "Item": {**_item(name=_CLAIM, holder=self._holder), "until": {"N": str(round(now + _LEASE_S))}},
            "ConditionExpression": "attribute_not_exists(#n) OR #u < :now OR holder = :me",
            "ExpressionAttributeNames": {"#n": "name", "#u": "until"},
            "ExpressionAttributeValues": {":now": {"N": str(round(now))}, ":me": {"S": self._holder}},
        }
        try:
            self._control.ask("PutItem", request)
        except ConditionError:
            there = self._control.ask("GetItem", {"TableName": TABLE, "Key": _item(name=_CLAIM)}).get("Item", {})
            raise ServerError(
                f"another bakeoff run ({_text(there, 'holder')}) is using {self._control.login.address}",
                where=self._where,
                hint="wait until it ends (half a minute if it was killed), or name another region",
            ) from None

    def _renew(self) -> None:
        while not self._closed.wait(_RENEWED_EVERY_S):
            with suppress(ServerError, NoTableError):  # the next try comes before it ends
                self._take()

    def close(self) -> None:
        self._closed.set()
        self._renewing.join()
        with suppress(ServerError, ConditionError, NoTableError):  # it ends by itself
            mine = {
                "ConditionExpression": "holder = :me",
                "ExpressionAttributeValues": {":me": {"S": self._holder}},
            }
            self._control.ask("DeleteItem", {"TableName": TABLE, "Key": _item(name=_CLAIM), **mine})
            if not [*self._control.scan(TABLE)]:
                self._control.ask("DeleteTable", {"TableName": TABLE})
        self._control.close()


def make_ledger(control: DynamoControl) -> None:
    """If there is none. Raises ServerError."""
    if control.table(TABLE) is None:
        # One that was just dropped may still be on its way out, and another run may make it at this moment.
        with suppress(Refused):
            control.ask(
                "CreateTable",
                {
                    "TableName": TABLE,
                    "BillingMode": "PAY_PER_REQUEST",
                    "AttributeDefinitions": [{"AttributeName": "name", "AttributeType": "S"}],
                    "KeySchema": [{"AttributeName": "name", "KeyType": "HASH"}],
                },
            )
    deadline = time.monotonic() + _CREATED_WITHIN_S
    while (table := control.table(TABLE)) is None or table["TableStatus"] != "ACTIVE":
        if time.monotonic() > deadline:
            raise ServerError(f"the table {TABLE} was not ready within {_CREATED_WITHIN_S:.0f} s")
        time.sleep(0.2)


@dataclass
class _Claim:
    lease: _Lease
    ledgers: int = 0


class DynamoLedger(Ledger):
    place = "region"
    #: By server and region: all ledgers of this process that work in one place share it.
    _claims: ClassVar[dict[tuple[str, ...], _Claim]] = {}

    def __init__(self, control: DynamoControl, region: str, where: str) -> None:
        super().__init__(where)
        self._control = control
        self._key = (str(control.login.address), region)
        self._claimed = False
        self._seen: dict[str, str | None] = {}

    def claim(self) -> None:
        if self._claimed:
            return
        if self._key not in self._claims:
            self._claims[self._key] = _Claim(_Lease(self._control.again(), self._where))
        self._claims[self._key].ledgers += 1
        self._claimed = True

    def release(self) -> None:
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

    # -- the tables -------------------------------------------------------------------------------------------------

    def make_place(self) -> None:
        """Every region exists."""

    def drop_words(self, tables: Sequence[str]) -> str:
        return "; ".join(f"aws dynamodb delete-table --table-name {name}" for name in tables)

    def sizes(self, tables: Sequence[str]) -> dict[str, int]:
        """The service counts every six hours."""
        found = {name: self._control.table(name) for name in tables}
        return {name: int(table["TableSizeBytes"]) for name, table in found.items() if table is not None}

    def there(self, tables: Sequence[str]) -> list[Found]:
        self._wake()
        self._seen = self._marks_of([*tables, TABLE])
        return super().there(tables)

    def _marks(self) -> Mapping[str, str | None]:
        """Of those that were last looked for: an account may have thousands of tables."""
        return self._seen

    def _marks_of(self, names: Collection[str]) -> dict[str, str | None]:
        tables = {name: self._control.table(name) for name in names}
        return {name: _mark(table) for name, table in tables.items() if table is not None}

    def _entries(self, names: Collection[str]) -> Mapping[str, Entry]:
        if TABLE not in names:
            return {}
        return {
            _text(one, "name"): Entry(_text(one, "dataset"), _text(one, "state") == "loaded", _text(one, "mark"))
            for one in self._control.scan(TABLE)
            if _text(one, "name") != _CLAIM
        }

    def _is_younger(self, mark: Any, before: Any) -> bool:
        """None of that name was there when the entry was made."""
        return bool(mark != before)

    def _enter(self, names: Sequence[str], dataset: str, bundle: str) -> None:
        make_ledger(self._control)
        marks = self._marks_of(names)
        for name in names:
            entry = _item(name=name, dataset=dataset, bundle=bundle, state="loading", mark=marks.get(name) or "")
            self._control.ask("PutItem", {"TableName": TABLE, "Item": entry})

    def _enter_loaded(self, names: Sequence[str]) -> None:
        for name, mark in self._marks_of(names).items():
            self._control.ask(
                "UpdateItem",
                {
                    "TableName": TABLE,
                    "Key": _item(name=name),
                    "UpdateExpression": "SET #s = :s, mark = :m",
                    "ExpressionAttributeNames": {"#s": "state"},
                    "ExpressionAttributeValues": {":s": {"S": "loaded"}, ":m": {"S": mark or ""}},
                },
            )

    def _remove_entries(self, names: Sequence[str]) -> None:
        """The ledger itself goes with the claim."""
        with suppress(NoTableError):
            for name in names:
                self._control.ask("DeleteItem", {"TableName": TABLE, "Key": _item(name=name)})

    def _remove_tables(self, names: Sequence[str]) -> None:
        for name in names:
            with suppress(NoTableError):
                self._control.ask("DeleteTable", {"TableName": name})
        for name in names:
            self._until_gone(name)

    def _until_gone(self, name: str) -> None:
        deadline = time.monotonic() + _CREATED_WITHIN_S
        while time.monotonic() < deadline:
            try:
                self._control.ask("DescribeTable", {"TableName": name})
            except NoTableError:
                return
            time.sleep(0.2)
        raise ServerError(f"the table {name} was not gone within {_CREATED_WITHIN_S:.0f} s", where=self._where)
