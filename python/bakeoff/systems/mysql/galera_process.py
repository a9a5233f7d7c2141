"""One managed node of a Galera cluster: a MariaDB that belongs to a group, and the data that it received on joining.

A node that joins gets the addresses of the running nodes. One of them sends what it lacks: write sets where that node
still keeps them (an incremental state transfer), else all its data. mariadb-backup hands those over, not
rsync, whose daemon refuses root and blocks its donor. Nodes join one by one: two at once made the group negotiate again
(7 s instead of 4 s). One that was killed is started again only when the others have noticed (3 s, not 11 to 19 s).
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

from bakeoff.errors import ServerError
from bakeoff.provision.debian import Debian, PackageSet
from bakeoff.provision.installation import Installation, OnPath, Size, Sources
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.process import free_port, groups_of, port_is_free
from bakeoff.provision.server import ServerSpec
from bakeoff.systems.base import Facts
from bakeoff.systems.durability import of_galera
from bakeoff.systems.mysql.control import Control
from bakeoff.systems.mysql.mariadb import SERIES, MariaDbProcess, version_of
from bakeoff.systems.mysql.node import MySqlNode, kind_of, read_debt, read_status, read_variables
from bakeoff.systems.server.control import Connection, Login
from bakeoff.systems.server.system import Status

#: mariadb-backup and socat hand a node its data, by scripts that look at processes and ports.
_PACKAGES = PackageSet(
    ("mariadb-server-core", "mariadb-client-core", "galera-4", "mariadb-backup", "socat", "lsof", "libproc2-0", "mawk"),
    "usr/sbin/mariadbd",
    alone=("mariadb-server", "procps"),  # the scripts, and ps; their packages depend on much that neither needs
    series=SERIES,
    environment={"PATH": "{root}/usr/sbin:{root}/usr/bin:{root}/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
)


def provider_of(installation: Installation) -> Path:
    return installation.base / "lib" / "galera" / "libgalera_smm.so"


class _OnPath(OnPath):
    """MariaDB servers that this machine has installed, with all that a cluster needs in addition."""

    def here(self) -> list[Installation]:
        return [one for one in super().here() if provider_of(one).exists() and one.tool("wsrep_sst_mariabackup")]


SOURCES = Sources(
    "galera",
    "MariaDB server with Galera",
    (
        _OnPath("mariadbd", version_of, ("/usr/local/mysql/bin", "/opt/mariadb/bin"), flags="--no-defaults"),
        Debian("galera", _PACKAGES, size=Size(29, 164)),
        Debian("galera", _PACKAGES, suite="trixie", size=Size(33, 195)),
    ),
)


#: One setting of the server that holds those of the provider, as `name=value; ...`.
PROVIDER_OPTIONS = "wsrep_provider_options"
#: Of the provider's, those that say where a node is.
OWN_PROVIDER_OPTIONS = frozenset({"base_host", "base_port", "gmcast.listen_addr", "ist.recv_addr", "ist.recv_bind"})
#: A full transfer takes its time, and the donor's script alone sleeps 10 s of it.
_JOIN_TIMEOUT_S = 1800.0
_HOST = "127.0.0.1"
#: Where a node that has ended keeps its position, the group's members as it last saw them, and write sets for others.
_STATE, _VIEW, _WRITE_SETS = "grastate.dat", "gvwstate.dat", "galera.cache"
_STATE_LINE = re.compile(r"^(uuid|seqno):\s*(\S+)$", re.MULTILINE)
_RECOVERED = re.compile(r"WSREP: Recovered position: (\S+):(-?\d+)")
_INCREMENTAL = re.compile(r"WSREP: Receiving IST: (\d+) writesets")
_FULL = re.compile(r"WSREP_SST: \[INFO\] mariabackup SST completed on joiner")


@dataclass(frozen=True)
class Position:
    """What a node has: all write sets of the group `uuid` up to `seqno`."""

    uuid: str
    seqno: int

    @property
    def known(self) -> bool:
        return self.seqno >= 0

    def __str__(self) -> str:
        return f"{self.uuid}:{self.seqno}"


class GaleraProcess(MariaDbProcess):
    product = "MariaDB with Galera"
    start_timeout_s = _JOIN_TIMEOUT_S
    defaults: ClassVar[dict[str, str]] = {
        **MariaDbProcess.defaults,
        "binlog_format": "ROW",
        "default_storage_engine": "InnoDB",
        "innodb_autoinc_lock_mode": "2",
    }

    def __init__(
        self,
        spec: ServerSpec,
        folder: InstanceFolder,
        *,
        where: str,
        name: str,
        members: Callable[[], Sequence[GaleraProcess]],
    ) -> None:
        """members: those that run."""
        super().__init__(spec, folder, where=where)
        self.name = name
        self._members = members
        #: Of the group's talk, of write sets and of all data for this node.
        self._group_port = self._writeset_port = self._data_port = 0
        self._log_begin = 0  # of the last start

    # -- what it is started with ------------------------------------------------------------------------------------

    def command(self, options: Sequence[str]) -> list[str | Path]:
        self._group_port, self._writeset_port, self._data_port = map(
            _still_free, (self._group_port, self._writeset_port, self._data_port)
        )
        asked = self.spec.settings.get(PROVIDER_OPTIONS, "")
        ours = f"gmcast.listen_addr=tcp://{self.group_address}; ist.recv_addr={_HOST}:{self._writeset_port}"
        return [
            *super().command(options),
            *self._provider,
            "--wsrep-cluster-name=bakeoff",
            "--wsrep-sst-method=mariabackup",
            f"--wsrep-node-name={self.name}",
            f"--wsrep-cluster-address=gcomm://{','.join(member.group_address for member in self._members())}",
            f"--wsrep-node-address={self.group_address}",
            f"--wsrep-node-incoming-address={_HOST}:{self.port}",
            f"--wsrep-sst-receive-address={_HOST}:{self._data_port}",
            f"--wsrep-provider-options={'; '.join(filter(None, (asked, ours)))}",
        ]

    @property
    def _provider(self) -> list[str]:
        return ["--wsrep-on=ON", f"--wsrep-provider={provider_of(self.spec.installation)}"]

    @property
    def group_address(self) -> str:
        return f"{_HOST}:{self._group_port}"

    def accounts(self) -> list[str]:
        """Whoever hands its data over reads them as root."""
        return [*super().accounts(), f"SET GLOBAL wsrep_sst_auth = 'root:{self.root_password}';"]

    def make_data(self) -> None:
        """Who joins is handed them."""
        if not self._members():
            super().make_data()

    def make_control(self, timeout_s: float = 5.0) -> Control:
        login = Login(self.socket_address(), "root", self.root_password)
        return Control(login, where=self.where, timeout_s=timeout_s, on_open=_wait_for_nobody)

    # -- its place in the group -------------------------------------------------------------------------------------

    def answers(self) -> bool:
        return self.socket.exists() and self.is_synced()

    def is_synced(self) -> bool:
        with suppress(ServerError):
            return self.status("wsrep_local_state_comment") == "Synced" and self.status("wsrep_ready") == "ON"
        return False

    def status(self, name: str) -> str:
        """Raises ServerError."""
        rows = self.control.rows("SHOW GLOBAL STATUS LIKE %s", name)
        return str(rows[0][1]) if rows else ""

    def group_size(self) -> int:
        """Members that it is in touch with, itself included; 0: it does not answer."""
        with suppress(ServerError):
            return int(self.status("wsrep_cluster_size"))
        return 0

    def last_committed(self) -> int:
        """The newest write set that it has applied. Raises ServerError."""
        return int(self.status("wsrep_last_committed"))

    def position(self) -> Position:
        """Of a node that has ended. Of one that was killed its log of changes knows. Raises ServerError."""
        kept = dict(_STATE_LINE.findall(self.run(["cat", self.data / _STATE]).stdout))
        position = Position(kept.get("uuid", ""), int(kept.get("seqno", -1)))
        return position if position.known or not self.has_data(self.data) else self._recovered()

    def _recovered(self) -> Position:
        program: list[str | Path] = [self.spec.installation.program, f"--defaults-file={self.config}"]
        done = self.run(
            [*program, *self._provider, "--wsrep-cluster-address=gcomm://", "--skip-networking", "--wsrep-recover"]
        )
        found = _RECOVERED.search(done.stdout)
        if found is None:
            raise self._failed(done.stdout, f"recovering its position, exit code {done.returncode}")
        return Position(found[1], int(found[2]))

    def begin_group(self, *options: str) -> None:
        """Starts it as the first of the group, which has what it has, whoever was the last to end."""
        self.run(["sed", "-i", "s/^safe_to_bootstrap:.*/safe_to_bootstrap: 1/", self.data / _STATE])
        self.run(["rm", "-f", self.data / _VIEW])
        self.start("--wsrep-new-cluster", *options)

    def forget_write_sets(self) -> None:
        """Of those that it keeps for others none is needed by who begins with the very same data."""
        self.run(["rm", "-f", self.data / _WRITE_SETS])

    def save_data(self, path: Path) -> None:
        """Without those write sets; other nodes may still need them."""
        write_sets, aside = self.data / _WRITE_SETS, self.folder.path / "tmp" / _WRITE_SETS
        self.run(["mv", write_sets, aside])
        try:
            super().save_data(path)
        finally:
            self.run(["mv", aside, write_sets])

    def start(self, *options: str) -> None:
        self._log_begin = self.log.stat().st_size if self.log.exists() else 0
        self._end_transfer()  # of a server that has ended by itself
        position = self.position()
        known = [f"--wsrep-start-position={position}"] if position.known else []
        super().start(*known, *options)

    def stop(self) -> None:
        super().stop()
        self._end_transfer()

    def kill(self) -> None:
        super().kill()
        self._end_transfer()

    def _end_transfer(self) -> None:
        """The program that takes in data from another node runs in a group of its own. It lives on when the server that
        waited for it has ended, and the next start would not have it."""
        for group in groups_of("wsrep_sst_", f"{self.data}/"):
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)

    def handed_over(self) -> str:
        """What it was handed when it last started, in words; "" for nothing."""
        return transfer(self._log_since(self._log_begin))


def transfer(log: str) -> str:
    if _FULL.search(log):
        return "full state transfer"
    found = _INCREMENTAL.search(log)
    return f"incremental state transfer of {found[1]} write sets" if found else ""


def _wait_for_nobody(opened: Connection) -> None:
    """A node answers our statements at once, even if it is set to wait before it reads."""
    opened.rows("SET SESSION wsrep_sync_wait = 0", ())


def _still_free(port: int) -> int:
    """The same again where it can be."""
    return port if port and port_is_free(port) else free_port()


#: Of the server's variables those that shape what a cluster does.
_DECISIVE = (
    "wsrep_sync_wait", "wsrep_slave_threads", "wsrep_retry_autocommit", "wsrep_max_ws_size", "wsrep_trx_fragment_size",
    "wsrep_certification_rules", "wsrep_sst_method",
)  # fmt: skip
#: And of the provider's.
_PROVIDER = (
    "cert.optimistic_pa", "evs.inactive_timeout", "evs.keepalive_period", "evs.suspect_timeout", "gcache.size",
    "gcs.fc_factor", "gcs.fc_limit", "gcs.fc_master_slave", "gcs.fc_single_primary", "repl.causal_read_timeout",
    "repl.commit_order",
)  # fmt: skip
#: Where the node is, and the provider's options as one text.
_PASSED_BY = frozenset(
    {
        "wsrep_cluster_address", "wsrep_cluster_name", "wsrep_node_address", "wsrep_node_incoming_address",
        "wsrep_node_name", "wsrep_provider", PROVIDER_OPTIONS, "wsrep_sst_auth", "wsrep_sst_receive_address",
        "wsrep_start_position",
    }
)  # fmt: skip
_GAUGES = re.compile(r"wsrep_(local_(recv_queue|send_queue|state)|cluster_size)")
_COUNTERS = re.compile(
    r"wsrep_(local_(bf_aborts|cert_failures|commits|replays)|flow_control_(paused_ns|recv|sent)|last_committed|"
    r"received|received_bytes|replicated|replicated_bytes)"
)
_QUEUE = "wsrep_local_recv_queue"


class GaleraNode(MySqlNode):
    def read_facts(self) -> Facts:
        read = super().read_facts()
        variables = read_variables(self.control)
        provider = provider_options(variables.get(PROVIDER_OPTIONS, ""))
        (version,) = self.control.rows("SHOW GLOBAL STATUS LIKE 'wsrep_provider_version'")
        settings = {
            **{name: value for name, value in read.settings.items() if name not in _PASSED_BY},
            **{name: variables[name] for name in _DECISIVE if name in variables},
            **{name: provider[name] for name in _PROVIDER if name in provider},
            "wsrep_provider_version": str(version[1]),
        }
        return replace(read, settings=settings, portable={**read.portable, **of_galera(variables).facts()})

    def read_status(self) -> Status:
        return read_status(self.control, kind_of_wsrep)

    def read_debt(self) -> dict[str, float]:
        status = self.read_status()
        return {
            **read_debt(self.control, status, self._page_size_bytes),
            "recv_queue_write_sets": status.gauges[_QUEUE],
        }


def kind_of_wsrep(name: str) -> Literal["gauge", "counter"] | None:
    if name.startswith("wsrep_"):
        return "gauge" if _GAUGES.fullmatch(name) else "counter" if _COUNTERS.fullmatch(name) else None
    return kind_of(name)


def provider_options(text: str) -> dict[str, str]:
    """From `name = value; name = value; ...`."""
    pairs = (part.partition("=") for part in text.split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs if name.strip()}
