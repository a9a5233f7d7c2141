"""Finding a MariaDB server program: on the PATH, where ordinary users' PATHs do not reach, or in the cache."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from bakeoff.errors import ServerError
from bakeoff.provision import debian

_PLACES = ("/usr/sbin", "/usr/local/sbin", "/usr/local/bin", "/usr/local/mysql/bin", "/usr/libexec", "/opt/mariadb/bin")
INSTALL_HINT = "`bakeoff systems install mariadb` fetches one, no root needed"


@dataclass(frozen=True)
class Program:
    """A server program that runs here."""

    path: Path
    version: str
    environment: dict[str, str] = field(default_factory=dict, compare=False)

    @property
    def base(self) -> Path:
        return self.path.resolve().parent.parent

    def tool(self, *names: str) -> Path | None:
        """The first of its companions that is there."""
        places = (self.path.parent, *(self.base / folder for folder in ("bin", "sbin", "scripts")))
        return next((place / name for name in names for place in places if (place / name).is_file()), None)

    def child_environment(self) -> dict[str, str]:
        """A server needs little of our environment, and nothing of our secrets."""
        kept = {name: os.environ[name] for name in ("PATH", "TZ", "LD_PRELOAD") if name in os.environ}
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", **kept, **self.environment}

    def base_options(self) -> dict[str, str]:
        """Where it finds its own files, for a copy that is not where it was built to be."""
        options = {"basedir": str(self.base)}
        for name, places in {
            "plugin_dir": ("lib/mysql/plugin", "lib/plugin"),
            "lc_messages_dir": ("share/mysql", "share/mariadb", "share"),
            "character_sets_dir": ("share/mysql/charsets", "share/mariadb/charsets", "share/charsets"),
        }.items():
            found = next((self.base / place for place in places if (self.base / place).is_dir()), None)
            if found is not None:
                options[name] = str(found)
        return options

    def known_settings(self) -> set[str]:
        """All option names it understands, as the configuration file spells them."""
        return set(_known_settings(self.path, tuple(sorted(self.environment.items()))))


def find_program(version: str | None) -> Program:
    """The program to use for `version` (`10.11` fits 10.11.19); None: the first on the PATH, else the newest cached."""
    found = programs()
    for program in found:
        if version is None or debian.version_fits(program.version, version):
            return program
    if not found:
        raise ServerError(
            f"no MariaDB server{f' {version}' if version else ''} on this machine",
            hint=INSTALL_HINT,
        )
    install = f"`bakeoff systems install mariadb --version {version}`"
    there = ", ".join(f"{program.version} ({program.path})" for program in found)
    raise ServerError(
        f"no MariaDB server {version} on this machine; there is {there}",
        hint=f"ask for one of these, put {version} on the PATH, or try {install}",
    )


def programs() -> list[Program]:
    """Every MariaDB server found, in order of preference."""
    return [*_system_programs(), *_cached_programs()]


def _system_programs() -> list[Program]:
    paths = [shutil.which("mariadbd"), *(f"{place}/mariadbd" for place in _PLACES)]
    unique = dict.fromkeys(Path(path).resolve() for path in paths if path and os.access(path, os.X_OK))
    return [Program(path, version) for path in unique if (version := _version(path, ()))]


def _cached_programs() -> list[Program]:
    newest_first = sorted(debian.installed("mariadb"), key=lambda one: debian.version_key(one.version), reverse=True)
    return [Program(one.program(), one.version, one.environment()) for one in newest_first]


@cache
def _version(path: Path, environment: tuple[tuple[str, str], ...]) -> str | None:
    """None if it does not run, or is not MariaDB."""
    try:
        text = _output([str(path), "--no-defaults", "--version"], dict(environment))
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"Ver (\d+\.\d+\.\d+)-MariaDB", text)
    return found[1] if found else None


@cache
def _known_settings(path: Path, environment: tuple[tuple[str, str], ...]) -> frozenset[str]:
    try:
        text = _output([str(path), "--no-defaults", "--verbose", "--help"], dict(environment))
    except (OSError, subprocess.SubprocessError):
        return frozenset()
    names = re.findall(r"^\s+(?:-\w, )?--([a-z][a-z0-9-]+)", text, re.MULTILINE)
    return frozenset(name.replace("-", "_") for name in names)


def _output(argv: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        argv, env={**os.environ, **environment}, capture_output=True, text=True, timeout=30, check=False, cwd="/"
    )
    return done.stdout
