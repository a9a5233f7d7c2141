"""Where Cassandra comes from, and what a plan may say about it: options besides those of its driver, and settings."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from bakeoff.errors import PlanError
from bakeoff.provision.installation import OWN, Source, Sources
from bakeoff.provision.java import JavaInstallation, JavaNeed
from bakeoff.provision.maven import MavenClosure
from bakeoff.suggestions import meant
from bakeoff.systems.base import SizeOnDisk, TableSize
from bakeoff.systems.server.options import ServerOptions, StartOptions

#: 5.0 does not start on Java 25, which has no security manager any more.
JAVA = JavaNeed("Cassandra", (17, 11))
_LISTS = Path(__file__).parent / "jars"


class Unpacked(Source):
    """A distribution that was unpacked: that of the `cassandra` on the PATH, or $CASSANDRA_HOME. Of it the jars alone
    are used."""

    name = "path"

    def here(self) -> list[JavaInstallation]:
        started = shutil.which("cassandra")
        homes = [os.environ.get("CASSANDRA_HOME"), started and str(Path(started).resolve().parent.parent)]
        return [
            one
            for home in dict.fromkeys(filter(None, homes))
            if (version := _version_in(Path(home)))
            for one in JAVA.installation(version, self.name, f"{OWN} {home}", Path(home, "lib"), OWN)
        ]


def _version_in(home: Path) -> str | None:
    names = (jar.name for jar in home.glob("lib/apache-cassandra-*.jar"))
    return next((found[1] for name in names if (found := re.fullmatch(r"apache-cassandra-([\d.]+)\.jar", name))), None)


SOURCES = Sources(
    "cassandra",
    "Cassandra",
    (Unpacked(), MavenClosure("cassandra", _LISTS, JAVA, {"4.1.10": 47, "5.0.9": 62})),
    requires=JAVA.find,
)


STORAGE = SizeOnDisk(usual=TableSize(ratio=1.1, row_bytes=40), own_bytes=70_000_000)


# The names of settings that a series of versions knows lie in a file of the folder setting_names, those of before they
# were renamed included. Such a file is made, with a JDK, from the jars of one of the series:
#
#   javap -v -public -cp '.../lib/*' org.apache.cassandra.config.Config |
#       grep -oP '^  public (?!static).* \K\w+(?=;$)|oldName="\K\w+' | sort -u > .../cassandra/setting_names/5.0.txt
_NAMES = Path(__file__).parent / "setting_names"
_RUN_TIME_NAMES = """
    batch_size_fail_threshold batch_size_warn_threshold cas_contention_timeout commitlog_segment_size commitlog_sync
    commitlog_sync_group_window commitlog_sync_period commitlog_total_space concurrent_compactors
    concurrent_counter_writes concurrent_reads concurrent_writes counter_cache_size disk_access_mode
    file_cache_enabled file_cache_size file_cache_round_up heap hinted_handoff_enabled hints_flush_period
    key_cache_save_period key_cache_size max_hint_window native_transport_max_frame_size
    native_transport_max_threads paxos_variant periodic_commitlog_sync_lag_block prepared_statements_cache_size
    range_request_timeout read_request_timeout request_timeout row_cache_save_period row_cache_size
    slow_query_log_timeout truncate_request_timeout write_request_timeout
"""
#: Those, as of a start's options, that leave what is stored as it is:
#: systems which differ in them can share one copy of a loaded data set.
RUN_TIME = frozenset(_RUN_TIME_NAMES.split())


def names_of(version: str) -> list[str]:
    """Of the settings that this version knows; empty for a series that nobody has listed."""
    path = _NAMES / f"{'.'.join(version.split('.')[:2])}.txt"
    return path.read_text().split() if path.is_file() else []


def refuse_unknown(names: Iterable[str], version: str, where: str) -> None:
    """Settings of a plan, some of them by a place inside them (`memtable.configurations`). Raises PlanError."""
    known = names_of(version)
    for name in names if known else ():
        if name.partition(".")[0] not in known:
            what = f"Cassandra {version} does not know the setting {name!r}"
            raise PlanError(what, where=f"{where}.start.settings.{name}", hint=meant(name, known))


_HEAP = re.compile(r"(\d+) ?([MG])(?:iB|B)?", re.IGNORECASE)
#: A node of less does not start.
_HEAP_MIN_MIB = 192


#: Its own keyspaces; no one can make tables there, or should.
_SYSTEM_KEYSPACES = """
    system system_auth system_cluster_metadata system_distributed system_schema system_traces system_views
    system_virtual_schema
"""


def _heap(text: str) -> str:
    found = _HEAP.fullmatch(text.strip())
    if not found:
        raise ValueError(f'"{text}" is not a size in MiB or GiB, such as "512MiB" or "2GiB"')
    mib = int(found[1]) * {"m": 1, "g": 1024}[found[2].lower()]
    if mib < _HEAP_MIN_MIB:
        raise ValueError(f"{text} is too little: a node needs at least {_HEAP_MIN_MIB} MiB")
    return f"{mib}MiB"


def _keyspace(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_]{1,48}", name):
        raise ValueError(
            f'"{name}" cannot name a keyspace: a name has 1 to 48 letters (a to z), digits and underscores'
        )
    if name.lower() in _SYSTEM_KEYSPACES.split():
        raise ValueError(f"\"{name}\" is one of Cassandra's own keyspaces; the plan's tables need another")
    return name


class CassandraStart(StartOptions):
    nodes: int = Field(default=1, ge=1, le=5)
    #: Of each node's Java, allocated at the start. A node needs about as much again outside of it.
    heap: Annotated[str, AfterValidator(_heap)] = "512MiB"
    connect: Literal["tcp"] = "tcp"

    @property
    def heap_mib(self) -> int:
        return int(self.heap.removesuffix("MiB"))


class CassandraOptions(ServerOptions):
    start: CassandraStart | None = None
    user: str = ""
    keyspace: Annotated[str, AfterValidator(_keyspace)] = "bakeoff"
    #: Of a keyspace that is made by us; None: one for each node, at most 3, and of an existing cluster as it is there.
    replication_factor: int | None = Field(default=None, ge=1, le=5)

    @property
    def tables_in(self) -> str:
        return self.keyspace

    @property
    def copies(self) -> int | None:
        """Of every row; None: as the existing keyspace says."""
        if self.replication_factor is None and self.start is not None:
            return min(3, self.start.nodes)
        return self.replication_factor

    def acknowledging(self, copies: int) -> int:
        """How many copies have a write that was acknowledged. copies: that there are."""
        return acknowledging(str(self.driver["consistency"]), copies)


def acknowledging(consistency: str, copies: int) -> int:
    """The least number of copies that have a write at that level."""
    known: dict[str, Any] = {"two": 2, "three": 3, "all": copies}
    return int(known.get(consistency, copies // 2 + 1 if "quorum" in consistency else 1))
