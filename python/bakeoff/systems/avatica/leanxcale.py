"""LeanXcale, by address alone: through the protocol of Calcite Avatica, which its servers speak. Nothing of this was
tried against the product: no package of it was available.

[systems.leanxcale]
address = "lx1:1529"
user = "bench"
password = { env = "DB_PASSWORD" }
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from bakeoff.errors import PlanError, ServerError
from bakeoff.systems.avatica.protocol import AvaticaControl
from bakeoff.systems.base import Capabilities, Configuration, Facts, System
from bakeoff.systems.ledger import TABLE
from bakeoff.systems.options import address_of
from bakeoff.systems.server.control import Connection, Control, Login
from bakeoff.systems.server.existing import ExistingServer
from bakeoff.systems.server.ledger import LockHeld, SqlLedger
from bakeoff.systems.server.options import ServerOptions
from bakeoff.systems.server.system import AddressedFamily, ServerNode, Status

_CLAIM = "bakeoff_claim"
#: The protocol has no statement for either.
_UNKNOWN = "unknown"


class LeanXcaleOptions(ServerOptions):
    user: str = ""


class LeanXcaleNode(ServerNode):
    def read_facts(self) -> Facts:
        """The protocol tells of a server neither what it is nor how it is set."""
        self.control.rows(self.control.probe)
        return Facts("LeanXcale (by its address; not verified)", _UNKNOWN, {}, {})

    def read_status(self) -> Status:
        return Status({}, {})

    def read_debt(self) -> dict[str, float]:
        return {}


class LeanXcaleLedger(SqlLedger):
    """No lock ends with a connection there: a row says who works here, and a bakeoff that was killed leaves it behind.
    A table has no mark but that it exists, so a user's table under the name of one of ours, which was dropped by hand,
    is taken for ours."""

    place = "database"
    mark = "mark"
    columns = "(name VARCHAR(128), dataset VARCHAR(255), bundle VARCHAR(255), state VARCHAR(10), mark BIGINT)"

    def __init__(self, login: Login, where: str) -> None:
        super().__init__(where, str(login.address))
        self._login = login
        self._holder = f"pid {os.getpid()} on {socket.gethostname()}"

    def _control(self, timeout_s: float, on_open: Callable[[Connection], None] | None = None) -> Control:
        return AvaticaControl(self._login, where=self._where, timeout_s=timeout_s, on_open=on_open)

    def _take_lock(self, connection: Connection) -> None:
        if _CLAIM not in self._marks_of_all():
            connection.rows(f"CREATE TABLE {_CLAIM} (id INTEGER NOT NULL PRIMARY KEY, holder VARCHAR(255))", ())
        there = connection.rows(f"SELECT holder FROM {_CLAIM} WHERE id = 1", ())
        if there and there[0][0] != self._holder:
            raise LockHeld(
                f"another bakeoff run ({there[0][0]}) is using {self._login.address}",
                where=self._where,
                hint=f"wait until it ends; if it was killed, drop the table {_CLAIM}",
            )
        if not there:
            connection.rows(f"INSERT INTO {_CLAIM} (id, holder) VALUES (1, ?)", (self._holder,))

    def release(self) -> None:
        held = self._claimed and self._claims[self._key].ledgers == 1
        if held:
            try:
                self._rows(f"DROP TABLE {_CLAIM}")
            finally:
                super().release()
        else:
            super().release()

    def make_place(self) -> None:
        """The account's own."""

    def _marks_of_all(self) -> dict[str, int | None]:
        found = self._looking
        assert isinstance(found, AvaticaControl)
        return {str(name).lower(): 1 if kind == "TABLE" else None for _, _, name, kind, *_ in found.tables()}

    def _marks(self) -> dict[str, int | None]:
        return self._marks_of_all()

    def _mark_before(self) -> int:
        return 0

    def _is_younger(self, mark: int, before: int) -> bool:
        return mark > before

    def _enter(self, names: Sequence[str], dataset: str, bundle: str) -> None:
        """A table that exists is not created again; there may be no IF NOT EXISTS."""
        if TABLE not in self._marks():
            self._rows(f"CREATE TABLE {TABLE} {self.columns}")
        insert = f"INSERT INTO {TABLE} (name, dataset, bundle, state, mark) VALUES (?, ?, ?, 'loading', 0)"
        for name in names:
            self._forget(name)
            self._rows(insert, name, dataset[:255], bundle[:255])

    def _remove_tables(self, names: Sequence[str]) -> None:
        for name in names:
            self._rows(self._drop_statement([name]))

    def _drop_statement(self, names: Sequence[str]) -> str:
        return "; ".join(f"DROP TABLE {self._quoted(name)}" for name in names)

    def _stored(self, name: str) -> str:
        return name.lower()

    def _quoted(self, stored: str) -> str:
        """The engine writes names as a statement without quotes would have them."""
        return f'"{stored.upper()}"'

    def _parameter(self, number: int) -> str:
        return "?"


class LeanXcaleFamily(AddressedFamily[LeanXcaleOptions]):
    driver = "avatica"
    default_port = 1529
    options = LeanXcaleOptions
    node = LeanXcaleNode
    #: How durable it is cannot be asked, so no plan may ask for a level.
    durability: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    run_time: ClassVar[Collection[str]] = ()
    ours: ClassVar[Collection[str]] = ()

    def control(self, login: Login, options: LeanXcaleOptions, where: str, timeout_s: float) -> Control:
        return AvaticaControl(login, where=where, timeout_s=timeout_s)

    def ledger(self, login: Login, options: LeanXcaleOptions, where: str) -> LeanXcaleLedger:
        return LeanXcaleLedger(login, where)

    def level(self, control: Control) -> str:
        raise ServerError("how durable it is cannot be asked over this protocol", hint="leave `durability` out")

    def size_on_disk_bytes(self, control: Control, options: LeanXcaleOptions) -> int | None:
        return None


class LeanXcale(ExistingServer):
    kind: ClassVar[str] = "leanxcale"
    summary: ClassVar[str] = "LeanXcale: by address, over Avatica's protocol; never tried against the product"
    group: ClassVar[str] = "SQL servers"
    in_first_plan: ClassVar[bool] = False
    family = LeanXcaleFamily()

    @classmethod
    def capabilities(cls) -> Capabilities:
        return replace(super().capabilities(), managed=False, restore=False)

    @classmethod
    def configure(cls, asked: Configuration) -> System:
        if address_of(asked.options) is None:
            raise PlanError(
                "LeanXcale is measured at an address: bakeoff has no package of it",
                where=asked.where,
                hint='write address = "host:1529"; the kind avatica-hsqldb is a managed server of the same protocol',
            )
        return super().configure(asked)

    @classmethod
    def available(cls, options: dict[str, Any]) -> str | None:
        return None if address_of(options) is not None else "it needs an `address`: bakeoff has no package of it"
