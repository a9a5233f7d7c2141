"""Files that others wrote: read whole, or refused in words. Never waits for a pipe, never reads without end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from .analysis.wording import bytes_words

#: Plans, property files, certificates: what a person writes.
TEXT_MAX_BYTES = 4 << 20


def read_bytes(path: Path | str, max_bytes: int, *, dir_fd: int | None = None) -> bytes:
    """The file's bytes. Raises OSError, whose `strerror` says why not: it is no regular file, it is too large.

    dir_fd: `path` is a name in this folder, and not followed if it is a link.
    """
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "its name contains a zero byte", str(path))
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if dir_fd is None else os.O_NOFOLLOW)
    with open(path, "rb", opener=lambda name, _: os.open(name, flags, dir_fd=dir_fd)) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        data = b"" if found.st_size > max_bytes else file.read(found.st_size + 1)
        if len(data) > found.st_size:  # it has grown, or is one that has no size
            data += file.read(max_bytes + 1 - len(data))
        if found.st_size > max_bytes or len(data) > max_bytes:
            raise OSError(errno.EFBIG, f"it is larger than {bytes_words(max_bytes)}", str(path))
        return data


def read_text(path: Path | str, *, encoding: str = "utf-8", max_bytes: int = TEXT_MAX_BYTES) -> str:
    """Raises OSError as `read_bytes` does, and UnicodeDecodeError. Line ends become `\\n`."""
    text = read_bytes(path, max_bytes).decode(encoding)
    return text.replace("\r\n", "\n").replace("\r", "\n")
