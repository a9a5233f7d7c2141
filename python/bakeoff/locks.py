"""Locks that the kernel frees when their holder ends, however it ends: `flock` on a file.

The file's text says who holds the lock, for messages; whether somebody holds it, only the kernel knows. On a network
file system the lock reaches as far as its mount options let it (NFS: not with `nolock` or `local_lock=flock`).
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .errors import BakeoffError

#: More than a holder ever writes; the file may be another user's.
_TEXT_MAX_BYTES = 65536
_TITLE_MAX = 100
_TRIES = 5
_LOOK_S = 0.01


@dataclass(frozen=True)
class Holder:
    """What a lock's file says of its holder. pid 0: it does not say."""

    pid: int = 0
    title: str = ""
    cores: tuple[int, ...] = ()

    def __str__(self) -> str:
        words = [f"pid {self.pid}"] if self.pid else []
        return ", ".join([*words, *([f'"{self.title}"'] if self.title else [])]) or "unknown process"


class Held(Exception):
    """Somebody else has it."""

    def __init__(self, holder: Holder) -> None:
        super().__init__(str(holder))
        self.holder = holder


class Lock:
    """One file's lock, held until `free` or the end of this process. Child processes do not inherit it."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @classmethod
    def take(cls, path: Path, holder: Holder) -> Lock:
        """Makes the file if it is missing. Raises Held at once, and BakeoffError where locks are not available."""
        handle = -1
        try:
            handle = open_plain(path, os.O_RDWR | os.O_CREAT)
            if not _take(handle):
                raise Held(read_holder(handle))
            write_holder(handle, holder)
        except BaseException as error:
            if handle >= 0:
                os.close(handle)
            if isinstance(error, OSError):
                raise no_lock(error, path) from error
            raise
        return cls(handle)

    def free(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()


def open_plain(path: Path | str, flags: int, *, folder: int | None = None, mode: int = 0o644) -> int:
    """A descriptor of an ordinary file: no link is followed, and nothing waits for a pipe's other end.
    `folder`: a descriptor that a relative path starts at. Raises OSError."""
    try:
        handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            error.strerror = "it is a link"
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not an ordinary file", str(path))
    return handle


def try_lock(handle: int, *, shared: bool = False) -> bool:
    """Takes the lock if it is free, which needs no right to write. Raises OSError where there are no locks."""
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _take(handle: int) -> bool:
    """Who only looks whether a lock is taken has it for a moment, too: that is waited for."""
    for _ in range(_TRIES):
        if try_lock(handle):
            return True
        time.sleep(_LOOK_S)
    return False


def write_holder(handle: int, holder: Holder) -> None:
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps(asdict(holder)).encode(), 0)


def read_holder(handle: int) -> Holder:
    """What the file says, as far as it says it; another user may have written anything there."""
    try:
        said: Any = json.loads(os.pread(handle, _TEXT_MAX_BYTES, 0))
        pid, title, cores = said["pid"], said["title"], said["cores"]
        shown = "".join(letter if letter.isprintable() else "?" for letter in str(title)[:_TITLE_MAX])
        return Holder(int(pid), shown, tuple(int(core) for core in cores))
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return Holder()


def no_lock(error: OSError, path: Path) -> BakeoffError:
    return BakeoffError(f"cannot lock {path}: {error.strerror}", hint="use a folder of your own on a local disk")
