"""The bundles of a folder, read again only where they changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock

from ..bundle.results_folder import NOTE, Listed, is_written, listed

Stamp = tuple[int, ...]


class History:
    """May be asked from several threads. `look` reads for as long as bundles have changed: in the background."""

    def __init__(self, results: Path) -> None:
        self.results = results.absolute()
        #: Set where nobody waits for it any more.
        self.ends = False
        #: How many there are, known or not.
        self.there = 0
        self._known: dict[str, tuple[Stamp, Listed]] = {}
        self._looking = Lock()

    def look(self) -> None:
        """Reads what changed since the last time. Nothing where another thread does so now."""
        if not self._looking.acquire(blocking=False):
            return
        try:
            names = (path.parent.name for path in self.results.glob("*/bundle.json"))
            found = sorted(name for name in names if name.isprintable())  # an address has no others
            self.there = len(found)
            for name in self._known.keys() - set(found):
                del self._known[name]
            for name in found:
                if self.ends:
                    return
                self.read(name)
        finally:
            self._looking.release()

    def read(self, name: str) -> None:
        folder = self.results / name
        try:
            stamp = stamp_of(folder)
            before = self._known.get(name)
            if before is None or before[0] != stamp:
                self._known[name] = stamp, listed(folder)
        except Exception:  # it was removed meanwhile, or is anybody's and breaks what reads it: the others are shown
            self._known.pop(name, None)

    def find(self, words: str) -> list[Listed]:
        """Those with all these words in name, title, state, labels or note, the newest first."""
        wanted = words.lower().split()
        found = [_now(one) for _, one in list(self._known.values())]
        fitting = [one for one in found if all(word in _words_of(one) for word in wanted)]
        return sorted(fitting, key=lambda one: (one.created, one.name), reverse=True)

    def folder_of(self, name: str) -> Path | None:
        """Of the bundle with this name; None where there is none."""
        folder = self.results / name
        ordinary = name not in ("", ".", "..") and "/" not in name and "\0" not in name
        try:
            return folder if ordinary and (folder / "bundle.json").is_file() else None
        except OSError:  # the name is too long
            return None

    def going(self) -> Sequence[Listed]:
        return [one for one in self.find("") if one.state == "running"]


def _words_of(one: Listed) -> str:
    labels = " ".join(f"{name}={value}" for name, value in one.labels.items())
    return f"{one.name} {one.title} {one.state} {labels} {one.note}".lower()


def _now(one: Listed) -> Listed:
    """Whether a plan still goes on is known by its lock alone."""
    if one.state in ("running", "broken off"):
        return replace(one, state="running" if is_written(one.folder) else "broken off")
    return one


def stamp_of(folder: Path) -> Stamp:
    """It changes with the state, and when a run begins: what a thousand folders cost each time. Raises OSError."""
    paths = (folder / "bundle.json", folder / "plan.json", folder / "runs", folder / NOTE)
    return tuple(os.stat(path).st_mtime_ns if path.exists() else 0 for path in paths)
