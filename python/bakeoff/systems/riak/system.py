"""Riak KV: an existing cluster, by the address of a node. It was never run against the product: see its page.

[systems.riak]
address = "db1:8098"
prefix = "bakeoff_"
consistency = "quorum"
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import closing
from typing import Any, ClassVar

from bakeoff.errors import PlanError, ServerError
from bakeoff.systems.base import Capabilities, Configuration, Facts, System
from bakeoff.systems.ledger import TABLE
from bakeoff.systems.options import address_of
from bakeoff.systems.riak.control import RiakControl, number
from bakeoff.systems.riak.ledger import RiakLedger
from bakeoff.systems.server.control import Control, Login
from bakeoff.systems.server.existing import ExistingServer
from bakeoff.systems.server.options import ServerOptions
from bakeoff.systems.server.system import TRANSACTIONS, AddressedFamily, ServerNode, Status

#: Of a bucket, what decides comparisons.
_PROPERTIES = ("n_val", "allow_mult", "last_write_wins", "r", "w", "dw", "pr", "pw", "backend")
_GETS, _PUTS = "node_gets_total", "node_puts_total"
_COUNTERS = (_GETS, _PUTS, "vnode_gets_total", "vnode_puts_total", "read_repairs_total")
#: Listing a bucket takes as long as reading the keys of all buckets.
_LISTED_WITHIN_S = 300.0
#: As the driver has it: a part of paths.
_NAME = re.compile(r"[A-Za-z0-9_]*")
_DURABILITY = "as its nodes' storage syncs, which Riak does not say"


class RiakOptions(ServerOptions):
    user: str = ""

    @property
    def base(self) -> str:
        """How paths of buckets begin, as in the driver."""
        of_type = f"/types/{self.driver['bucket_type']}" if self.driver["bucket_type"] else ""
        return f"{of_type}/buckets/{self.driver['prefix']}"


class RiakNode(ServerNode):
    base = ""

    @property
    def _riak(self) -> RiakControl:
        control = self.control
        assert isinstance(control, RiakControl)
        return control

    def read_facts(self) -> Facts:
        """A node may be set up to have no statistics, and so no version."""
        stats = self._riak.get("/stats")
        read = self._riak.get(f"{self.base}{TABLE}/props").get("props")
        properties = read if isinstance(read, dict) else {}
        settings = {name: str(properties[name]) for name in _PROPERTIES if name in properties}
        for name in ("storage_backend", "ring_num_partitions"):
            if name in stats:
                settings[name] = str(stats[name])
        if isinstance(stats.get("ring_members"), list):
            settings["nodes"] = str(len(stats["ring_members"]))
        portable = {"durability": _DURABILITY, "isolation": "each object by itself"}
        return Facts("Riak", str(stats.get("riak_kv_version", "unknown")), settings, portable)

    def read_status(self) -> Status:
        stats = self._riak.get("/stats")
        known = {name: number(stats[name]) for name in _COUNTERS if name in stats}
        counters = {f"riak.{name}": value for name, value in known.items()}
        if _GETS in known and _PUTS in known:
            counters[TRANSACTIONS] = known[_GETS] + known[_PUTS]
        return Status(counters, {})

    def read_debt(self) -> dict[str, float]:
        return {}

    def cipher(self, control: Control) -> str:
        """Whether our own connection is encrypted; the method of the load's may be another."""
        return "on" if control.login.tls else ""


class RiakFamily(AddressedFamily[RiakOptions]):
    driver = "riak"
    default_port = 8098
    options: type[RiakOptions] = RiakOptions
    node: ClassVar[type[ServerNode]] = RiakNode
    #: What a copy survives is the business of its node's storage.
    durability: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    run_time = frozenset({"r", "w", "dw", "pr", "pw", "siblings", "secondary_indexes"})
    ours: ClassVar[Collection[str]] = ()

    def place(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return str(options.get("bucket_type", "")), str(options.get("prefix", ""))

    def control(self, login: Login, options: RiakOptions, where: str, timeout_s: float) -> RiakControl:
        return RiakControl(login, where=where, timeout_s=timeout_s)

    def ledger(self, login: Login, options: RiakOptions, where: str) -> RiakLedger:
        return RiakLedger(self.control(login, options, where, _LISTED_WITHIN_S), options.base, where)

    def refuse_session(self, login: Login, options: RiakOptions, where: str) -> None:
        """Before anything is written: a node that is none of Riak's, a bucket type that does not exist."""
        with closing(self.control(login, options, where, 5.0)) as control:
            control.rows(control.probe)
            control.get(f"{options.base}{TABLE}/props")

    def level(self, control: Control) -> str:
        raise ServerError("how durable Riak is cannot be asked", hint="leave `durability` out")

    def size_on_disk_bytes(self, control: Control, options: RiakOptions) -> int | None:
        return None


class Riak(ExistingServer):
    kind: ClassVar[str] = "riak"
    summary: ClassVar[str] = "Riak KV: existing by `address`; documents, and records (YCSB)"
    in_first_plan: ClassVar[bool] = False
    family = RiakFamily()
    _options: RiakOptions
    #: The server's own defaults are a majority of the copies. No number of copies orders writes, so nothing is strong.
    consistency: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quorum": {"r": "quorum", "w": "quorum"},
        "eventual": {"r": "one", "w": "one"},
    }

    @classmethod
    def capabilities(cls) -> Capabilities:
        return Capabilities(managed=False, existing=True, embedded=False, restore=False, durability=())

    @classmethod
    def configure(cls, asked: Configuration) -> System:
        if address_of(asked.options) is None:
            raise PlanError(
                "bakeoff starts no Riak: no source that it knows has one",
                where=asked.where,
                hint='start one yourself, and write address = "host:8098"',
            )
        made = super().configure(asked)
        assert isinstance(made, Riak)
        for name in ("prefix", "bucket_type"):
            if not _NAME.fullmatch(value := made._options.driver[name] or ""):
                what = f"{name} = {value!r} is no such name"
                raise PlanError(what, where=f"{asked.where}.{name}", hint="write letters, digits and `_`")
        return made

    def nodes(self) -> list[ServerNode]:
        nodes = super().nodes()
        for node in nodes:
            assert isinstance(node, RiakNode)
            node.base = self._options.base
        return nodes

    def _driver(self, login: Login, secret: dict[str, str] | None) -> dict[str, Any]:
        driver = super()._driver(login, secret if login.user else None)
        return {**driver, "user": login.user or None}
