"""What was fetched, unpacked in the cache: one folder per program and version, with a manifest of checksums.

    packages/mariadb/1_10.11.19-0+deb12u1/
        manifest.json     what it is, where it came from, every part with its SHA-256
        root/             its files

A folder appears by one rename, so it is either whole or not there. The manifest is read back before use: one that is
broken, or of another format, is ignored, and its content is downloaded again when it is needed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

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
            hint="set BAKEOFF_CACHE to a writable folder",
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


FORMAT = 1
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Part:
    name: str
    version: str
    architecture: str
    sha256: str


@dataclass(frozen=True)
class Content:
    """What a source has put into a new folder's `root`."""

    version: str  # upstream's: 10.11.19
    package_version: str  # as the source calls it: 1:10.11.19-0+deb12u1
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class CachedProgram:
    name: str
    source: str
    version: str
    package_version: str
    date: str  # UTC, ISO 8601
    folder: Path
    packages: tuple[Part, ...]
    size_bytes: int

    @property
    def root(self) -> Path:
        return self.folder / "root"

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "folder": str(self.folder)}


def cached_programs(name: str | None = None, source: str | None = None) -> list[CachedProgram]:
    """What is in the cache, oldest first."""
    manifests = (cache_dir() / "packages").glob(f"{name or '*'}/*/manifest.json")
    found = [one for one in map(_read_manifest, manifests) if one is not None and source in (None, one.source)]
    return sorted(found, key=lambda one: one.date)


def cache_program(
    name: str,
    source: str,
    present: Callable[[], CachedProgram | None],
    fetch: Callable[[Path, Path], Content],
    program: str,
) -> CachedProgram:
    """The one that `present` finds, else what `fetch(scratch, root)` puts into the folder `root`, which afterwards lies
    in `folder_of`. Safe to call at the same time from several processes. Raises ServerError."""
    with cache_lock(cache_dir()):
        if there := present():
            return there
        _remove_leftovers(cache_dir())
        scratch = Path(tempfile.mkdtemp(prefix=".partial-", dir=cache_dir()))
        try:
            return _add(name, source, fetch, program, scratch)
        except OSError as error:
            raise ServerError(
                f"could not unpack {name} in {cache_dir()}: {error.strerror or error}",
                hint="free some space there, or set BAKEOFF_CACHE to another folder",
            ) from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def discard(gone: list[CachedProgram]) -> None:
    with cache_lock(cache_dir()):
        for one in gone:
            shutil.rmtree(one.folder)


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _add(name: str, source: str, fetch: Callable[[Path, Path], Content], program: str, scratch: Path) -> CachedProgram:
    new = scratch / "new"
    make_passable(new / "root")
    content = fetch(scratch, new / "root")
    if not (new / "root" / program).exists():
        raise ServerError(f"the download of {name} {content.version} does not contain {program}")
    manifest = {
        "format": FORMAT,
        "name": name,
        "source": source,
        "version": content.version,
        "package_version": content.package_version,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "size_bytes": _size_bytes(new),
        "packages": [asdict(part) for part in content.parts],
    }
    (new / "manifest.json").write_text(json.dumps(manifest, indent=1))
    folder = folder_of(name, source, content.package_version)
    make_passable(folder.parent)
    if folder.exists():  # not a fitting one, so a broken one
        shutil.rmtree(folder)
    os.rename(new, folder)
    done = _read_manifest(folder / "manifest.json")
    if done is None:
        raise ServerError(f"the manifest just written in {folder} cannot be read")
    return done


def folder_of(name: str, source: str, package_version: str) -> Path:
    """Where it lies. What the machine's own apt sources gave has the bare version, as it always had."""
    version = re.sub(r"[^A-Za-z0-9.+~-]", "_", package_version)
    return cache_dir() / "packages" / name / (version if source == "debian" else f"{source}-{version}")


def _size_bytes(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def _remove_leftovers(cache: Path) -> None:
    """Scratch folders of killed installations; the lock is held, so nobody is working in one."""
    for leftover in cache.glob(".partial-*"):
        shutil.rmtree(leftover, ignore_errors=True)


def _read_manifest(path: Path) -> CachedProgram | None:
    try:
        data = json.loads(path.read_text())
        if data["format"] != FORMAT:
            return None
        return CachedProgram(
            name=data["name"],
            source=data.get("source", "debian"),  # the only one there was when the format had no such field
            version=data["version"],
            package_version=data["package_version"],
            date=data["date"],
            folder=path.parent,
            packages=tuple(Part(**part) for part in data["packages"]),
            size_bytes=data["size_bytes"],
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
