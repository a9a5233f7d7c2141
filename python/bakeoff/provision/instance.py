"""The folder of a private instance: who owns it, and how what a killed bakeoff left is cleared away.

`owner.json` in the folder names the bakeoff process that made it and the servers it started, each by pid and start
time. When that bakeoff is gone, the next one ends the servers that are still the ones recorded and removes the folder.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from bakeoff.errors import ServerError
from bakeoff.provision.cache import cache_dir, first_unsearchable
from bakeoff.provision.process import end_process, give_to_account, server_account, start_ticks

FORMAT = 1
_OWNER_FILE = "owner.json"
#: sockaddr_un has 108 bytes, the closing zero included.
_SOCKET_PATH_MAX_BYTES = 107


def default_parent() -> Path:
    """Where instances live unless the plan says otherwise: on a disk, and where servers may go."""
    return cache_dir() / "instances"


class InstanceFolder:
    """A folder that servers may write in, removed with all in it by `remove`."""

    def __init__(self, path: Path, *, for_servers: bool = True) -> None:
        """Makes `path` (parents included), or takes it over if it exists and nobody else alive owns it.

        for_servers: servers will run in it, so the account that they run as must be able to get there.
        """
        self.path = path.absolute()
        self._for_servers = for_servers
        self._servers: list[dict[str, int]] = []
        self._extra: list[str] = []
        self._make()
        self._write_owner()

    def subfolder(self, name: str) -> Path:
        folder = self.path / name
        folder.mkdir(exist_ok=True, mode=0o700)
        give_to_account(folder)
        return folder

    def socket_path(self, name: str) -> Path:
        """A path for a unix socket: in the folder, or in a short one of its own where that would be too long."""
        path = self.path / name
        if len(os.fsencode(path)) <= _SOCKET_PATH_MAX_BYTES:
            return path
        return self.outside(Path(tempfile.gettempdir())) / name

    def outside(self, parent: Path) -> Path:
        """A folder that belongs to the instance but lies elsewhere: on another disk, or where paths are short."""
        try:
            parent.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix="bakeoff-", dir=parent))
            if self._for_servers:
                give_to_account(folder)
        except OSError as error:
            raise ServerError(
                f"cannot make a folder in {parent}: {error.strerror}", hint="choose another folder with --work-dir"
            ) from error
        self._extra.append(str(folder))
        self._write_owner()
        self._refuse_closed(parent)
        return folder

    def record_server(self, pid: int, ticks: int) -> None:
        self._servers = [{"pid": pid, "start_ticks": ticks}]
        self._write_owner()

    def remove(self) -> None:
        """Removes everything, also what other objects for this folder have added."""
        record = _read_owner(self.path) or {}
        for path in (*map(Path, record.get("extra", [])), self.path):
            shutil.rmtree(path, ignore_errors=True)

    def _make(self) -> None:
        record = _read_owner(self.path)
        if record is not None and _owner_lives(record) and record["pid"] != os.getpid():
            raise ServerError(
                f"the folder {self.path} is in use by another bakeoff (pid {record['pid']})",
                hint="wait for it to end, or run in another folder",
            )
        if record is not None:
            self._servers, self._extra = record.get("servers", []), record.get("extra", [])
            if record["pid"] != os.getpid():
                _end_servers(record)
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o755)
            if self._for_servers:
                give_to_account(self.path)
        except OSError as error:
            raise ServerError(f"cannot make the folder {self.path}: {error.strerror}") from error
        self._refuse_closed(self.path)

    def _refuse_closed(self, path: Path) -> None:
        if self._for_servers and server_account() and (closed := first_unsearchable(path)):
            raise ServerError(
                f"the server would run as nobody and cannot reach {path}: {closed} is closed to other users",
                hint=f"run in another folder, run as an ordinary user, or `chmod o+x {closed}`",
            )

    def _write_owner(self) -> None:
        record = {
            "format": FORMAT,
            "pid": os.getpid(),
            "start_ticks": start_ticks(os.getpid()),
            "boot_id": _boot_id(),
            "servers": self._servers,
            "extra": self._extra,
        }
        new = self.path / f".{_OWNER_FILE}.new"
        new.write_text(json.dumps(record))
        new.replace(self.path / _OWNER_FILE)


def new_instance(name: str, parent: Path | None = None) -> InstanceFolder:
    """A fresh instance folder under `parent`, after clearing away there what dead bakeoffs left."""
    place = (parent or default_parent()).absolute()
    remove_stale(place)
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o755)
        safe = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:40]
        folder = Path(tempfile.mkdtemp(prefix=f"{safe}-", dir=place))
        folder.chmod(0o755)
    except OSError as error:
        raise ServerError(
            f"cannot make a folder in {place}: {error.strerror}", hint="choose another folder with --work-dir"
        ) from error
    return InstanceFolder(folder, for_servers=False)  # whoever starts a server in it says so


def remove_stale(parent: Path) -> list[Path]:
    """Ends the servers and removes the folders of owners that are gone; returns the folders removed."""
    gone = []
    for owner_file in sorted(parent.glob(f"*/{_OWNER_FILE}")):
        record = _read_owner(owner_file.parent)
        if record is None or _owner_lives(record):
            continue
        _end_servers(record)
        for path in (*map(Path, record.get("extra", [])), owner_file.parent):
            shutil.rmtree(path, ignore_errors=True)
        gone.append(owner_file.parent)
    return gone


def _read_owner(folder: Path) -> dict[str, Any] | None:
    """None where there is no record, or one that we do not understand or did not write, and therefore leave alone."""
    file = folder / _OWNER_FILE
    try:
        if file.lstat().st_uid != os.geteuid():
            return None  # in a shared place anyone may leave a record, and what it names is removed
        record = json.loads(file.read_text(encoding="utf-8"))
        fits = record["format"] == FORMAT and isinstance(record["pid"], int)
        return dict(record) if fits else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _owner_lives(record: dict[str, Any]) -> bool:
    same_boot = record.get("boot_id") == _boot_id()
    return same_boot and start_ticks(record["pid"]) == record.get("start_ticks")


def _end_servers(record: dict[str, Any]) -> None:
    if record.get("boot_id") != _boot_id():
        return  # pids and ticks of another boot name nobody here
    for server in record.get("servers", []):
        end_process(server["pid"], server["start_ticks"])


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
