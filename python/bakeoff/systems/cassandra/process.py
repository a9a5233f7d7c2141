"""One managed node: its files, its process. Knows nothing of plans beyond the settings it is given.

It listens on an address of loopback's own, for clients and for the other nodes, and offers no JMX. Who may log in is
in tables that the nodes share: system.py makes the accounts once the nodes are up.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import BakeoffError, PlanError, ServerError
from bakeoff.provision.files import allocated_bytes, write_private
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.java import JavaInstallation
from bakeoff.provision.process import free_port_on, wait_until
from bakeoff.provision.server import PortTaken, ServerSpec, failed_start
from bakeoff.systems.cassandra.control import LOCAL_ONE, Control, listens, quoted
from bakeoff.systems.cassandra.node import COMPACTING, FLUSHING, busy, read_tables
from bakeoff.systems.server.control import Address, Login
from bakeoff.systems.server.process import DatabaseServer

#: Ranges of rows that each node has first hand; a distribution's own number.
TOKENS = 16
_RING = 1 << 64


@dataclass(frozen=True)
class Member:
    """One node, at an address of loopback's own; all have the same two ports. hosts: of all of them, in their order.
    port: for clients; storage_port: between nodes."""

    place: int
    hosts: tuple[str, ...]
    port: int
    storage_port: int
    heap_mib: int

    @property
    def host(self) -> str:
        return self.hosts[self.place]

    @property
    def tokens(self) -> list[int]:
        """Where its ranges end: evenly over the ring, those of other nodes between them. Nodes with known ranges need
        not ask each other for any."""
        all_of_them = TOKENS * len(self.hosts)
        return [
            -(_RING >> 1) + (number * len(self.hosts) + self.place) * _RING // all_of_them for number in range(TOKENS)
        ]


def members(count: int, heap_mib: int, port: int | None) -> list[Member]:
    """port: for clients; None: a free one."""
    hosts = tuple(f"127.0.0.{number}" for number in range(1, count + 1))
    port = port or free_port_on(hosts)
    storage_port = free_port_on(hosts, but=port)
    return [Member(place, hosts, port, storage_port, heap_mib) for place in range(count)]


#: Packages of Java's own that Cassandra looks into.
_OPENED = """
    java.base/java.io java.base/java.lang java.base/java.lang.reflect java.base/java.net java.base/java.nio
    java.base/java.util java.base/java.util.concurrent java.base/java.util.concurrent.atomic
    java.base/jdk.internal.loader java.base/jdk.internal.math java.base/jdk.internal.misc
    java.base/jdk.internal.module java.base/jdk.internal.perf java.base/jdk.internal.ref
    java.base/jdk.internal.reflect java.base/jdk.internal.util.jar java.base/sun.nio.ch
    java.management/sun.management java.management.rmi/com.sun.jmx.remote.internal.rmi
    java.rmi/sun.rmi.registry java.rmi/sun.rmi.server java.rmi/sun.rmi.transport java.rmi/sun.rmi.transport.tcp
    java.sql/java.sql jdk.management/com.sun.management.internal
"""
_EXPORTED = """
    java.base/java.lang.ref java.base/jdk.internal.misc java.base/jdk.internal.perf java.base/jdk.internal.ref
    java.base/sun.nio.ch java.management.rmi/com.sun.jmx.remote.internal.rmi java.rmi/sun.rmi.registry
    java.rmi/sun.rmi.server java.rmi/sun.rmi.transport java.rmi/sun.rmi.transport.tcp java.sql/java.sql
    jdk.unsupported/sun.misc
"""


def java_options(jars: Path, heap_mib: int, temporary: Path) -> list[str]:
    """What the distribution's own scripts say (conf/jvm17-server.options, cassandra-env.sh), without what only a server
    for years needs. Raises ServerError."""
    return [
        f"-Xms{heap_mib}m",
        f"-Xmx{heap_mib}m",
        f"-XX:MaxDirectMemorySize={heap_mib // 2}m",
        "-Xss512k",
        "-XX:+UseG1GC",
        "-XX:MaxGCPauseMillis=300",
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:+PerfDisableSharedMem",  # no file in /tmp that a killed one would leave
        "-Djava.net.preferIPv4Stack=true",
        f"-Djava.io.tmpdir={temporary}",
        f"-Djna.tmpdir={temporary}",
        "-Djdk.attach.allowAttachSelf=true",
        "-Dio.netty.tryReflectionSetAccessible=true",
        f"-javaagent:{_agent(jars)}",
        *(word for package in _OPENED.split() for word in ("--add-opens", f"{package}=ALL-UNNAMED")),
        *(word for package in _EXPORTED.split() for word in ("--add-exports", f"{package}=ALL-UNNAMED")),
        "-cp",
        f"{jars}/*",
    ]


def _agent(jars: Path) -> Path:
    """It tells Cassandra how much memory an object takes."""
    for jar in sorted(jars.glob("jamm-*.jar")):
        return jar
    raise ServerError(f"{jars} has no jamm-*.jar", hint="is this a complete distribution of Cassandra?")


_UNKNOWN = re.compile(r"Please remove properties \[([^\]]+)\]")
#: What it says first names the place in the file, and what follows the reason.
_BAD_VALUE = re.compile(
    r"Cannot create property=(?P<name>\w+) for JavaBean=[^\n]*\n in 'reader'[^\n]*\n[^\n]*\n\s*\^\n"
    r"(?P<why>[^\n]+?)(?: for enum class[^\n]*)?\n"
)
_REFUSED = re.compile(r"Exception encountered during startup: (?P<why>[^\n]+)")
_ERROR_LINE = re.compile(r"^(?:ERROR +\S+ \S+ |Error: )(?P<text>.+)$", re.MULTILINE)


def explain_failed_start(
    log: str, how_it_ended: str, *, where: str, ports: tuple[int, int], settings: Collection[str]
) -> BakeoffError:
    """ports: of clients, and between nodes. settings: names of those that the plan has."""
    place = f"{where}.start.settings"
    if found := _UNKNOWN.search(log):
        return PlanError(
            f"the server does not know the setting {found[1]!r}",
            where=place,
            hint="the names are those of cassandra.yaml in the documentation of this version",
        )
    if found := _BAD_VALUE.search(log):
        return PlanError(f"the server does not take the setting {found['name']}: {found['why']}", where=place)
    if (found := _REFUSED.search(log)) and any(name in found["why"] for name in settings):
        return PlanError(f"the server does not take its settings: {found['why']}", where=place)
    client, between = ports
    port = between if f":{between}" in log else client
    if "is in use by another process" in log:
        return PortTaken(port, where)
    lines = (found["text"].strip() for found in _ERROR_LINE.finditer(log))
    return failed_start(log, how_it_ended, where=where, port=port, errors=lines, lower="`heap`, or `nodes`")


#: Our account. The one that Cassandra makes by itself, with a password that everybody knows, is dropped.
SUPERUSER = "bakeoff"
_MAIN = "org.apache.cassandra.service.CassandraDaemon"
_LOGBACK = """<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %date{ISO8601} %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="OUT"/></root>
  <logger name="org.apache.cassandra.utils.FBUtilities" level="ERROR"/>
</configuration>
"""
#: For tables that are to be flushed: how old what is in memory may grow.
_FLUSH_PERIOD_MS = 100
_POLL_S = 0.1


class CassandraProcess(DatabaseServer):
    product = "Cassandra"
    #: On a machine that is busy otherwise, too.
    start_timeout_s = 300.0

    def __init__(self, spec: ServerSpec, folder: InstanceFolder, *, where: str, member: Member) -> None:
        super().__init__(spec, folder, where=where)
        self.member = member
        self.host = member.host
        #: Whether nobody has made accounts in its data yet.
        self.is_new = False

    # -- talking ----------------------------------------------------------------------------------------------------

    def make_control(self, timeout_s: float = 5.0) -> Control:
        return self.control_as(SUPERUSER, self.root_password, timeout_s=timeout_s)

    def control_as(self, user: str, password: str, consistency: int = LOCAL_ONE, *, timeout_s: float = 5.0) -> Control:
        """One more connection, which whoever asks for it closes."""
        login = Login(self.address, user, password, self.encryption)
        return Control(login, self.spec.schema, where=self.where, timeout_s=timeout_s, consistency=consistency)

    @property
    def address(self) -> Address:
        return Address(self.host, self.member.port)

    def bench_address(self, connect: str) -> Address:
        return self.address

    def answers(self) -> bool:
        """Whether it accepts clients. Whether one can log in depends on the other nodes, too."""
        return listens(self.address, self.encryption, 5.0)

    # -- data -------------------------------------------------------------------------------------------------------

    def has_data(self, folder: Path) -> bool:
        return (folder / "data" / "system").is_dir()

    def make_data(self) -> None:
        """It makes them itself at its first start."""
        self.is_new = True

    def before_snapshot(self) -> None:
        """The stop writes all that is in memory; what it would merge is merged before."""
        self.drain_debt(self.clean_stop_timeout_s)

    def load_data(self, path: Path) -> None:
        """The other nodes may have had other ports: it gets their current ones."""
        super().load_data(path)
        for folder in (self.data / "data" / "system").glob("peers*"):
            shutil.rmtree(folder)
        self.is_new = False

    def drain_debt(self, timeout_s: float) -> bool:
        """All merging is done that what was flushed leads to."""
        return wait_until(lambda: not busy(self.control, COMPACTING), timeout_s, _POLL_S)

    def flush(self) -> None:
        """Writes what is in memory of the plan's tables to disk, on every node. No statement does that; but a table
        option limits how long rows may stay in memory."""
        keyspace, control = self.spec.schema, self.control
        tables = [f"{quoted(keyspace)}.{quoted(name)}" for name in read_tables(control, keyspace)]
        for table in tables:
            control.rows(f"ALTER TABLE {table} WITH memtable_flush_period_in_ms = {_FLUSH_PERIOD_MS}")
        time.sleep(2 * _FLUSH_PERIOD_MS / 1e3)  # on the clocks of the nodes
        for table in tables:
            control.rows(f"ALTER TABLE {table} WITH memtable_flush_period_in_ms = 0")

    def has_flushed(self) -> bool:
        return not busy(self.control, FLUSHING)

    def size_on_disk_bytes(self) -> int | None:
        return allocated_bytes(self.data / "data" / self.spec.schema)

    # -- starting ---------------------------------------------------------------------------------------------------

    def command(self, options: Sequence[str]) -> list[str | Path]:
        installation = self.spec.installation
        assert isinstance(installation, JavaInstallation)
        copies = len(self.member.hosts)
        properties = {
            "cassandra.config": self.config.as_uri(),
            "cassandra.storagedir": self.data,
            "cassandra.logdir": self.folder.path,
            "logback.configurationFile": self.logback,
            "cassandra-foreground": "yes",
            # Nobody but these nodes is in the cluster, and their ranges are given: there is nothing to wait for.
            "cassandra.skip_wait_for_gossip_to_settle": "0",
            "cassandra.ring_delay_ms": "2000",
            "cassandra.shutdown_announce_in_ms": "0" if copies == 1 else "1000",
            # Every node can let everybody in. Of a password that is random, one round of hashing is enough.
            "cassandra.system_auth.default_rf": copies,
            "cassandra.superuser_setup_delay_ms": "0" if copies == 1 else "500",
            "cassandra.auth_bcrypt_gensalt_log2_rounds": "4",
        }
        return [
            installation.program,
            *java_options(installation.jars, self.member.heap_mib, self.folder.path / "tmp"),
            *(f"-D{name}={value}" for name, value in properties.items()),
            *options,
            _MAIN,
        ]

    def explain(self, log: str, how_it_ended: str) -> BakeoffError:
        ports = (self.member.port, self.member.storage_port)
        return explain_failed_start(log, how_it_ended, where=self.where, ports=ports, settings=self.spec.settings)

    # -- configuration ----------------------------------------------------------------------------------------------

    @property
    def config(self) -> Path:
        return self.folder.path / "cassandra.yaml"

    @property
    def keys(self) -> Path:
        return self.folder.path / "keys.pem"

    @property
    def logback(self) -> Path:
        return self.folder.path / "logback.xml"

    def write_config(self) -> None:
        if self.spec.tls:
            files = self.make_certificate(*self.member.hosts)
            # It wants the key and the certificate in one file.
            write_private(self.keys, files.key.read_text() + files.certificate.read_text(), for_server=True)
        write_private(self.config, self._yaml(), mode=0o644)
        write_private(self.logback, _LOGBACK, mode=0o644)

    def _yaml(self) -> str:
        """A plan's settings as they stand there; a value that is JSON is YAML, too."""
        fixed = {name: json.dumps(value) for name, value in self._fixed().items()}
        said = {**DEFAULTS, **self.spec.settings}
        if said["commitlog_sync"] == "periodic":  # without which it does not start, and in no other case with it
            said = {"commitlog_sync_period": "10000ms", **said}
        return "".join(f"{name}: {value}\n" for name, value in {**said, **fixed}.items())

    def _fixed(self) -> dict[str, object]:
        member = self.member
        seeds = ",".join(f"{host}:{member.storage_port}" for host in member.hosts)
        return {
            "cluster_name": "bakeoff",
            "num_tokens": TOKENS,
            "initial_token": ",".join(map(str, member.tokens)),
            "auto_bootstrap": False,  # a first node has nothing to give, and a later one no data to get
            "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
            "data_file_directories": [str(self.data / "data")],
            **{
                f"{name}_directory": str(self.data / name) for name in ("commitlog", "cdc_raw", "hints", "saved_caches")
            },
            "listen_address": member.host,
            "rpc_address": member.host,
            "storage_port": member.storage_port,
            "native_transport_port": member.port,
            "endpoint_snitch": "SimpleSnitch",
            "seed_provider": [
                {"class_name": "org.apache.cassandra.locator.SimpleSeedProvider", "parameters": [{"seeds": seeds}]}
            ],
            "authenticator": "PasswordAuthenticator",
            "authorizer": "AllowAllAuthorizer",
            "role_manager": "CassandraRoleManager",
            **({"client_encryption_options": self._encryption_options()} if self.spec.tls else {}),
        }

    def _encryption_options(self) -> dict[str, object]:
        return {
            "enabled": True,
            "optional": False,
            "keystore": str(self.keys),
            "ssl_context_factory": {"class_name": "org.apache.cassandra.security.PEMBasedSslContextFactory"},
        }


#: Differences from the server's own defaults, for a repeatable throwaway; a plan may set any of them. An account that
#: was dropped is forgotten at once; and hints are reported when they are files, which they become soon.
DEFAULTS = {
    "commitlog_sync": "periodic",
    "auto_snapshot": "false",
    "credentials_validity": "0ms",
    "hints_flush_period": "1000ms",
}
OURS = frozenset(
    {
        "authenticator", "authorizer", "auto_bootstrap", "cdc_raw_directory", "client_encryption_options",
        "cluster_name", "commitlog_directory", "data_file_directories", "endpoint_snitch", "hints_directory",
        "initial_token", "listen_address", "listen_interface", "broadcast_address", "broadcast_rpc_address",
        "native_transport_port", "num_tokens", "partitioner", "role_manager", "rpc_address", "rpc_interface",
        "saved_caches_directory", "seed_provider", "server_encryption_options", "ssl_storage_port",
        "start_native_transport", "storage_port",
    }
)  # fmt: skip
