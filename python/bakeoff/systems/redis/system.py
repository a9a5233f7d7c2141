"""Redis: a managed throwaway server, or an existing one (or cluster) at an address. Valkey: see valkey.py.

[systems.redis]
start = { version = "7.0", settings = { maxmemory = "1gb" } }

[systems.replicated]
kind = "redis"
start = { replicas = 2 }        # nodes primary, replica1 and replica2

[systems.production_like]
kind = "redis"
address = "cache1:6379"
user = "bench"
password = { env = "DB_PASSWORD" }
database = 15
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from typing import Any, ClassVar

from bakeoff.errors import PlanError
from bakeoff.provision.debian import Debian, PackageSet
from bakeoff.provision.installation import Installation, Named, OnPath, Size, Sources
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.server import ServerSpec
from bakeoff.systems.redis.control import DEFAULT_PORT, RedisControl
from bakeoff.systems.redis.ledger import RedisLedger
from bakeoff.systems.redis.node import RedisNode, read_info, read_settings, survival
from bakeoff.systems.redis.process import RedisProcess, refuse_bad
from bakeoff.systems.redis.replication import RedisMember, RedisReplication
from bakeoff.systems.server.control import Control, Login
from bakeoff.systems.server.existing import ExistingServer
from bakeoff.systems.server.options import ServerOptions
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.replication import PRIMARY, ReplicaStart, Replicated
from bakeoff.systems.server.system import AddressedFamily


def version_of(said: str) -> str | None:
    """From what `--version` prints; None: it is not Redis."""
    found = re.match(r"Redis server v=(\d+\.\d+\.\d+)", said)
    return found[1] if found else None


#: The package of the server holds nothing but a name for a program of the tools, and depends on what starts services.
_PACKAGES = PackageSet(("redis-tools",), "usr/bin/redis-server", alone=("redis-server",), series={"bookworm": "7.0"})
SOURCES = Sources(
    "redis",
    "Redis server",
    (OnPath("redis-server", version_of), Debian("redis", _PACKAGES, size=Size(7, 23))),
    Named(("redis-server",), version_of),
)


class RedisOptions(ServerOptions):
    start: ReplicaStart | None = None
    user: str = ""  # of an existing server: whoever gives the password alone, or none

    @property
    def database(self) -> int:
        return int(self.driver["database"])

    @property
    def cluster(self) -> bool:
        return bool(self.driver["cluster"])

    @property
    def wait_replicas(self) -> int:
        return int(self.driver["wait_replicas"])

    @property
    def tables_in(self) -> str:
        return str(self.database)


class RedisFamily(AddressedFamily[RedisOptions]):
    driver = "redis"
    default_port = DEFAULT_PORT
    options = RedisOptions
    node = RedisNode
    durability: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "full": {"appendonly": "yes", "appendfsync": "always"},
        "relaxed": {"appendonly": "yes", "appendfsync": "no"},
        "none": {"appendonly": "no", "appendfsync": "no"},
    }
    run_time = frozenset({"appendfsync", "hz", "io_threads", "io_threads_do_reads", "maxclients", "maxmemory_policy"})
    ours = frozenset(
        {
            "aclfile", "bind", "cluster_enabled", "daemonize", "dir", "port", "requirepass", "tls_auth_clients",
            "tls_ca_cert_file", "tls_cert_file", "tls_key_file", "tls_port", "unixsocket", "unixsocketperm",
        }
    )  # fmt: skip

    def read(self, options: dict[str, Any], isolation: str | None, where: str) -> RedisOptions:
        read = super().read(options, isolation, where)
        if read.cluster and read.start is not None:
            hint = "leave it out, or give the cluster's `address` and `nodes`"
            raise PlanError("a managed server is no cluster", where=f"{where}.cluster", hint=hint)
        if read.start is not None and read.wait_replicas > read.start.replicas:
            what = f"each write would wait for {read.wait_replicas}, and there are {read.start.replicas} replicas"
            hint = f"write replicas = {read.wait_replicas} or more"
            raise PlanError(what, where=f"{where}.wait_replicas", hint=hint)
        if read.cluster and read.database:
            raise PlanError("a cluster has the database 0 alone", where=f"{where}.database", hint="leave it out")
        if read.address is not None and read.address.startswith("/") and read.driver["tls"]:
            raise PlanError("a unix socket cannot be encrypted", where=f"{where}.tls", hint="leave out `tls`")
        return read

    def place(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return (str(options.get("database", 0)),)

    def control(self, login: Login, options: RedisOptions, where: str, timeout_s: float) -> Control:
        return RedisControl(login, options.database, where=where, timeout_s=timeout_s)

    def ledger(self, login: Login, options: RedisOptions, where: str) -> RedisLedger:
        return RedisLedger(login, options.database, where, cluster=options.cluster)

    def refuse_session(self, login: Login, options: RedisOptions, where: str) -> None:
        """The driver stores records otherwise in a cluster."""
        with closing(RedisControl(login, where=where)) as control:
            is_cluster = read_info(control).get("cluster_enabled") == "1"
        if is_cluster == options.cluster:
            return
        if is_cluster:
            hint = "write cluster = true, and `nodes` with all that have slots"
            raise PlanError(f"{login.address} is a node of a cluster", where=where, hint=hint)
        what = f"{login.address} is not a node of a cluster"
        raise PlanError(what, where=f"{where}.cluster", hint="leave out `cluster`")

    def level(self, control: Control) -> str:
        return survival(read_settings(control)).level

    def size_on_disk_bytes(self, control: Control, options: RedisOptions) -> int | None:
        """The server tells none of one database."""
        return None


class Redis(Replicated):
    kind: ClassVar[str] = "redis"
    summary: ClassVar[str] = "Redis server: managed, or existing by `address`; records (YCSB), no SQL"
    in_first_plan: ClassVar[bool] = False
    setting_example: ClassVar[str] = 'maxmemory = "1gb"'
    family = RedisFamily()
    installed_from = SOURCES
    process = RedisProcess
    existing = ExistingServer
    replication = RedisReplication()
    _options: RedisOptions

    def make_server(self, name: str, spec: ServerSpec, folder: InstanceFolder) -> DatabaseServer:
        if not self._start.replicas:
            return super().make_server(name, spec, folder)
        primary = None if name == PRIMARY else lambda: self.server
        waited_for = self._options.wait_replicas
        return RedisMember(spec, folder, where=self._where, primary=primary, waited_for=waited_for)

    @classmethod
    def shaping_options(cls, options: dict[str, Any], durability: str | None) -> dict[str, Any]:
        """Whether there is a log decides which files hold the data."""
        database = options.get("database", 0)
        return {**super().shaping_options(options, durability), "durability": durability, "database": database}

    @classmethod
    def refuse_settings(cls, settings: Mapping[str, str], installation: Installation, where: str) -> None:
        refuse_bad(settings, installation, cls.process.product, where)
