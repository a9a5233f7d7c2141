"""The bundles of a folder: what is known of each without its report, and taking one away."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ..errors import BakeoffError, BundleError, PlanError
from ..locks import open_plain, try_lock
from ..model.records.bundle import BundleInfo
from .files import Layout, clear, read_bytes, write_text
from .read import Bundle, read_document
from .write import hold

#: A file of its own: a bundle is as new as its last run, not as its note.
NOTE = "note.txt"
NOTE_MAX = 1_000


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
    runs_disturbed: int | None
    runs_invalid: int | None
    runs_finished: int | None
    runs_planned: int | None
    size_bytes: int  # on disk
    damage: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    note: str = ""

    @property
    def runs_words(self) -> str:
        """How many of how many, and how many of them do not count."""
        if self.runs_finished is None:
            return "not known"
        kinds = {"disturbed": self.runs_disturbed, "invalid": self.runs_invalid}
        others = [f"{count} {kind}" for kind, count in kinds.items() if count]
        return ", ".join([f"{self.runs_finished} of {self.runs_planned}", *others])


def bundles_in(parent: Path) -> list[Listed]:
    """Newest first. BundleError where there is no such folder."""
    if not parent.is_dir():
        hint = "`bakeoff run` creates it; name another with --results"
        raise BundleError(f"there is no folder {parent}", hint=hint)
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
        return Listed(name, folder, "", written, "damaged", None, None, None, None, None, size_bytes, [str(error)])
    state = "broken off" if info.state == "running" and not is_written(folder) else info.state
    planned = len(runs) if plan.search and state == "complete" else plan.runs_max
    standings = Counter(run.standing for run in runs)
    stands = sum(run.valid for run in runs), standings["disturbed"], standings["invalid"]
    created = created if created.tzinfo else created.replace(tzinfo=UTC)
    counts = (*stands, len(runs), planned)
    return Listed(
        name, folder, plan.title, created, state, *counts, size_bytes, bundle.damage, info.labels, note_of(folder)
    )


def note_of(folder: Path) -> str:
    try:
        return read_bytes(folder, NOTE, 4 * NOTE_MAX).decode(errors="replace")
    except OSError:
        return ""


def annotate(folder: Path, note: str) -> None:
    """Keeps these words with the bundle, in place of those that it has; also while it is written. BundleError: it is
    none."""
    note = " ".join(note.split())
    if len(note) > NOTE_MAX:
        raise PlanError(f"the note has {len(note):,} characters", hint=f"at most {NOTE_MAX:,} are kept")
    Bundle.open(folder)
    write_text(folder, NOTE, note)


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
        what = f"{folder} is a link, and bakeoff does not remove what it points to"
        raise BundleError(what, hint=f"name the bundle itself: {folder.resolve()}")


def has_no_run(folder: Path) -> bool:
    """Whether this is a bundle that no run was finished or failed in: its server did not start, or its load was ended.
    Nothing is lost where its plan starts over in it."""
    if folder.is_symlink() or any(folder.glob("runs/*/result.json")):
        return False
    try:
        Bundle.open(folder)
    except BundleError:
        return False
    return not is_written(folder)


def left_by_removal(folder: Path) -> list[str]:
    """What `remove` would leave, because bakeoff did not write it."""
    return clear(folder, *_ours(folder), do=False)


def remove(folder: Path, *, damaged: bool = False) -> tuple[int, list[str]]:
    """Removes the files that bakeoff wrote there, and the folder if nothing else is in it. Returns the bytes that were
    freed on disk, and the names of what was left. damaged: also where the bundle cannot be opened; then every name that
    bakeoff could have given counts. BundleError where it is no bundle, or one that is being written."""
    refuse_link(folder)
    if not damaged:
        Bundle.open(folder)
    elif not (folder / "bundle.json").is_file():
        raise BundleError(f"{folder} is not a bundle: it has no bundle.json", hint="nothing was removed")
    with hold(folder, "bakeoff bundles remove"):
        return discard(folder)


def discard(folder: Path) -> tuple[int, list[str]]:
    """As `remove`, of a folder that this process holds or has just made."""
    before = _size_bytes(folder)
    try:
        left = clear(folder, *_ours(folder))
        if left:
            return before - _size_bytes(folder), left
        folder.rmdir()
    except OSError as error:
        raise BakeoffError(f"cannot remove {error.filename}: {error.strerror}", where=str(folder)) from error
    return before, []


def empty(folder: Path) -> None:
    """Removes what bakeoff wrote into a bundle that this process holds, to start over in it."""
    is_file, is_folder = _ours(folder)
    try:
        clear(folder, lambda path: path != "bundle.lock" and is_file(path), is_folder)
    except OSError as error:
        raise BakeoffError(f"cannot remove {error.filename}: {error.strerror}", where=str(folder)) from error


def _ours(folder: Path) -> tuple[Callable[[str], bool], Callable[[str], bool]]:
    try:
        bundle = Bundle.open(folder)
    except BundleError:
        layout = Layout(None, _kept(folder))
    else:
        layout = Layout({cell.id for cell in bundle.plan.cells}, bundle.info.kept)
    return layout.is_file, layout.is_folder


def _kept(folder: Path) -> list[str]:
    """Where the plan cannot be read, but bundle.json can."""
    try:
        return read_document(folder, "bundle.json", BundleInfo).kept
    except BundleError:
        return []


def _size_bytes(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # it was removed meanwhile
                total += os.lstat(os.path.join(parent, name)).st_blocks * 512
    return total
