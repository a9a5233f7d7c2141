"""Whose an instance's folder is: a lock that the kernel frees, and a record of who took it and on which host.

The lock decides as far as it reaches, which is this kernel. A record of another kernel counts as dead only where that
was this machine before it was started anew, on a disk of its own; what lies on storage that hosts share is left alone.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bakeoff.errors import BakeoffError
from bakeoff.locks import Held, Holder, Lock, open_plain
from bakeoff.provision.container import remove_containers
from bakeoff.provision.files import file_system, write_private
from bakeoff.provision.process import end_process

FORMAT = 2
OWNER_FILE = "owner.json"
LOCK_FILE = "owner.lock"
_RECORD_MAX_BYTES = 1 << 20
#: Several hosts may see what lies on these; so may they on whatever runs in user space ("fuse.sshfs").
_SHARED = {"nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "lustre", "gpfs", "afs", "gfs2", "ocfs2", "beegfs"}


@dataclass(frozen=True)
class Host:
    """Where a process ran. boot_id: one for each start of a kernel; machine_id: of the installation, "" if it has none;
    pid_namespace: where its process numbers mean something."""

    boot_id: str
    machine_id: str
    pid_namespace: str

    @classmethod
    def here(cls) -> Host:
        try:
            namespace = os.readlink("/proc/self/ns/pid")
        except OSError:
            namespace = ""
        return cls(_read("/proc/sys/kernel/random/boot_id"), _read("/etc/machine-id"), namespace)


@dataclass(frozen=True)
class Owner:
    """What the record in a folder says. servers: (pid, start in clock ticks). extra: folders elsewhere. runtime: what
    has started containers, or ""."""

    pid: int
    host: Host
    servers: tuple[tuple[int, int], ...] = ()
    extra: tuple[str, ...] = ()
    runtime: str = ""

    def write(self, folder: Path) -> None:
        """`folder` is ours alone, so nobody can put a link where we write."""
        new = folder / f".{OWNER_FILE}.new"
        write_private(new, json.dumps({"format": FORMAT, **asdict(self)}))
        new.replace(folder / OWNER_FILE)

    @classmethod
    def read(cls, folder: Path) -> Owner | None:
        """None where there is no record, or one that we do not understand or did not write, and therefore leave alone:
        in a shared place anyone may leave a record, and what it names is removed."""
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            return cls._read(handle) if os.fstat(handle).st_uid == os.geteuid() else None
        finally:
            os.close(handle)

    @classmethod
    def _read(cls, folder: int) -> Owner | None:
        try:
            with os.fdopen(open_plain(OWNER_FILE, os.O_RDONLY, folder=folder), "rb") as file:
                if os.fstat(file.fileno()).st_uid != os.geteuid():
                    return None
                record: Any = json.loads(file.read(_RECORD_MAX_BYTES))
            if record["format"] != FORMAT:
                return None
            servers = tuple((int(pid), int(ticks)) for pid, ticks in record["servers"])
            extra = tuple(os.fspath(path) for path in record["extra"])
            return cls(int(record["pid"]), Host(**record["host"]), servers, extra, str(record.get("runtime", "")))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def elsewhere(self, folder: Path) -> bool:
        """Whether the owner may live on another host, which no lock here tells."""
        here = Host.here()
        if self.host.boot_id == here.boot_id:
            return False
        kind = file_system(folder)
        shared = kind in _SHARED or kind.startswith("fuse")
        return shared or not here.machine_id or self.host.machine_id != here.machine_id

    def end_servers(self, folder: Path) -> None:
        """Those that still run; process numbers of another boot or container name nobody here."""
        if self.runtime:
            for part in [folder, *(path for path in folder.iterdir() if path.is_dir())]:
                remove_containers(self.runtime, part)
        here = Host.here()
        if (self.host.boot_id, self.host.pid_namespace) == (here.boot_id, here.pid_namespace):
            for pid, ticks in self.servers:
                end_process(pid, ticks)


def hold(folder: Path) -> Lock:
    """The right to what is in the folder. Raises Held."""
    return Lock.take(folder / LOCK_FILE, Holder(os.getpid()))


def hold_of_the_dead(folder: Path) -> tuple[Owner, Lock] | None:
    """A folder whose owner has ended, now held by us; None where it lives or may live."""
    owner = Owner.read(folder)
    if owner is None or owner.elsewhere(folder):
        return None
    try:
        lock = hold(folder)
    except (Held, BakeoffError):
        return None
    return Owner.read(folder) or owner, lock  # as it was left


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except (OSError, ValueError):
        return ""
