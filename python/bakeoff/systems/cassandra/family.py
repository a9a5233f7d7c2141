"""What Cassandra clusters share, private or existing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bakeoff.systems.cassandra import facts
from bakeoff.systems.cassandra.control import Control
from bakeoff.systems.cassandra.ledger import CassandraLedger
from bakeoff.systems.cassandra.node import CassandraNode
from bakeoff.systems.cassandra.options import CassandraOptions
from bakeoff.systems.cassandra.process import OURS
from bakeoff.systems.cassandra.settings import RUN_TIME
from bakeoff.systems.durability import of_cassandra
from bakeoff.systems.server.control import Control as ServerControl
from bakeoff.systems.server.family import Family
from bakeoff.systems.server.login import Login
from bakeoff.systems.server.node import Access

_PERIODIC = {"commitlog_sync": "periodic", "commitlog_sync_period": "10000ms"}


class CassandraFamily(Family[CassandraOptions]):
    driver = "cassandra"
    default_port = 9042
    options = CassandraOptions
    #: What `periodic` keeps depends on how many copies acknowledge a write: see cassandra.py, which knows.
    durability: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "full": {"commitlog_sync": "batch"},
        "relaxed": _PERIODIC,
        "none": _PERIODIC,
    }
    run_time = RUN_TIME
    ours = OURS

    def place(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return (str(options.get("keyspace", "")),)

    def document(self, login: Login, options: CassandraOptions) -> dict[str, Any]:
        return {"keyspace": options.keyspace, "replication_factor": options.copies}

    def control(self, login: Login, options: CassandraOptions, where: str, timeout_s: float) -> Control:
        return Control(login, options.keyspace, where=where, timeout_s=timeout_s)

    def node(self, name: str, role: str, address: str, access: Access) -> CassandraNode:
        return CassandraNode(name, role, address, access)

    def ledger(self, login: Login, options: CassandraOptions, where: str) -> CassandraLedger:
        return CassandraLedger(login, options.keyspace, options.copies, where)

    def trial(self, login: Login, options: CassandraOptions, where: str) -> Control:
        return Control(login, options.keyspace, where=where)

    def set_variable(self, control: ServerControl, name: str, value: str) -> None:
        raise NotImplementedError("a connection has no variables")  # its options have no `session`, so none is set

    def level(self, control: ServerControl) -> str:
        return of_cassandra(facts.read_settings(control), acknowledging=1).level

    def size_on_disk_bytes(self, control: ServerControl, options: CassandraOptions) -> int | None:
        return facts.disk_usage_bytes(control, options.keyspace)


FAMILY = CassandraFamily()
