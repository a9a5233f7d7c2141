"""What a node says about itself, in its virtual tables (keyspace system_views, since 4.0) and the schema. Everything
here only reads.

Each table is asked for as a whole, and those that a version lacks are left out. Counters of tables (`coordinator_*`)
are those of the plan's keyspace; what a node coordinated is counted there, not what it stored for another.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from bakeoff.errors import ServerError
from bakeoff.provision.files import allocated_bytes
from bakeoff.systems.base import Facts
from bakeoff.systems.cassandra.control import Control, literal
from bakeoff.systems.server import control as server
from bakeoff.systems.server.system import Access, ServerNode, Status

#: Settings that decide comparisons. An existing cluster's others may hold secrets, and are not copied.
_DECISIVE_NAMES = """
    auto_snapshot batch_size_fail_threshold column_index_size commitlog_compression.class_name
    commitlog_segment_size commitlog_sync commitlog_sync_group_window commitlog_sync_period compaction_throughput
    concurrent_compactors concurrent_reads concurrent_writes default_compaction.class_name disk_access_mode
    file_cache_size hinted_handoff_enabled key_cache_size memtable_allocation_type memtable_flush_writers
    memtable_heap_space memtable_offheap_space native_transport_max_threads num_tokens paxos_variant
    read_request_timeout row_cache_size sstable.selected_format storage_compatibility_mode trickle_fsync
    write_request_timeout
"""
DECISIVE = frozenset(_DECISIVE_NAMES.split())
#: Thread pools whose work we wait for.
FLUSHING = ("MemtableFlushWriter", "MemtablePostFlush")
COMPACTING = ("CompactionExecutor",)
_LATENCIES = ("coordinator_read_latency", "coordinator_write_latency", "coordinator_scan_latency")


def read_settings(control: server.Control, further: Collection[str] = ()) -> dict[str, str]:
    """Those that decide comparisons, and `further`, as the node has them; without a value they are left out."""
    wanted = {*DECISIVE, *further}
    rows = control.rows("SELECT name, value FROM system_views.settings")
    return {str(name): str(value) for name, value in sorted(rows) if name in wanted and value is not None}


def read_copies(control: server.Control, keyspace: str) -> tuple[int, str] | None:
    """How many copies of a row a keyspace keeps, and in words how they are placed; None where it is not there."""
    rows = control.rows("SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?", keyspace)
    if not rows:
        return None
    replication = {str(name): str(value) for name, value in rows[0][0].items()}
    strategy = replication.pop("class", "").rpartition(".")[2]
    copies = sum(int(value) for value in replication.values() if value.isdigit())
    placed = ", ".join(f"{name} {value}" for name, value in replication.items())
    return copies, f"{strategy}, {placed}" if placed else strategy


def read_tables(control: server.Control, keyspace: str) -> list[str]:
    rows = control.rows("SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?", keyspace)
    return sorted(str(name) for (name,) in rows)


def busy(control: server.Control, pools: Collection[str]) -> bool:
    return _waiting(control, pools) > 0


def hint_files(control: server.Control) -> int:
    """Of writes that are kept for nodes that were away; 0 where the version does not say."""
    try:
        return int(sum(files for (files,) in control.rows("SELECT files FROM system_views.pending_hints")))
    except ServerError:
        return 0


def disk_usage_bytes(control: server.Control, keyspace: str) -> int:
    """Of the files of all tables of a keyspace on this node, in steps of 1 MiB for each table."""
    rows = control.rows(
        f"SELECT mebibytes FROM system_views.disk_usage WHERE keyspace_name = {literal(keyspace)} ALLOW FILTERING"
    )
    return int(sum(mebibytes for (mebibytes,) in rows)) << 20


def _waiting(control: server.Control, pools: Collection[str]) -> int:
    rows = control.rows("SELECT name, active_tasks, pending_tasks FROM system_views.thread_pools")
    return int(sum(active + pending for name, active, pending in rows if name in pools))


class CassandraNode(ServerNode):
    """further: settings to report in addition to the decisive ones. data: the folder of a managed node's data."""

    def __init__(
        self,
        name: str,
        role: str,
        address: str,
        access: Access,
        *,
        further: Collection[str] = (),
        data: Path | None = None,
    ) -> None:
        super().__init__(name, role, address, access)
        self._further = further
        self._data = data

    @property
    def control(self) -> Control:
        control = super().control
        assert isinstance(control, Control)
        return control

    def read_facts(self) -> Facts:
        control = self.control
        replication = read_copies(control, control.keyspace)
        return Facts(
            product="Cassandra",
            version=str(control.value("SELECT release_version FROM system.local")),
            settings=read_settings(control, self._further),
            portable={
                "isolation": "each row by itself, no transactions",
                **self._form(),
                **({"replication": replication[1]} if replication else {}),
            },
        )

    def _form(self) -> dict[str, str]:
        """How the tables of the keyspace are kept, where they all are alike."""
        asked = "SELECT compaction, compression FROM system_schema.tables WHERE keyspace_name = ?"
        forms = {
            tuple(str(one).rpartition(".")[2] for one in (compaction.get("class", ""), compression.get("class", "off")))
            for compaction, compression in self.control.rows(asked, self.control.keyspace)
        }
        return dict(zip(("compaction", "compression"), forms.pop(), strict=True)) if len(forms) == 1 else {}

    def read_status(self) -> Status:
        control, keyspace = self.control, literal(self.control.keyspace)
        counters: dict[str, float] = {}
        gauges: dict[str, float] = {}
        for name, active, pending, blocked, completed in control.rows(
            "SELECT name, active_tasks, pending_tasks, blocked_tasks_all_time, completed_tasks"
            " FROM system_views.thread_pools"
        ):
            counters |= {f"{name}.completed_tasks": float(completed), f"{name}.blocked_tasks": float(blocked)}
            gauges |= {f"{name}.active_tasks": float(active), f"{name}.pending_tasks": float(pending)}
        for name, hits, requests, size in control.rows(
            "SELECT name, hit_count, request_count, size_bytes FROM system_views.caches"
        ):
            counters |= {f"{name}_cache.hits": float(hits), f"{name}_cache.requests": float(requests)}
            gauges[f"{name}_cache.size_bytes"] = float(size)
        for table in _LATENCIES:
            rows = control.rows(
                f"SELECT count FROM system_views.{table} WHERE keyspace_name = {keyspace} ALLOW FILTERING"
            )
            counters[table.replace("latency", "count")] = float(sum(count for (count,) in rows))
        gauges["clients"] = float(len(control.rows("SELECT port FROM system_views.clients")))
        return Status(counters, gauges)

    def read_debt(self) -> dict[str, float]:
        """What the node still has to merge, and what it keeps for others that were away."""
        remaining = self.control.rows("SELECT progress, total, unit FROM system_views.sstable_tasks")
        debt = {
            "compaction_tasks": float(_waiting(self.control, COMPACTING)),
            "compaction_bytes": float(sum(max(0, total - done) for done, total, unit in remaining if unit == "bytes")),
            "hint_files": float(hint_files(self.control)),
        }
        if self._data is not None:
            debt["commitlog_bytes"] = float(allocated_bytes(self._data / "commitlog"))
        return debt

    def cipher(self, control: server.Control) -> str:
        return "on" if control.login.tls else ""
