"""Replicas of Redis and Valkey: they receive the primary's commands, and begin with a copy of all that it holds.

A member is a replica from its first moment on (its configuration names the primary), so it never takes a write. It logs
in to the primary as an account that may do nothing else. A position is one in the primary's stream of commands, in
bytes. A primary that starts begins another stream, with another id, in which the positions of the one before mean
nothing.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import ClassVar

from bakeoff.errors import ServerError
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.server import ServerSpec
from bakeoff.systems.redis.control import RedisControl
from bakeoff.systems.redis.ledger import index
from bakeoff.systems.redis.node import read_info
from bakeoff.systems.redis.process import RedisProcess
from bakeoff.systems.server.control import Control
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.replication import Contents, Replication

#: KEYS: the table's keys. ARGV: its name, the places of the first and last record. How many there are, and a checksum
#: of them in the order of their keys, with their fields in the order of names: a server may have those in any.
_SUM = """
local keys, all, n = redis.call('ZRANGE', KEYS[1], ARGV[2], ARGV[3]), {}, 0
for _, key in ipairs(keys) do
  local record, names, values = redis.call('HGETALL', ARGV[1] .. ':' .. key), {}, {}
  for at = 1, #record, 2 do
    names[(at + 1) / 2], values[record[at]] = record[at], record[at + 1]
  end
  table.sort(names)
  all[n + 1], all[n + 2], all[n + 3], n = #key, #names, key, n + 3
  for _, name in ipairs(names) do
    local value = values[name]
    all[n + 1], all[n + 2], all[n + 3], all[n + 4], n = #name, name, #value, value, n + 4
  end
end
return {#keys, redis.sha1hex(table.concat(all, ':'))}
"""
#: Records that a server reads at a time, and serves nobody else: some milliseconds.
_CHUNK = 500
#: Records at each end whose size is taken for that of all.
_SAMPLED = 5
_SCAN_TIMEOUT_S = 60.0


class RedisContents(Contents):
    def size_bytes(self, server: DatabaseServer, table: str) -> int:
        with closing(_tables_of(server)) as control:
            count, keys = control.value("ZCARD", index(table)), set[str]()
            for first, last in ((0, _SAMPLED - 1), (-_SAMPLED, -1)):
                keys |= {str(key) for (key,) in control.rows("ZRANGE", index(table), first, last)}
            sizes = [control.value("MEMORY USAGE", f"{table}:{key}") or 0 for key in keys]
            return int(count * sum(sizes) / len(sizes)) if sizes else 0

    def whole(self, server: DatabaseServer, table: str) -> str:
        with closing(_tables_of(server)) as control:
            return _summed(control, table, [(0, control.value("ZCARD", index(table)))])

    def ends(self, server: DatabaseServer, table: str, rows: int) -> str:
        """Where they meet, some are in both."""
        with closing(_tables_of(server)) as control:
            count = control.value("ZCARD", index(table))
            return _summed(control, table, [(0, min(rows, count)), (max(0, count - rows), count)])


def _tables_of(server: DatabaseServer) -> Control:
    """In the plan's database."""
    return RedisControl(server.control.login, int(server.spec.schema), where=server.where, timeout_s=_SCAN_TIMEOUT_S)


def _summed(control: Control, table: str, parts: list[tuple[int, int]]) -> str:
    """parts: places of records, from the first of each to before its last."""
    rows, checksum = 0, hashlib.sha1(usedforsecurity=False)
    for begin, end in parts:
        for first in range(begin, end, _CHUNK):
            last = min(first + _CHUNK, end) - 1
            ((count,), (found,)) = control.rows("EVAL", _SUM, 1, index(table), table, first, last)
            rows += count
            checksum.update(str(found).encode())
    return f"{rows} rows, checksum {checksum.hexdigest()}"


_USER = "replication"
_SECRET_FILE = "replication.conf"
#: Without a sign that data arrive.
_TIMEOUT_S = 30.0

_PRIMARY = "bakeoff sets each replica's primary, and how it logs in there"
#: Settings of a plan with which there would be no replication, or another one: why.
_BREAKING = {
    **dict.fromkeys(("masteruser", "masterauth", "primaryuser", "primaryauth", "replicaof", "slaveof"), _PRIMARY),
    **dict.fromkeys(("replica_read_only", "slave_read_only"), "a replica that takes writes differs from its primary"),
    "include": "bakeoff includes a file of its own",
    "tls_replication": "`tls = true` next to `start` encrypts replication, too",
}


class RedisMember(RedisProcess):
    """primary: of a replica. waited_for: replicas that must have applied a write of the load before it is complete."""

    #: Replicas come one after the other here, so a copy for one waits for no others.
    defaults: ClassVar[dict[str, str]] = {**RedisProcess.defaults, "repl-diskless-sync-delay": "0"}

    def __init__(
        self,
        spec: ServerSpec,
        folder: InstanceFolder,
        *,
        where: str,
        primary: Callable[[], DatabaseServer] | None,
        waited_for: int,
    ) -> None:
        super().__init__(spec, folder, where=where)
        self.primary = primary
        self.waited_for = waited_for

    def answers(self) -> bool:
        """With `replica-serve-stale-data = no` it refuses PING while its primary is away."""
        if self.primary is None or not self.socket.exists():
            return super().answers()
        try:
            return read_info(self.control)["loading"] == "0"
        except ServerError:
            return False

    def accounts(self) -> list[str]:
        password = self.spec.passwords.replication
        return [*super().accounts(), f"user {_USER} on >{password} resetchannels -@all +ping +psync +replconf"]

    def secret_files(self) -> dict[str, str]:
        lines = [f"masteruser {_USER}", f"masterauth {self.spec.passwords.replication}", ""]
        if self.primary is not None:
            primary = self.primary()
            lines.insert(0, f"replicaof {primary.host} {primary.port}")
        return {**super().secret_files(), _SECRET_FILE: "\n".join(lines)}

    def fixed(self) -> dict[str, str]:
        encrypted = {"tls-replication": "yes"} if self.spec.tls else {}
        return {**super().fixed(), **encrypted, "include": str(self.folder.path / _SECRET_FILE)}


class RedisReplication(Replication):
    unit: ClassVar[str] = "bytes"
    contents = RedisContents()

    def breaking(self, settings: Mapping[str, str], replicas: int) -> Mapping[str, str]:
        return {name: why for name, why in _BREAKING.items() if name in settings}

    def admit(self, replica: DatabaseServer, primary: DatabaseServer) -> None:
        """The account is in the primary's file."""

    def follow(self, replica: DatabaseServer, primary: DatabaseServer) -> None:
        """Does nothing if it follows that one already."""
        replica.control.rows("REPLICAOF", primary.host, primary.port)

    def wait_until_connected(self, replica: DatabaseServer, primary: DatabaseServer) -> None:
        """Until it has a copy, in its log, too. As long as one is on its way it is waited for."""
        deadline = time.monotonic() + _TIMEOUT_S
        while True:
            ours, its = read_info(primary.control), read_info(replica.control)
            busy = is_copying(ours, its)
            if follows(ours, its) and not busy:
                return
            if busy:
                deadline = time.monotonic() + _TIMEOUT_S
            elif time.monotonic() > deadline:
                name = replica.folder.path.name
                what = f"{name} does not follow its primary: it did not connect within {_TIMEOUT_S:.0f} s"
                raise ServerError(what, where=replica.where, hint="its log shows why")
            time.sleep(0.01)

    def committed(self, primary: DatabaseServer) -> int:
        return int(read_info(primary.control)["master_repl_offset"])

    def applied(self, replica: DatabaseServer) -> int:
        assert isinstance(replica, RedisMember)
        assert replica.primary is not None
        return position(read_info(replica.primary().control), read_info(replica.control))

    def trouble(self, replica: DatabaseServer) -> str:
        role = read_info(replica.control)["role"]
        return "" if role == "slave" else f"it follows nobody: its role is {role}"

    def fallen_back(self, primary: DatabaseServer) -> str:
        """A write that waits for replicas is not acknowledged without them."""
        return ""

    def facts_of_primary(self, primary: DatabaseServer) -> dict[str, str]:
        assert isinstance(primary, RedisMember)
        info, waited_for = read_info(primary.control), primary.waited_for
        words = f"a write waits until {waited_for} have applied it" if waited_for else "no write waits"
        return {
            "replication": f"asynchronous to {online(info)}: {words}",
            "lost_with_primary": "nothing" if waited_for else "commits that no replica had received",
        }

    def facts_of_replica(self, replica: DatabaseServer) -> dict[str, str]:
        connected = read_info(replica.control).get("master_link_status") == "up"
        return {"replication": "receives the primary's commands" if connected else "receives nothing"}


# What INFO says of both.


def follows(primary: Mapping[str, str], replica: Mapping[str, str]) -> bool:
    """Whether the replica receives what this primary, since its start, does."""
    return replica.get("master_link_status") == "up" and replica["master_replid"] == primary["master_replid"]


def is_copying(primary: Mapping[str, str], replica: Mapping[str, str]) -> bool:
    """Whether a copy of the primary's data is made, sent or read, or written into the replica's log: until it
    has, it is another's."""
    said = {"rdb_bgsave_in_progress": primary, "master_sync_in_progress": replica, "loading": replica}
    said |= {"aof_rewrite_in_progress": replica, "aof_rewrite_scheduled": replica}
    return any(info.get(name, "0") != "0" for name, info in said.items())


def position(primary: Mapping[str, str], replica: Mapping[str, str]) -> int:
    """Up to which the replica has applied the primary's stream; 0: nothing of that which it has now."""
    of_the_same = replica["master_replid"] == primary["master_replid"]
    return int(replica.get("slave_repl_offset", 0)) if of_the_same else 0


def online(primary: Mapping[str, str]) -> int:
    """Replicas that receive its commands."""
    lines = [value for name, value in primary.items() if name.startswith("slave") and name[5:].isdigit()]
    return sum("state=online" in line.split(",") for line in lines)
