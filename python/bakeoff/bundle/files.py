"""Writing a file so that it is either whole or not there, and saying clearly when the disk is the trouble."""

from __future__ import annotations

import errno
import gzip
import os
from pathlib import Path

from ..errors import BakeoffError


def write_bytes(path: Path, data: bytes) -> None:
    """Writes beside `path`, then renames: a reader never sees half a file, also after a crash."""
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(part, "wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise disk_trouble(error, path) from error


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_gzip(path: Path, text: str) -> None:
    write_bytes(path, gzip.compress(text.encode(), compresslevel=3, mtime=0))


def disk_trouble(error: OSError, path: Path) -> BakeoffError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return BakeoffError(
            f"the disk is full: cannot write {path.name}",
            where=str(path.parent),
            hint="free some space or give another folder with --out; finished runs are kept, continue with --resume",
        )
    return BakeoffError(
        f"cannot write {path.name}: {error.strerror}", where=str(path.parent), hint="choose another folder with --out"
    )
