"""CouchDB: an existing server, at an address. pouchdb-server, its peer: see pouchdb_server.py.

[systems.couchdb]
address = "db1:5984"
user = "bench"
password = { env = "DB_PASSWORD" }
prefix = "bakeoff_"
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bakeoff.errors import PlanError
from bakeoff.systems.base import Capabilities, Configuration, System
from bakeoff.systems.couchdb.control import Control
from bakeoff.systems.couchdb.ledger import CouchLedger
from bakeoff.systems.couchdb.node import CouchNode, read_settings, read_version, survival
from bakeoff.systems.options import address_of
from bakeoff.systems.server.control import Control as ServerControl
from bakeoff.systems.server.control import Login
from bakeoff.systems.server.existing import ExistingServer
from bakeoff.systems.server.options import ServerOptions
from bakeoff.systems.server.system import AddressedFamily, Server, ServerNode


class CouchOptions(ServerOptions):
    user: str = ""

    @property
    def prefix(self) -> str:
        return str(self.driver["prefix"])


class CouchFamily(AddressedFamily[CouchOptions]):
    driver = "couchdb"
    default_port = 5984
    options: type[CouchOptions] = CouchOptions
    node: ClassVar[type[ServerNode]] = CouchNode
    #: By the server's version: see `survival`.
    durability: ClassVar[Mapping[str, Mapping[str, str]]] = {"full": {}, "none": {}}
    run_time = frozenset({"read_quorum", "write_quorum", "page_size"})
    ours = frozenset({"port"})

    def place(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return (str(options.get("prefix", "")),)

    def control(self, login: Login, options: CouchOptions, where: str, timeout_s: float) -> Control:
        return Control(login, where=where, timeout_s=timeout_s)

    def ledger(self, login: Login, options: CouchOptions, where: str) -> CouchLedger:
        return CouchLedger(login, options.prefix, where)

    def level(self, control: ServerControl) -> str:
        assert isinstance(control, Control)
        return survival(read_version(control), read_settings(control)).level

    def size_on_disk_bytes(self, control: ServerControl, options: CouchOptions) -> int | None:
        """Of each table: see the ledger."""
        return None


class CouchServer(Server):
    """Of the product, or of its peer."""

    _options: CouchOptions

    #: The server's own defaults are a majority of the copies, for reads and writes. More than that nobody offers.
    consistency: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quorum": {},
        "eventual": {"read_quorum": 1, "write_quorum": 1},
    }

    def _driver(self, login: Login, secret: dict[str, str] | None) -> dict[str, Any]:
        driver = super()._driver(login, secret if login.user else None)
        return {**driver, "user": login.user or None}


class CouchDb(CouchServer, ExistingServer):
    kind: ClassVar[str] = "couchdb"
    summary: ClassVar[str] = "CouchDB: existing by `address`; documents, and records (YCSB)"
    in_first_plan: ClassVar[bool] = False
    family = CouchFamily()

    @classmethod
    def capabilities(cls) -> Capabilities:
        return Capabilities(
            managed=False, existing=True, embedded=False, restore=False, durability=tuple(cls.family.durability)
        )

    @classmethod
    def configure(cls, asked: Configuration) -> System:
        if address_of(asked.options) is None:
            raise PlanError(
                "bakeoff starts no CouchDB: no source that it knows has one",
                where=asked.where,
                hint='start one yourself, and write address = "host:5984"; pouchdb-server is a peer for trials',
            )
        return super().configure(asked)
