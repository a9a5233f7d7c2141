"""Cassandra: a managed throwaway cluster of one to five nodes, or an existing one by the addresses of its nodes.

[systems.cassandra]
start = { version = "5.0", nodes = 3, heap = "1GiB", settings = { concurrent_writes = 64 } }
consistency = "local_quorum"

[systems.production_like]
kind = "cassandra"
nodes = [{ name = "n1", address = "db1:9042" }, { name = "n2", address = "db2:9042" }]
user = "bench"
password = { env = "DB_PASSWORD" }
keyspace = "bakeoff"
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar

from bakeoff.errors import PlanError, ServerError
from bakeoff.model.durability import Survival
from bakeoff.model.isolation import ReadPromise
from bakeoff.provision.installation import Installation
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.process import wait_until
from bakeoff.provision.server import LOG_KEPT, Passwords, ServerSpec
from bakeoff.systems.base import Configuration, System
from bakeoff.systems.cassandra.control import ALL, Control, literal
from bakeoff.systems.cassandra.ledger import CassandraLedger, create_keyspace
from bakeoff.systems.cassandra.node import CassandraNode, disk_usage_bytes, hint_files, read_copies, read_settings
from bakeoff.systems.cassandra.options import (
    RUN_TIME,
    SOURCES,
    STORAGE,
    CassandraOptions,
    CassandraStart,
    acknowledging,
    refuse_unknown,
)
from bakeoff.systems.cassandra.process import OURS, SUPERUSER, CassandraProcess, Member, members
from bakeoff.systems.durability import of_cassandra
from bakeoff.systems.server.control import Control as ServerControl
from bakeoff.systems.server.control import Login
from bakeoff.systems.server.existing import ExistingServer
from bakeoff.systems.server.process import BENCH_USER, DatabaseServer
from bakeoff.systems.server.started import StartedServer
from bakeoff.systems.server.system import Access, AddressedFamily, Server

_PERIODIC = {"commitlog_sync": "periodic", "commitlog_sync_period": "10000ms"}


class CassandraFamily(AddressedFamily[CassandraOptions]):
    driver = "cassandra"
    default_port = 9042
    options = CassandraOptions
    node = CassandraNode
    #: What `periodic` keeps depends on how many copies acknowledge a write: see `_survival` of the cluster.
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

    def ledger(self, login: Login, options: CassandraOptions, where: str) -> CassandraLedger:
        return CassandraLedger(login, options.keyspace, options.copies, where)

    def level(self, control: ServerControl) -> str:
        return of_cassandra(read_settings(control), acknowledging=1).level

    def size_on_disk_bytes(self, control: ServerControl, options: CassandraOptions) -> int | None:
        return disk_usage_bytes(control, options.keyspace)


FAMILY = CassandraFamily()


#: Who may log in is in the data, which other clusters of this process may begin with.
_PASSWORDS = Passwords()
_POLL_S = 0.1
#: Where rows lie: an option of the driver, and its default.
_LAYOUT, _HASHED = "layout", "hashed"
#: Of what nodes that have started still have to do.
_TIMEOUT_S = 120.0


class _Cluster(Server):
    _options: CassandraOptions

    @classmethod
    def shaping_options(cls, options: dict[str, Any], durability: str | None) -> dict[str, Any]:
        """Of the driver's options one says how tables are made."""
        layout = options.get(_LAYOUT, _HASHED)
        made = {} if layout == _HASHED else {_LAYOUT: layout}
        return {**super().shaping_options(options, durability), **made}

    def _driver(self, login: Login, secret: dict[str, str] | None) -> dict[str, Any]:
        return {
            **self._options.driver,
            "kind": self.driver,
            "endpoints": [node.endpoint() for node in self.nodes()],
            "user": login.user or None,
            "password": secret,
            "tls": login.tls and login.tls.model_dump(),
            **self.family.document(login, self._options),
        }

    def _survival(self) -> Survival:
        """Of the first node, at the level that the load asks for."""
        copies = self._options.acknowledging(self._copies())
        return of_cassandra(read_settings(self.nodes()[0].control), acknowledging=copies)

    @property
    def promise_of_reads(self) -> ReadPromise:
        """Copies that are read and written overlap (Cassandra's documentation, "Dynamo", tunable consistency)."""
        if len(self.nodes()) == 1:
            return "one copy"
        driver = self._options.driver
        copies = self._copies()
        reads = acknowledging(driver["read_consistency"] or driver["consistency"], copies)
        return "newest" if reads + acknowledging(driver["consistency"], copies) > copies else ""

    def _copies(self) -> int:
        found = read_copies(self.nodes()[0].control, self._options.keyspace)
        return found[0] if found else self._options.copies or 1

    def _asked(self) -> dict[str, str]:
        driver = self._options.driver
        reads = driver["read_consistency"] or driver["consistency"]
        writes = driver["consistency"]
        return {
            **self._survival().facts(),
            "consistency": writes if reads == writes else f"{writes}, of reads {reads}",
            "serial_consistency": driver["serial_consistency"],
            **({} if driver[_LAYOUT] == _HASHED else {_LAYOUT: driver[_LAYOUT]}),
        }


class ExistingCassandra(_Cluster, ExistingServer):
    def level(self) -> str:
        return self._survival().level

    def _own_facts(self) -> dict[str, str]:
        return {**super()._own_facts(), **self._asked()}

    def size_on_disk_bytes(self) -> int | None:
        """Of the nodes that the plan names."""
        return sum(disk_usage_bytes(node.control, self._options.keyspace) for node in self.nodes())


class Cassandra(_Cluster, StartedServer):
    kind: ClassVar[str] = "cassandra"
    group: ClassVar[str] = "clusters"
    summary: ClassVar[str] = "Apache Cassandra: a managed cluster of one to five nodes, or an existing one by `address`"
    consistency: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "strong": {"consistency": "quorum", "read_consistency": "quorum"},
        "quorum": {"consistency": "quorum"},
        "eventual": {"consistency": "one", "read_consistency": "one"},
    }
    storage = STORAGE
    restart_s: ClassVar[float] = 8.5  # of one node of 5.0 with little data: 6 s to be ready, 2.5 s to end (2026-11)
    setting_example: ClassVar[str] = "concurrent_writes = 64"
    family = FAMILY
    one_port: ClassVar[bool] = True
    #: Its documentation, "Dynamo", data versioning: the last write wins, by the nodes' clocks.
    relies_on_clocks: ClassVar[bool] = True
    installed_from = SOURCES
    process = CassandraProcess
    existing = ExistingCassandra
    _start: CassandraStart

    @classmethod
    def refuse_settings(cls, settings: Mapping[str, str], installation: Installation, where: str) -> None:
        refuse_unknown(settings, installation.version, where)

    @classmethod
    def configure(cls, asked: Configuration) -> System:
        made = super().configure(asked)
        if isinstance(made, Cassandra):
            made._refuse(asked.durability)
        return made

    def _refuse(self, durability: str | None) -> None:
        """What cannot be had with that many nodes. Raises PlanError."""
        nodes, copies = self._start.nodes, self._options.copies or 1
        if copies > nodes:
            raise PlanError(
                f"{copies} copies of each row need more than {nodes} node{'s' if nodes > 1 else ''}",
                where=f"{self._where}.replication_factor",
                hint="start at least that many nodes: start = { nodes = 3 }",
            )
        for key in ("consistency", "read_consistency"):
            level = self._options.driver[key]
            if level is not None and (needed := acknowledging(level, copies)) > copies:
                raise PlanError(
                    f"{key} = {level!r} waits for {needed} copies of a row, and each row has {copies}",
                    where=f"{self._where}.{key}",
                    hint="write another level, or keep more copies: more `nodes`, or a higher `replication_factor`",
                )
        if durability == "relaxed" and self._options.acknowledging(copies) == 1:
            raise PlanError(
                "a write that only one node acknowledges never has durability 'relaxed' on Cassandra: a node that is"
                " killed loses the last 0.1 s, or nothing at all",
                where=self._where,
                hint="write 'full' or 'none', or start three nodes, of which two acknowledge",
            )

    # -- its servers ------------------------------------------------------------------------------------------------

    def roles(self) -> Mapping[str, str]:
        return {f"n{number}": "node" for number in range(1, self._start.nodes + 1)}

    @cached_property
    def _members(self) -> dict[str, Member]:
        start = self._start
        return dict(zip(self.roles(), members(start.nodes, start.heap_mib, start.port), strict=True))

    def make_server(self, name: str, spec: ServerSpec, folder: InstanceFolder) -> DatabaseServer:
        member = self._members[name]
        own = replace(spec, port=member.port, passwords=_PASSWORDS)
        return CassandraProcess(own, folder, where=self._where, member=member)

    def _start_those_that_do_not_run(self, *, cold: bool = False) -> None:
        """One after the other, and then until they are one."""
        super()._start_those_that_do_not_run(cold=cold)
        nodes = self._processes()
        if any(node.is_new for node in nodes):
            _make_accounts(nodes[0], self._options.copies or 1, _TIMEOUT_S)
        _wait_until_one(nodes, _TIMEOUT_S)
        for node in nodes:
            node.is_new = False

    def caught_up(self, timeout_s: float) -> bool:
        """No node keeps writes for another that was away."""

        def none_kept() -> bool:
            return not any(hint_files(node.control) for node in self._processes() if node.alive())

        return wait_until(none_kept, timeout_s, _POLL_S)

    def drain_debt(self, timeout_s: float) -> bool:
        self._flush()
        return super().drain_debt(timeout_s)

    def size_on_disk_bytes(self) -> int | None:
        self._flush()
        return super().size_on_disk_bytes()

    def _flush(self) -> None:
        """What is in memory is on disk, on all nodes that live."""
        living = [node for node in self._processes() if node.alive()]
        for node in living[:1]:
            node.flush()
        wait_until(lambda: all(node.has_flushed() for node in living), _TIMEOUT_S, _POLL_S)

    def _processes(self) -> list[CassandraProcess]:
        return [server for server in self.servers().values() if isinstance(server, CassandraProcess)]

    # -- what it says -----------------------------------------------------------------------------------------------

    def _own_facts(self, server: DatabaseServer) -> dict[str, str]:
        heap = {"memory_bytes": str(self._start.heap_mib << 20)}
        return {**super()._own_facts(server), **self._asked(), **heap}

    def make_node(self, name: str, address: str, access: Access) -> CassandraNode:
        data = self.servers()[name].data
        return CassandraNode(name, self.roles()[name], address, access, further=self._settings, data=data)


# -- who may log in to a managed cluster, and when its nodes are one -------------------------------------------------

#: Name and password of the account that Cassandra makes.
_DEFAULT = "cassandra"


def _make_accounts(server: CassandraProcess, copies: int, timeout_s: float) -> None:
    """The accounts and the keyspace of the plan, by a node of a cluster that has neither. copies: of each row. Raises
    ServerError."""
    _until_done(partial(_try_to_make, server, copies), server, "no one could log in", timeout_s)
    with closing(server.make_control()) as control:
        strangers = {str(name) for (name,) in control.rows("SELECT role FROM system_auth.roles")}
    if strangers := strangers - {SUPERUSER, BENCH_USER}:
        raise ServerError(
            f"another process has created the account {min(strangers)!r} on it while it started",
            where=server.where,
            hint="another user of this machine may be attacking servers: find out who, and do not measure at"
            " the same time",
        )


def _wait_until_one(servers: Sequence[CassandraProcess], timeout_s: float) -> None:
    """Until each node reaches all others. Raises ServerError."""
    for server in servers:
        _until_done(partial(_reach_all, server), server, "not every node was visible to the others", timeout_s)


def _try_to_make(server: CassandraProcess, copies: int) -> None:
    with closing(server.make_control()) as control:
        if not control.answers():
            with closing(server.control_as(_DEFAULT, _DEFAULT)) as first:
                first.rows(_role(SUPERUSER, server.root_password, superuser=True))
        control.rows(_role(BENCH_USER, server.bench_password, superuser=False))
        control.rows(f"DROP ROLE IF EXISTS {_DEFAULT}")
        control.rows(create_keyspace(server.spec.schema, copies))


def _role(name: str, password: str, *, superuser: bool) -> str:
    rights = f"LOGIN = true AND SUPERUSER = {str(superuser).lower()}"
    return f"CREATE ROLE IF NOT EXISTS {name} WITH PASSWORD = {literal(password)} AND {rights}"


def _reach_all(server: CassandraProcess) -> None:
    """Every node has a copy of the accounts."""
    with closing(server.control_as(SUPERUSER, server.root_password, ALL)) as control:
        control.rows("SELECT role FROM system_auth.roles WHERE role = ?", SUPERUSER)


def _until_done(action: Callable[[], None], server: CassandraProcess, otherwise: str, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            action()
            return
        except ServerError as error:
            if time.monotonic() > deadline:
                raise ServerError(
                    f"{otherwise} within {timeout_s:.0f} s: {error.what}", where=server.where, hint=LOG_KEPT
                ) from error
        time.sleep(_POLL_S)
