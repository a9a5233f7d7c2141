"""What one server of MongoDB's is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bakeoff.errors import ServerError
from bakeoff.model.durability import NOTHING, Survival
from bakeoff.systems.base import Facts
from bakeoff.systems.mongodb.control import ADMIN, Control
from bakeoff.systems.server.control import Refused
from bakeoff.systems.server.system import TRANSACTIONS, ServerNode, Status

_LAST = "commits of the last 0.1 s"


def survival(options: Mapping[str, Any], default_concern: object, *, is_replica: bool) -> Survival:
    """Of what the load's write concern acknowledges, on the server that was asked. options: the driver's.
    default_concern: the server's own `w`.

    A write of concern `majority` waits for the journal (`writeConcernMajorityJournalDefault`) on a member of a replica
    set; any other does with `j`. Without either the journal is written every 100 ms, and until then it is in the
    server's own memory.

    Sources: MongoDB documentation, "Write Concern" (acknowledgment behavior), "Journaling".
    """
    asked = options["write_concern"] or default_concern
    journaled = options["journal"]
    if journaled is None:
        journaled = asked == "majority" and is_replica
    return Survival(NOTHING, NOTHING) if journaled else Survival(_LAST, _LAST)


def default_write_concern(control: Control) -> object:
    """`w` where the load says nothing: 1, or what the cluster has. Servers before 4.4 know no such command."""
    try:
        concern = control.ask({"getDefaultRWConcern": 1}, ADMIN).get("defaultWriteConcern", {})
    except Refused:
        return 1
    return concern.get("w", 1)


class MongoNode(ServerNode):
    """options: of the load's driver."""

    options: Mapping[str, Any] = {}

    @property
    def _mongo(self) -> Control:
        control = self.control
        assert isinstance(control, Control)
        return control

    def read_facts(self) -> Facts:
        control = self._mongo
        hello = control.hello()
        version = str(control.ask({"buildInfo": 1}, ADMIN)["version"])
        is_replica = "setName" in hello
        found = survival(self.options, default_write_concern(control), is_replica=is_replica)
        settings = {
            "topology": "replica set" if is_replica else "sharded" if hello.get("msg") == "isdbgrid" else "one server",
            **self._settings(),
        }
        memory = {"memory_bytes": settings[_CACHE]} if _CACHE in settings else {}
        isolation = "snapshot" if self.options.get("transactions") else "each document by itself"
        return Facts("MongoDB", version, settings, {**found.facts(), **memory, "isolation": isolation})

    def _settings(self) -> dict[str, str]:
        """What it was started with, and its memory. An account may be without the right to see either."""
        told: dict[str, str] = {}
        try:
            for name, value in _flat(self._mongo.ask({"getCmdLineOpts": 1}, ADMIN).get("parsed", {})):
                if not name.startswith(("security.", "net.tls.")):
                    told[name] = value
            status = self._mongo.ask({"serverStatus": 1}, ADMIN)
        except Refused:
            return told
        if engine := status.get("storageEngine", {}).get("name"):
            told["storage.engine"] = str(engine)
        if cache := status.get("wiredTiger", {}).get("cache", {}).get("maximum bytes configured"):
            told[_CACHE] = str(int(cache))
        return told

    def read_status(self) -> Status:
        status = self._mongo.ask({"serverStatus": 1}, ADMIN)
        counters = {
            f"opcounters.{name}": float(count) for name, count in status.get("opcounters", {}).items() if _is(count)
        }
        network = status.get("network", {})
        counters |= {f"network.{name}": float(network[name]) for name in _NETWORK if _is(network.get(name))}
        counters |= {f"wiredTiger.{name}": float(value) for name, value in _at(status, _CACHE_COUNTERS)}
        if "opcounters" in status:
            counters[TRANSACTIONS] = sum(counters.get(f"opcounters.{name}", 0.0) for name in _OPERATIONS)
        gauges = {name: float(value) for name, value in _at(status, _GAUGES)}
        return Status(counters, gauges)

    def read_debt(self) -> dict[str, float]:
        """What is changed in the cache and not yet in a file."""
        status = self._mongo.ask({"serverStatus": 1}, ADMIN)
        return {name: float(value) for name, value in _at(status, {"dirty_bytes": _DIRTY})}

    def cipher(self, control: Any) -> str:
        """The name of the method that our own connection has, as the load's may have another."""
        return "on" if control.login.tls else ""


#: The name under which the cache's size is a setting of the server.
_CACHE = "storage.wiredTiger.cache_bytes"
_OPERATIONS = ("insert", "query", "update", "delete", "command")
_NETWORK = ("bytesIn", "bytesOut", "numRequests")
_DIRTY = ("wiredTiger", "cache", "tracked dirty bytes in the cache")
_CACHE_COUNTERS = {
    "bytes_read": ("wiredTiger", "cache", "bytes read into cache"),
    "bytes_written": ("wiredTiger", "cache", "bytes written from cache"),
    "log_bytes_written": ("wiredTiger", "log", "log bytes written"),
}
_GAUGES = {
    "connections.current": ("connections", "current"),
    "cursors.open": ("metrics", "cursor", "open", "total"),
    "cache_bytes": ("wiredTiger", "cache", "bytes currently in the cache"),
    "cache_dirty_bytes": _DIRTY,
    "memory.resident_mib": ("mem", "resident"),
}


def _is(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _at(status: Mapping[str, Any], places: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, float]]:
    """Those that this server has."""
    for name, path in places.items():
        value: Any = status
        for step in path:
            value = value.get(step) if isinstance(value, Mapping) else None
        if _is(value):
            yield name, value


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", str(value)


def size_on_disk_bytes(control: Control) -> int | None:
    """Of the plan's database with its indexes; None: it may not be asked."""
    try:
        stats = control.ask({"dbStats": 1})
    except ServerError:
        return None
    return int(stats.get("storageSize", 0)) + int(stats.get("indexSize", 0))
