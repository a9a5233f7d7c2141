"""The folder of a managed instance: its content, and how the remains of a killed bakeoff are removed.

    mariadb-x1y2/         ours, and closed to others but for passing through
        owner.json        who made it, where, and the servers it started; owner.lock is held while that process lives
        snapshot/ ...
        n1/ n2/ ...       a part for each server, by its node's name, ours as well
            my.cnf, server.log ...
            data/ run/ tmp/   of the account that servers run as

When root starts servers they run as another account, which may write in folders of its own only. So nothing that we
write or read by name lies where that account could put a link. When the owner has ended, the next bakeoff ends the
servers that are still the ones recorded and removes the folder.

Whose a folder is, its lock says, as far as that reaches, which is this kernel. A record of another counts as dead
only where that was this machine before it was rebooted, on a disk of its own; what lies on storage that hosts share
is left alone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import tempfile
from contextlib import suppress
from copy import copy
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bakeoff.errors import BakeoffError, ServerError
from bakeoff.locks import Held, Holder, Lock, open_plain
from bakeoff.provision.cache import cache_dir, first_unsearchable, make_passable
from bakeoff.provision.container import remove_containers
from bakeoff.provision.files import file_system, write_private
from bakeoff.provision.process import end_process, give_to_account, server_account, start_ticks

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


#: sockaddr_un has 108 bytes, the closing zero included.
_SOCKET_PATH_MAX_BYTES = 107
#: Others may pass through to what they know of, and neither look around nor write.
_PASSABLE = 0o711
#: Of the folders that this process owns.
_held: dict[Path, Lock] = {}


def default_parent() -> Path:
    """Where instances live unless the plan says otherwise: on a disk, and where servers may go."""
    return cache_dir() / "instances"


class InstanceFolder:
    """A folder of ours with subfolders that servers may write in, removed with all in it by `remove`."""

    def __init__(self, path: Path, *, for_servers: bool = True) -> None:
        """Makes `path` (parents included), or takes it over if it exists and nobody else alive owns it.

        for_servers: servers will run in it, so the account that they run as must be able to get there.
        """
        self.path = path.absolute()
        self.whole = self.path  # where the record is
        self._for_servers = for_servers
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            _own(self.path, passable=for_servers)
        except OSError as error:
            raise ServerError(f"cannot create the folder {self.path}: {error.strerror}") from error
        self._owner = self._take()
        self._owner.write(self.path)
        self._refuse_closed(self.path)

    def part(self, name: str) -> InstanceFolder:
        """A folder in it for one of its servers: recorded with the whole, and removed with it."""
        part = copy(self)
        part.path = self.path / name
        part.path.mkdir(exist_ok=True, mode=0o700)
        _own(part.path, passable=self._for_servers)
        return part

    def subfolder(self, name: str) -> Path:
        """A folder in it that servers may write in."""
        return _servers_folder(self.path / name)

    def socket_path(self, name: str) -> Path:
        """A path for a server's unix socket: in the folder, or in a short one elsewhere where it would be too long."""
        path = self.subfolder("run") / name
        if len(os.fsencode(path)) <= _SOCKET_PATH_MAX_BYTES:
            return path
        return _servers_folder(self.outside(Path(tempfile.gettempdir())) / "run") / name

    def outside(self, parent: Path) -> Path:
        """A folder that belongs to the instance but lies elsewhere: on another disk, or where paths are short."""
        folder = _new_folder(parent, "bakeoff-", passable=self._for_servers)
        self._change(replace(self._known(), extra=(*self._known().extra, str(folder))))
        self._refuse_closed(parent)
        return folder

    def record_server(self, pid: int, ticks: int) -> None:
        """Adds it to the recorded ones that still run."""
        known = self._known()
        running = tuple((pid, ticks) for pid, ticks in known.servers if start_ticks(pid) == ticks)
        self._change(replace(known, servers=(*running, (pid, ticks))))

    def record_runtime(self, runtime: str) -> None:
        """What has started containers for this instance, before it does."""
        self._change(replace(self._known(), runtime=runtime))

    def remove(self) -> None:
        """Removes everything (of a part: the whole), also what other objects for this folder have added."""
        _remove(self.whole, self._known())
        if lock := _held.pop(self.whole, None):
            lock.free()

    def _known(self) -> Owner:
        """The record as it is now: there may be several objects for one folder."""
        return Owner.read(self.whole) or self._owner

    def _change(self, owner: Owner) -> None:
        self._owner = owner
        owner.write(self.whole)

    def _take(self) -> Owner:
        owner = Owner.read(self.path)
        ours = Owner(os.getpid(), Host.here())
        if owner is not None and owner.elsewhere(self.path):
            raise ServerError(
                f"the folder {self.path} belongs to bakeoff on another machine (pid {owner.pid} there)",
                hint="run in another folder, or remove this one if bakeoff no longer uses it there",
            )
        if self.path in _held:
            return owner or ours
        try:
            _held[self.path] = hold(self.path)
        except Held as held:
            raise ServerError(
                f"the folder {self.path} is in use by another bakeoff run ({held})",
                hint="wait for it to end, or run in another folder",
            ) from None
        if owner := Owner.read(self.path):  # as it was left
            owner.end_servers(self.path)
        return replace(ours, extra=owner.extra if owner else ())

    def _refuse_closed(self, path: Path) -> None:
        if self._for_servers and server_account() and (closed := first_unsearchable(path)):
            raise ServerError(
                f"the server would run as nobody and cannot reach {path}: {closed} is closed to other users",
                hint=f"run in another folder, run as an ordinary user, or `chmod o+x {closed}`",
            )


def new_instance(name: str, parent: Path | None = None) -> InstanceFolder:
    """A fresh instance folder under `parent`, after clearing away there what dead bakeoffs left."""
    place = (parent or default_parent()).absolute()
    remove_stale(place)
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:40]
    return InstanceFolder(_new_folder(place, f"{safe}-"), for_servers=False)  # whoever starts a server in it says so


def _new_folder(parent: Path, prefix: str, *, passable: bool = False) -> Path:
    try:
        make_passable(parent.absolute())
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent.absolute()))
        _own(folder, passable=passable)
        return folder
    except OSError as error:
        what = f"cannot create a folder in {parent}: {error.strerror}"
        raise ServerError(what, hint="choose another folder with --work-dir") from error


def remove_stale(parent: Path) -> list[Path]:
    """Ends the servers and removes the folders of owners that are gone; returns the folders removed."""
    gone = []
    for folder in _owned(parent):
        if found := hold_of_the_dead(folder):
            owner, lock = found
            with lock:
                owner.end_servers(folder)
                _remove(folder, owner)
            gone.append(folder)
    return gone


def of_other_hosts(parent: Path) -> list[Path]:
    """Folders there that no lock of this host can judge, and that are therefore never removed."""
    return [folder for folder in _owned(parent) if (owner := Owner.read(folder)) and owner.elsewhere(folder)]


def _owned(parent: Path) -> list[Path]:
    return [file.parent for file in sorted(parent.glob(f"*/{OWNER_FILE}"))]


def _own(folder: Path, *, passable: bool) -> None:
    """Makes sure that a folder is ours alone. OSError if it is another's, or a link."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(handle).st_uid != os.geteuid():
            raise PermissionError(1, "it belongs to another user")
        os.fchmod(handle, _PASSABLE if passable else stat.S_IRWXU)
    finally:
        os.close(handle)


def _servers_folder(path: Path) -> Path:
    """`path` lies in a folder of ours."""
    path.mkdir(exist_ok=True, mode=0o700)
    give_to_account(path)
    return path


def _remove(folder: Path, owner: Owner) -> None:
    """The record and its lock last: what a removal leaves that is cut short goes with the next one."""
    for path in map(Path, owner.extra):
        shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name in (OWNER_FILE, LOCK_FILE):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
