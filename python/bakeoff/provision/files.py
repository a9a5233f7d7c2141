"""Copies of data directories, and files that only their reader may read."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from bakeoff.errors import ServerError
from bakeoff.provision.process import server_account

#: File systems that live in memory.
MEMORY_FILE_SYSTEMS = ("tmpfs", "ramfs")


def write_private(path: Path, text: str, *, mode: int = 0o600, for_server: bool = False) -> None:
    """Writes a new file in a folder of ours, in place of one that may be there; it never was open to more than `mode`.
    for_server: it belongs to the account that servers run as."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        os.fchmod(handle, mode)
        if for_server and (account := server_account()):
            os.fchown(handle, account.uid, account.gid)
        file.write(text)


def file_system(path: Path) -> str:
    """Type of the file system that holds `path` (or its nearest existing parent): "ext4", "tmpfs"; "" if not known."""
    existing = nearest_existing(path)
    best, kind = "", ""
    try:
        mounts = Path("/proc/self/mounts").read_text()
    except OSError:
        return ""
    for line in mounts.splitlines():
        _, mount, name, *_ = line.split(" ")
        inside = str(existing) == mount or str(existing).startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):
            best, kind = mount, name
    return kind


def copy_tree(source: Path, target: Path, *, where: str) -> None:
    """Makes `target` a copy of the file or folder `source`: owners, holes and times kept, on disk when this returns.

    The copy is made next to `target` and renamed, so an unfinished one never has its name. File systems that can
    share blocks do (`--reflink=auto`), which is why this is `cp` and not shutil.
    """
    half_made = target.with_name(f".{target.name}.copying")
    remove_tree(half_made)
    target.parent.mkdir(parents=True, exist_ok=True)
    _run(["cp", "-a", "--reflink=auto", "--sparse=auto", "--", str(source), str(half_made)], where)
    _run(["sync", "-f", str(half_made)], where)
    remove_tree(target)
    half_made.rename(target)


def remove_tree(path: Path) -> None:
    """Removes a file or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def can_hold_files(folder: Path) -> bool:
    """Not where we have no right to, and not on a file system that stores nothing (/proc)."""
    existing = nearest_existing(folder)
    return os.access(existing, os.W_OK | os.X_OK) and shutil.disk_usage(existing).total > 0


def nearest_existing(folder: Path) -> Path:
    """The folder, or the nearest existing one above it."""
    return next(path for path in [folder.absolute(), *folder.absolute().parents] if os.path.exists(path))


def allocated_bytes(path: Path) -> int:
    """Space on disk of a file or of all files in a folder: blocks, so that holes do not count."""
    return sum(found.st_blocks * 512 for found in _files(path))


def _files(path: Path) -> Iterator[os.stat_result]:
    for file in [path] if path.is_file() else path.rglob("*"):
        try:
            found = file.lstat()  # never what a link in a server's own folder points at
        except FileNotFoundError:
            continue  # a temporary one
        if stat.S_ISREG(found.st_mode):
            yield found


def file_bytes(path: Path) -> int:
    """What all files in a folder claim to hold, holes included."""
    return sum(found.st_size for found in _files(path))


def forget_pages(paths: Iterable[Path]) -> None:
    """Has the kernel drop its cached pages of files, and of all files in folders: they are read from the disk next.
    Nobody may write to them meanwhile; pages that a process has mapped stay. Raises ServerError."""
    os.sync()  # a page that is still to be written cannot be dropped
    for path in paths:
        for file in [path] if path.is_file() else path.rglob("*"):
            if file.is_file() and not file.is_symlink():
                _forget(file)


def _forget(file: Path) -> None:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ServerError(f"cannot drop {file} from memory: {error.strerror}") from error


def _run(argv: list[str], where: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        message = done.stderr.strip().splitlines()[-1:] or ["no message"]
        full = "No space left" in done.stderr
        raise ServerError(
            f"could not copy the data: {'the disk is full' if full else message[0]}",
            where=where,
            hint="free some space, or run in a folder on another disk" if full else "",
        )
