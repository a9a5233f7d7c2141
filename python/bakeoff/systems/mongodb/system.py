"""MongoDB: an existing server, or members of a replica set, by address.

[systems.mongodb]
address = "db1:27017"
user = "bench"
password = { env = "DB_PASSWORD" }
database = "bakeoff"
write_concern = "majority"
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from bakeoff.errors import PlanError
from bakeoff.systems.base import Capabilities, Configuration, System
from bakeoff.systems.mongodb.control import Control
from bakeoff.systems.mongodb.ledger import MongoLedger
from bakeoff.systems.mongodb.node import MongoNode, default_write_concern, size_on_disk_bytes, survival
from bakeoff.systems.options import address_of
from bakeoff.systems.server.control import Control as ServerControl
from bakeoff.systems.server.control import Login
from bakeoff.systems.server.existing import ExistingServer
from bakeoff.systems.server.options import ServerOptions
from bakeoff.systems.server.system import AddressedFamily, Server, ServerNode


class MongoOptions(ServerOptions):
    user: str = ""
    database: str = Field(default="bakeoff", min_length=1, max_length=63)

    @property
    def tables_in(self) -> str:
        return self.database


class MongoFamily(AddressedFamily[MongoOptions]):
    driver = "mongodb"
    default_port = 27017
    options: type[MongoOptions] = MongoOptions
    node: ClassVar[type[ServerNode]] = MongoNode
    #: By what the load's write concern acknowledges: see `survival`.
    durability: ClassVar[Mapping[str, Mapping[str, str]]] = {"full": {}, "none": {}}
    run_time = frozenset({"heap_mib"})
    ours = frozenset({"port"})

    def place(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return (str(options.get("database", "")),)

    def document(self, login: Login, options: MongoOptions) -> dict[str, Any]:
        return {"database": options.database}

    def control(self, login: Login, options: MongoOptions, where: str, timeout_s: float) -> Control:
        source = options.driver["auth_source"]
        return Control(login, options.database, source, where=where, timeout_s=timeout_s)

    def ledger(self, login: Login, options: MongoOptions, where: str) -> MongoLedger:
        return MongoLedger(login, options.database, options.driver["auth_source"], where)

    def level(self, control: ServerControl) -> str:
        """Of a load that says nothing of its own."""
        return level(control, {"write_concern": None, "journal": None})

    def size_on_disk_bytes(self, control: ServerControl, options: MongoOptions) -> int | None:
        assert isinstance(control, Control)
        return size_on_disk_bytes(control)


FAMILY = MongoFamily()


def level(control: ServerControl, driver: Mapping[str, Any]) -> str:
    """Of durability, of a load with these options of the driver. Raises ServerError."""
    assert isinstance(control, Control)
    is_replica = "setName" in control.hello()
    return survival(driver, default_write_concern(control), is_replica=is_replica).level


class MongoServer(Server):
    """Of the product, or of its peer."""

    _options: MongoOptions

    #: Linearizable reads (`read_concern = "linearizable"`) are more than any portable name asks for.
    consistency: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "strong": {"read_concern": "majority", "write_concern": "majority", "read_preference": "primary"},
        "session": {"read_concern": "local", "write_concern": "1", "read_preference": "primary"},
        "eventual": {"read_concern": "local", "write_concern": "1", "read_preference": "secondary_preferred"},
    }

    def _driver(self, login: Login, secret: dict[str, str] | None) -> dict[str, Any]:
        driver = super()._driver(login, secret if login.user else None)
        return {**driver, "user": login.user or None}

    def _asked(self) -> dict[str, str]:
        driver = self._options.driver
        names = ("read_concern", "read_preference", "write_concern")
        return {name: str(driver[name]) for name in names if driver[name] is not None}


class MongoDb(MongoServer, ExistingServer):
    kind: ClassVar[str] = "mongodb"
    summary: ClassVar[str] = "MongoDB: existing by `address`; documents, and records (YCSB)"
    in_first_plan: ClassVar[bool] = False
    family = FAMILY

    @classmethod
    def capabilities(cls) -> Capabilities:
        return Capabilities(
            managed=False, existing=True, embedded=False, restore=False, durability=tuple(cls.family.durability)
        )

    @classmethod
    def configure(cls, asked: Configuration) -> System:
        if address_of(asked.options) is None:
            raise PlanError(
                "bakeoff starts no MongoDB: no source that it knows has one",
                where=asked.where,
                hint='start one yourself, and write address = "host:27017"; mongo-java-server is a peer for trials',
            )
        made = super().configure(asked)
        assert isinstance(made, MongoDb)
        return made

    @property
    def _nodes_with_options(self) -> list[ServerNode]:
        nodes = self._nodes
        for node in nodes:
            assert isinstance(node, MongoNode)
            node.options = self._options.driver
        return nodes

    def nodes(self) -> list[ServerNode]:
        return self._nodes_with_options

    def level(self) -> str:
        return level(self.control, self._options.driver)

    def _own_facts(self) -> dict[str, str]:
        return {**super()._own_facts(), **self._asked()}
