"""Which tables of an account are ours. A table's mark is its id, which no later one of the same name has.

They are recorded in the table `bakeoff_tables`, and the claim (see lease.py) is an item of it; it goes with the last of
them.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from bakeoff.errors import ServerError
from bakeoff.systems.aws_control import AbsentError, ConditionError
from bakeoff.systems.dynamodb.control import DynamoControl
from bakeoff.systems.lease import LEASE_S, Claim, LeasedLedger, in_use
from bakeoff.systems.ledger import TABLE, Entry, Found
from bakeoff.systems.server.control import Refused

#: Not the name of any table.
_CLAIM = "#claim"
_CREATED_WITHIN_S = 120.0


def _item(**texts: str) -> dict[str, Any]:
    return {name: {"S": text} for name, text in texts.items()}


def _text(item: Mapping[str, Any], name: str) -> str:
    return str(item.get(name, {}).get("S", ""))


def _mark(table: Mapping[str, Any]) -> str:
    """Amazon's emulator gives tables no id."""
    return str(table.get("TableId") or table["CreationDateTime"])


class _Claim(Claim):
    """An item of the ledger, by this machine's clock."""

    def __init__(self, control: DynamoControl, where: str) -> None:
        self._control = control
        self._where = where

    def take(self, holder: str) -> None:
        make_ledger(self._control)
        now = time.time()
        request = {
            "TableName": TABLE,
            "Item": {**_item(name=_CLAIM, holder=holder), "until": {"N": str(round(now + LEASE_S))}},
            "ConditionExpression": "attribute_not_exists(#n) OR #u < :now OR holder = :me",
            "ExpressionAttributeNames": {"#n": "name", "#u": "until"},
            "ExpressionAttributeValues": {":now": {"N": str(round(now))}, ":me": {"S": holder}},
        }
        try:
            self._control.ask("PutItem", request)
        except ConditionError:
            there = self._control.ask("GetItem", {"TableName": TABLE, "Key": _item(name=_CLAIM)}).get("Item", {})
            raise in_use(_text(there, "holder"), self._control.login.address, self._where, "region") from None

    def give_up(self, holder: str) -> None:
        """With the ledger, where it has nothing to say."""
        mine = {
            "ConditionExpression": "holder = :me",
            "ExpressionAttributeValues": {":me": {"S": holder}},
        }
        with suppress(ConditionError, AbsentError):
            self._control.ask("DeleteItem", {"TableName": TABLE, "Key": _item(name=_CLAIM), **mine})
            if not [*self._control.scan(TABLE)]:
                self._control.ask("DeleteTable", {"TableName": TABLE})

    def close(self) -> None:
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


class DynamoLedger(LeasedLedger):
    place = "region"

    def __init__(self, control: DynamoControl, region: str, where: str) -> None:
        super().__init__(where, (str(control.login.address), region), lambda: _Claim(control.again(), where))
        self._control = control
        self._seen: dict[str, str | None] = {}

    def _disconnect(self) -> None:
        self._control.close()

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
        with suppress(AbsentError):
            for name in names:
                self._control.ask("DeleteItem", {"TableName": TABLE, "Key": _item(name=name)})

    def _remove_tables(self, names: Sequence[str]) -> None:
        for name in names:
            with suppress(AbsentError):
                self._control.ask("DeleteTable", {"TableName": name})
        for name in names:
            self._until_gone(name)

    def _until_gone(self, name: str) -> None:
        deadline = time.monotonic() + _CREATED_WITHIN_S
        while time.monotonic() < deadline:
            try:
                self._control.ask("DescribeTable", {"TableName": name})
            except AbsentError:
                return
            time.sleep(0.2)
        raise ServerError(f"the table {name} was not gone within {_CREATED_WITHIN_S:.0f} s", where=self._where)
