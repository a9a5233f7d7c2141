"""A Galera cluster of MariaDB servers: managed nodes on this machine, or an existing one by the addresses of its nodes.

[systems.galera]
start = { nodes = 3, settings = { wsrep_sync_wait = 1 } }

[systems.ours]
kind = "galera"
address = "db1:3306"
nodes = [
    { name = "db1", role = "writer", address = "db1:3306" },
    { name = "db2", role = "reader", address = "db2:3306" },
]
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from pydantic import Field

from bakeoff.errors import PlanError, ServerError
from bakeoff.model.boundary import Check
from bakeoff.provision.installation import Installation
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.process import wait_until
from bakeoff.provision.server import ServerSpec
from bakeoff.systems.mysql.family import LOCK_LIMIT, MARIADB_STORAGE, MySqlFamily, MySqlOptions
from bakeoff.systems.mysql.galera_process import (
    OWN_PROVIDER_OPTIONS,
    PROVIDER_OPTIONS,
    SOURCES,
    GaleraNode,
    GaleraProcess,
    provider_options,
)
from bakeoff.systems.mysql.process import refuse_unknown
from bakeoff.systems.mysql.replication import MySqlContents
from bakeoff.systems.mysql.settings import RUN_TIME
from bakeoff.systems.server.existing import ExistingServer
from bakeoff.systems.server.options import StartOptions, normal
from bakeoff.systems.server.replication import Comparison
from bakeoff.systems.server.started import StartedServer

#: A node that was cut off joins again by itself, once it has seen that.
_RETURN_TIMEOUT_S = 60.0


_GROUP = "bakeoff sets each node's name, addresses and group"
_ROWS = "Galera replicates rows, so it is ROW on every node"
_TRANSFER = "bakeoff sets how a joining node receives its data, and from which node, as an unprivileged user"
#: Settings of a plan with which nodes would be no group: why.
_BREAKING = {
    **dict.fromkeys(
        (
            "wsrep_cluster_address", "wsrep_cluster_name", "wsrep_data_home_dir", "wsrep_new_cluster",
            "wsrep_node_address", "wsrep_node_incoming_address", "wsrep_node_name", "wsrep_on", "wsrep_provider",
            "wsrep_recover", "wsrep_start_position",
        ),
        _GROUP,
    ),
    **dict.fromkeys(("binlog_format", "wsrep_forced_binlog_format"), _ROWS),
    **dict.fromkeys(("wsrep_sst_auth", "wsrep_sst_donor", "wsrep_sst_method", "wsrep_sst_receive_address"), _TRANSFER),
    "innodb_autoinc_lock_mode": "Galera needs 2: auto-increment locks do not reach other nodes",
    "wsrep_desync": "a node that does not keep up with the others must not get load",
}  # fmt: skip


class GaleraStart(StartOptions):
    nodes: int = Field(default=3, ge=2, le=5)


class GaleraOptions(MySqlOptions):
    start: GaleraStart | None = None


class GaleraFamily(MySqlFamily):
    options = GaleraOptions
    node = GaleraNode
    run_time = RUN_TIME | {
        PROVIDER_OPTIONS, "wsrep_certification_rules", "wsrep_max_ws_rows", "wsrep_max_ws_size",
        "wsrep_retry_autocommit", "wsrep_slave_threads", "wsrep_sync_wait", "wsrep_trx_fragment_size",
        "wsrep_trx_fragment_unit",
    }  # fmt: skip

    def read(self, options: dict[str, Any], isolation: str | None, where: str) -> MySqlOptions:
        read = super().read(options, isolation, where)
        said = {normal(name): value for name, value in (read.start.settings if read.start else {}).items()}
        for name in provider_options(said.get(PROVIDER_OPTIONS, "")).keys() & OWN_PROVIDER_OPTIONS:
            raise PlanError(f"{name} of a managed node is set by bakeoff", where=f"{where}.start.settings")
        return read


FAMILY = GaleraFamily()


class Galera(StartedServer):
    kind: ClassVar[str] = "galera"
    family = FAMILY
    group: ClassVar[str] = "clusters"
    summary: ClassVar[str] = "Galera cluster of MariaDB servers: managed nodes, or an existing cluster by `address`"
    storage = MARIADB_STORAGE
    in_first_plan: ClassVar[bool] = False
    multi_writer: ClassVar[bool] = True
    lock_limit: ClassVar[tuple[str, ...]] = LOCK_LIMIT
    setting_example: ClassVar[str] = 'innodb_buffer_pool_size = "1G"'
    installed_from = SOURCES
    process = GaleraProcess
    existing = ExistingServer

    @classmethod
    def refuse_settings(cls, settings: Mapping[str, str], installation: Installation, where: str) -> None:
        refuse_unknown(settings, installation, "MariaDB", where)

    @classmethod
    def breaking(cls, start: StartOptions, settings: Mapping[str, str]) -> Mapping[str, str]:
        return {name: why for name, why in _BREAKING.items() if name in settings}

    def roles(self) -> Mapping[str, str]:
        assert isinstance(self._start, GaleraStart)
        readers = {f"n{number}": "reader" for number in range(2, self._start.nodes + 1)}
        return {"n1": "writer", **readers}

    def make_server(self, name: str, spec: ServerSpec, folder: InstanceFolder) -> GaleraProcess:
        return GaleraProcess(spec, folder, where=self._where, name=name, members=self._running)

    def processes(self) -> dict[str, GaleraProcess]:
        return cast(dict[str, GaleraProcess], self.servers())

    def _running(self) -> list[GaleraProcess]:
        return [server for server in self.processes().values() if server.alive()]

    # -- the group --------------------------------------------------------------------------------------------------

    def _start_those_that_do_not_run(self, *, cold: bool = False) -> None:
        """One that was cut off and lives is given time to come back. Where none runs the one that knows most begins,
        and the others join it one by one: together they take longer (7 s instead of 4 s, three nodes, 2026-11)."""
        if self._running():
            wait_until(self._all_synced, _RETURN_TIMEOUT_S)
        else:
            self._make_data()
            self._first_of_a_group().begin_group(*(GaleraProcess.cold_options if cold else ()))
        super()._start_those_that_do_not_run(cold=cold)

    def _make_data(self) -> None:
        """Those of the first, with which all begin: so none has to be handed all of them."""
        first, *others = self.processes().values()
        if first.has_data(first.data):
            return
        first.start("--wsrep-new-cluster")
        first.end()
        first.forget_write_sets()
        for other in others:
            other.load_data(first.data)

    def _first_of_a_group(self) -> GaleraProcess:
        """Of nodes that have all ended: the one that misses nothing."""
        return max(self.processes().values(), key=lambda server: server.position().seqno)

    def rejoin(self, node: str, *options: str) -> str:
        """Into the group of those that run, once they have seen that it had ended: before, they and it would wait for
        each other. Where none runs it begins a group, which it may if no other knows more."""
        server = self.processes()[node]
        if not self._running():
            first = self._first_of_a_group()
            if server.position().seqno < first.position().seqno:
                raise ServerError(
                    f"all nodes have ended, and {first.name} has commits that {node} does not",
                    where=self._where,
                    hint=f"start {first.name} first",
                )
            server.begin_group(*options)
        else:
            wait_until(self._its_end_is_seen, _RETURN_TIMEOUT_S)
            server.start(*options)
        return server.handed_over()

    def _its_end_is_seen(self) -> bool:
        """By one of those that run; another may be frozen."""
        running = self._running()
        return any(0 < server.group_size() <= len(running) for server in running)

    def _all_synced(self) -> bool:
        return all(server.is_synced() for server in self._running())

    def caught_up(self, timeout_s: float) -> bool:
        """Whether all that run are members in good standing, and have applied what any had committed when we asked."""
        begin = time.monotonic()
        if not wait_until(self._all_synced, timeout_s):
            return False
        running = self._running()
        try:
            asked = max(server.last_committed() for server in running)
            left_s = timeout_s - (time.monotonic() - begin)
            return wait_until(lambda: all(server.last_committed() >= asked for server in running), left_s)
        except ServerError:
            return False

    def agreement(self, tables: Sequence[str]) -> list[Check]:
        """Of those that run each with the first of them."""
        first, *others = self._running()
        compared = Comparison(MySqlContents(), first, tables)
        return [_holds_the_same(first.name, compared, other) for other in others]

    def copied_from(self, node: str) -> str:
        """All hold the same."""
        return next(iter(self.roles()))


def _holds_the_same(whose: str, compared: Comparison, node: GaleraProcess) -> Check:
    difference = compared.difference(node)
    expected, actual = difference or (f"the same rows{compared.extent}",) * 2
    return Check(
        name=f"{node.name} has the same rows as {whose}",
        ok=difference is None,
        expected=expected,
        actual=actual,
        evidence=[],
    )
