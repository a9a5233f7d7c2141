"""What the control plane needs from a system under test. One file per kind implements it; `bakeoff.systems` lists them.

Life of a managed system (`managed = True`), in this order, all from one thread:

    system = kind.configure(Configuration(...))     # checks options; nothing starts
    system.start()                      # init if new, start, wait until ready (with a liveness check)
    ... engine phase "load" ...
    system.snapshot(path)               # clean slow shutdown, copy, start again
    per run: system.restore(path)       # stop, put the copy back, wait for write-back, start
             system.make_cold()             # where the plan asks for it
             each node's counters() and gauges() each second, its debt() at both ends;
             system.drain_debt() after the window
    system.stop()                       # certain; also from signal handlers' cleanup; idempotent

An existing system (`managed = False`) is only ever connected to: `start` checks that it answers, `snapshot`/`restore`
raise, `stop` ends the connections. It is never changed outside the schema the plan names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from bakeoff.errors import PlanError
from bakeoff.model.boundary import Check
from bakeoff.model.isolation import ReadPromise
from bakeoff.provision.files import forget_pages
from bakeoff.provision.installation import Sources
from bakeoff.provision.server import ManagedServer
from bakeoff.systems.ledger import Ledger
from bakeoff.systems.options import Options, address_of
from bakeoff.systems.public_service import PublicService


@dataclass(frozen=True)
class Capabilities:
    """What this kind can do, so that a plan which needs more is refused before anything starts. The engine knows what
    its driver can do."""

    managed: bool  # can start a managed instance
    existing: bool  # can be given an address
    embedded: bool  # lives in the engine process: no server to watch
    restore: bool  # snapshot/restore of a managed instance's data
    durability: tuple[str, ...]
    several_clients: bool = True  # several engines may use it at the same time


@dataclass(frozen=True)
class Configuration:
    """What a plan says of one system at one set of levels."""

    name: str
    options: dict[str, Any]  # the plan's [systems.NAME] table, factor levels merged in
    durability: str | None
    isolation: str | None
    workdir: Path  # a folder of its own for data, sockets and logs
    timeout_s: float  # of a run's operation
    base_dir: Path  # the plan's folder, for relative paths

    @property
    def where(self) -> str:
        return f"systems.{self.name}"


@dataclass(frozen=True)
class Facts:
    """What a system says about itself, read back from it after start (never from the plan)."""

    product: str  # "MariaDB"
    version: str
    #: Every effective setting that differs from the product's default or that decides a comparison, by its own name.
    settings: dict[str, str] = field(default_factory=dict)
    #: Portable facts for the configuration listing: durability, isolation, memory_bytes, tls, ... (own words allowed).
    portable: dict[str, str] = field(default_factory=dict)


class Node(ABC):
    """One server of a system: what it is, and what it reports. A system of one server, or without any, is a list
    of one; values of nodes are kept by the nodes' names."""

    def __init__(self, name: str, role: str, address: str) -> None:
        """address: as the engine's document has it; "" for a database inside the engine."""
        self.name = name
        self.role = role
        self.address = address

    def endpoint(self) -> dict[str, str]:
        return {"name": self.name, "role": self.role, "address": self.address}

    def pids(self) -> list[int]:
        """Its processes that we may watch: none of an existing or embedded one."""
        return []

    @abstractmethod
    def facts(self) -> Facts: ...

    def counters(self) -> dict[str, float]:
        """Cumulative counters by the server's own names (the caller turns them into rates); cheap; may be empty."""
        return {}

    def gauges(self) -> dict[str, float]:
        """Momentary values by the server's own names (threads running, dirty pages, history length)."""
        return {}

    def debt(self) -> dict[str, float]:
        """Write-back debt: dirty pages, checkpoint age, history length, pending compaction; units end the names."""
        return {}


# The size on disk of the rows that a workload loads. The figures are measured (`benches/sizes.py`,
# docs/method/sizes.md): how full pages are, what a row and its index entries carry besides their values, and in what
# steps files grow depends on the rows and the order they come in.


@dataclass(frozen=True)
class TableSize:
    """Of one workload's tables: ratio x bytes of the values + row_bytes x rows + table_bytes x tables;
    and part_bytes for each part of a divided table, if there are part_from_bytes of values for each."""

    ratio: float
    row_bytes: float = 0.0
    table_bytes: float = 0.0
    part_bytes: float = 0.0
    part_from_bytes: float = 0.0


@dataclass(frozen=True)
class SizeOnDisk:
    #: Of workloads that were not measured.
    usual: TableSize = TableSize(ratio=1.6)
    #: By the workload's kind.
    measured: Mapping[str, TableSize] = field(default_factory=dict)
    #: Of a database without tables.
    database_bytes: int = 0
    #: Catalogs and logs of a managed server, even without data.
    own_bytes: int = 0
    #: Logs and undo that a load leaves, as a share of the tables' bytes.
    log_ratio: float = 0.0
    log_bytes_max: int = 0

    def tables_bytes(self, workload: str, rows: int, value_bytes: int, tables: int, parts: int = 1) -> int:
        """On disk, of the loaded tables with their indexes. value_bytes: of the values alone."""
        stored = self.measured.get(workload, self.usual)
        found = stored.ratio * value_bytes + stored.row_bytes * rows + stored.table_bytes * tables
        if value_bytes >= stored.part_from_bytes * parts:
            found += stored.part_bytes * parts
        return round(found + self.database_bytes)

    def folder_bytes(self, tables_bytes: int) -> int:
        """On disk, of the folder that holds them: the size of a copy."""
        return round(tables_bytes + self.own_bytes + min(self.log_ratio * tables_bytes, self.log_bytes_max))


#: In the order of the list.
GROUPS = (
    "SQL servers",
    "clusters",
    "key-value and documents",
    "embedded",
    "services",
    "peers and emulators",
)


class System(ABC):
    """One system of a plan at one set of levels (settings, durability). The order of calls is in the module text."""

    kind: ClassVar[str]  # "mariadb": the key `kind` of a plan's [systems.NAME]; also the default for NAME
    driver: ClassVar[str]  # kind of the engine's driver that speaks to it; "": none does, so no workload runs on it
    summary: ClassVar[str]  # one line for `bakeoff systems`
    #: By portable name ("strong", "quorum", "session", "eventual"): the driver's options that it means.
    consistency: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    #: Its part of the list of kinds, one of GROUPS; "": see `group_of`.
    group: ClassVar[str] = ""
    #: The product whose protocol it speaks, where it is another program (a re-implementation, an emulator).
    peer_of: ClassVar[str] = ""
    #: Whether a plan may choose the table format; else there is one, "plain".
    has_table_formats: ClassVar[bool] = False
    #: Why nothing reads its rows in another way than the one that it has.
    no_direct_access: ClassVar[str] = "its records are reached in one way"
    #: The size of its rows on disk.
    storage: ClassVar[SizeOnDisk] = SizeOnDisk()
    #: What it promises of reads holds with right clocks alone, as its vendor says.
    relies_on_clocks: ClassVar[bool] = False
    #: About how long a managed server of it takes to stop, start and be ready, on two cores: for a dry run.
    restart_s: ClassVar[float] = 0.8
    #: Whether a first plan compares it with the other installed systems.
    in_first_plan: ClassVar[bool] = True
    #: Every node takes writes, whatever its role: sessions of an experiment are dealt over all of them.
    multi_writer: ClassVar[bool] = False
    #: Statements that have a session wait for a lock for at most 3 s.
    lock_limit: ClassVar[tuple[str, ...]] = ()
    setting_example: ClassVar[str] = ""  # that a first plan shows, as TOML
    managed: bool
    name: str

    @classmethod
    def group_of(cls) -> str:
        """What its class says, else what follows from it."""
        if cls.peer_of:
            return "peers and emulators"
        return cls.group or ("embedded" if cls.capabilities().embedded else "key-value and documents")

    @property
    def deadlock_limit(self) -> tuple[str, ...]:
        """The same for sessions that often wait for each other: shorter where the system is slow to see that."""
        return self.lock_limit

    @property
    def keeps_data(self) -> bool:
        """False: it stores no rows, so there is nothing to warm or to check."""
        return True

    @classmethod
    @abstractmethod
    def capabilities(cls) -> Capabilities: ...

    @classmethod
    def in_one_spelling(cls, options: dict[str, Any], where: str) -> dict[str, Any]:
        """Brings options (not checked yet) that a plan may write in several forms into one form. Raises PlanError for
        options set twice, and for those that only a server has."""
        for key, why in (
            ("start", "needs no start"),
            ("version", "has one version, which is built into the engine"),
            ("storage", "and the client share a process, whose storage bakeoff does not slow"),
        ):
            if key in options:
                what = f"{cls.kind} runs inside the client: it {why}"
                raise PlanError(
                    what, where=f"{where}.{key}", hint=f"leave out `{key}`; options belong in its own table"
                )
        return options

    @classmethod
    def place(cls, options: dict[str, Any]) -> tuple[str, ...] | None:
        """Where an existing system keeps the plan's tables (address and schema); None: these options (as of
        `configure`, not checked yet) request a managed one."""
        address = address_of(options)
        return None if address is None else (address, str(options.get("schema", "")))

    @classmethod
    def shaping_options(cls, options: dict[str, Any], durability: str | None) -> dict[str, Any]:
        """Options that shape the stored bytes: systems with the same ones share one copy of the data. All count, except
        those that a kind knows to matter only at run time."""
        return {**options, "durability": durability}

    @classmethod
    def options_model(cls) -> type[Options]:
        """What [systems.NAME] may say besides what the plan handles and the options of the driver."""
        return Options

    @classmethod
    @abstractmethod
    def configure(cls, asked: Configuration) -> System:
        """Checks the options and returns a system that has not started. Raises PlanError; unknown keys name the nearest
        known one."""

    @classmethod
    def sources(cls) -> Sources | None:
        """Where its managed servers come from; None: it starts none, or needs no programs."""
        return None

    @classmethod
    def available(cls, options: dict[str, Any]) -> str | None:
        """None if this machine can run a system with these options now, else one clause saying what is missing."""
        return None

    @classmethod
    def public_service(cls, options: Mapping[str, Any]) -> PublicService | None:
        """The service with list prices that these options (as of `configure`) lead to; None: nobody is charged."""
        return None

    @classmethod
    def input_files(cls, options: dict[str, Any]) -> list[str]:
        """Files that these options name and whose content shapes a run, as the plan writes them; never a password's."""
        return []

    def refuse_session(self) -> None:  # noqa: B027  # nothing, but for a server
        """Refuses session variables that an existing system, connected or not, does not take. Changes nothing. Raises
        PlanError."""

    @abstractmethod
    def start(self) -> None:
        """Starts its servers that do not run. Ends a frozen one first."""

    @abstractmethod
    def stop(self) -> None: ...

    @abstractmethod
    def alive(self) -> bool:
        """Whether anything of it runs."""

    def answers(self) -> bool:
        """Whether one of its nodes answers within some seconds: a frozen one is alive, but does not answer."""
        return self.alive()

    def whole(self) -> bool:
        """Whether all its nodes answer."""
        return self.answers()

    def servers(self) -> Mapping[str, ManagedServer]:
        """The servers of a managed system, by the names of its nodes, in their order: they may be killed, frozen and
        ended one by one, and `rejoin` brings them back."""
        return {}

    def rejoin(self, node: str, *options: str) -> str:
        """Starts one of `servers` that does not run, while others do. Returns in words how it got the missed data; ""
        if only one method exists. options: of this one start. Raises ServerError."""
        raise NotImplementedError(f"{self.kind} has no managed servers")  # `servers` is empty: nobody can name one

    def caught_up(self, timeout_s: float) -> bool:
        """Waits until all nodes hold what the first has committed. False if they did not within `timeout_s`."""
        return True

    def agreement(self, tables: Sequence[str]) -> list[Check]:
        """Whether the replicas of a managed system hold what the first node holds in these tables."""
        return []

    @abstractmethod
    def engine_driver(self) -> tuple[dict[str, Any], dict[str, str]]:
        """(the run.json `driver` object, environment variables that carry its secrets)."""

    @abstractmethod
    def nodes(self) -> Sequence[Node]:
        """Its servers, once it has started; the first is the one that is written to."""

    @property
    def promise_of_reads(self) -> ReadPromise:
        """On any of its nodes."""
        return "one copy" if len(self.nodes()) == 1 else ""

    def roles(self) -> Mapping[str, str]:
        """Roles of its servers, by name and in their order, known before it starts; empty: it lives in the engine."""
        return {} if self.capabilities().embedded else {node.name: node.role for node in self.nodes()}

    def ledger(self) -> Ledger | None:
        """Of an existing system, connected or not; None: all its data are ours."""
        return None

    def declared(self) -> dict[str, str]:
        """The plan's settings, by the system's own names, including those that its durability means."""
        return {}

    def pids(self) -> list[int]:
        """Server processes of this machine to watch, of all nodes; empty for embedded systems."""
        return [pid for node in self.nodes() for pid in node.pids()]

    def runs_here(self) -> bool:
        """Whether a server of it may run on this machine."""
        return True

    def may_run_here_unseen(self) -> bool:
        """Whether a server may be on this machine without being among `pids`: its CPU time looks like another's."""
        return False

    def drain_debt(self, timeout_s: float) -> bool:
        """Waits until the debt of all nodes is written back (managed systems only). False after `timeout_s`."""
        return True

    def check_tables(self, tables: Sequence[str]) -> None:  # noqa: B027  # nothing, but for a server
        """Checks loaded tables. Raises PlanError if one is not stored as the plan says."""

    def size_on_disk_bytes(self) -> int | None:
        """Of the plan's data (schema or file) on all nodes together, or None if it is unknown."""
        return None

    def file_size_bytes(self) -> int | None:
        """The same with the holes that compressed pages leave in files; None if it is unknown."""
        return None

    def snapshot(self, path: Path) -> None:
        raise NotImplementedError(f"{self.kind} has no snapshot")  # capabilities().restore is False

    def restore(self, path: Path) -> None:
        raise NotImplementedError(f"{self.kind} has no restore")  # capabilities().restore is False

    def data_paths(self) -> list[Path]:
        """Files and folders in which a managed system that was started keeps its data; not all need exist yet."""
        return []

    def make_cold(self) -> None:
        """Drops all data from memory, the kernel's and the server's own, and leaves a managed system running."""
        forget_pages(self.data_paths())

    def log_tail(self, lines: int = 40) -> str:
        """The end of the server's log, for error messages and the bundle; never contains a secret."""
        return ""
