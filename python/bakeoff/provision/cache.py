"""Where fetched programs are kept: one folder per package set and version, each with a manifest."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bakeoff.errors import ServerError

#: Used by root when nobody else may look into root's home: servers do not run as root.
SHARED_CACHE = Path("/var/cache/bakeoff")


def cache_dir() -> Path:
    """The cache folder (not created): $BAKEOFF_CACHE, else $XDG_CACHE_HOME/bakeoff, else ~/.cache/bakeoff.

    Root's is /var/cache/bakeoff when other users cannot search that folder's parents, because the servers that root
    starts run as `nobody` and must be able to read their own program.
    """
    if explicit := os.environ.get("BAKEOFF_CACHE"):
        return Path(explicit).expanduser().absolute()
    home = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")).absolute() / "bakeoff"
    if os.geteuid() == 0 and not searchable_by_others(home):
        return SHARED_CACHE
    return home


def searchable_by_others(path: Path) -> bool:
    """Whether every existing folder on the way to `path` (itself included) lets other users pass through."""
    return first_unsearchable(path) is None


def first_unsearchable(path: Path) -> Path | None:
    """The outermost existing folder on the way to `path` that other users may not pass through."""
    for folder in [*reversed(path.absolute().parents), path.absolute()]:
        try:
            if not folder.stat().st_mode & stat.S_IXOTH:
                return folder
        except FileNotFoundError:
            return None
        except OSError:
            return folder
    return None


def make_passable(folder: Path) -> None:
    """Makes the folder with all on the way. Other users may pass those that are new, whatever our umask: the servers
    that root starts run as `nobody`. Raises OSError."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in new:
        path.chmod(0o755)


@contextmanager
def cache_lock(folder: Path) -> Iterator[None]:
    """Holds `folder` (created if missing) for one process; a second one waits."""
    try:
        make_passable(folder)
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise ServerError(
            f"the cache folder {folder} cannot be written: {error.strerror}",
            hint="set BAKEOFF_CACHE to a folder that can",
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
