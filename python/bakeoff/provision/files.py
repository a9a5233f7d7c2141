"""Copies of data directories, and files that only their reader may read."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from bakeoff.errors import ServerError


def write_private(path: Path, text: str) -> None:
    """Writes a file that never was readable by others."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text)


def copy_tree(source: Path, target: Path, *, where: str) -> None:
    """Makes `target` a copy of the file or folder `source`: owners, holes and times kept, on disk when this returns.

    The copy is made beside `target` and renamed, so a half-made one never bears its name. File systems that can
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


def allocated_bytes(path: Path) -> int:
    """Space on disk of a file or of all files in a folder: blocks, so that holes do not count."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    total = 0
    for file in files:
        try:
            total += file.stat().st_blocks * 512
        except FileNotFoundError:
            continue  # a temporary one
    return total


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
