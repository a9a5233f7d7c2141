"""The bundles of a folder: what is known of each without its report, and taking one away."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ..errors import BakeoffError, BundleError
from ..locks import open_plain, try_lock
from .files import is_own
from .read import Bundle
from .write import hold


@dataclass(frozen=True)
class Listed:
    """One bundle. state: that of its `bundle.json`; "broken off" where that says "running" and nobody writes into it;
    "damaged" where it cannot be opened, and `damage` says why. Runs are None where they are not known."""

    name: str
    folder: Path
    title: str
    created: datetime  # of a damaged one the time when its bundle.json was written
    state: str
    runs_valid: int | None
    runs_finished: int | None
    runs_planned: int | None
    size_bytes: int  # on disk
    damage: list[str] = field(default_factory=list)


def bundles_in(parent: Path) -> list[Listed]:
    """Newest first. BundleError where there is no such folder."""
    if not parent.is_dir():
        hint = "`bakeoff run` makes it; name another with --results"
        raise BundleError(f"there is no folder {parent}, so there are no bundles in it", hint=hint)
    found = [listed(path.parent) for path in parent.glob("*/bundle.json")]
    return sorted(found, key=lambda one: (one.created, one.name), reverse=True)


def listed(folder: Path) -> Listed:
    """Whatever is wrong with it. BundleError where it is no bundle."""
    size_bytes, name = _size_bytes(folder), folder.resolve().name
    try:
        bundle = Bundle.open(folder)
        info, plan, runs, created = bundle.info, bundle.plan, bundle.runs, datetime.fromisoformat(bundle.info.created)
    except (BundleError, ValueError) as error:
        if not (folder / "bundle.json").is_file():
            raise
        written = datetime.fromtimestamp((folder / "bundle.json").stat().st_mtime, UTC)
        return Listed(name, folder, "", written, "damaged", None, None, None, size_bytes, [str(error)])
    state = "broken off" if info.state == "running" and not is_written(folder) else info.state
    planned = len(runs) if plan.search and state == "complete" else plan.runs_max
    valid = sum(run.valid for run in runs)
    created = created if created.tzinfo else created.replace(tzinfo=UTC)
    return Listed(name, folder, plan.title, created, state, valid, len(runs), planned, size_bytes, bundle.damage)


def is_written(folder: Path) -> bool:
    """Whether somebody holds the bundle to write into it."""
    try:
        handle = open_plain(folder / "bundle.lock", os.O_RDONLY)
    except OSError:
        return False
    try:
        return not try_lock(handle, shared=True)
    finally:
        os.close(handle)


def refuse_link(folder: Path) -> None:
    """What a link leads to lies elsewhere, and nobody named it. Raises BundleError."""
    if folder.is_symlink():
        what = f"{folder} is a link, and what it leads to is not removed by it"
        raise BundleError(what, hint=f"name the bundle itself: {folder.resolve()}")


def remove(folder: Path) -> tuple[int, list[str]]:
    """Takes away what bakeoff wrote there, and the folder if nothing else is in it. Returns the bytes that were freed
    on disk, and the names of what was left. BundleError where it is no bundle, or one that is being written."""
    refuse_link(folder)
    if not (folder / "bundle.json").is_file():
        raise BundleError(f"{folder} is not a bundle: there is no bundle.json in it", hint="nothing was removed")
    with hold(folder, "bakeoff bundles remove"):
        before = _size_bytes(folder)
        try:
            for path in sorted(folder.iterdir(), key=lambda path: path.name == "bundle.json"):  # a bundle to the last
                if is_own(path.name):
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        except OSError as error:
            raise BakeoffError(f"cannot remove {error.filename}: {error.strerror}", where=str(folder)) from error
        left = sorted(path.name for path in folder.iterdir())
        if not left:
            folder.rmdir()
        return before - _size_bytes(folder), left


def _size_bytes(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # it was removed meanwhile
                total += os.lstat(os.path.join(parent, name)).st_blocks * 512
    return total
