"""Programs that this machine has by itself: on the PATH, and where ordinary users' PATHs do not reach."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from bakeoff.provision.installation import Installation, Source

#: Who built a program that no package has.
OWN = "this machine's own"
_PLACES = ("/usr/sbin", "/usr/local/sbin", "/usr/local/bin", "/usr/libexec")


class OnPath(Source):
    """program: its name. version_of: from what `program --version` prints; None: it is another product's.
    places: folders to look in beside the usual ones; patterns may stand in them ("/usr/lib/postgresql/*/bin")."""

    name = "path"

    def __init__(
        self, program: str, version_of: Callable[[str], str | None], places: Sequence[str] = (), *, flags: str = ""
    ) -> None:
        self._program = program
        self._version_of = version_of
        self._places = (*_PLACES, *places)
        self._flags = (*flags.split(), "--version")

    def here(self) -> list[Installation]:
        folders = [str(folder) for place in self._places for folder in sorted(Path("/").glob(place.lstrip("/")))]
        paths = [shutil.which(self._program), *(f"{folder}/{self._program}" for folder in folders)]
        unique = dict.fromkeys(Path(path).resolve() for path in paths if path and os.access(path, os.X_OK))
        return [
            Installation(version, self.name, f"this machine's own {path}", path, packager=_packager(path))
            for path in unique
            if (version := self._version_of(said_by((str(path), *self._flags))))
        ]


def os_release() -> dict[str, str]:
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


def distribution() -> str:
    """Who packaged this machine's own packages: "Debian"."""
    return os_release().get("ID", "this machine's distribution").capitalize()


def _packager(path: Path) -> str:
    """Its distribution's, if a package has the file; else nobody knows whose."""
    return distribution() if said_by(("dpkg", "-S", str(path))) else OWN


@cache
def said_by(argv: tuple[str, ...]) -> str:
    """What a program prints; empty if it does not run."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False, cwd="/")
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout
