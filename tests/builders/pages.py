"""What the kernel holds of a file in its cache."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path


def cached_pages(path: Path) -> int:
    """As mincore(2) counts them. A private, writable mapping, because only of such ctypes tells the address."""
    size = path.stat().st_size
    seen = (ctypes.c_ubyte * (-(-size // mmap.PAGESIZE)))()
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as mapped,
    ):
        view = ctypes.c_char.from_buffer(mapped)
        failed = ctypes.CDLL(None, use_errno=True).mincore(
            ctypes.c_void_p(ctypes.addressof(view)), ctypes.c_size_t(size), seen
        )
        del view
    assert not failed, os.strerror(ctypes.get_errno())
    return sum(page & 1 for page in seen)
