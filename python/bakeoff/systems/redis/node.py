"""What a server is asked: facts, counters, gauges, and what is in memory alone."""

from __future__ import annotations

from collections.abc import Mapping

from bakeoff.model.durability import NOTHING, Survival
from bakeoff.systems.base import Facts
from bakeoff.systems.redis.control import RedisControl
from bakeoff.systems.server.control import Control, Refused
from bakeoff.systems.server.system import TRANSACTIONS, ServerNode, Status

#: Settings that decide comparisons, of which a server has hundreds.
DECISIVE = """
    activedefrag activerehashing appendfsync appendonly auto-aof-rewrite-percentage cluster-enabled databases hz
    io-threads io-threads-do-reads lazyfree-lazy-eviction lazyfree-lazy-user-del maxclients maxmemory maxmemory-policy
    no-appendfsync-on-rewrite proto-max-bulk-len rdbcompression save tcp-backlog tcp-keepalive timeout
"""
#: The same, where there are replicas.
_OF_REPLICATION = """
    min-replicas-to-write repl-backlog-size repl-diskless-load repl-diskless-sync replica-serve-stale-data
"""
_COUNTERS = """
    total_commands_processed total_connections_received total_net_input_bytes total_net_output_bytes keyspace_hits
    keyspace_misses expired_keys evicted_keys total_error_replies rejected_connections total_forks
"""
_GAUGES = """
    connected_clients blocked_clients used_memory used_memory_rss used_memory_dataset mem_fragmentation_ratio
    instantaneous_ops_per_sec aof_current_size rdb_bgsave_in_progress aof_rewrite_in_progress
"""
_UNREAD = "not readable"


def survival(settings: Mapping[str, str]) -> Survival:
    """With `everysec` a commit is acknowledged before it is written while a sync of the second before still runs. A
    server that does not say how it syncs is taken for one of these.

    Sources: redis.conf, appendonly and appendfsync ("up to two seconds"); Redis documentation, "Redis persistence".
    """
    if settings["appendonly"] != "yes":
        lost = "everything since the last snapshot" if settings.get("save", _UNREAD) else "everything"
        return Survival(lost, lost)
    if settings["appendfsync"] not in ("always", "no"):
        return Survival("commits of the last 2 s", "commits of the last 2 s")
    synced = settings["appendfsync"] == "always"
    return Survival(NOTHING, NOTHING if synced else "commits that the kernel had not written")


def read_info(control: Control) -> dict[str, str]:
    lines = str(control.value("INFO")).splitlines()
    return {name: value for name, colon, value in (line.partition(":") for line in lines) if colon}


def read_settings(control: Control, names: str = DECISIVE) -> dict[str, str]:
    """Services by address often refuse `CONFIG`; what `INFO` says of the same remains."""
    try:
        told = [str(word) for (word,) in control.rows("CONFIG GET *")]
    except Refused:
        info = read_info(control)
        appendonly = {"1": "yes", "0": "no"}.get(info.get("aof_enabled", ""), _UNREAD)
        return {
            "appendonly": appendonly,
            "appendfsync": _UNREAD,
            "maxmemory": info.get("maxmemory", _UNREAD),
            "maxmemory-policy": info.get("maxmemory_policy", _UNREAD),
        }
    return {name: value for name, value in zip(told[::2], told[1::2], strict=True) if name in names.split()}


class RedisNode(ServerNode):
    def cipher(self, control: Control) -> str:
        return control.cipher() if isinstance(control, RedisControl) else ""

    def read_facts(self) -> Facts:
        info = read_info(self.control)
        replicated = info.get("role") == "slave" or info.get("connected_slaves", "0") != "0"
        settings = read_settings(self.control, DECISIVE + _OF_REPLICATION * replicated)
        own = {"isolation": "each command by itself, one after the other", "memory_bytes": settings["maxmemory"]}
        portable = {**survival(settings).facts(), **own}
        if version := info.get("valkey_version"):  # it says `redis_version` too, of the Redis that it follows
            return Facts("Valkey", version, settings, portable)
        return Facts("Redis", info["redis_version"], settings, portable)

    def read_status(self) -> Status:
        info = read_info(self.control)
        counters, gauges = (
            {name: float(info[name]) for name in names.split() if name in info} for names in (_COUNTERS, _GAUGES)
        )
        return Status({**counters, TRANSACTIONS: counters["total_commands_processed"]}, gauges)

    def read_debt(self) -> dict[str, float]:
        """What is in memory and not yet in a file: bytes of the log, and writes since the last snapshot."""
        info = read_info(self.control)
        return {
            "aof_buffer_bytes": float(info.get("aof_buffer_length", 0)),
            "unsaved_writes": float(info["rdb_changes_since_last_save"]),
        }
