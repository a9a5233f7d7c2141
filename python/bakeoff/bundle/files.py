"""Files in a result folder: their names, written whole or not at all, and never through a link.

A bundle may come from anybody. So every name is looked up from the folder that the user gave, one step at a time, and
a step that is a link is refused: nothing is read or written outside, whatever lies in the folder.

`Layout` knows the names of all files that bakeoff writes (a test compares it with bundles of real runs): what has
another name is somebody else's, and is never removed.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import IO

from .. import input_files
from ..errors import BakeoffError, BundleError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_bytes(root: Path, name: str, data: bytes) -> Path:
    return write_file(root, name, lambda file: file.write(data))


def write_file(root: Path, name: str, write: Callable[[IO[bytes]], object]) -> Path:
    """Has a temporary file written next to root/name, then renames it: a reader never sees half a file."""
    *folders, last = PurePath(name).parts
    try:
        root.mkdir(parents=True, exist_ok=True)
        with _inside(root, folders, make=True) as folder:
            part = f".{last}.{secrets.token_hex(6)}.part"
            try:
                with open(part, "wb", opener=lambda new, _: os.open(new, _NEW_FILE, 0o666, dir_fd=folder)) as file:
                    write(file)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(part, last, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:  # Ctrl-C too
                with suppress(FileNotFoundError):
                    os.unlink(part, dir_fd=folder)
                raise
    except OSError as error:
        raise disk_trouble(error, root / name) from error
    return root / name


def write_text(root: Path, name: str, text: str) -> Path:
    return write_bytes(root, name, text.encode())


def make_folder(root: Path, name: str) -> Path:
    """root/name, with all folders on the way."""
    try:
        with _inside(root, PurePath(name).parts, make=True):
            return root / name
    except OSError as error:
        raise disk_trouble(error, root / name) from error


def read_bytes(root: Path, name: str, max_bytes: int) -> bytes:
    """Raises OSError; also where a link would have to be followed, or the file is larger."""
    *folders, last = PurePath(name).parts
    with _inside(root, folders, make=False) as folder:
        return input_files.read_bytes(last, max_bytes, dir_fd=folder)


def is_of_a_bundle(path: Path) -> bool:
    """Whether bakeoff's own file of some bundle is there, or would be."""
    real = path.resolve()
    return any(
        real.relative_to(folder).parts[0] in TOP_FILES | TOP_FOLDERS
        for folder in real.parents
        if (folder / "bundle.json").is_file()
    )


@contextmanager
def _inside(root: Path, folders: tuple[str, ...] | list[str], *, make: bool) -> Iterator[int]:
    """A descriptor of the folder below `root`."""
    folder = os.open(root, _FOLDER)
    try:
        for name in folders:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=folder)
            inner = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def disk_trouble(error: OSError, path: Path) -> BakeoffError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return BakeoffError(
            f"the disk is full: cannot write {path.name}",
            where=str(path.parent),
            hint="free some space or choose another folder with --out; finished runs are kept, continue with --resume",
        )
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return BundleError(
            f"cannot write {path.name}: its folder's path is a link or a file",
            where=str(path.parent),
            hint="bakeoff follows no links in bundles; remove it, or choose another folder with --out",
        )
    return BakeoffError(
        f"cannot write {path.name}: {error.strerror}", where=str(path.parent), hint="choose another folder with --out"
    )


def clear(
    root: Path, is_file: Callable[[str], bool], is_folder: Callable[[str], bool], *, do: bool = True
) -> list[str]:
    """Removes from `root` the files that `is_file` takes and the folders that `is_folder` takes once they are empty,
    bundle.json last; both get paths relative to `root`. Returns what stays: a folder that is not ours is not entered,
    and a link is nobody's file. do=False: only says what would stay. Raises OSError."""
    handle = os.open(root, _FOLDER | os.O_NOFOLLOW)
    try:
        return list(_clear(handle, "", is_file, is_folder, do=do))
    finally:
        os.close(handle)


def _clear(
    handle: int, above: str, is_file: Callable[[str], bool], is_folder: Callable[[str], bool], *, do: bool
) -> Iterator[str]:
    with os.scandir(handle) as found:
        entries = sorted(found, key=lambda entry: (entry.name == "bundle.json", entry.name))
    for entry in entries:
        path = above + entry.name
        if entry.is_dir(follow_symlinks=False):
            if not is_folder(path):
                yield f"{path}/"
                continue
            inner = os.open(entry.name, _FOLDER | os.O_NOFOLLOW, dir_fd=handle)
            try:
                left = list(_clear(inner, f"{path}/", is_file, is_folder, do=do))
            finally:
                os.close(inner)
            yield from left
            if do and not left:
                os.rmdir(entry.name, dir_fd=handle)
        elif not entry.is_file(follow_symlinks=False) or not is_file(path):
            yield path
        elif do:
            os.unlink(entry.name, dir_fd=handle)


#: At the top of a bundle; model/records/__init__.py says what each is.
TOP_FILES = frozenset(
    {
        "bundle.json",
        "plan.toml",
        "plan.json",
        "machine.json",
        "bundle.lock",
        "report.html",
        "analyses.jsonl",
        "live.jsonl",
        "note.txt",
    }
)
TOP_FOLDERS = frozenset({"files", "facts", "loads", "runs", "verify", "charts"})

_CELL = r"c[a-z0-9]{2,8}"
#: Of a client's number or none: the first client has none.
_N = r"(\.[0-9]+)?"
_OF_AN_ENGINE = rf"(load|run|warm|check|drop|verify){_N}\.json|engine{_N}\.log|server\.log|events{_N}\.csv"
_OF_A_RUN = re.compile(rf"{_OF_AN_ENGINE}|result\.json|(intervals|tenths|server|nodes)\.parquet|histograms\.json\.gz")
_OF_A_LOAD = re.compile(_OF_AN_ENGINE)
#: schedule/instance.py: a name of at most 80 letters that ends in ten digits of a hash, unless it was cut.
_LOAD = re.compile(r"[A-Za-z0-9._-]*-[0-9a-f]{10}|[A-Za-z0-9._-]{80}")
_CHART = re.compile(
    r"(throughput|spectrum|timeline|server|latency-p[0-9.]+|(metric|search)-[A-Za-z0-9_.:-]+)\.(svg|png)"
)
#: bundle/files.py writes each file under such a name first.
_PART = re.compile(r"\.(.+)\.[0-9a-f]{12}\.part")


@dataclass(frozen=True)
class Layout:
    """What one bundle may hold. cells: of its plan; None where the plan cannot be read, and every name of the right
    form counts. kept: the copies of files that the plan names."""

    cells: Collection[str] | None = None
    kept: Collection[str] = field(default_factory=tuple)

    def is_folder(self, path: str) -> bool:
        """Whether bakeoff makes a folder there. path: relative to the bundle."""
        match path.split("/"):
            case [name]:
                return name in TOP_FOLDERS
            case ["files", *_]:
                return any(kept.startswith(f"{path}/") for kept in self.kept)
            case ["runs", name]:
                return self._is_run(name)
            case ["loads", name]:
                return _LOAD.fullmatch(name) is not None
        return False

    def is_file(self, path: str) -> bool:
        """Whether bakeoff writes a file there, or was writing it when it was killed."""
        if self._is_whole(path):
            return True
        folder, _, name = path.rpartition("/")
        part = _PART.fullmatch(name)
        return part is not None and self._is_whole(f"{folder}/{part[1]}" if folder else part[1])

    def _is_whole(self, path: str) -> bool:
        match path.split("/"):
            case [name]:
                return name in TOP_FILES
            case ["files", *_]:
                return path in self.kept
            case ["facts" | "verify", name]:
                return name.endswith(".json") and self._is_cell(name.removesuffix(".json"))
            case ["charts", name]:
                return _CHART.fullmatch(name) is not None
            case ["loads", name]:
                return name.endswith(".json") and _LOAD.fullmatch(name.removesuffix(".json")) is not None
            case ["loads", folder, name]:
                return _LOAD.fullmatch(folder) is not None and _OF_A_LOAD.fullmatch(name) is not None
            case ["runs", folder, name]:
                return self._is_run(folder) and _OF_A_RUN.fullmatch(name) is not None
        return False

    def _is_run(self, name: str) -> bool:
        block, _, rest = name.partition("-")
        cell = re.sub(r"\.[0-9]+$", "", rest)  # another attempt
        return re.fullmatch(r"b[0-9]{2,}", block) is not None and self._is_cell(cell)

    def _is_cell(self, name: str) -> bool:
        return re.fullmatch(_CELL, name) is not None if self.cells is None else name in self.cells
